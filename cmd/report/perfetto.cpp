#include <algorithm>
#include <cstdio>
#include <iterator>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/exports.hpp"
#include "engine/plan/files.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

using protozero::pbf_writer;

// Numbers of fields, by message.
namespace trace {
constexpr std::uint32_t packet = 1;
}
namespace trace_packet {
constexpr std::uint32_t timestamp = 8;
constexpr std::uint32_t trusted_packet_sequence_id = 10;
constexpr std::uint32_t track_event = 11;
constexpr std::uint32_t interned_data = 12;
constexpr std::uint32_t sequence_flags = 13;
constexpr std::uint32_t track_descriptor = 60;
}  // namespace trace_packet
namespace interned_data {
constexpr std::uint32_t debug_annotation_names = 3;
}
namespace debug_annotation_name {
constexpr std::uint32_t iid = 1;
constexpr std::uint32_t name = 2;
}  // namespace debug_annotation_name
namespace track_descriptor {
constexpr std::uint32_t uuid = 1;
constexpr std::uint32_t name = 2;
constexpr std::uint32_t parent_uuid = 5;
}  // namespace track_descriptor
namespace track_event {
constexpr std::uint32_t debug_annotations = 4;
constexpr std::uint32_t type = 9;
constexpr std::uint32_t track_uuid = 11;
constexpr std::uint32_t name = 23;
}  // namespace track_event
namespace debug_annotation {
constexpr std::uint32_t name_iid = 1;
constexpr std::uint32_t bool_value = 2;
constexpr std::uint32_t int_value = 4;
constexpr std::uint32_t double_value = 5;
constexpr std::uint32_t string_value = 6;
}  // namespace debug_annotation

// TrackEvent.Type
constexpr std::uint32_t type_slice_begin = 1;
constexpr std::uint32_t type_slice_end = 2;
constexpr std::uint32_t type_instant = 3;
// TracePacket.SequenceFlags
constexpr std::uint32_t incremental_state_cleared = 1;
constexpr std::uint32_t needs_incremental_state = 2;

/// Numbers of interned texts begin at 1.
std::uint64_t iid_of(std::size_t index) {
    return index + 1;
}

void add_argument(pbf_writer& event, const TraceArgument& argument) {
    pbf_writer annotation(event, track_event::debug_annotations);
    annotation.add_uint64(debug_annotation::name_iid, iid_of(argument.name));
    switch (argument.kind) {
        case ArgumentKind::integer:
            annotation.add_int64(debug_annotation::int_value, argument.integer);
            break;
        case ArgumentKind::number:
            annotation.add_double(debug_annotation::double_value, argument.number);
            break;
        case ArgumentKind::boolean:
            annotation.add_bool(debug_annotation::bool_value, argument.integer != 0);
            break;
        case ArgumentKind::text:
            annotation.add_string(debug_annotation::string_value, argument.text.data(),
                                  argument.text.size());
            break;
    }
}

}  // namespace

void PerfettoTrace::begin(std::span<const std::string_view> argument_names) {
    pbf_writer all(out_);
    pbf_writer packet(all, trace::packet);
    packet.add_uint32(trace_packet::trusted_packet_sequence_id, sequence_);
    packet.add_uint32(trace_packet::sequence_flags,
                      incremental_state_cleared | needs_incremental_state);
    pbf_writer interned(packet, trace_packet::interned_data);
    for (std::size_t i = 0; i < argument_names.size(); ++i) {
        pbf_writer name(interned, interned_data::debug_annotation_names);
        name.add_uint64(debug_annotation_name::iid, iid_of(i));
        name.add_string(debug_annotation_name::name, argument_names[i].data(),
                        argument_names[i].size());
    }
}

void PerfettoTrace::track(std::uint64_t uuid, std::uint64_t parent, std::string_view name) {
    pbf_writer all(out_);
    pbf_writer packet(all, trace::packet);
    packet.add_uint32(trace_packet::trusted_packet_sequence_id, sequence_);
    pbf_writer descriptor(packet, trace_packet::track_descriptor);
    descriptor.add_uint64(track_descriptor::uuid, uuid);
    if (parent != 0) {
        descriptor.add_uint64(track_descriptor::parent_uuid, parent);
    }
    descriptor.add_string(track_descriptor::name, name.data(), name.size());
}

void PerfettoTrace::event(std::uint32_t type, std::uint64_t track, std::int64_t at_ns,
                          std::string_view name, std::span<const TraceArgument> arguments) {
    pbf_writer all(out_);
    pbf_writer packet(all, trace::packet);
    packet.add_uint64(trace_packet::timestamp, static_cast<std::uint64_t>(at_ns));
    packet.add_uint32(trace_packet::trusted_packet_sequence_id, sequence_);
    packet.add_uint32(trace_packet::sequence_flags, needs_incremental_state);
    pbf_writer event(packet, trace_packet::track_event);
    event.add_enum(track_event::type, static_cast<std::int32_t>(type));
    event.add_uint64(track_event::track_uuid, track);
    if (!name.empty()) {
        event.add_string(track_event::name, name.data(), name.size());
    }
    for (const TraceArgument& argument : arguments) {
        add_argument(event, argument);
    }
}

void PerfettoTrace::slice_begin(std::uint64_t track, std::int64_t at_ns, std::string_view name,
                                std::span<const TraceArgument> arguments) {
    event(type_slice_begin, track, at_ns, name, arguments);
}

void PerfettoTrace::slice_end(std::uint64_t track, std::int64_t at_ns) {
    event(type_slice_end, track, at_ns, "", {});
}

void PerfettoTrace::instant(std::uint64_t track, std::int64_t at_ns, std::string_view name,
                            std::span<const TraceArgument> arguments) {
    event(type_instant, track, at_ns, name, arguments);
}

namespace {

std::optional<std::int64_t> integer(const TableCell& cell) {
    return cell.kind == CellKind::number ? read_number<std::int64_t>(cell.text) : std::nullopt;
}

TraceArgument argument_of(const TableCell& cell, std::size_t name) {
    TraceArgument argument;
    argument.name = static_cast<std::uint32_t>(name);
    if (cell.kind == CellKind::text) {
        argument.kind = ArgumentKind::text;
        argument.text = cell.text;
    } else if (cell.kind == CellKind::boolean) {
        argument.kind = ArgumentKind::boolean;
        argument.integer = cell.text == "true" ? 1 : 0;
    } else if (const auto whole = integer(cell)) {
        argument.integer = *whole;
    } else {
        argument.kind = ArgumentKind::number;
        argument.number = read_number<double>(cell.text).value_or(0);
    }
    return argument;
}

/// All that is known of a row. `first_name` is the number of its first column's name.
std::vector<TraceArgument> arguments_of(const TableRow& row, std::size_t first_name) {
    std::vector<TraceArgument> arguments;
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i].kind != CellKind::empty) {
            arguments.push_back(argument_of(row[i], first_name + i));
        }
    }
    return arguments;
}

}  // namespace

LaneSlices::LaneSlices(PerfettoTrace& trace, const std::vector<Figure>& columns,
                       const std::vector<Figure>& event_columns, const RunOfTracks& run)
    : trace_(trace),
      at_(columns_of(columns)),
      event_at_{columns.size(), place_of(event_columns, "what"), place_of(event_columns, "at_ns"),
                place_of(event_columns, "begin_ns")},
      zero_ns_(run.zero_ns),
      identity_(run.identity),
      run_track_(new_track(0, run.name)),
      events_track_(new_track(run_track_, "events")),
      unsent_track_(new_track(run_track_, "not sent")) {}

LaneSlices::Columns LaneSlices::columns_of(const std::vector<Figure>& columns) {
    const auto at = [&columns](std::string_view name) { return place_of(columns, name); };
    return {at("row"),      at("segment"),        at("connection"),    at("reused"),
            at("due_ns"),   at("fired_ns"),       at("connect_ns"),    at("wire_ns"),
            at("sent_ns"),  at("first_token_ns"), at("last_token_ns"), at("done_ns"),
            at("ended_ns"), at("shard")};
}

std::optional<LaneSlices::Stages> LaneSlices::stages_of(const TableRow& row, const Columns& at) {
    const auto fired = integer(row[at.fired]);
    const auto due = integer(row[at.due]);
    if (!fired || !due) {
        return std::nullopt;
    }
    Stages stages;
    stages.due = std::min(*due, *fired);
    stages.fired = *fired;
    // An interrupted row has no end: its last sign of life stands in for it.
    stages.end = *fired;
    for (const std::size_t stamp : {at.sent, at.first_token, at.last_token, at.done, at.ended}) {
        stages.end = std::max(stages.end, integer(row[stamp]).value_or(*fired));
    }
    stages.end = std::max(*fired, integer(row[at.ended]).value_or(stages.end));
    const auto within = [&stages](std::int64_t from, std::int64_t stamp) {
        return std::clamp(stamp, from, stages.end);
    };
    stages.sent = within(stages.fired, integer(row[at.sent]).value_or(stages.fired));
    if (const auto first = integer(row[at.first_token])) {
        // A server may begin to answer before it has the whole request.
        stages.sent = std::min(stages.sent, within(stages.fired, *first));
        stages.first_token = within(stages.sent, *first);
        stages.last_token =
            within(*stages.first_token, integer(row[at.last_token]).value_or(*first));
    }
    return stages;
}

std::uint64_t LaneSlices::new_track(std::uint64_t parent, std::string_view name) {
    const std::uint64_t uuid = mix64(identity_ + ++tracks_);
    trace_.track(uuid, parent, name);
    return uuid;
}

std::uint64_t LaneSlices::track_for(const TableRow& row, const Stages& stages) {
    const auto lane = static_cast<std::uint64_t>(integer(row[at_.connection]).value_or(0));
    const auto segment = static_cast<std::uint64_t>(integer(row[at_.segment]).value_or(0));
    const auto shard = static_cast<std::uint64_t>(integer(row[at_.shard]).value_or(0));
    std::vector<Track>& tracks = lanes_[{shard, segment, lane}];
    auto free = std::find_if(tracks.begin(), tracks.end(),
                             [&stages](const Track& one) { return one.end_ns <= stages.due; });
    if (free == tracks.end()) {
        const bool is_merged = row[at_.shard].kind != CellKind::empty;
        const std::string name = (is_merged ? "shard " + std::to_string(shard) + " " : "") +
                                 "lane " + std::to_string(lane);
        free = tracks.insert(tracks.end(), {new_track(run_track_, name), 0});
    }
    free->end_ns = stages.end;
    return free->uuid;
}

void LaneSlices::slice(std::uint64_t track, std::string_view name, std::int64_t from,
                       std::int64_t to) {
    trace_.slice_begin(track, utc(from), name);
    trace_.slice_end(track, utc(to));
}

void LaneSlices::add(const TableRow& row) {
    const std::string name = "row " + row[at_.row].text;
    const std::optional<Stages> stages = stages_of(row, at_);
    if (!stages) {
        trace_.instant(unsent_track_, utc(integer(row[at_.due]).value_or(0)), name,
                       arguments_of(row, 0));
        return;
    }
    const std::uint64_t track = track_for(row, *stages);
    const auto connected = integer(row[at_.connect]);
    if (connected && row[at_.reused].text == "false") {
        trace_.instant(track, utc(*connected), "connected");
    }
    trace_.slice_begin(track, utc(stages->due), name, arguments_of(row, 0));
    slice(track, "drift", stages->due, stages->fired);
    slice(track, "send", stages->fired, stages->sent);
    if (const auto wire = integer(row[at_.wire])) {
        trace_.instant(track, utc(*wire), "on the wire");
    }
    slice(track, "wait", stages->sent, stages->first_token.value_or(stages->end));
    if (stages->first_token) {
        slice(track, "tokens", *stages->first_token, stages->last_token);
    }
    trace_.slice_end(track, utc(stages->end));
}

void LaneSlices::add_event(const TableRow& row) {
    const std::int64_t at = integer(row[event_at_.at]).value_or(0);
    trace_.instant(events_track_, utc(integer(row[event_at_.begin]).value_or(at)),
                   row[event_at_.what].text, arguments_of(row, event_at_.first_name));
}

namespace {

constexpr std::size_t write_bytes = std::size_t{256} << 10;

/// The file, and the packets that are not in it yet.
struct TraceFile {
    OutputSink sink;
    std::string packets;

    Result<void> write(std::size_t more_than) {
        if (packets.size() <= more_than) {
            return {};
        }
        const Result<void> written = sink.write(packets);
        packets.clear();
        return written;
    }
};

int fail(const std::string& path, const Error& error) {
    return fail_new_file("--perfetto", path, error);
}

}  // namespace

int write_perfetto(const ReportedRun& run, const std::string& path) {
    std::string why;
    Result<JsonlRows> records =
        JsonlRows::open(run.records_path(), figures_of(RunTable::requests), why);
    Result<JsonlRows> events =
        JsonlRows::open(run.events_path(), figures_of(RunTable::events), why);
    if (!records || !events) {
        return refuse_report(why);
    }
    Result<OutputSink> sink = OutputSink::create(path);
    if (!sink) {
        return fail(path, sink.error());
    }
    TraceFile file{std::move(sink).value(), {}};
    std::vector<std::string_view> names = records.value().names();
    std::ranges::copy(events.value().names(), std::back_inserter(names));
    Digest digest;
    digest.add(run.facts.segments.front().run_id);
    const std::uint64_t identity = digest.value();
    PerfettoTrace trace(file.packets, static_cast<std::uint32_t>(identity) | 1);
    trace.begin(names);
    const std::string name = "driftless " + run.info.trace + " " + run.info.date;
    LaneSlices slices(trace, records.value().columns(), events.value().columns(),
                      {run.facts.segments.front().clock.zero_utc_ns, identity, name});
    while (const TableRow* row = records.value().next()) {
        slices.add(*row);
        if (const Result<void> written = file.write(write_bytes); !written) {
            return fail(path, written.error());
        }
    }
    while (const TableRow* row = events.value().next()) {
        slices.add_event(*row);
    }
    for (const JsonlRows* rows : {&records.value(), &events.value()}) {
        if (!rows->why().empty()) {
            return refuse_report(rows->why());
        }
    }
    Result<void> done = file.write(0);
    if (done) {
        done = file.sink.finish();
    }
    return done ? exit_done : fail(path, done.error());
}

}  // namespace driftless
