#include "cmd/help/completion.hpp"

#include <algorithm>

namespace driftless {

namespace {

/// A sentence's beginning, for lists: "Makes rows that share nothing.\n" is without its end.
std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    const std::size_t end = text.find_last_not_of(" .");
    text.resize(end == text.npos ? 0 : end + 1);
    return text;
}

}  // namespace

std::vector<Completed> completed_words(const std::vector<CommandPages>& commands,
                                       const std::vector<CommandPages>& built_in,
                                       std::span<const ShippedFile> files) {
    std::vector<Completed> all;
    for (const std::vector<CommandPages>* list : {&commands, &built_in}) {
        for (const CommandPages& command : *list) {
            if (command.tables.size() != 1) {
                all.push_back({command.name, command.summary, nullptr});
            }
            for (const FlagTable& table : command.tables) {
                const bool alone = table.command == command.name;
                all.push_back(
                    {table.command, alone ? command.summary : one_line(table.description), &table});
            }
        }
    }
    for (const CommandPages& command : commands) {
        all.push_back({"help " + command.name, command.summary, nullptr});
    }
    for (const ShippedFile& file : files) {
        all.push_back({"help " + std::string(file.name), std::string(file.summary), nullptr});
    }
    return all;
}

std::string shell_quoted(std::string_view text) {
    std::string out = "'";
    for (const char letter : text) {
        letter == '\'' ? out.append("'\\''") : out.append(1, letter);
    }
    return out + "'";
}

std::string line_of_help(const Flag& flag) {
    return one_line(flag.help);
}

std::string with_blanks(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

std::vector<Completed> words_behind(const std::vector<Completed>& all, std::string_view typed) {
    const std::string begin = typed.empty() ? "" : std::string(typed) + " ";
    std::vector<Completed> next;
    for (const Completed& one : all) {
        if (!one.words.starts_with(begin) || one.words.size() == begin.size()) {
            continue;
        }
        const std::string rest = one.words.substr(begin.size());
        const std::string word = rest.substr(0, rest.find(' '));
        const bool known = std::any_of(next.begin(), next.end(), [&word](const Completed& other) {
            return other.words == word;
        });
        if (!known) {
            next.push_back({word, word == rest ? one.summary : "", nullptr});
        }
    }
    return next;
}

std::vector<std::string> beginnings(const std::vector<Completed>& all) {
    std::vector<std::string> found{""};
    for (const Completed& one : all) {
        for (std::size_t at = one.words.find(' '); at != one.words.npos;
             at = one.words.find(' ', at + 1)) {
            std::string begin = one.words.substr(0, at);
            if (std::find(found.begin(), found.end(), begin) == found.end()) {
                found.push_back(std::move(begin));
            }
        }
    }
    return found;
}

}  // namespace driftless
