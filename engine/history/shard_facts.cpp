#include "engine/history/shard_facts.hpp"

#include <algorithm>
#include <utility>

namespace driftless {

namespace {

/// More shards than any run has; bounds what a foreign run.json may ask for.
constexpr std::uint32_t count_max = 65'536;
/// Clocks that lie further apart than 100 years are no clocks; sums of such stamps fit.
constexpr std::int64_t clock_ns_max = 3'153'600'000'000'000'000;

/// Members of an object by their keys; keeps the first error.
class Members {
  public:
    explicit Members(JsonValue object) : object_(object) {}

    std::uint64_t count(const char* key, std::uint64_t most) {
        const std::optional<std::uint64_t> value = known(key).as_u64();
        if (!value || *value > most) {
            fail(value ? ErrorCode::out_of_range : ErrorCode::bad_json, key);
        }
        return std::min(value.value_or(0), most);
    }
    std::int64_t number(const char* key) {
        const std::optional<std::int64_t> value = known(key).as_i64();
        if (!value || *value > clock_ns_max || *value < -clock_ns_max) {
            fail(value ? ErrorCode::out_of_range : ErrorCode::bad_json, key);
            return 0;
        }
        return *value;
    }
    std::string text(const char* key) {
        const auto value = known(key).as_string();
        if (!value) {
            fail(ErrorCode::bad_json, key);
        }
        return std::string(value.value_or(""));
    }
    bool is_true(const char* key) { return known(key).as_bool().value_or(false); }
    JsonValue known(const char* key) {
        const JsonValue value = object_.find(key);
        if (!value.present()) {
            fail(ErrorCode::missing, key);
        }
        return value;
    }
    void fail(ErrorCode code, const char* key) {
        if (!error_) {
            error_ = Error{code, 0, key};
        }
    }
    const std::optional<Error>& error() const { return error_; }

  private:
    JsonValue object_;
    std::optional<Error> error_;
};

/// What an exchange with shard 0, or several, leaves of where its clock may be.
struct Interval {
    std::int64_t least_ns = 0;
    std::int64_t most_ns = 0;
};

/// One that holds both: the clocks may have moved against each other in between.
void widen(std::optional<Interval>& interval, std::int64_t offset_ns, std::int64_t error_ns) {
    const Interval one{offset_ns - error_ns, offset_ns + error_ns};
    interval = interval ? Interval{std::min(interval->least_ns, one.least_ns),
                                   std::max(interval->most_ns, one.most_ns)}
                        : one;
}

std::optional<Error> read_clock(JsonValue clock, std::optional<ShardClock>& out) {
    std::optional<Interval> interval;
    for (const char* const key : {"before", "after"}) {
        const JsonValue exchange = clock.find(key);
        if (!exchange.is(JsonType::object)) {
            continue;
        }
        Members members(exchange);
        const std::int64_t offset_ns = members.number("offset_ns");
        const std::int64_t error_ns = members.number("error_ns");
        if (members.error()) {
            return members.error();
        }
        if (error_ns < 0) {
            return Error{ErrorCode::out_of_range, 0, "error_ns"};
        }
        widen(interval, offset_ns, error_ns);
    }
    if (const auto kernel_ns = clock.find("kernel_error_ns").as_i64(); !interval && kernel_ns) {
        if (*kernel_ns < 0 || *kernel_ns > clock_ns_max) {
            return Error{ErrorCode::out_of_range, 0, "kernel_error_ns"};
        }
        widen(interval, 0, *kernel_ns);
    }
    if (interval) {
        const std::int64_t half_ns = (interval->most_ns - interval->least_ns + 1) / 2;
        out = ShardClock{interval->least_ns + half_ns, half_ns};
    }
    return std::nullopt;
}

void write_merged_shard(JsonWriter& json, const MergedShard& shard) {
    json.begin_object();
    json.key("index").unsigned_integer(shard.index);
    json.key("folder").string(shard.folder);
    json.key("run_id").string(shard.run_id);
    json.key("ended").boolean(shard.ended);
    json.key("rows").unsigned_integer(shard.rows);
    json.key("probes").unsigned_integer(shard.probes);
    json.key("rows_later").unsigned_integer(shard.rows_later);
    json.key("interrupted").boolean(shard.interrupted);
    json.key("stopped_when");
    shard.stopped_when.empty() ? json.null() : json.string(shard.stopped_when);
    json.key("not_reported").unsigned_integer(shard.not_reported);
    json.key("rows_left").unsigned_integer(shard.rows_left);
    json.key("all_known").boolean(shard.all_known);
    json.key("verdict").string(shard.verdict);
    json.key("verdict_reasons").begin_array();
    for (const std::string& reason : shard.reasons) {
        json.string(reason);
    }
    json.end_array();
    json.key("zero_utc_ns").integer(shard.zero_utc_ns);
    json.key("clock");
    if (shard.clock) {
        json.begin_object();
        json.key("offset_ns").integer(shard.clock->offset_ns);
        json.key("error_ns").integer(shard.clock->error_ns);
        json.end_object();
    } else {
        json.null();
    }
    json.end_object();
}

std::optional<Error> read_merged_shard(JsonValue from, MergedShard& out) {
    Members members(from);
    out.folder = members.text("folder");
    out.run_id = members.text("run_id");
    out.ended = members.is_true("ended");
    out.rows = members.count("rows", UINT32_MAX);
    // These four are younger than the others.
    out.probes = from.find("probes").as_u64().value_or(0);
    out.rows_later =
        std::min<std::uint64_t>(from.find("rows_later").as_u64().value_or(0), out.rows);
    out.interrupted = from.find("interrupted").as_bool().value_or(false);
    out.stopped_when = std::string(from.find("stopped_when").as_string().value_or(""));
    out.not_reported = members.count("not_reported", UINT32_MAX);
    out.rows_left = members.count("rows_left", UINT32_MAX);
    out.all_known = members.is_true("all_known");
    out.verdict = members.text("verdict");
    out.zero_utc_ns = members.number("zero_utc_ns");
    const JsonValue reasons = members.known("verdict_reasons");
    for (JsonValue one = reasons.first(); one.present(); one = one.next()) {
        out.reasons.emplace_back(one.as_string().value_or(""));
    }
    const JsonValue clock = members.known("clock");
    if (clock.is(JsonType::object)) {
        Members found(clock);
        out.clock = ShardClock{found.number("offset_ns"), found.number("error_ns")};
        if (found.error()) {
            return found.error();
        }
    }
    return members.error();
}

}  // namespace

Result<std::optional<ShardFacts>> read_shard(JsonValue shard, JsonValue meeting) {
    if (!shard.present() || shard.is(JsonType::null)) {
        return std::optional<ShardFacts>();
    }
    if (!shard.is(JsonType::object)) {
        return Error{ErrorCode::bad_json, 0, "shard"};
    }
    Members members(shard);
    ShardFacts out;
    out.index = static_cast<std::uint32_t>(members.count("index", count_max - 1));
    out.count = static_cast<std::uint32_t>(members.count("count", count_max));
    out.plan_rows = members.count("plan_rows", UINT32_MAX);
    if (!members.error() && out.index >= out.count) {
        members.fail(ErrorCode::out_of_range, "index");
    }
    if (members.error()) {
        return *members.error();
    }
    if (const auto error = read_clock(meeting.find("clock"), out.clock)) {
        return *error;
    }
    if (meeting.find("role").as_string() == "host") {
        out.clock = ShardClock{};  // all others are compared with it
    }
    out.met_after = meeting.find("clock").find("after").is(JsonType::object);
    return std::optional(out);
}

void write_merged(JsonWriter& json, const MergedRun& run) {
    json.key("merged").begin_object();
    json.key("count").unsigned_integer(run.count);
    json.key("rows").unsigned_integer(run.rows);
    json.key("rows_missing").unsigned_integer(run.rows_missing);
    json.key("clock_error_max_ns").integer(run.clock_error_max_ns);
    json.key("shards").begin_array();
    for (const MergedShard& shard : run.shards) {
        write_merged_shard(json, shard);
    }
    json.end_array().end_object();
}

Result<std::optional<MergedRun>> read_merged(JsonValue merged) {
    if (!merged.present() || merged.is(JsonType::null)) {
        return std::optional<MergedRun>();
    }
    Members members(merged);
    MergedRun out;
    out.count = static_cast<std::uint32_t>(members.count("count", count_max));
    out.rows = members.count("rows", UINT32_MAX);
    out.rows_missing = members.count("rows_missing", UINT32_MAX);
    out.clock_error_max_ns = members.number("clock_error_max_ns");
    const JsonValue shards = members.known("shards");
    if (members.error()) {
        return *members.error();
    }
    for (JsonValue one = shards.first(); one.present(); one = one.next()) {
        MergedShard& shard = out.shards.emplace_back();
        shard.index = static_cast<std::uint32_t>(out.shards.size() - 1);
        if (const auto error = read_merged_shard(one, shard)) {
            return *error;
        }
    }
    if (out.shards.size() != out.count) {
        return Error{ErrorCode::out_of_range, 0, "shards"};
    }
    return std::optional(std::move(out));
}

}  // namespace driftless
