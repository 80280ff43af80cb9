#include "proto/trace/recorded.hpp"

#include <string>
#include <utility>

#include "proto/json/write.hpp"

namespace driftless {

namespace {

bool refuse(const RowContext& context, const JsonValue& value, std::string problem,
            std::string remedy) {
    context.refuse(value.key(), value.raw(), std::move(problem), std::move(remedy));
    return false;
}

bool check_one(const RowContext& context, const RecordedFields& fields) {
    const JsonValue& first = fields.text.present()       ? fields.text
                             : fields.messages.present() ? fields.messages
                                                         : fields.payload;
    const int count = fields.text.present() + fields.messages.present() + fields.payload.present();
    if (count != 1) {
        return refuse(context, first, "is given together with another prompt",
                      "use only one of text_input, messages and payload");
    }
    return true;
}

/// A list of objects that is not empty.
bool check_list(const RowContext& context, const JsonValue& list) {
    if (!check_objects(context, list, list.key())) {
        return false;
    }
    return list.size() > 0 || refuse(context, list, "is empty", "correct the row");
}

bool check_messages(const RowContext& context, const RecordedFields& fields) {
    if (!check_list(context, fields.messages)) {
        return false;
    }
    for (JsonValue one = fields.messages.first(); one.present(); one = one.next()) {
        if (one.find("role").as_string().value_or("").empty()) {
            context.refuse(fields.messages.key(), one.raw(), "is a message without a role",
                           "give every message a role, a string");
            return false;
        }
        const JsonValue content = given(one.find("content"));
        if (content.present() && !content.is(JsonType::string) && !content.is(JsonType::array)) {
            context.refuse(fields.messages.key(), one.raw(),
                           "is a message whose content is not text or a list of parts",
                           "correct the message; for no content use null");
            return false;
        }
    }
    return check_objects(context, fields.tools, "tools");
}

bool check(const RowContext& context, const RecordedFields& fields) {
    if (!check_one(context, fields)) {
        return false;
    }
    if (fields.tools.size() > 0 && !fields.messages.present()) {
        return refuse(context, fields.tools, "is given without messages",
                      "tools need messages, and a payload has its own; remove them");
    }
    if (fields.extra.present() && !fields.extra.is(JsonType::object)) {
        return refuse(context, fields.extra, "is not an object", "correct the row");
    }
    if (fields.messages.present()) {
        return check_messages(context, fields);
    }
    if (fields.payload.present()) {
        return (fields.payload.is(JsonType::object) && fields.payload.size() > 0) ||
               refuse(context, fields.payload, "is not an object with members", "correct the row");
    }
    return !fields.text.as_string().value_or("").empty() ||
           refuse(context, fields.text, "is not text", "write the prompt as a non-empty string");
}

/// Line breaks stand between values only, where a JSON text was text of its own.
std::string on_one_line(std::string json) {
    std::erase_if(json, [](char byte) { return byte == '\n' || byte == '\r'; });
    return json;
}

/// The next row's request is this JSON object.
void give(const RowContext& context, std::string request) {
    context.draft.set_body(on_one_line(std::move(request)));
    context.draft.trace().recorded = true;
}

}  // namespace

void give_chat(const RowContext& context, const ChatTexts& chat) {
    std::string request;
    JsonWriter json(request);
    json.begin_object().key("messages").begin_array().raw(chat.messages).end_array();
    if (!chat.tools.empty()) {
        json.key("tools").raw(chat.tools);
    }
    if (!chat.extra.empty()) {
        json.key("extra").raw(chat.extra);
    }
    json.end_object();
    give(context, std::move(request));
}

void give_extra(const RowContext& context, const JsonValue& extra) {
    if (extra.present() && extra.size() > 0) {
        context.draft.set_extra(on_one_line(std::string(extra.raw())));
    }
}

void note_delta(const RowContext& context) {
    context.draft.trace().deltas = true;
    context.draft.remark("row has only new messages: answers of the run go between them",
                         "rows have only new messages: answers of the run go between them");
}

bool read_recorded(const RowContext& context, const RecordedFields& fields) {
    if (!check(context, fields)) {
        return false;
    }
    std::string request;
    JsonWriter json(request);
    json.begin_object();
    const auto add = [&json](const char* name, const JsonValue& value) {
        if (value.present()) {
            json.key(name).raw(value.raw());
        }
    };
    add("text_input", fields.text);
    add("messages", fields.messages);
    add("tools", fields.tools.size() > 0 ? fields.tools : JsonValue());
    if (!fields.tools.present() && fields.messages.present() && !fields.tools_before.empty()) {
        json.key("tools").raw(fields.tools_before);
    }
    add("payload", fields.payload);
    add("extra", fields.extra);
    json.end_object();
    give(context, std::move(request));
    return true;
}

namespace {

/// The tokens that a body asks for, no fewer; 0 where it sets a mere limit. That is no length:
/// most answers end before it.
std::uint32_t exact_output_of(const JsonValue& body) {
    const JsonValue newer = given(body.find("max_completion_tokens"));
    const JsonValue limit = newer.present() ? newer : body.find("max_tokens");
    const auto tokens = limit.as_u64();
    const bool exact = body.find("ignore_eos").as_bool().value_or(false) ||
                       body.find("min_tokens").as_u64() == tokens;
    return tokens && exact && *tokens <= row_tokens_max ? static_cast<std::uint32_t>(*tokens) : 0;
}

}  // namespace

bool read_recorded_lengths(const RowContext& context, const Field& input, const Field& output,
                           TraceRow& row, const JsonValue& body) {
    row.input_length = 0;
    const std::uint32_t exact = output.present ? 0 : exact_output_of(body);
    row.output_length = exact > 0 ? exact : context.rules.default_output;
    if (input.present) {
        const auto tokens = read_tokens(context, input, 1);
        if (!tokens) {
            return false;
        }
        row.input_length = *tokens;
    }
    if (output.present) {
        const auto tokens = read_tokens(context, output, 0);
        if (!tokens) {
            return false;
        }
        row.output_length = std::max(*tokens, 1U);
        context.draft.trace().zero_outputs += *tokens == 0 ? 1 : 0;
    } else if (exact == 0 && row.output_length > 0) {
        context.draft.remark("row without an output length", "rows without an output length");
    }
    return true;
}

std::int64_t lay_out_turn(const RowContext& context, std::uint32_t session, std::int64_t gap_ns) {
    const SessionTail& last = context.draft.sessions().tail(session);
    context.draft.trace().rows_laid_out += last.last_row == no_row ? 0 : 1;
    return later(last.last_at_ns, gap_ns);
}

std::optional<std::int64_t> read_turn_time(const RowContext& context, const Field& time,
                                           std::uint32_t session, std::int64_t gap_ns) {
    if (time.present) {
        return read_time(context, time);
    }
    if (context.rules.sessions == Sessions::recorded) {
        context.refuse(time.name, "", "is missing: the row follows its session's previous answer",
                       "use --sessions closed to send it when that answer has ended, or --sessions "
                       "open to send it by the recorded gaps, as if answers took no time");
        return std::nullopt;
    }
    const bool first = context.draft.sessions().tail(session).last_row == no_row;
    return first ? 0 : lay_out_turn(context, session, gap_ns);
}

bool admit_untimed(RowContext& context, const char* more) {
    if (context.rules.sessions != Sessions::recorded) {
        return true;
    }
    context.refuse(
        "", "", "has conversations, which have no arrival times",
        std::string(
            "use --sessions closed to start each at time 0 (replay --users N: N at a time) with "
            "turns "
            "waiting for answers, or --sessions open to send turns by the recorded delays") +
            more);
    context.stop = Stop::trace;
    return false;
}

}  // namespace driftless
