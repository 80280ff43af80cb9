#include "cmd/mock/request_log.hpp"

#include "cmd/mock/voice.hpp"
#include "proto/json/write.hpp"

namespace driftless::mock {

namespace {

const char* name_of(Ending ending) {
    switch (ending) {
        case Ending::complete:
            return "complete";
        case Ending::faulted:
            return "faulted";
        case Ending::aborted:
            break;
    }
    return "aborted";
}

}  // namespace

void append_log_line(std::string& out, const RequestLog& entry) {
    JsonWriter json(out);
    json.begin_object().key("request_id").string(entry.request_id);
    json.key("row");
    entry.row ? json.unsigned_integer(*entry.row) : json.null();
    json.key("traceparent");
    entry.traceparent.empty() ? json.null() : json.string(entry.traceparent);
    json.key("session").begin_object();
    for (const SessionField& field : entry.session) {
        json.key(field.name).string(field.value);
    }
    json.end_object();
    json.key("api").string(entry.api);
    json.key("stream").boolean(entry.stream).key("connection").unsigned_integer(entry.connection);
    json.key("status").integer(entry.status).key("ending").string(name_of(entry.ending));
    json.key("fault").string(name_of(entry.fault));
    json.key("start_ns").integer(entry.start_ns).key("last_byte_ns").integer(entry.last_byte_ns);
    json.key("begin_ns").integer(entry.begin_ns).key("first_due_ns").integer(entry.due_ns);
    json.key("end_ns").integer(entry.end_ns);
    json.key("prompt_tokens").unsigned_integer(entry.prompt_tokens);
    json.key("cached_tokens").unsigned_integer(entry.cached_tokens);
    json.key("asked_tokens").unsigned_integer(entry.asked_tokens);
    json.key("output_tokens").unsigned_integer(entry.output_tokens);
    json.key("tokens_per_chunk").unsigned_integer(entry.tokens_per_chunk);
    if (entry.history) {
        json.key("history").begin_object().key("known").unsigned_integer(entry.history->known);
        json.key("elsewhere").unsigned_integer(entry.history->elsewhere);
        json.key("unknown").unsigned_integer(entry.history->unknown).end_object();
    }
    json.key("token_ns");
    // By hand: nearly all bytes of a log are stamps.
    out += '[';
    for (std::size_t i = 0; i < entry.token_ns.size(); ++i) {
        if (i != 0) {
            out += ',';
        }
        append_number(out, entry.token_ns[i]);
    }
    out += "]}\n";
}

}  // namespace driftless::mock
