#include "cmd/mock/word_rules.hpp"

#include "cmd/mock/prompt_count.hpp"

namespace driftless::mock {

void WordRules::split(std::string_view word) {
    split_.insert(word_number(word));
}

void WordRules::split_first(std::string_view word) {
    split_first_.insert(word_number(word));
}

void WordRules::join(std::string_view first, std::string_view second) {
    joined_.emplace(word_number(first), word_number(second));
}

bool WordRules::splits(std::uint64_t word) const {
    return all_ || split_.contains(word);
}

bool WordRules::joins(std::uint64_t first, std::uint64_t second) const {
    return joined_.contains({first, second});
}

}  // namespace driftless::mock
