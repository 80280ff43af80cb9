#include "cmd/replay/run_json/run_file_end.hpp"

#include "cmd/replay/run_json/json_strings.hpp"

namespace driftless {

namespace {

void write_marks(JsonWriter& json, const RunMarks& marks) {
    json.key("memory").begin_object();
    json.key("resident_bytes_max").unsigned_integer(marks.resident_max);
    json.key("body_region_bytes").unsigned_integer(marks.body_region);
    json.key("body_bytes_max").unsigned_integer(marks.body_max);
    json.key("row_header_bytes").unsigned_integer(marks.row_fields);
    json.key("event_ring_bytes").unsigned_integer(marks.event_ring);
    json.key("event_ring_bytes_max").unsigned_integer(marks.event_ring_max);
    json.key("block_cache_bytes").unsigned_integer(marks.block_cache);
    json.key("block_cache_hits").unsigned_integer(marks.block_cache_hits);
    json.key("block_cache_misses").unsigned_integer(marks.block_cache_misses);
    json.key("frame_bytes").unsigned_integer(marks.frames);
    json.key("frames_max").unsigned_integer(marks.frames_max);
    json.key("connections_max").unsigned_integer(marks.lanes_max);
    json.end_object();
}

/// What caps on idle time have done; null without users.
void write_idle(JsonWriter& json, const std::optional<IdleFigures>& idle) {
    json.key("idle_caps");
    if (!idle) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("tree_jumps").unsigned_integer(idle->tree_jumps);
    json.key("tree_skipped_ns").integer(idle->tree_skipped_ns);
    json.key("system_jumps").unsigned_integer(idle->system_jumps);
    json.key("system_skipped_ns").integer(idle->system_skipped_ns);
    json.end_object();
}

void write_stamps(JsonWriter& json, const StampFacts& stamps) {
    json.key("kernel_stamps").begin_object();
    json.key("transmit").string(stamps.transmit);
    json.key("receive").boolean(stamps.receive);
    json.key("reason");
    stamps.reason.empty() ? json.null() : json.string(stamps.reason);
    json.key("wire").unsigned_integer(stamps.wire);
    json.key("missing").unsigned_integer(stamps.missing);
    json.key("refused").unsigned_integer(stamps.refused);
    json.key("stray").unsigned_integer(stamps.stray);
    json.key("clock_offset_ns").integer(stamps.clock_offset_ns);
    json.key("clock_error_ns").integer(stamps.clock_error_ns);
    json.key("clock_steps").unsigned_integer(stamps.clock_steps);
    json.end_object();
}

}  // namespace

void write_run_end(JsonWriter& json, const std::optional<RunEnd>& end) {
    json.key("end");
    if (!end) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("rows_fired").unsigned_integer(end->rows_fired);
    json.key("records").unsigned_integer(end->records);
    json.key("interrupted").boolean(end->interrupted);
    write_stopped_when(json, end->stopped_when);
    json.key("connects").unsigned_integer(end->connects);
    json.key("connect_failures").unsigned_integer(end->connect_failures);
    json.key("stale_retries").unsigned_integer(end->stale_retries);
    json.key("closed_idle").unsigned_integer(end->closed_idle);
    json.key("retired_idle").unsigned_integer(end->retired_idle);
    json.key("idle_limit_ns").optional_integer(end->idle_limit_ns);
    json.key("system_calls").unsigned_integer(end->system_calls);
    json.key("operations").unsigned_integer(end->operations);
    json.key("no_buffers").unsigned_integer(end->no_buffers);
    json.key("overflows").unsigned_integer(end->overflows);
    json.key("stepped_aside").unsigned_integer(end->stepped_aside);
    json.key("guard_ns").integer(end->guard_ns);
    json.key("margin_ns").integer(end->margin_ns);
    json.key("measured_from_ns").optional_integer(end->measured_from_ns);
    write_idle(json, end->idle);
    write_marks(json, end->marks);
    write_stamps(json, end->stamps);
    write_tls(json, end->tls);
    json.key("verdict").string(end->verdict);
    strings(json, "verdict_reasons", end->verdict_reasons);
    json.key("exit_code").integer(end->exit_code);
    json.end_object();
}

}  // namespace driftless
