#include "engine/stats/error_texts.hpp"

#include <algorithm>

#include "proto/core/check.hpp"
#include "proto/core/text.hpp"
#include "proto/json/utf8.hpp"

namespace driftless {

std::string without_numbers(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!is_digit(text[i])) {
            plain += text[i];
        } else if (i == 0 || !is_digit(text[i - 1])) {
            plain += '#';
        }
    }
    return plain;
}

void ErrorTexts::add(const Record& record) {
    if (!is_failure(record.outcome) || record.outcome == Outcome::not_sent || record.censored) {
        return;
    }
    // As the record's line has it: the sums of a run that is resumed are read from there.
    std::string storage;
    const std::string text(to_valid_utf8(record.error.value_or(""), storage));
    Key key{record.outcome, record.status.value_or(0), without_numbers(text)};
    auto found = texts_.find(key);
    if (found == texts_.end()) {
        if (texts_.size() == texts_max) {
            ++others_;
            return;
        }
        const ErrorText fresh{record.outcome, record.status.value_or(0), text, 0, record.row};
        found = texts_.emplace(std::move(key), fresh).first;
    }
    CHECK(texts_.size() <= texts_max);
    ++found->second.rows;
}

std::vector<ErrorText> ErrorTexts::by_rows() const {
    std::vector<ErrorText> all;
    for (const auto& [key, text] : texts_) {
        all.push_back(text);
    }
    std::sort(all.begin(), all.end(), [](const ErrorText& a, const ErrorText& b) {
        return a.rows != b.rows ? a.rows > b.rows : a.first_row < b.first_row;
    });
    return all;
}

}  // namespace driftless
