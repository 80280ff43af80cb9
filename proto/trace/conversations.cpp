#include "proto/trace/conversations.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "proto/json/write.hpp"
#include "proto/trace/inside.hpp"
#include "proto/trace/recorded.hpp"
#include "proto/trace/turn_times.hpp"

namespace driftless {
namespace {

constexpr std::string_view sharegpt_columns[] = {"id", "conversations", "system"};
constexpr std::string_view vllm_columns[] = {"id", "messages"};

/// Who speaks, as a recorded request names it.
struct Speakers {
    std::string_view name;
    std::string_view role;
};
constexpr Speakers speakers[] = {{"human", "user"},        {"user", "user"},
                                 {"gpt", "assistant"},     {"assistant", "assistant"},
                                 {"chatgpt", "assistant"}, {"bing", "assistant"},
                                 {"bard", "assistant"},    {"system", "system"}};

bool has(const JsonValue& object, std::string_view key, std::string_view other) {
    return object.find(key).present() && object.find(other).present();
}

bool matches_sharegpt(const JsonValue& row) {
    const JsonValue list = row.find("conversations");
    return list.is(JsonType::array) && (list.size() == 0 || has(list.first(), "from", "value"));
}

/// Makes rows of one conversation.
class Conversation {
  public:
    Conversation(RowContext& context, const JsonValue& json)
        : context_(context), json_(json), place_(context.place) {}

    void read(std::string_view list_name);

  private:
    bool read_message(const JsonValue& message);
    void say(std::string_view role, std::string_view words);
    void ask();
    void end();
    void note(const char* one, const char* many) const { context_.draft.remark(one, many); }

    RowContext& context_;
    const JsonValue& json_;
    std::string place_;                   ///< of the conversation in its line
    std::uint32_t session_ = no_session;  ///< made with its first row
    std::string said_;                    ///< messages before the one at hand, JSON objects
    std::string_view role_;               ///< of the message at hand; empty: there is none
    std::string words_;                   ///< of the message at hand
    bool asked_ = false;                  ///< a user has spoken
};

/// The next row: all that was said up to here.
void Conversation::ask() {
    TraceDraft& draft = context_.draft;
    if (session_ == no_session) {
        const Field id = field_of(json_.find("id"), "id");
        const std::string place =
            std::string(context_.file) + ":" + std::to_string(context_.line) + place_;
        // Equal names do not make two conversations one: its first row is its key.
        session_ =
            draft.sessions().find(id.present ? id.text : place, std::to_string(draft.rows()));
    }
    TraceRow row;
    if (!read_recorded_lengths(context_, Field{}, Field{}, row)) {
        return;
    }
    row.session = session_;
    row.at_ns = lay_out_turn(context_, session_, 0);
    draft.sessions().next_turn(row, 0);
    give_chat(context_, {.messages = said_, .tools = {}, .extra = {}});
    draft.ids().begin();
    context_.emit(row, json_);
}

/// The message at hand is complete.
void Conversation::end() {
    if (role_.empty()) {
        return;
    }
    JsonWriter json(said_);
    if (!said_.empty()) {
        said_ += ',';
    }
    json.begin_object().key("role").string(role_).key("content").string(words_).end_object();
    asked_ = asked_ || role_ == "user";
}

void Conversation::say(std::string_view role, std::string_view words) {
    if (role == role_) {
        note("message merged with the one before it, of the same speaker",
             "messages merged with the ones before them, of the same speakers");
        words_ += "\n\n";
        words_ += words;
        return;
    }
    const bool answer = role == "assistant";
    if (answer && !asked_ && role_ != "user") {
        note("answer before the first question of its conversation, left out",
             "answers before the first questions of their conversations, left out");
        return;
    }
    end();
    if (answer) {
        ask();
    }
    role_ = role;
    words_ = words;
}

/// False after an error.
bool Conversation::read_message(const JsonValue& message) {
    const JsonValue from = message.find("from");
    const JsonValue who = from.present() ? from : message.find("role");
    const JsonValue value = message.find("value");
    const JsonValue words = given(value.present() ? value : message.find("content"));
    const auto* const known =
        std::find_if(std::begin(speakers), std::end(speakers),
                     [&](const Speakers& one) { return who.as_string() == one.name; });
    if (known == std::end(speakers)) {
        context_.refuse(from.present() ? "from" : "role", who.present() ? who.raw() : "",
                        who.present() ? "is not a known speaker" : "is missing",
                        "use human or user, gpt or assistant, or system before them; tool calls "
                        "are read from lmcache and mlperf-agentic");
        return false;
    }
    if (words.present() && !words.is(JsonType::string)) {
        context_.refuse(value.present() ? "value" : "content", words.raw(), "is not text",
                        "write the message as a string");
        return false;
    }
    const std::string_view text = words.as_string().value_or("");
    if (text.empty()) {
        note("empty message, left out", "empty messages, left out");
    } else {
        say(known->role, text);
    }
    return true;
}

void Conversation::read(std::string_view list_name) {
    const JsonValue list = json_.find(list_name);
    if (!list.is(JsonType::array)) {
        context_.refuse(list_name, list.present() ? list.raw() : "",
                        list.present() ? "is not a list of messages" : "is missing",
                        "give every conversation one");
        return;
    }
    if (!check_objects(context_, list, list_name)) {
        return;
    }
    if (const auto system = json_.find("system").as_string(); system.value_or("") != "") {
        say("system", *system);
    }
    std::size_t number = 0;
    bool fine = true;
    for (JsonValue one = list.first(); fine && one.present(); one = one.next()) {
        const Inside inside(context_, list_name, number++);
        fine = read_message(one);
    }
    if (fine && role_ == "user") {
        note("question without an answer, not sent", "questions without answers, not sent");
    }
    if (fine && session_ == no_session) {
        note("conversation without an answered question, left out",
             "conversations without answered questions, left out");
    }
}

void read_sharegpt(RowContext& context, const JsonValue& json) {
    if (admit_untimed(context,
                      "; or use it as prompt text of another trace: replay TRACE --dataset FILE "
                      "--tokenizer TOKENIZER.json")) {
        Conversation(context, json).read("conversations");
    }
}

void read_vllm(RowContext& context, const JsonValue& json) {
    if (admit_untimed(context)) {
        Conversation(context, json).read("messages");
    }
}

}  // namespace

/// Exactly these two members, or messages alone: logs of requests have more.
bool is_only_conversation(const JsonValue& row) {
    const JsonValue list = row.find("messages");
    const bool named = row.size() == 2 && row.find("id").present();
    bool answers = false;
    bool last = false;
    for (JsonValue one = list.first(); one.present(); one = one.next()) {
        last = one.find("role").as_string() == "assistant";
        answers = answers || last;
    }
    return list.is(JsonType::array) && (named ? answers : row.size() == 1 && last);
}

constinit const TraceFormat sharegpt_format = {
    .name = "sharegpt",
    .time_unit = TimeUnit::s,
    .ordered = false,
    .columns = sharegpt_columns,
    .matches = matches_sharegpt,
    .read_json = read_sharegpt,
};

constinit const TraceFormat vllm_multi_turn_format = {
    .name = "vllm-multi-turn",
    .time_unit = TimeUnit::s,
    .ordered = false,
    .columns = vllm_columns,
    .matches = is_only_conversation,
    .read_json = read_vllm,
};

}  // namespace driftless
