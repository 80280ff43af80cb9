#include <algorithm>
#include <protozero/pbf_builder.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/program.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/exports.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

using protozero::pbf_builder;
using protozero::pbf_tag_type;

// Numbers of fields, by message.
enum class TraceField : pbf_tag_type { packet = 1 };
enum class PacketField : pbf_tag_type {
    timestamp = 8,
    trusted_packet_sequence_id = 10,
    track_event = 11,
    interned_data = 12,
    sequence_flags = 13,
    track_descriptor = 60,
};
enum class InternedField : pbf_tag_type { debug_annotation_names = 3 };
enum class AnnotationNameField : pbf_tag_type { iid = 1, name = 2 };
enum class DescriptorField : pbf_tag_type { uuid = 1, name = 2, parent_uuid = 5 };
enum class EventField : pbf_tag_type {
    debug_annotations = 4,
    type = 9,
    track_uuid = 11,
    name = 23,
};
enum class AnnotationField : pbf_tag_type {
    name_iid = 1,
    bool_value = 2,
    int_value = 4,
    double_value = 5,
    string_value = 6,
};

}  // namespace

// TrackEvent.Type
static constexpr std::uint32_t type_slice_begin = 1;
static constexpr std::uint32_t type_slice_end = 2;
static constexpr std::uint32_t type_instant = 3;
// TracePacket.SequenceFlags
static constexpr std::uint32_t incremental_state_cleared = 1;
static constexpr std::uint32_t needs_incremental_state = 2;

/// Numbers of interned texts begin at 1.
static std::uint64_t iid_of(std::size_t index) {
    return index + 1;
}

/// Tells traces apart that are put one behind the other; never 0.
static std::uint32_t sequence_of(std::uint64_t identity) {
    return static_cast<std::uint32_t>(identity) | 1;
}

static std::optional<std::int64_t> whole_number(const TableCell& cell) {
    return cell.kind == CellKind::number ? read_number<std::int64_t>(cell.text) : std::nullopt;
}

static void add_argument(pbf_builder<EventField>& event, const TableCell& cell, std::size_t name) {
    pbf_builder<AnnotationField> annotation(event, EventField::debug_annotations);
    annotation.add_uint64(AnnotationField::name_iid, iid_of(name));
    if (cell.kind == CellKind::text) {
        annotation.add_string(AnnotationField::string_value, cell.text);
    } else if (cell.kind == CellKind::boolean) {
        annotation.add_bool(AnnotationField::bool_value, cell.text == "true");
    } else if (const auto whole = whole_number(cell)) {
        annotation.add_int64(AnnotationField::int_value, *whole);
    } else {
        annotation.add_double(AnnotationField::double_value,
                              read_number<double>(cell.text).value_or(0));
    }
}

PerfettoTrace::PerfettoTrace(std::string& out, const std::vector<Figure>& columns,
                             const std::vector<Figure>& event_columns, const RunOfTracks& run)
    : out_(out),
      columns_(columns),
      event_columns_(event_columns),
      zero_ns_(run.zero_ns),
      identity_(run.identity) {
    begin();
    run_track_ = new_track(0, run.name);
    events_track_ = new_track(run_track_, "events");
    unsent_track_ = new_track(run_track_, "not sent");
}

std::optional<std::int64_t> PerfettoTrace::integer(const TableRow& row,
                                                   std::string_view column) const {
    return whole_number(cell(row, column));
}

void PerfettoTrace::begin() {
    pbf_builder<TraceField> all(out_);
    pbf_builder<PacketField> packet(all, TraceField::packet);
    packet.add_uint32(PacketField::trusted_packet_sequence_id, sequence_of(identity_));
    packet.add_uint32(PacketField::sequence_flags,
                      incremental_state_cleared | needs_incremental_state);
    pbf_builder<InternedField> interned(packet, PacketField::interned_data);
    std::size_t number = 0;
    for (const std::vector<Figure>* some : {&columns_, &event_columns_}) {
        for (const Figure& column : *some) {
            pbf_builder<AnnotationNameField> name(interned, InternedField::debug_annotation_names);
            name.add_uint64(AnnotationNameField::iid, iid_of(number++));
            name.add_string(AnnotationNameField::name, column.name);
        }
    }
}

std::uint64_t PerfettoTrace::new_track(std::uint64_t parent, std::string_view name) {
    const std::uint64_t uuid = mix64(identity_ + ++tracks_);
    pbf_builder<TraceField> all(out_);
    pbf_builder<PacketField> packet(all, TraceField::packet);
    packet.add_uint32(PacketField::trusted_packet_sequence_id, sequence_of(identity_));
    pbf_builder<DescriptorField> descriptor(packet, PacketField::track_descriptor);
    descriptor.add_uint64(DescriptorField::uuid, uuid);
    if (parent != 0) {
        descriptor.add_uint64(DescriptorField::parent_uuid, parent);
    }
    descriptor.add_string(DescriptorField::name, name.data(), name.size());
    return uuid;
}

void PerfettoTrace::event(std::uint32_t type, std::uint64_t track, std::int64_t ns,
                          std::string_view name, const Arguments& arguments) {
    pbf_builder<TraceField> all(out_);
    pbf_builder<PacketField> packet(all, TraceField::packet);
    packet.add_uint64(PacketField::timestamp, static_cast<std::uint64_t>(zero_ns_ + ns));
    packet.add_uint32(PacketField::trusted_packet_sequence_id, sequence_of(identity_));
    packet.add_uint32(PacketField::sequence_flags, needs_incremental_state);
    pbf_builder<EventField> event(packet, PacketField::track_event);
    event.add_enum(EventField::type, static_cast<std::int32_t>(type));
    event.add_uint64(EventField::track_uuid, track);
    if (!name.empty()) {
        event.add_string(EventField::name, name.data(), name.size());
    }
    for (std::size_t i = 0; arguments.row != nullptr && i < arguments.row->size(); ++i) {
        if (const TableCell& cell = (*arguments.row)[i]; cell.kind != CellKind::empty) {
            add_argument(event, cell, arguments.first_name + i);
        }
    }
}

std::optional<PerfettoTrace::Stages> PerfettoTrace::stages_of(const TableRow& row) const {
    const auto fired = integer(row, "fired_ns");
    const auto due = integer(row, "due_ns");
    if (!fired || !due) {
        return std::nullopt;
    }
    Stages stages;
    stages.due = std::min(*due, *fired);
    stages.fired = *fired;
    // An interrupted row has no end: its last sign of life stands in for it.
    stages.end = *fired;
    for (const char* stamp : {"sent_ns", "first_token_ns", "last_token_ns", "done_ns"}) {
        stages.end = std::max(stages.end, integer(row, stamp).value_or(*fired));
    }
    stages.end = std::max(*fired, integer(row, "ended_ns").value_or(stages.end));
    const auto within = [&stages](std::int64_t from, std::int64_t stamp) {
        return std::clamp(stamp, from, stages.end);
    };
    stages.sent = within(stages.fired, integer(row, "sent_ns").value_or(stages.fired));
    if (const auto first = integer(row, "first_token_ns")) {
        // A server may begin to answer before it has the whole request.
        stages.sent = std::min(stages.sent, within(stages.fired, *first));
        stages.first_token = within(stages.sent, *first);
        stages.last_token =
            within(*stages.first_token, integer(row, "last_token_ns").value_or(*first));
    }
    return stages;
}

std::uint64_t PerfettoTrace::track_for(const TableRow& row, const Stages& stages) {
    const auto number = [&](std::string_view column) {
        return static_cast<std::uint64_t>(integer(row, column).value_or(0));
    };
    const std::uint64_t lane = number("connection");
    const std::uint64_t segment = number("segment");
    const std::uint64_t shard = number("shard");
    std::vector<Track>& tracks = lanes_[{shard, segment, lane}];
    auto free = std::ranges::find_if(
        tracks, [&stages](const Track& one) { return one.end_ns <= stages.due; });
    if (free == tracks.end()) {
        const bool is_merged = cell(row, "shard").kind != CellKind::empty;
        const std::string name = (is_merged ? "shard " + std::to_string(shard) + " " : "") +
                                 "lane " + std::to_string(lane);
        free = tracks.insert(tracks.end(), {new_track(run_track_, name), 0});
    }
    free->end_ns = stages.end;
    return free->uuid;
}

void PerfettoTrace::slice(std::uint64_t track, std::string_view name, std::int64_t from,
                          std::int64_t to) {
    event(type_slice_begin, track, from, name, {});
    event(type_slice_end, track, to, "", {});
}

void PerfettoTrace::add(const TableRow& row) {
    const std::string name = "row " + cell(row, "row").text;
    const std::optional<Stages> stages = stages_of(row);
    if (!stages) {
        event(type_instant, unsent_track_, integer(row, "due_ns").value_or(0), name, {&row});
        return;
    }
    const std::uint64_t track = track_for(row, *stages);
    const auto connected = integer(row, "connect_ns");
    if (connected && cell(row, "reused").text == "false") {
        event(type_instant, track, *connected, "connected", {});
    }
    event(type_slice_begin, track, stages->due, name, {&row});
    slice(track, "drift", stages->due, stages->fired);
    slice(track, "send", stages->fired, stages->sent);
    if (const auto wire = integer(row, "wire_ns")) {
        event(type_instant, track, *wire, "on the wire", {});
    }
    slice(track, "wait", stages->sent, stages->first_token.value_or(stages->end));
    if (stages->first_token) {
        slice(track, "tokens", *stages->first_token, stages->last_token);
    }
    event(type_slice_end, track, stages->end, "", {});
}

void PerfettoTrace::add_event(const TableRow& row) {
    const auto of = [&](std::string_view column) -> const TableCell& {
        return row[place_of(event_columns_, column)];
    };
    const std::int64_t at = whole_number(of("at_ns")).value_or(0);
    event(type_instant, events_track_, whole_number(of("begin_ns")).value_or(at), of("what").text,
          {&row, columns_.size()});
}

int write_perfetto(const ReportedRun& run, const std::string& path) {
    std::string why;
    Result<JsonlRows> records = rows_of(run, RunTable::requests, why);
    Result<JsonlRows> events = rows_of(run, RunTable::events, why);
    if (!records || !events) {
        return refuse_report(why);
    }
    ExportFile file("--perfetto", path);
    Digest digest;
    digest.add(run.facts.segments.front().run_id);
    const std::string name = "driftless " + run.info.trace + " " + run.info.date;
    PerfettoTrace trace(file.text, records.value().columns(), events.value().columns(),
                        {run.facts.segments.front().clock.zero_utc_ns, digest.value(), name});
    while (const TableRow* row = file.code() == exit_done ? records.value().next() : nullptr) {
        trace.add(*row);
        file.drain();
    }
    while (const TableRow* row = file.code() == exit_done ? events.value().next() : nullptr) {
        trace.add_event(*row);
    }
    for (const JsonlRows* rows : {&records.value(), &events.value()}) {
        if (!rows->why().empty()) {
            return refuse_report(rows->why());
        }
    }
    return file.finish();
}

}  // namespace driftless
