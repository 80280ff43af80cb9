#include "proto/dataset/texts.hpp"

#include <algorithm>

namespace driftless {
namespace {

/// Lists of turns go before single texts: they hold more.
constexpr std::string_view usual_columns[] = {"conversations", "messages", "text",  "prompt",
                                              "content",       "question", "input", "instruction"};
constexpr std::size_t names_shown = 12;

std::string names_of(const JsonValue& row) {
    std::string names;
    std::size_t shown = 0;
    for (JsonValue value = row.first(); value.present(); value = value.next()) {
        if (++shown > names_shown) {
            return names + ", ..";
        }
        names += (names.empty() ? "" : ", ") + std::string(value.key());
    }
    return names.empty() ? "none" : names;
}

bool is_text_or_null(const JsonValue& value) {
    return value.is(JsonType::string) || value.is(JsonType::null);
}

/// The text of a turn: the turn itself, or what it says.
JsonValue text_in(const JsonValue& turn) {
    const JsonValue value = turn.find("value");
    return turn.is(JsonType::object) ? (value.present() ? value : turn.find("content")) : turn;
}

}  // namespace

bool DatasetTexts::choose(const JsonValue& row, std::string& why) {
    for (const std::string_view name : usual_columns) {
        const JsonValue value = row.find(name);
        if (value.is(JsonType::string) || value.is(JsonType::array)) {
            column_ = name;
            return true;
        }
    }
    why = "has no column with a usual name (it has " + names_of(row) +
          "); name the text column with --dataset-column NAME";
    return false;
}

bool DatasetTexts::read(const JsonValue& row, std::vector<std::string_view>& texts,
                        std::string& why) {
    if (row.is(JsonType::string) && column_.empty()) {
        texts.push_back(row.as_string().value());
        return true;
    }
    if (!row.is(JsonType::object)) {
        why = column_.empty() ? "is neither a text nor an object with one"
                              : "is not an object and has no column \"" + column_ + "\"";
        return false;
    }
    if (column_.empty() && !choose(row, why)) {
        return false;
    }
    const JsonValue value = row.find(column_);
    if (!value.present()) {
        why = "has no column \"" + column_ + "\" (it has " + names_of(row) +
              "); name another column with --dataset-column NAME";
        return false;
    }
    if (is_text_or_null(value)) {
        texts.push_back(value.as_string().value_or(""));
        return true;
    }
    for (JsonValue turn = value.first(); turn.present(); turn = turn.next()) {
        const JsonValue text = text_in(turn);
        if (!value.is(JsonType::array) || !is_text_or_null(text)) {
            why = "has values that are not texts in \"" + column_ +
                  "\"; name another column with --dataset-column NAME";
            return false;
        }
        texts.push_back(text.as_string().value_or(""));
    }
    if (!value.is(JsonType::array)) {
        why = "has no text in \"" + column_ + "\"; name another column with --dataset-column NAME";
    }
    return value.is(JsonType::array);
}

}  // namespace driftless
