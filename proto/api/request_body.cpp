#include "proto/api/request_body.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/api/dialect.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"
#include "proto/json/put.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// The string that opens `json`, with its quotes. The text is known to be JSON.
static std::string_view string_at(std::string_view json) {
    std::size_t end = 1;
    while (json[end] != '"') {
        end += json[end] == '\\' ? 2 : 1;
    }
    return json.substr(0, end + 1);
}

bool BodyTemplate::has(Placeholder placeholder) const {
    return std::ranges::any_of(holes, [placeholder](const Hole& hole) {
        return std::ranges::count(hole.value.pieces, placeholder, &TemplatePiece::placeholder) > 0;
    });
}

BodyTemplate parse_body_template(std::string_view object, std::string& unknown) {
    BodyTemplate body;
    std::string before;
    std::size_t key_bytes = 0;  // of a name that ends `before`
    JsonDocument document;
    while (!object.empty()) {  // each turn takes a byte or a string off
        if (object.front() != '"') {
            if (white_space.find(object.front()) == white_space.npos) {
                key_bytes = object.front() == ':' ? key_bytes + 1 : 0;
                before += object.front();
            }
            object.remove_prefix(1);
            continue;
        }
        const std::string_view raw = string_at(object);
        object.remove_prefix(raw.size());
        const std::size_t next = object.find_first_not_of(white_space);
        if (next != object.npos && object[next] == ':') {
            before += raw;
            key_bytes = raw.size();
            continue;
        }
        const Result<JsonValue> parsed = document.parse(raw);
        const std::string text(parsed ? parsed.value().as_string().value_or("") : "");
        const bool is_jinja = text.find("{%") != text.npos;
        FieldTemplate field =
            is_jinja ? FieldTemplate() : parse_field_template({"--extra-body", text}, unknown);
        if (is_jinja || field.is_literal()) {
            const bool same = is_jinja || field.literal() == text;
            before += same ? std::string(raw) : json_text(field.literal());
            body.unescaped = body.unescaped || !same;
        } else {
            body.holes.push_back({std::exchange(before, {}), key_bytes, std::move(field)});
        }
        key_bytes = 0;
    }
    body.end = std::move(before);
    return body;
}

/// RecordedWords: messages, tools and other values of a recorded request, as they are sent.
///
/// What servers refuse is fixed here and counted: nulls, the role `developer`, arguments and ids of
/// tool calls. Never recursive.
class RecordedWords {
  public:
    /// Counts in `fixes`, which outlives it. One for each request.
    explicit RecordedWords(RecordedFixes& fixes) : fixes_(fixes) {}

    /// A list of chat messages. `spans`: where each is in what is returned.
    std::string messages(const JsonValue& list, std::vector<MessageSpan>& spans);
    /// A value without members that are null. Tools have a `schema`: nulls under `default` and
    /// `const` are part of it and stay.
    std::string value(const JsonValue& any, bool schema);

  private:
    void write_clean(JsonWriter& json, const JsonValue& value, bool schema);
    std::size_t write_message(JsonWriter& json, const JsonValue& message, const std::string& out);
    void write_calls(JsonWriter& json, const JsonValue& calls);
    void write_function(JsonWriter& json, const JsonValue& function);

    RecordedFixes& fixes_;
    std::uint32_t message_ = 0;  ///< the one that is written, from 0
    std::uint32_t answers_ = 0;  ///< tool messages since the last calls
    std::uint32_t caller_ = 0;   ///< the message with the last calls
};

namespace {

/// A container that is being written: what comes next in it.
struct Level {
    JsonValue next;
    bool object;
};

}  // namespace

/// The same for the same place in the conversation, so that later turns repeat it.
static std::string call_id(std::uint32_t message, std::uint32_t call) {
    return "call_" + std::to_string(message) + "_" + std::to_string(call);
}

/// Where the text of a message's content ends, which was written to `out` from `begin` on: of a
/// list of parts, the text of the last one that has any. 0: there is none, or it was mended.
static std::size_t text_end_of(const JsonValue& content, const std::string& out,
                               std::size_t begin) {
    const std::string_view raw = content.raw();
    if (std::string_view(out).substr(begin) != raw) {
        return 0;
    }
    JsonValue text = content;
    for (JsonValue part = content.is(JsonType::array) ? content.first() : JsonValue();
         part.present(); part = part.next()) {
        text = part.find("text").is(JsonType::string) ? part.find("text") : text;
    }
    const bool is_text = text.is(JsonType::string);
    const std::string_view last = text.raw();
    return is_text ? begin + static_cast<std::size_t>(last.data() + last.size() - raw.data()) - 1
                   : 0;
}

// A value without the word null goes out as it stands; few have it.
void RecordedWords::write_clean(JsonWriter& json, const JsonValue& value, bool schema) {
    if (!is_container(value) || value.raw().find("null") == std::string_view::npos) {
        json.raw(value.raw());
        return;
    }
    std::vector<Level> open;
    const auto begin = [&](const JsonValue& container) {
        open.push_back({container.first(), container.is(JsonType::object)});
        open.back().object ? json.begin_object() : json.begin_array();
    };
    begin(value);
    while (!open.empty()) {  // each turn writes, or leaves, one value
        Level& level = open.back();
        const JsonValue child = level.next;
        if (!child.present()) {
            level.object ? json.end_object() : json.end_array();
            open.pop_back();
            continue;
        }
        level.next = child.next();
        if (level.object) {
            const bool kept = schema && (child.key() == "default" || child.key() == "const");
            if (child.is(JsonType::null) && !kept) {
                ++fixes_.nulls;
                continue;
            }
            json.key(child.key());
        }
        if (is_container(child)) {
            begin(child);
        } else {
            json.raw(child.raw());
        }
    }
}

std::string RecordedWords::value(const JsonValue& any, bool schema) {
    std::string out;
    JsonWriter json(out);
    write_clean(json, any, schema);
    return out;
}

/// Arguments are text that holds JSON; some logs hold the JSON itself.
void RecordedWords::write_function(JsonWriter& json, const JsonValue& function) {
    json.begin_object();
    for (JsonValue member = function.first(); member.present(); member = member.next()) {
        if (member.key() == "arguments" && !member.is(JsonType::string)) {
            ++fixes_.arguments;
            json.key("arguments").string(member.is(JsonType::null) ? "{}" : member.raw());
        } else if (member.is(JsonType::null)) {
            ++fixes_.nulls;
        } else {
            json.key(member.key());
            write_clean(json, member, false);
        }
    }
    json.end_object();
}

void RecordedWords::write_calls(JsonWriter& json, const JsonValue& calls) {
    json.begin_array();
    std::uint32_t number = 0;
    for (JsonValue call = calls.first(); call.present(); call = call.next(), ++number) {
        if (!call.is(JsonType::object)) {
            json.raw(call.raw());
            continue;
        }
        json.begin_object();
        const JsonValue id = call.find("id");
        if (!id.present() || id.is(JsonType::null)) {
            ++fixes_.call_ids;
            json.key("id").string(call_id(message_, number));
        }
        for (JsonValue member = call.first(); member.present(); member = member.next()) {
            if (member.is(JsonType::null)) {
                fixes_.nulls += member.key() == "id" ? 0 : 1;
            } else if (member.key() == "function" && member.is(JsonType::object)) {
                json.key("function");
                write_function(json, member);
            } else {
                json.key(member.key());
                write_clean(json, member, false);
            }
        }
        json.end_object();
    }
    json.end_array();
}

/// Returns where its text ends in `out`, which the writer writes into; 0: it is no text.
std::size_t RecordedWords::write_message(JsonWriter& json, const JsonValue& message,
                                         const std::string& out) {
    std::size_t text_end = 0;
    const JsonValue calls = message.find("tool_calls");
    const bool has_calls = calls.is(JsonType::array) && calls.size() > 0;
    if (has_calls) {
        caller_ = message_;
        answers_ = 0;
    }
    json.begin_object();
    for (JsonValue member = message.first(); member.present(); member = member.next()) {
        const std::string_view key = member.key();
        if (key == "role" && text_of(member) == "developer") {
            ++fixes_.roles;
            json.key(key).string("system");
        } else if (key == "tool_calls" && has_calls) {
            json.key(key);
            write_calls(json, member);
        } else if (member.is(JsonType::null) && !(key == "content" && has_calls)) {
            ++fixes_.nulls;
        } else {
            json.key(key);
            const std::size_t begin = out.size();
            write_clean(json, member, false);
            text_end = key == "content" ? text_end_of(member, out, begin) : text_end;
        }
    }
    if (text_of(message.find("role")) == "tool") {
        const JsonValue id = message.find("tool_call_id");
        if (!id.present() || id.is(JsonType::null)) {
            ++fixes_.call_ids;
            json.key("tool_call_id").string(call_id(caller_, answers_));
        }
        ++answers_;
    }
    json.end_object();
    return text_end;
}

std::string RecordedWords::messages(const JsonValue& list, std::vector<MessageSpan>& spans) {
    std::string out;
    JsonWriter json(out);
    json.begin_array();
    spans.clear();
    for (JsonValue message = list.first(); message.present(); message = message.next()) {
        MessageSpan& span = spans.emplace_back();
        span.begin = out.size() + (spans.size() > 1 ? 1 : 0);  // behind the comma
        span.is_answer = text_of(message.find("role")) == "assistant";
        if (message.is(JsonType::object)) {
            span.text_end = write_message(json, message, out);
        } else {
            json.raw(message.raw());
        }
        span.end = out.size();
        ++message_;
    }
    json.end_array();
    return out;
}

static constexpr std::array<FixName, 7> names{{
    {"nulls", "member that was null, left out", "members that were null, left out",
     &RecordedFixes::nulls},
    {"roles", "message with the role developer, sent as system",
     "messages with the role developer, sent as system", &RecordedFixes::roles},
    {"arguments", "tool call whose arguments were not text, sent as text",
     "tool calls whose arguments were not text, sent as text", &RecordedFixes::arguments},
    {"call_ids", "tool call without an id, which was given one",
     "tool calls without ids, which were given some", &RecordedFixes::call_ids},
    {"models", "recorded model name, replaced by the run's",
     "recorded model names, replaced by the run's", &RecordedFixes::models},
    {"lengths", "recorded output limit, replaced by --output's",
     "recorded output limits, replaced by --output's", &RecordedFixes::lengths},
    {"constrained", "answer with a grammar, requested without ignore_eos",
     "answers with a grammar, requested without ignore_eos", &RecordedFixes::constrained},
}};

namespace {

using Members = std::vector<BodyMember>;

}  // namespace

static constexpr Error no_request{ErrorCode::bad_json, 0, "read the recorded request"};
static constexpr Error other_stream{ErrorCode::unsupported, 0,
                                    "read its answer, remove stream from the row's extra"};
static constexpr Error no_extra{ErrorCode::bad_json, 0, "read the extra body, a JSON object"};

/// Why a dialect cannot send this payload or these messages; nothing where it can.
static std::optional<Error> misfit(const Dialect& dialect, bool has_messages, bool has_prompt) {
    const auto unsupported = [](const char* what) {
        return Error{ErrorCode::unsupported, 0, what};
    };
    if (dialect.prompt_member.empty()) {
        return unsupported("send recorded messages or payloads, use --api openai-chat");
    }
    const bool chat = dialect.prompt_member == "messages";
    if (chat ? has_messages : has_prompt) {
        return std::nullopt;
    }
    if (has_messages) {
        return unsupported("send recorded messages, use --api openai-chat");
    }
    return has_prompt ? unsupported("send a recorded prompt, use --api openai-completions")
                      : unsupported("send it, its body needs messages or a prompt");
}

/// Returns where the messages begin in it: 0, there are none.
static std::size_t append_object(std::string& out, const Members& members) {
    const std::size_t begin = out.size();
    std::size_t messages_at = 0;
    for (const BodyMember& member : members) {
        append_member(out, member.name, member.json);
        messages_at = member.name == "messages" ? out.size() - member.json.size() : messages_at;
    }
    out.resize(std::max(out.size(), begin + 1));
    out[begin] = '{';  // in place of the first comma
    out += '}';
    return messages_at == 0 ? 0 : messages_at - begin;
}

/// A grammar and ignore_eos together crash servers (trace-formats 2.3).
static bool is_constrained(const Members& members) {
    return std::ranges::any_of(members, [](const BodyMember& member) {
        const bool json_format =
            member.name == "response_format" && member.json.find("json") != std::string::npos;
        const bool forced_call = member.name == "tool_choice" &&
                                 (member.json == "\"required\"" || member.json.front() == '{');
        return json_format || forced_call;
    });
}

const std::array<FixName, 7>& recorded_fix_names() {
    return names;
}

RecordedComposer::RecordedComposer(const Dialect& dialect, BodySpec spec)
    : dialect_(dialect), spec_(std::move(spec)) {
    spec_.prompt = PromptKind::text;
}

/// A prompt as text is a prompt as any other: the dialect's frame around it.
Result<void> RecordedComposer::compose_text(std::string_view text, const JsonValue& extra,
                                            std::uint32_t output_length, std::string& out) {
    BodySpec row = spec_;
    if (output_length == 0) {
        row.output = OutputRule::free;
    }
    if (extra.present()) {
        const Result<Members> extras = extras_of(extra);
        if (!extras) {
            return extras.error();
        }
        row.extra_body.clear();
        (void)append_object(row.extra_body, extras.value());
    }
    const Result<BodyFrame> frame = dialect_.frame(row);
    if (!frame) {
        return frame.error();
    }
    out += frame.value().before;
    append_json_escaped(out, text);
    out += frame.value().between;
    out += frame.value().has_length ? std::to_string(output_length) : "";
    out += frame.value().after;
    return {};
}

Members RecordedComposer::messages_members(const JsonValue& request) {
    Members members;
    RecordedWords words(fixes_);
    members.push_back({"messages", words.messages(request.find("messages"), spans_)});
    if (const JsonValue tools = request.find("tools"); tools.present()) {
        members.push_back({"tools", words.value(tools, true)});
    }
    members.push_back({"temperature", "0"});
    return members;
}

Members RecordedComposer::payload_members(const JsonValue& payload) {
    Members members;
    RecordedWords words(fixes_);
    const JsonValue tools = payload.find("tools");
    const bool no_tools = tools.is(JsonType::array) && tools.size() == 0;
    for (JsonValue member = payload.first(); member.present(); member = member.next()) {
        const bool of_tools = member.key() == "tools" || member.key() == "tool_choice";
        if (member.is(JsonType::null)) {
            ++fixes_.nulls;
        } else if (no_tools && of_tools) {
            continue;  // servers refuse an empty list, and a choice from none
        } else if (member.key() == "messages" && member.is(JsonType::array)) {
            members.push_back({"messages", words.messages(member, spans_)});
        } else {
            members.push_back(
                {std::string(member.key()), words.value(member, member.key() == "tools")});
        }
    }
    return members;
}

void RecordedComposer::patch_model(Members& members) {
    if (spec_.model.empty()) {
        return;
    }
    const std::string model = json_text(spec_.model);
    for (const BodyMember& member : members) {
        fixes_.models += member.name == "model" && member.json != model ? 1 : 0;
    }
    set_member(members, "model", model);
}

/// `--output` decides, where the trace says how long the answer was; else the request does.
void RecordedComposer::patch_length(Members& members, std::uint32_t output_length) {
    const bool exact = spec_.output == OutputRule::exact && output_length > 0;
    if (output_length > 0 || spec_.output == OutputRule::free) {
        for (const std::string_view name : {"max_tokens", "max_completion_tokens", "min_tokens"}) {
            const bool differs = has_member(members, name);
            fixes_.lengths += differs ? 1 : 0;
            set_member(members, name, "null");
        }
    }
    if (output_length > 0 && spec_.output != OutputRule::free) {
        const std::string_view name = length_name_of(spec_, dialect_.length_member);
        set_member(members, name, std::to_string(output_length));
    }
    if (exact && spec_.ignore_eos) {
        const bool constrained = is_constrained(members);
        fixes_.constrained += constrained ? 1 : 0;
        set_member(members, "ignore_eos", constrained ? "null" : "true");
    }
}

/// Members of `--extra-body`, then those of the row, which go before. A null removes.
Result<Members> RecordedComposer::extras_of(const JsonValue& extra) {
    Members extras;
    if (!spec_.extra_body.empty()) {
        const Result<JsonValue> all = extra_document_.parse(spec_.extra_body);
        if (!all || !all.value().is(JsonType::object)) {
            return no_extra;
        }
        for (JsonValue one = all.value().first(); one.present(); one = one.next()) {
            extras.push_back({std::string(one.key()), std::string(one.raw())});
        }
    }
    for (JsonValue one = extra.first(); one.present(); one = one.next()) {
        if (one.key() == "stream" && one.as_bool() != spec_.stream) {
            return other_stream;
        }
        extras.push_back({std::string(one.key()), std::string(one.raw())});
    }
    return extras;
}

Result<void> RecordedComposer::compose_members(const JsonValue& request,
                                               std::uint32_t output_length, std::string& out) {
    const JsonValue payload = request.find("payload");
    const bool has_messages =
        request.find("messages").present() || payload.find("messages").is(JsonType::array);
    if (const auto error = misfit(dialect_, has_messages, payload.find("prompt").present())) {
        return *error;
    }
    Members members = payload.present() ? payload_members(payload) : messages_members(request);
    patch_model(members);
    set_member(members, "stream", spec_.stream ? "true" : "false");
    set_member(members, "stream_options",
               spec_.stream && spec_.stream_options ? openai_stream_options(spec_.continuous_usage)
                                                    : "null");
    const Result<Members> extras = extras_of(request.find("extra"));
    if (!extras) {
        return extras.error();
    }
    for (const BodyMember& member : extras.value()) {
        set_member(members, member.name, member.json);
        if (member.name == "messages") {
            spans_.clear();
        }
    }
    patch_length(members, output_length);
    const std::size_t messages_at = append_object(out, members);
    CHECK(messages_at > 0 || spans_.empty());
    for (MessageSpan& span : spans_) {
        span.begin += messages_at;
        span.end += messages_at;
        span.text_end += span.text_end > 0 ? messages_at : 0;
    }
    return {};
}

Result<void> RecordedComposer::compose(std::string_view recorded, std::uint32_t output_length,
                                       std::string& out) {
    spans_.clear();
    const Result<JsonValue> request = document_.parse(recorded);
    if (!request || !request.value().is(JsonType::object)) {
        return no_request;
    }
    const JsonValue text = request.value().find("text_input");
    return text.present()
               ? compose_text(text_of(text), request.value().find("extra"), output_length, out)
               : compose_members(request.value(), output_length, out);
}

static constexpr std::size_t calls_max = 256;
static constexpr std::size_t calls_bytes_max = std::size_t{4} << 20;

void SaidCalls::append(std::string& to, std::string_view text) {
    const std::string_view kept = text.substr(0, calls_bytes_max - bytes_);
    to += kept;
    bytes_ += kept.size();
    cut_ = cut_ || kept.size() < text.size();
}

/// The call that a part is of, new where there is none; nullptr where there is no room for it.
SaidCall* SaidCalls::call_of(const JsonValue& part) {
    const std::optional<std::uint64_t> index = part.find("index").as_u64();
    const std::string_view id = text_of(part.find("id"));
    const auto is_its = [&](const SaidCall& one) {
        const bool same_id = id.empty() || one.id.empty() || one.id == id;
        return same_id && (!index || one.index == *index);
    };
    const auto latest = std::find_if(calls_.rbegin(), calls_.rend(), is_its);
    // Without an index and an id a part goes on with the call before it, unless it names another.
    const bool begins =
        !index && id.empty() && !text_of(part.find("function").find("name")).empty();
    if (latest != calls_.rend() && !(begins && !latest->name.empty())) {
        return &*latest;
    }
    if (calls_.size() == calls_max) {
        cut_ = true;
        return nullptr;
    }
    const std::uint64_t next = calls_.empty() ? 0 : calls_.back().index + 1;
    return &calls_.emplace_back(SaidCall{index.value_or(next), "", "", ""});
}

void SaidCalls::take(const JsonValue& calls) {
    for (JsonValue part = calls.first(); part.present(); part = part.next()) {
        SaidCall* const call = part.is(JsonType::object) ? call_of(part) : nullptr;
        if (call == nullptr) {
            continue;
        }
        const JsonValue function = part.find("function");
        const JsonValue arguments = function.find("arguments");
        if (const std::string_view id = text_of(part.find("id")); id != call->id) {
            append(call->id, id);
        }
        if (const std::string_view name = text_of(function.find("name")); name != call->name) {
            append(call->name, name);  // some servers repeat it
        }
        // Some servers send the object in place of its text.
        append(call->arguments,
               arguments.is(JsonType::object) ? arguments.raw() : text_of(arguments));
    }
}

void SaidCalls::clear() {
    calls_.clear();
    bytes_ = 0;
    cut_ = false;
}

void append_answer_message(std::string& out, std::string_view content, std::string_view reasoning,
                           const std::vector<SaidCall>& calls, const KeptWords& kept) {
    const bool has_calls = kept.tools && !calls.empty();
    std::vector<const SaidCall*> in_order;
    for (const SaidCall& call : calls) {
        in_order.push_back(&call);
    }
    std::ranges::stable_sort(in_order, {}, &SaidCall::index);
    const std::string_view said = kept.text ? content : std::string_view();
    JsonWriter json(out);
    json.begin_object();
    put(json, {{"role", "assistant"}, {"content", known_if(!has_calls || !said.empty(), said)}});
    if (kept.reasoning && !reasoning.empty()) {
        json.key("reasoning_content").string(reasoning);
    }
    if (has_calls) {
        put(json, {{"tool_calls", put_each(in_order, [](JsonWriter& list, const SaidCall* call) {
                        put_object(list, {{"id", call->id},
                                          {"type", "function"},
                                          {"function", JsonPairs{{"name", call->name},
                                                                 {"arguments", call->arguments}}}});
                    })}});
    }
    json.end_object();
}

}  // namespace driftless
