#include "cmd/replay/run_json/run_file_shard.hpp"

namespace driftless {

namespace {

void write_difference(JsonWriter& json, const char* key,
                      const std::optional<ClockDifference>& difference) {
    json.key(key);
    if (!difference) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("offset_ns").integer(difference->offset_ns);
    json.key("error_ns").integer(difference->error_ns);
    json.key("round_trip_ns").integer(difference->round_trip_ns);
    json.end_object();
}

}  // namespace

void write_shard(JsonWriter& json, const ShardFlags& flags,
                 const std::optional<WorkloadShare>& share) {
    json.key("shard");
    if (!share) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("index").unsigned_integer(share->place.index);
    json.key("count").unsigned_integer(share->place.count);
    json.key("from").string(flags.from);
    json.key("plan_rows").unsigned_integer(share->plan_rows);
    json.end_object();
}

void write_meeting(JsonWriter& json, const std::optional<MeetingFacts>& meeting,
                   const std::string& earlier) {
    json.key("meeting");
    if (!meeting) {
        json.raw(earlier.empty() ? "null" : earlier);
        return;
    }
    json.begin_object();
    json.key("at").string(meeting->at);
    json.key("role").string(meeting->role);
    json.key("zero_utc_ns").integer(meeting->zero_utc_ns);
    json.key("clock").begin_object();
    write_difference(json, "before", meeting->before);
    write_difference(json, "after", meeting->after);
    json.key("kernel_error_ns").optional_integer(meeting->kernel_error_ns);
    json.end_object();
    json.end_object();
}

}  // namespace driftless
