#include "cmd/report/lane_slices.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

std::optional<std::int64_t> integer(const TableCell& cell) {
    std::int64_t value = 0;
    const char* const end = cell.text.data() + cell.text.size();
    const auto [stop, error] = std::from_chars(cell.text.data(), end, value);
    const bool whole = cell.kind == CellKind::number && error == std::errc() && stop == end;
    return whole ? std::optional(value) : std::nullopt;
}

std::size_t place_of(const std::vector<Figure>& columns, std::string_view name) {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [name](const Figure& one) { return one.name == name; });
    CHECK(found != columns.end());
    return static_cast<std::size_t>(found - columns.begin());
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
        std::from_chars(cell.text.data(), cell.text.data() + cell.text.size(), argument.number);
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

}  // namespace driftless
