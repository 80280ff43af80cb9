#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "proto/json/write.hpp"
#include "proto/trace/formats.hpp"

namespace driftless {

// The words of MLPerf's agentic rows: what a row of a user, a tool or an assistant stands for in a
// chat, as JSON texts of messages. They list what is wrong with the row's fields.

/// A string that is not empty.
static bool is_text(const JsonValue& value) {
    return !value.as_string().value_or("").empty();
}

static JsonValue member(const JsonValue& row, std::string_view name) {
    return given(row.find(name));
}

static const char* lack(const JsonValue& value) {
    return value.present() ? "is not text" : "is missing";
}

/// Text, or a list of parts.
static bool has_words(const JsonValue& content) {
    return is_text(content) || (content.is(JsonType::array) && content.size() > 0);
}

static bool is_call(const JsonValue& call) {
    const JsonValue function = call.find("function");
    const JsonValue arguments = function.find("arguments");
    return is_text(call.find("id")) && is_text(function.find("name")) &&
           call.find("type").as_string().value_or("") == "function" &&
           (arguments.is(JsonType::string) || arguments.is(JsonType::object));
}

/// False after an error.
static bool check_calls(const RowContext& context, const JsonValue& calls) {
    if (!check_filled(context, calls, "tool_calls", "remove it")) {
        return false;
    }
    for (JsonValue call = calls.first(); call.present(); call = call.next()) {
        if (!is_call(call)) {
            return context.refuse(
                "tool_calls", call.raw(), "is not a function call",
                "give it an id, the type function, and a function with a name and arguments");
        }
    }
    return true;
}

/// Writes those of the keys that the row has, as they stand.
template <typename Keys>
static void write_given(JsonWriter& json, const JsonValue& row, const Keys& keys) {
    for (const std::string_view key : keys) {
        if (const JsonValue value = member(row, key); value.present()) {
            json.key(key).raw(value.raw());
        }
    }
}

/// {"role": .., "content": ..}, with what else the row has of `keys`.
template <typename Keys>
static std::string message(const JsonValue& row, std::string_view role, std::string_view content,
                           const Keys& keys) {
    std::string words;
    JsonWriter json(words);
    json.begin_object().key("role").string(role).key("content").raw(content);
    write_given(json, row, keys);
    json.end_object();
    return words;
}

static constexpr std::string_view user_keys[] = {"name"};
static constexpr std::string_view assistant_keys[] = {"name", "tool_calls", "reasoning_content"};

/// The row's messages: objects with commas between them. Nothing after an error.
static std::optional<std::string> user_words(const RowContext& context, const JsonValue& row) {
    const JsonValue content = member(row, "content");
    if (!has_words(content)) {
        context.refuse("content", content.raw(), lack(content), "give a user's row text");
        return std::nullopt;
    }
    return message(row, "user", content.raw(), user_keys);
}

/// A message for each result.
static std::optional<std::string> tool_words(const RowContext& context, const JsonValue& row) {
    const JsonValue results = member(row, "tool_results");
    if (!check_filled(context, results, "tool_results", "give a tool's row its results")) {
        return std::nullopt;
    }
    std::string words;
    JsonWriter json(words);
    for (JsonValue one = results.first(); one.present(); one = one.next()) {
        const JsonValue id = one.find("tool_call_id");
        const JsonValue content = member(one, "content");
        if (!is_text(id) || !content.present()) {
            context.refuse("tool_results", one.raw(), "lacks tool_call_id or content",
                           "give a result its tool_call_id and content");
            return std::nullopt;
        }
        json.begin_object().key("role").string("tool").key("tool_call_id").raw(id.raw());
        json.key("content").raw(content.raw()).end_object();
    }
    return words;
}

static std::optional<std::string> assistant_words(const RowContext& context, const JsonValue& row) {
    const JsonValue calls = member(row, "tool_calls");
    const JsonValue content = member(row, "content");
    if (calls.present() && !check_calls(context, calls)) {
        return std::nullopt;
    }
    if (!has_words(content) && !calls.present()) {
        context.refuse("content", content.raw(), lack(content),
                       "give an assistant's row text or tool_calls");
        return std::nullopt;
    }
    return message(row, "assistant", content.present() ? content.raw() : "null", assistant_keys);
}

static constexpr std::string_view columns[] = {"conversation_id",
                                               "turn",
                                               "role",
                                               "content",
                                               "system",
                                               "tools",
                                               "tool_calls",
                                               "tool_results",
                                               "reasoning_content",
                                               "name",
                                               "delay_seconds",
                                               "max_new_tokens",
                                               "model",
                                               "max_completion_tokens",
                                               "stream",
                                               "max_tokens",
                                               "temperature",
                                               "top_p",
                                               "top_k",
                                               "seed",
                                               "stop",
                                               "repetition_penalty",
                                               "logit_bias",
                                               "frequency_penalty",
                                               "user",
                                               "presence_penalty",
                                               "chat_template",
                                               "chat_template_kwargs",
                                               "_type"};

/// What a row may say of its request's body.
static constexpr std::string_view sampling[] = {"temperature",
                                                "top_p",
                                                "top_k",
                                                "seed",
                                                "repetition_penalty",
                                                "frequency_penalty",
                                                "presence_penalty",
                                                "stop",
                                                "logit_bias",
                                                "user",
                                                "chat_template",
                                                "chat_template_kwargs"};

/// Names of the longest answer; the first that a row has counts.
static constexpr std::string_view limits[] = {"max_new_tokens", "max_completion_tokens",
                                              "max_tokens"};

static constexpr const char* role_order =
    "use this order: assistant after user, tool or user after assistant, assistant or user after "
    "tool";

static bool is_metadata(const JsonValue& row) {
    return row.find("_type").as_string().value_or("") == "dataset_metadata";
}

static bool matches(const JsonValue& row) {
    const bool message = row.find("conversation_id").present() && row.find("turn").present() &&
                         row.find("role").present();
    return message || is_metadata(row);
}

namespace {

/// Reads one row into the conversation at hand.
class MessageRow {
  public:
    MessageRow(RowContext& context, const JsonValue& json)
        : context_(context), json_(json), dialogue_(context.draft.dialogue()) {}

    /// False after an error.
    bool read();

  private:
    JsonValue member(std::string_view name) const { return given(json_.find(name)); }
    bool refuse(std::string_view field, const JsonValue& value, std::string problem,
                std::string remedy) const {
        return context_.refuse(field, value.raw(), std::move(problem), std::move(remedy));
    }

    bool read_turn();
    bool read_speaker();
    bool read_system();
    bool read_words();
    bool read_tools();
    bool read_limit();
    bool ask();
    std::string extra() const;

    RowContext& context_;
    const JsonValue& json_;
    Dialogue& dialogue_;
    Speaker speaker_ = Speaker::none;
    std::string words_;  ///< the row's messages
    std::string tools_;
    std::uint32_t answer_tokens_max_ = 0;
};

}  // namespace

bool MessageRow::read_turn() {
    const Field turn = field_in(json_, "turn");
    const std::uint32_t next = dialogue_.turn + 1;
    if (turn.present && whole_number(turn.raw) == next) {
        return true;
    }
    if (!turn.present) {
        return refuse("turn", {}, "is missing", "number every message, from 1");
    }
    return refuse("turn", turn.json,
                  "is not " + std::to_string(next) + ", the next of its conversation",
                  next == 1 ? "put a conversation in one file, from turn 1"
                            : "number all messages without gaps, and sort the rows by turn");
}

bool MessageRow::read_speaker() {
    const JsonValue role = json_.find("role");
    const std::string_view name = role.as_string().value_or("");
    speaker_ = name == "user"        ? Speaker::user
               : name == "assistant" ? Speaker::assistant
               : name == "tool"      ? Speaker::tool
                                     : Speaker::none;
    if (speaker_ == Speaker::none) {
        return refuse("role", role,
                      role.present() ? "is not user, assistant or tool" : "is missing",
                      "correct the row");
    }
    const std::string_view problem = order_problem(dialogue_, speaker_);
    return problem.empty() || refuse("role", role, std::string(problem), role_order);
}

/// The first one is before all messages.
bool MessageRow::read_system() {
    const JsonValue system = member("system");
    if (!system.present() || system.raw() == "\"\"" || dialogue_.has_system) {
        return true;
    }
    if (!is_text(system)) {
        return refuse("system", system, "is not text", "write the system prompt as a string");
    }
    if (dialogue_.turn > 0) {
        return refuse("system", system, "comes after the first request of its conversation",
                      "put it on the row of turn 1");
    }
    dialogue_.add(message({}, "system", system.raw(), user_keys));
    dialogue_.has_system = true;
    return true;
}

bool MessageRow::read_words() {
    const auto words = speaker_ == Speaker::user   ? user_words(context_, json_)
                       : speaker_ == Speaker::tool ? tool_words(context_, json_)
                                                   : assistant_words(context_, json_);
    words_ = words.value_or("");
    return words.has_value();
}

/// Those of the conversation's first row hold for rows without some.
bool MessageRow::read_tools() {
    const JsonValue tools = member("tools");
    if (!check_objects(context_, tools, "tools")) {
        return false;
    }
    tools_ = tools.size() > 0 ? tools.raw() : dialogue_.tools;
    return true;
}

bool MessageRow::read_limit() {
    const auto* const named = std::ranges::find_if(
        limits, [this](std::string_view name) { return member(name).present(); });
    answer_tokens_max_ = dialogue_.answer_tokens_max;
    if (named == std::end(limits)) {
        return true;
    }
    const auto tokens = read_tokens(context_, field_in(json_, *named), 1);
    answer_tokens_max_ = tokens.value_or(0);
    return tokens.has_value();
}

/// Members that the row has for the body, an object; empty where there are none.
std::string MessageRow::extra() const {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    if (answer_tokens_max_ > 0) {
        json.key("max_completion_tokens").unsigned_integer(answer_tokens_max_);
    }
    write_given(json, json_, sampling);
    json.end_object();
    return text == "{}" ? std::string() : text;
}

/// The request of a user's or a tool's row, whose words are in the dialogue. False after an error.
bool MessageRow::ask() {
    TraceDraft& draft = context_.draft;
    const Field delay = field_in(json_, "delay_seconds");
    const auto delay_ns = read_pause(context_, delay, TimeUnit::s);
    TraceRow row;
    if (!delay_ns || !read_recorded_lengths(context_, Field{}, Field{}, row)) {
        return false;
    }
    row.session = dialogue_.session;
    const SessionTail& tail = draft.sessions().tail(row.session);
    row.at_ns = later(tail.last_at_ns, *delay_ns);
    draft.sessions().next_turn(row, *delay_ns);
    give_chat(context_, {dialogue_.messages, tools_, extra()});
    context_.emit(row, json_);
    return true;
}

bool MessageRow::read() {
    if (!read_turn() || !read_speaker() || !read_system() || !read_words()) {
        return false;
    }
    const bool client = speaker_ != Speaker::assistant;
    if (client && !(read_tools() && read_limit())) {
        return false;
    }
    dialogue_.add(words_);
    if (client && !ask()) {
        return false;
    }
    if (dialogue_.turn == 0) {
        dialogue_.tools = tools_;
        dialogue_.answer_tokens_max = answer_tokens_max_;
    }
    ++dialogue_.turn;
    dialogue_.speaker = speaker_;
    dialogue_.calls_tools = !client && member("tool_calls").present();
    return true;
}

/// Makes the row's conversation the one at hand. False after an error.
static bool enter(RowContext& context, const JsonValue& json) {
    Dialogue& dialogue = context.draft.dialogue();
    const Field id = field_in(json, "conversation_id");
    const bool printable =
        std::all_of(id.text.begin(), id.text.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (!id.present || id.text.empty() || !printable) {
        return context.refuse("conversation_id", id.raw,
                              id.present ? "is not printable ASCII" : "is missing",
                              "name the conversation in every row");
    }
    if (id.text == dialogue.id) {
        return true;
    }
    const std::uint32_t session = context.draft.sessions().find(id.text);
    const bool again = context.draft.sessions().tail(session).turns > 0;
    dialogue = {};
    dialogue.id = id.text;
    dialogue.session = session;
    dialogue.broken = again;
    return !again || context.refuse("conversation_id", id.raw,
                                    "also had rows before those of another conversation",
                                    "keep rows of one conversation together; sort them");
}

static void read_row(RowContext& context, const JsonValue& json) {
    if (is_metadata(json)) {
        return;
    }
    if (admit_untimed(context, "has conversations, which have no arrival times",
                      "use --sessions closed to start each at time 0 with turns waiting for "
                      "answers, or --sessions open to send turns by the recorded delays") &&
        enter(context, json) && !context.draft.dialogue().broken) {
        context.draft.dialogue().broken = !MessageRow(context, json).read();
    }
}

constinit const TraceFormat mlperf_format = {
    .name = "mlperf-agentic",
    .alias = "mlperf",
    .time_unit = TimeUnit::s,
    .ordered = false,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless
