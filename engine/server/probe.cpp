#include "engine/server/probe.hpp"

#include <algorithm>

#include "engine/record/row_state.hpp"
#include "proto/core/text.hpp"
#include "proto/http/fields.hpp"
#include "proto/http/sse.hpp"

namespace driftless {

std::string ProbePrompts::prompt_of(std::span<const std::uint32_t> words) const {
    std::string prompt = one_word();
    for (const std::uint32_t word : words) {
        prompt += words_.separator();
        prompt += words_.word(word);
    }
    return prompt;
}

std::vector<std::uint32_t> ProbePrompts::words_without(
    std::span<const std::uint32_t> dropped) const {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t word = 0; word < words_.size(); ++word) {
        if (!std::binary_search(dropped.begin(), dropped.end(), word)) {
            kept.push_back(word);
        }
    }
    return kept;
}

namespace {

SseEvent event_of(Framing framing, std::string_view block, std::string& joined) {
    return framing == Framing::sse ? read_sse_event(block, joined)
                                   : SseEvent{.name = {}, .data = block, .has_data = true};
}

/// The events of a body that are whole: where it was cut, the last one may not be.
std::string_view whole_events(Framing framing, std::string_view body) {
    EventScanner scanner;
    scanner.reset(framing);
    std::size_t read = 0;
    while (const std::size_t cut = scanner.next(body.substr(read))) {  // ends: a byte at least
        read += cut;
    }
    return body.substr(0, read);
}

/// Whether a text is a whole answer of this API.
bool is_whole_answer(const Dialect& dialect, JsonDocument& document, std::string_view body) {
    const EventReading reading = dialect.read(document, {}, body);
    return reading.kind == EventReading::Kind::delta &&
           (reading.token_bearing || reading.has_usage);
}

/// What keeps rows from being read, where anything does: said by the head, or seen in the body.
Unreadable find_unreadable(const Dialect& dialect, Framing framing, const Reply& reply,
                           JsonDocument& document) {
    if (!body_encoding(reply.head).empty()) {
        return Unreadable::encoded;
    }
    const std::string_view type = header_value(reply.head, "content-type");
    const bool streams = is_event_stream(type) || begins_event_stream(reply.body) == true;
    if (framing == Framing::whole) {
        return streams ? Unreadable::not_whole : Unreadable::no;
    }
    if (framing != Framing::sse) {
        return Unreadable::no;
    }
    if (is_whole_answer(dialect, document, reply.body)) {
        return Unreadable::not_a_stream;
    }
    return streams ? Unreadable::no : Unreadable::foreign;
}

/// The answer as a row's would be read (assembler.hpp).
AnswerState read_answer(const Dialect& dialect, Framing framing, std::string_view body,
                        JsonDocument& document) {
    AnswerState answer;
    answer.is_whole = framing == Framing::whole;
    EventScanner scanner;
    scanner.reset(framing);
    std::string joined;
    while (!body.empty()) {  // ends: every cut takes a byte at least
        const std::size_t next = scanner.next(body);
        const std::string_view cut = body.substr(0, next == 0 ? body.size() : next);
        const SseEvent event = read_cut_event(framing, cut, joined);
        if (event.has_data) {
            answer.take(dialect.read(document, event.name, event.data), event.data, 0, false);
        }
        body.remove_prefix(cut.size());
    }
    return answer;
}

/// The same in words: the encoding; what the server says in the body; the type.
std::string words_of(Unreadable unreadable, const Reply& reply, JsonDocument& document) {
    const std::string type(header_value(reply.head, "content-type"));
    switch (unreadable) {
        case Unreadable::no:
            break;
        case Unreadable::encoded:
            return body_encoding(reply.head);
        case Unreadable::not_a_stream:
            return "a whole answer, though a stream was asked for";
        case Unreadable::not_whole:
            return "a stream, though a whole answer was asked for";
        case Unreadable::foreign: {
            const std::string said = error_message_of(document, reply.body, reply.body.size());
            return (type.empty() ? "no content-type" : "content-type: " + type) +
                   (said.empty() ? "" : ", which says: " + said);
        }
    }
    return "";
}

/// A number of tokens that a text begins with: "16", "16.0"; -1: none.
std::int64_t number_at(std::string_view text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    return count_in(text.substr(0, digits));
}

/// Where block sizes stand in metrics: as a label of an information series, or as a gauge.
constexpr std::string_view block_labels[] = {"{block_size=\"", ",block_size=\""};
constexpr std::string_view block_gauges[] = {"sglang:page_size",
                                             "dynamo_frontend_model_kv_cache_block_size"};

}  // namespace

std::string reason_of(const Probe& refused) {
    return refused.message.empty() ? "status " + std::to_string(refused.status) : refused.message;
}

std::string tokens_text(std::int64_t tokens) {
    return counted(static_cast<std::uint64_t>(tokens), "token", "tokens");
}

Probe read_probe(const Dialect& dialect, bool stream, const Reply& reply) {
    Probe probe;
    JsonDocument document;
    probe.status = reply.status;
    if (reply.status != 200) {
        probe.message = error_message_of(document, reply.body, reply.body.size());
        return probe;
    }
    const Framing framing = stream ? dialect.framing : Framing::whole;
    probe.unreadable = find_unreadable(dialect, framing, reply, document);
    if (probe.unreadable != Unreadable::no) {
        probe.message = words_of(probe.unreadable, reply, document);
        return probe;
    }
    const AnswerState answer = read_answer(
        dialect, framing,
        reply.is_cut ? whole_events(framing, reply.body) : std::string_view(reply.body), document);
    probe.is_cut = reply.is_cut;
    probe.prompt_tokens = answer.prompt_tokens;
    probe.completion_tokens = answer.completion_tokens;
    probe.cached_tokens = answer.cached_tokens;
    probe.has_usage = answer.usage_seen;
    probe.has_token_ids = answer.ids_seen;
    probe.unread_member = answer.unread_member;
    probe.has_end_mark = !answer.is_whole && answer.is_ended();
    probe.counts_chunks = answer.counting == AnswerState::Counting::continuous;
    probe.chunks = answer.is_whole ? (answer.has_tokens ? 1U : 0U)
                                   : static_cast<std::uint32_t>(answer.chunks());
    if (dialect.prompt_tokens_header[0] != '\0' && probe.prompt_tokens < 0) {
        probe.prompt_tokens = count_in(header_value(reply.head, dialect.prompt_tokens_header));
    }
    probe.ok = !answer.error_seen && !answer.bad_seen;
    if (!probe.ok) {
        probe.message = (answer.error_seen ? "" : "an event that is not one of this API: ") +
                        (answer.error.empty() ? "no text" : answer.error);
    }
    return probe;
}

BodyWatch LengthWatch::begin(const Dialect& dialect, std::uint32_t asked) {
    dialect_ = &dialect;
    asked_ = asked;
    return asked > 0 ? BodyWatch{this, &LengthWatch::is_enough} : BodyWatch{};
}

bool LengthWatch::is_enough(void* owner, std::string_view body, std::size_t shown) {
    return static_cast<LengthWatch*>(owner)->take(body, shown);
}

/// The events that are whole now.
bool LengthWatch::take(std::string_view body, std::size_t shown) {
    if (shown == 0) {  // it may be asked more than once
        chunks_ = 0;
        read_ = 0;
    }
    EventScanner scanner;
    scanner.reset(dialect_->framing);
    body.remove_prefix(read_);
    while (const std::size_t cut = scanner.next(body)) {  // ends: every cut takes a byte at least
        const SseEvent event = event_of(dialect_->framing, body.substr(0, cut), joined_);
        body.remove_prefix(cut);
        read_ += cut;
        if (event.has_data) {
            const EventReading reading = dialect_->read(document_, event.name, event.data);
            chunks_ += reading.token_bearing || !reading.unread_member.empty() ? 1 : 0;
        }
    }
    return chunks_ > asked_ + chunks_past;
}

std::int64_t context_of(const JsonValue& value) {
    const std::int64_t tokens = value.as_i64().value_or(-1);
    return tokens < 0 || tokens > tokens_reported_max ? -1 : tokens;
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

std::int64_t read_cache_block(std::string_view page) {
    while (!page.empty()) {  // ends: every step takes a line
        const std::string_view line = page.substr(0, page.find('\n'));
        page.remove_prefix(std::min(line.size() + 1, page.size()));
        if (line.find("cache_config_info{") != line.npos && !line.starts_with('#')) {
            for (const std::string_view label : block_labels) {
                const std::size_t at = line.find(label);
                const std::int64_t block =
                    at == line.npos ? -1 : number_at(line.substr(at + label.size()));
                if (block > 0) {
                    return block;
                }
            }
        }
        for (const std::string_view gauge : block_gauges) {
            const std::int64_t block =
                line.starts_with(gauge) ? number_at(line.substr(line.rfind(' ') + 1)) : -1;
            if (block > 0) {
                return block;
            }
        }
    }
    return -1;
}

bool lists_no_model(JsonDocument& document, std::string_view body) {
    const Result<JsonValue> root = document.parse(body);
    const JsonValue list = root ? root.value().find("data") : JsonValue();
    return list.is(JsonType::array) && list.size() == 0;
}

}  // namespace driftless
