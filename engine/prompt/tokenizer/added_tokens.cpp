#include "engine/prompt/tokenizer/added_tokens.hpp"

#include <algorithm>

#include "engine/prompt/tokenizer/text.hpp"

namespace driftless {

namespace {

std::size_t blanks_at_start(std::string_view text) {
    std::size_t bytes = 0;
    while (bytes < text.size()) {
        const CodePoint point = first_code_point(text.substr(bytes));
        if (!is_white_space(point.value)) {
            break;
        }
        bytes += point.bytes;
    }
    return bytes;
}

std::size_t blanks_at_end(std::string_view text) {
    const std::size_t all = text.size();
    while (!text.empty() && is_white_space(last_code_point(text).value)) {
        text.remove_suffix(last_code_point(text).bytes);
    }
    return all - text.size();
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
    const bool word_before =
        begin > 0 && is_word_character(last_code_point(text.substr(0, begin)).value);
    const bool word_behind =
        end < text.size() && is_word_character(first_code_point(text.substr(end)).value);
    return !word_before && !word_behind;
}

}  // namespace

void AddedTokenFinder::add(const AddedToken& token) {
    if (!token.sought.empty()) {
        begins_[static_cast<unsigned char>(token.sought.front())] = true;
        entries_.push_back(&token);
    }
}

void AddedTokenFinder::prepare() {
    std::stable_sort(
        entries_.begin(), entries_.end(),
        [](const AddedToken* a, const AddedToken* b) { return a->sought < b->sought; });
}

// Narrows the sorted entries byte by byte to those that `text` begins with.
const AddedToken* AddedTokenFinder::longest_at(std::string_view text) const {
    const AddedToken* longest = nullptr;
    auto low = entries_.begin();
    auto high = entries_.end();
    for (std::size_t depth = 0; low != high; ++depth) {
        if ((*low)->sought.size() == depth) {  // the shortest of them sorts first
            longest = *low;
            while (low != high && (*low)->sought.size() == depth) {
                ++low;
            }
        }
        if (depth == text.size()) {
            break;
        }
        const auto byte = static_cast<unsigned char>(text[depth]);
        const auto at = [depth](const AddedToken* entry) {
            return static_cast<unsigned char>(entry->sought[depth]);
        };
        low = std::partition_point(low, high, [&](const AddedToken* e) { return at(e) < byte; });
        high = std::partition_point(low, high, [&](const AddedToken* e) { return at(e) == byte; });
    }
    return longest;
}

void AddedTokenFinder::cut(std::string_view text, std::vector<Section>& sections) const {
    std::size_t done = 0;  // where what is not yet in a section begins
    for (std::size_t at = 0; at < text.size();) {
        const AddedToken* const token =
            begins_[static_cast<unsigned char>(text[at])] ? longest_at(text.substr(at)) : nullptr;
        if (token == nullptr) {
            ++at;
            continue;
        }
        std::size_t begin = at;
        std::size_t end = at + token->sought.size();
        at = end;
        if (token->single_word && !stands_alone(text, begin, end)) {
            continue;
        }
        if (token->strip_left) {  // but not what an earlier token took
            begin = std::max(begin - blanks_at_end(text.substr(0, begin)), done);
        }
        if (token->strip_right) {
            end += blanks_at_start(text.substr(end));
        }
        if (done < begin) {
            sections.push_back({text.substr(done, begin - done), nullptr});
        }
        sections.push_back({text.substr(begin, end - begin), token});
        done = end;
    }
    if (done < text.size()) {
        sections.push_back({text.substr(done), nullptr});
    }
}

}  // namespace driftless
