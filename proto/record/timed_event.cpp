#include "proto/record/timed_event.hpp"

#include "proto/json/printable.hpp"
#include "proto/json/write.hpp"

namespace driftless {

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
    json.key("begin_ns").optional_integer(event.begin_ns);
    json.key("end_ns").optional_integer(event.end_ns);
    json.key("status").string(name_of(event.status));
    json.key("code").optional_integer(event.code);
    json.key("signal").optional_integer(event.signal);
    json.key("error");
    event.error.empty() ? json.null() : json.string(event.error);
    json.key("output").string(event.output);
    json.key("output_bytes").unsigned_integer(event.output_bytes);
    json.end_object();
    escape_unprintable_json(out, from);
    out += '\n';
}

}  // namespace driftless
