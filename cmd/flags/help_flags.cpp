#include "cmd/flags/help_flags.hpp"

#include <algorithm>
#include <string_view>

#include "proto/core/text.hpp"

namespace driftless {

static constexpr std::string_view word_letters = "abcdefghijklmnopqrstuvwxyz0123456789-_.";

static bool is_lower_case(char letter) {
    return letter >= 'a' && letter <= 'z';
}

std::vector<std::string> possible_values(std::string_view text) {
    constexpr std::string_view between = " \n,;:()[]|\"";
    std::vector<std::string> words;
    for (const std::string_view word : words_in(text, between)) {
        const bool fits =
            is_lower_case(word.front()) && word.find_first_not_of(word_letters) == word.npos;
        if (fits && std::find(words.begin(), words.end(), word) == words.end()) {
            words.emplace_back(word);
        }
    }
    return words;
}

std::vector<std::string> unit_words(std::string_view unit) {
    std::vector<std::string> words;
    for (const std::string_view part : words_in(unit, "|")) {
        if (is_lower_case(part.front())) {
            words.emplace_back(part);
        }
    }
    return words;
}

bool Flag::takes_file() const {
    return std::ranges::any_of(words_in(unit, "|"), [](std::string_view part) {
        return part == "FILE" || part == "DIR" || part == "RUN";
    });
}

const Flag& FlagTable::named(std::string_view name) const {
    static const Flag none;
    for (const std::vector<Flag>* const list : {&flags, &hidden}) {
        for (const Flag& flag : *list) {
            if (std::find(flag.names.begin(), flag.names.end(), name) != flag.names.end()) {
                return flag;
            }
        }
    }
    return none;
}

std::vector<std::string> names_of(const std::vector<Flag>& flags) {
    std::vector<std::string> names;
    for (const Flag& flag : flags) {
        names.insert(names.end(), flag.names.begin(), flag.names.end());
    }
    return names;
}

Flag make_flag(std::vector<std::string> names, std::string unit, std::string help,
               std::string group) {
    Flag flag{std::move(names), std::move(unit), std::move(help), {}, std::move(group), {}, {}};
    const std::size_t open = flag.help.rfind(" [");
    if (open != flag.help.npos && flag.help.ends_with(']')) {
        flag.standard = flag.help.substr(open + 2, flag.help.size() - open - 3);
        flag.help.resize(open);
    }
    return flag;
}

}  // namespace driftless
