#include "cmd/help/flag_table.hpp"

#include <algorithm>
#include <string_view>

namespace driftless {

namespace {

constexpr std::string_view word_letters = "abcdefghijklmnopqrstuvwxyz0123456789-_.";

bool is_lower_case(char letter) {
    return letter >= 'a' && letter <= 'z';
}

/// Adds the words of `text` that begin with a letter and hold no capital.
void add_words(std::string_view text, std::vector<std::string>& words) {
    constexpr std::string_view between = " \n,;:()[]|\"";
    while (!text.empty()) {
        const std::size_t begin = std::min(text.find_first_not_of(between), text.size());
        text.remove_prefix(begin);
        const std::string_view word = text.substr(0, text.find_first_of(between));
        text.remove_prefix(word.size());
        const bool fits = !word.empty() && is_lower_case(word.front()) &&
                          word.find_first_not_of(word_letters) == word.npos;
        if (fits && std::find(words.begin(), words.end(), word) == words.end()) {
            words.emplace_back(word);
        }
    }
}

/// The first word of each indented line.
std::string listed_words(std::string_view footer) {
    std::string listed;
    for (std::size_t at = footer.find("\n  "); at != footer.npos;
         at = footer.find("\n  ", at + 1)) {
        const std::string_view line = footer.substr(at + 3);
        listed += std::string(line.substr(0, line.find_first_of(" \n"))) + " ";
    }
    return listed;
}

}  // namespace

bool Flag::takes_file() const {
    std::string_view rest = unit;
    while (!rest.empty()) {
        const std::string_view part = rest.substr(0, rest.find('|'));
        if (part == "FILE" || part == "DIR" || part == "RUN") {
            return true;
        }
        rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    }
    return false;
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
    Flag flag{std::move(names), std::move(unit), std::move(help), {}, std::move(group), {}};
    const std::size_t open = flag.help.rfind(" [");
    if (open != flag.help.npos && flag.help.ends_with(']')) {
        flag.standard = flag.help.substr(open + 2, flag.help.size() - open - 3);
        flag.help.resize(open);
    }
    return flag;
}

std::vector<std::string> possible_choices(const Flag& flag, const std::string& footer) {
    std::vector<std::string> words;
    add_words(flag.unit, words);
    add_words(flag.help, words);
    add_words(flag.standard, words);
    add_words(listed_words(footer), words);
    return words;
}

}  // namespace driftless
