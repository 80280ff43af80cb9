/// JSON in tests: a text together with its values, and numbers of a list.
#pragma once

#include "proto/json/document.hpp"
#include "tests/test.hpp"

namespace driftless {

/// Owns what its values point to; aborts where the text is not JSON.
class JsonText {
    std::string text_;
    JsonDocument document_;

  public:
    explicit JsonText(std::string text)
        : text_(std::move(text)), root(document_.parse(text_).value()) {}
    JsonText(const JsonText&) = delete;
    JsonText& operator=(const JsonText&) = delete;

    const JsonValue root;
};

/// What the reader makes of a text, with a document of its own: `read_alone(read_record, line)`.
template <typename Reader>
auto read_alone(Reader reader, std::string_view text) {
    JsonDocument document;
    return reader(document, text);
}

/// In their order.
inline std::vector<std::string> keys_of(JsonValue object) {
    std::vector<std::string> keys;
    for (JsonValue one = object.first(); one.present(); one = one.next()) {
        keys.emplace_back(one.key());
    }
    return keys;
}

inline std::vector<double> numbers_of(JsonValue list) {
    std::vector<double> numbers;
    for (JsonValue one = list.first(); one.present(); one = one.next()) {
        numbers.push_back(*one.as_double());
    }
    return numbers;
}

}  // namespace driftless
