#include "proto/trace/aiperf_turns.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "proto/json/write.hpp"
#include "proto/trace/inside.hpp"
#include "proto/trace/recorded.hpp"
#include "proto/trace/turn_times.hpp"

namespace driftless {
namespace {

/// Of a conversation, and of its turns.
constexpr std::string_view columns[] = {
    "session_id", "turns", "type",   "text",  "texts",  "role",          "timestamp", "delay",
    "image",      "audio", "images", "video", "audios", "output_length", "videos",    "extra"};

/// What a turn may hold beside text.
constexpr std::string_view media[] = {"image", "images", "audio", "audios", "video", "videos"};

bool has_media(const JsonValue& turn) {
    return std::any_of(std::begin(media), std::end(media),
                       [&](std::string_view key) { return given(turn.find(key)).present(); });
}

bool matches(const JsonValue& row) {
    const JsonValue first = row.find("turns").first();
    return row.find("turns").is(JsonType::array) &&
           (first.find("text").present() || first.find("texts").present() || has_media(first));
}

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

bool TurnList::add_text(const JsonValue& text) {
    if (!text.is(JsonType::string)) {
        context_.refuse("texts", text.raw(), "is not text", "write the text as a string");
        return false;
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
        context_.refuse("texts", texts.raw(), "is given together with text", "remove one of them");
        return false;
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
    std::string out;
    JsonWriter json(out);
    if (texts_.size() == 1) {
        json.string(texts_[0]);
        return out;
    }
    json.begin_array();
    for (const std::string& text : texts_) {
        json.begin_object().key("type").string("text").key("text").string(text).end_object();
    }
    json.end_array();
    return out;
}

/// False after an error.
bool TurnList::read_extra(const JsonValue& turn) const {
    const JsonValue extra = given(turn.find("extra"));
    if (extra.present() && !extra.is(JsonType::object)) {
        context_.refuse("extra", extra.raw(), "is not an object", "correct the turn");
        return false;
    }
    if (extra.find("messages").present() || extra.find("input").present()) {
        context_.refuse("extra", extra.raw(), "has messages instead of the conversation",
                        "remove them: the run assembles the conversation itself");
        return false;
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
    TraceDraft& draft = context_.draft;
    TraceRow row;
    row.session = session_;
    const Field delay = field_of(turn.find("delay"), "delay");
    const auto gap_ns =
        delay.present ? read_gap(context_, delay, TimeUnit::ms) : std::optional<std::int64_t>(0);
    if (!gap_ns) {
        return false;
    }
    const auto at_ns =
        read_turn_time(context_, field_of(turn.find("timestamp"), "timestamp"), session_, *gap_ns);
    const Field output = field_of(turn.find("output_length"), "output_length");
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
    give_chat(context_, {messages, {}, extra.present() ? extra.raw() : std::string_view()});
    note_delta(context_);
    system_.clear();
    draft.sessions().next_turn(row, *gap_ns);
    draft.ids().begin();
    context_.emit(row, turn);
    return true;
}

/// False after an error.
bool TurnList::read_turn(const JsonValue& turn) {
    const JsonValue role = given(turn.find("role"));
    const std::string_view name = role.present() ? role.as_string().value_or("") : "user";
    if (name != "user" && name != "system" && name != "developer") {
        context_.refuse("role", role.raw(), "does not ask for an answer",
                        "keep only user turns; answers come from the server");
        return false;
    }
    if (!read_texts(turn) || !read_extra(turn)) {
        return false;
    }
    if (texts_.empty() || (texts_.size() == 1 && texts_[0].empty())) {
        context_.refuse(
            "text", "",
            has_media(turn) ? "is missing, and the rest of the turn cannot be sent" : "is missing",
            "give every turn text, or texts");
        return false;
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
    if (!check_objects(context_, turns, "turns")) {
        return;
    }
    if (turns.size() == 0) {
        context_.refuse("turns", turns.present() ? turns.raw() : "",
                        turns.present() ? "is empty" : "is missing", "give the session turns");
        return;
    }
    const Field id = field_of(json_.find("session_id"), "session_id");
    const std::string place =
        std::string(context_.file) + ":" + std::to_string(context_.line) + context_.place;
    session_ = id.present ? context_.draft.sessions().find(id.text)
                          : context_.draft.sessions().find(
                                place, "\n" + std::to_string(context_.draft.rows()));
    std::size_t number = 0;
    bool fine = true;
    for (JsonValue one = turns.first(); fine && one.present(); one = one.next()) {
        const Inside inside(context_, "turns", number++);
        fine = read_turn(one);
    }
    if (fine && !system_.empty()) {
        context_.refuse("turns", turns.raw(), "has a system prompt but no question",
                        "add a user turn after it");
    }
}

void read_row(RowContext& context, const JsonValue& json) {
    TurnList(context, json).read();
}

}  // namespace

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
