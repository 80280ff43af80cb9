#include "engine/preflight/probe.hpp"

#include <algorithm>

#include "proto/sse/events.hpp"
#include "proto/sse/scanner.hpp"

namespace driftless {

namespace {

/// One event of the stream. The largest numbers are the final ones.
void take_event(Probe& probe, const Dialect& dialect, Framing framing, JsonDocument& document,
                std::string_view block, std::string& joined) {
    const SseEvent event = framing == Framing::sse
                               ? read_sse_event(block, joined)
                               : SseEvent{.name = {}, .data = block, .has_data = true};
    if (!event.has_data) {
        return;
    }
    const EventReading reading = dialect.read(document, event.name, event.data);
    if (reading.kind == EventReading::Kind::error) {
        probe.message = std::string(reading.error_message);
    }
    probe.chunks += reading.token_bearing ? 1 : 0;
    probe.has_token_ids = probe.has_token_ids || reading.token_ids >= 0;
    probe.prompt_tokens = std::max(probe.prompt_tokens, reading.prompt_tokens);
    probe.completion_tokens = std::max(probe.completion_tokens, reading.completion_tokens);
    probe.cached_tokens = std::max(probe.cached_tokens, reading.cached_tokens);
}

}  // namespace

Probe read_probe(const Dialect& dialect, bool stream, const Reply& reply) {
    Probe probe;
    JsonDocument document;
    probe.status = reply.status;
    if (reply.status != 200) {
        probe.message = error_message_of(document, reply.body, reply.body.size());
        return probe;
    }
    const Framing framing = stream ? dialect.framing : Framing::whole;
    EventScanner scanner;
    scanner.reset(framing);
    std::string joined;
    std::string_view rest = reply.body;
    while (!rest.empty()) {  // ends: every cut takes a byte at least
        const std::size_t cut = scanner.next(rest);
        take_event(probe, dialect, framing, document, rest.substr(0, cut == 0 ? rest.size() : cut),
                   joined);
        rest.remove_prefix(cut == 0 ? rest.size() : cut);
    }
    if (dialect.prompt_tokens_header[0] != '\0' && probe.prompt_tokens < 0) {
        probe.prompt_tokens = count_in(header_value(reply.head, dialect.prompt_tokens_header));
    }
    probe.ok = probe.message.empty();
    return probe;
}

std::int64_t context_of(const JsonValue& value) {
    const std::int64_t tokens = value.as_i64().value_or(-1);
    return tokens < 0 || tokens > tokens_told_max ? -1 : tokens;
}

std::int64_t read_context(std::string_view body) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(body);
    if (!root) {
        return -1;
    }
    const JsonValue settings = root.value().find("default_generation_settings");
    const std::int64_t total = context_of(root.value().find("max_total_tokens"));
    return total >= 0 ? total : context_of(settings.find("n_ctx"));
}

}  // namespace driftless
