#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "proto/json/put.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/formats.hpp"

namespace driftless {

static constexpr std::string_view sharegpt_columns[] = {"id", "conversations", "system"};
static constexpr std::string_view vllm_columns[] = {"id", "messages"};

namespace {

/// Who speaks, as a recorded request names it.
struct Speakers {
    std::string_view name;
    std::string_view role;
};

}  // namespace

static constexpr Speakers speakers[] = {{"human", "user"},        {"user", "user"},
                                        {"gpt", "assistant"},     {"assistant", "assistant"},
                                        {"chatgpt", "assistant"}, {"bing", "assistant"},
                                        {"bard", "assistant"},    {"system", "system"}};

static bool has(const JsonValue& object, std::string_view key, std::string_view other) {
    return object.find(key).present() && object.find(other).present();
}

static bool matches_sharegpt(const JsonValue& row) {
    const JsonValue list = row.find("conversations");
    return list.is(JsonType::array) && (list.size() == 0 || has(list.first(), "from", "value"));
}

namespace {

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

}  // namespace

/// The next row: all that was said up to here.
void Conversation::ask() {
    TraceDraft& draft = context_.draft;
    if (session_ == no_session) {
        const Field id = field_in(json_, "id");
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
        std::ranges::find(speakers, who.as_string().value_or(""), &Speakers::name);
    if (known == std::end(speakers)) {
        return context_.refuse(
            from.present() ? "from" : "role", who.raw(),
            who.present() ? "is not a known speaker" : "is missing",
            "use human or user, gpt or assistant, or system before them; tool calls "
            "are read from lmcache and mlperf-agentic");
    }
    if (words.present() && !words.is(JsonType::string)) {
        return context_.refuse(value.present() ? "value" : "content", words.raw(), "is not text",
                               "write the message as a string");
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
        context_.refuse(list_name, list.raw(),
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
    const bool fine = read_each(context_, list, list_name,
                                [&](const JsonValue& one) { return read_message(one); });
    if (fine && role_ == "user") {
        note("question without an answer, not sent", "questions without answers, not sent");
    }
    if (fine && session_ == no_session) {
        note("conversation without an answered question, left out",
             "conversations without answered questions, left out");
    }
}

static void read_sharegpt(RowContext& context, const JsonValue& json) {
    if (admit_conversations(
            context,
            "; or use it as prompt text of another trace: replay TRACE --dataset FILE "
            "--tokenizer TOKENIZER.json")) {
        Conversation(context, json).read("conversations");
    }
}

static void read_vllm(RowContext& context, const JsonValue& json) {
    if (admit_conversations(context)) {
        Conversation(context, json).read("messages");
    }
}

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

/// Of a conversation, and of its turns.
static constexpr std::string_view columns[] = {
    "session_id", "turns", "type",   "text",  "texts",  "role",          "timestamp", "delay",
    "image",      "audio", "images", "video", "audios", "output_length", "videos",    "extra"};

/// What a turn may hold beside text.
static constexpr std::string_view media[] = {"image",  "images", "audio",
                                             "audios", "video",  "videos"};

static bool has_media(const JsonValue& turn) {
    return std::ranges::any_of(
        media, [&](std::string_view key) { return given(turn.find(key)).present(); });
}

static bool matches(const JsonValue& row) {
    const JsonValue first = row.find("turns").first();
    return row.find("turns").is(JsonType::array) &&
           (first.find("text").present() || first.find("texts").present() || has_media(first));
}

namespace {

/// Reads one object: turns of a session.
class TurnList {
  public:
    TurnList(RowContext& context, const JsonValue& json) : context_(context), json_(json) {}

    void read();

  private:
    bool read_turn(const JsonValue& turn);
    bool read_texts(const JsonValue& turn);
    bool add_text(const JsonValue& text);
    bool read_extra(const JsonValue& turn) const;
    bool is_system_prompt(const JsonValue& turn) const;
    std::string content() const;
    bool ask(const JsonValue& turn, std::string_view role);

    RowContext& context_;
    const JsonValue& json_;
    std::uint32_t session_ = no_session;
    std::vector<std::string> texts_;  ///< of the turn at hand
    std::string system_;              ///< said before the first question; empty: nothing is
};

}  // namespace

bool TurnList::add_text(const JsonValue& text) {
    if (!text.is(JsonType::string)) {
        return context_.refuse("texts", text.raw(), "is not text", "write the text as a string");
    }
    texts_.emplace_back(text.as_string().value_or(""));
    return true;
}

/// `text`, or `texts`: strings, or objects with strings in `contents`. False after an error.
bool TurnList::read_texts(const JsonValue& turn) {
    texts_.clear();
    const JsonValue text = given(turn.find("text"));
    const JsonValue texts = given(turn.find("texts"));
    if (text.present() && texts.present()) {
        return context_.refuse("texts", texts.raw(), "is given together with text",
                               "remove one of them");
    }
    if (text.present()) {
        return add_text(text);
    }
    bool fine = true;
    for (JsonValue one = texts.first(); fine && one.present(); one = one.next()) {
        const JsonValue contents = one.find("contents");
        fine = contents.is(JsonType::array) || add_text(one);
        for (JsonValue part = contents.first(); fine && part.present(); part = part.next()) {
            fine = add_text(part);
        }
    }
    return fine;
}

/// One text as such, several as parts.
std::string TurnList::content() const {
    return texts_.size() == 1
               ? json_text(texts_[0])
               : json_text(put_each(texts_, [](JsonWriter& json, const std::string& text) {
                     put_object(json, {{"type", "text"}, {"text", text}});
                 }));
}

/// False after an error.
bool TurnList::read_extra(const JsonValue& turn) const {
    const JsonValue extra = given(turn.find("extra"));
    if (extra.present() && !extra.is(JsonType::object)) {
        return context_.refuse("extra", extra.raw(), "is not an object", "correct the turn");
    }
    if (extra.find("messages").present() || extra.find("input").present()) {
        return context_.refuse("extra", extra.raw(), "has messages instead of the conversation",
                               "remove them: the run assembles the conversation itself");
    }
    return true;
}

/// A first turn that asks for nothing: it is said before the first question.
bool TurnList::is_system_prompt(const JsonValue& turn) const {
    for (const std::string_view key : {"timestamp", "delay", "output_length", "extra"}) {
        if (given(turn.find(key)).present()) {
            return false;
        }
    }
    return turn.find("role").as_string() == "system" && !has_media(turn) && system_.empty() &&
           context_.draft.sessions().tail(session_).last_row == no_row;
}

/// The turn's row. False after an error.
bool TurnList::ask(const JsonValue& turn, std::string_view role) {
    TraceRow row;
    row.session = session_;
    const Field delay = field_in(turn, "delay");
    const auto gap_ns = read_pause(context_, delay, TimeUnit::ms);
    if (!gap_ns) {
        return false;
    }
    const auto at_ns = read_turn_time(context_, field_in(turn, "timestamp"), session_, *gap_ns);
    const Field output = field_in(turn, "output_length");
    if (!at_ns || !read_recorded_lengths(context_, Field{}, output, row)) {
        return false;
    }
    row.at_ns = *at_ns;
    std::string messages;
    JsonWriter json(messages);
    if (!system_.empty()) {
        json.begin_object().key("role").string("system").key("content").string(system_);
        json.end_object();
    }
    json.begin_object().key("role").string(role).key("content").raw(content()).end_object();
    const JsonValue extra = given(turn.find("extra"));
    give_chat(context_, {messages, {}, extra.raw()});
    note_delta(context_);
    system_.clear();
    context_.draft.sessions().next_turn(row, *gap_ns);
    context_.emit(row, turn);
    return true;
}

/// False after an error.
bool TurnList::read_turn(const JsonValue& turn) {
    const JsonValue role = given(turn.find("role"));
    const std::string_view name = role.present() ? role.as_string().value_or("") : "user";
    if (name != "user" && name != "system" && name != "developer") {
        return context_.refuse("role", role.raw(), "does not ask for an answer",
                               "keep only user turns; answers come from the server");
    }
    if (!read_texts(turn) || !read_extra(turn)) {
        return false;
    }
    if (texts_.empty() || (texts_.size() == 1 && texts_[0].empty())) {
        return context_.refuse(
            "text", "",
            has_media(turn) ? "is missing, and the rest of the turn cannot be sent" : "is missing",
            "give every turn text, or texts");
    }
    if (has_media(turn)) {
        context_.draft.remark("turn with images, audio or video, which are not sent",
                              "turns with images, audio or video, which are not sent");
    }
    if (is_system_prompt(turn)) {
        for (const std::string& text : texts_) {
            system_ += (system_.empty() ? "" : "\n") + text;
        }
        return true;
    }
    return ask(turn, name);
}

void TurnList::read() {
    const JsonValue turns = json_.find("turns");
    if (!check_filled(context_, turns, "turns", "give the session turns")) {
        return;
    }
    const Field id = field_in(json_, "session_id");
    const std::string place =
        std::string(context_.file) + ":" + std::to_string(context_.line) + context_.place;
    session_ = id.present ? context_.draft.sessions().find(id.text)
                          : context_.draft.sessions().find(
                                place, "\n" + std::to_string(context_.draft.rows()));
    const bool fine =
        read_each(context_, turns, "turns", [&](const JsonValue& one) { return read_turn(one); });
    if (fine && !system_.empty()) {
        context_.refuse("turns", turns.raw(), "has a system prompt but no question",
                        "add a user turn after it");
    }
}

static void read_row(RowContext& context, const JsonValue& json) {
    TurnList(context, json).read();
}

constinit const TraceFormat aiperf_turns_format = {
    .name = "aiperf-multi-turn",
    .alias = "multi_turn",
    .time_unit = TimeUnit::ms,
    .ordered = false,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless
