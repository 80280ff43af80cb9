#include "proto/run/period.hpp"

#include "proto/core/text.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

std::optional<std::int64_t> as_integer(const std::optional<std::uint64_t>& count) {
    return count ? std::optional(static_cast<std::int64_t>(*count)) : std::nullopt;
}

void write_percentiles(JsonWriter& json, const std::string& name, const PeriodPercentiles& at) {
    json.key(name + "_p50_ns").optional(at.p50);
    json.key(name + "_p90_ns").optional(at.p90);
    json.key(name + "_p99_ns").optional(at.p99);
}

}  // namespace

void append_period(std::string& out, const Period& period) {
    JsonWriter json(out);
    json.begin_object();
    json.key("period").unsigned_integer(period.period);
    json.key("segment").unsigned_integer(period.segment);
    json.key("begin_ns").integer(period.begin_ns);
    json.key("end_ns").integer(period.end_ns);
    json.key("phase").string(name_of(period.phase));
    json.key("released").unsigned_integer(period.released);
    json.key("ended").unsigned_integer(period.ended);
    json.key("unsent").unsigned_integer(period.unsent);
    json.key("failed").unsigned_integer(period.failed);
    json.key("abandoned").unsigned_integer(period.abandoned);
    json.key("censored").unsigned_integer(period.censored);
    json.key("in_flight").unsigned_integer(period.in_flight);
    json.key("live_trees").optional(as_integer(period.live_trees));
    json.key("users_added").optional(as_integer(period.users_added));
    json.key("first_tokens").unsigned_integer(period.first_tokens);
    json.key("input_tokens").integer(period.input_tokens);
    json.key("input_tokens_corrected").integer(period.input_tokens_corrected);
    json.key("output_tokens").integer(period.output_tokens);
    json.key("output_tokens_corrected").optional(period.output_tokens_corrected);
    write_percentiles(json, "ttft", period.ttft);
    write_percentiles(json, "ttft_due", period.ttft_due);
    write_percentiles(json, "tpot", period.tpot);
    json.key("good").optional(as_integer(period.good));
    json.key("good_least").optional(as_integer(period.good_least));
    json.key("good_most").optional(as_integer(period.good_most));
    json.key("goodput").optional(period.goodput);
    json.key("expected_cached_tokens").optional(period.expected_cached_tokens);
    json.key("expected_cached_tokens_reported").optional(period.expected_cached_tokens_reported);
    json.key("cached_tokens").optional(period.cached_tokens);
    json.end_object();
    out += '\n';
}

const char* name_of(TimedEventKind kind) {
    switch (kind) {
        case TimedEventKind::post:
            return "post";
        case TimedEventKind::run:
            return "run";
        case TimedEventKind::label:
            return "label";
    }
    return "";
}

const char* name_of(EventStatus status) {
    switch (status) {
        case EventStatus::ok:
            return "ok";
        case EventStatus::failed:
            return "failed";
        case EventStatus::timed_out:
            return "timed_out";
        case EventStatus::cut_off:
            return "cut_off";
        case EventStatus::not_run:
            return "not_run";
        case EventStatus::unknown:
            return "unknown";
    }
    return "";
}

void append_timed_event(std::string& out, const TimedEvent& event) {
    const std::size_t from = out.size();
    JsonWriter json(out);
    json.begin_object();
    json.key("event").unsigned_integer(event.event);
    json.key("segment").unsigned_integer(event.segment);
    json.key("kind").string(name_of(event.kind));
    json.key("what").string(event.what);
    json.key("at_ns").integer(event.at_ns);
    json.key("begin_ns").optional(event.begin_ns);
    json.key("end_ns").optional(event.end_ns);
    json.key("status").string(name_of(event.status));
    json.key("code").optional(event.code);
    json.key("signal").optional(event.signal);
    write_optional_text(json, "error", event.error);
    json.key("output").string(event.output);
    json.key("output_bytes").unsigned_integer(event.output_bytes);
    json.end_object();
    escape_unprintable_json(out, from);
    out += '\n';
}

}  // namespace driftless
