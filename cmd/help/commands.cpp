#include "cmd/help/commands.hpp"

#include <algorithm>

#include "cmd/help/asked_tables.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// The words of "stress reuse".
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        words.emplace_back(text.substr(0, text.find(' ')));
        text.remove_prefix(std::min(words.back().size() + 1, text.size()));
    }
    return words;
}

void ask_for_help(const Command& command, const std::string& kind) {
    std::vector<std::string> words = words_of(kind);
    words.insert(words.begin(), command.name);
    words.emplace_back("--help");
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    (void)command.run(static_cast<int>(words.size()), arguments.data());
}

}  // namespace

const Command* find_command(std::span<const Command> commands, std::string_view name) {
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [name](const Command& one) { return one.name == name; });
    return found == commands.end() ? nullptr : &*found;
}

std::vector<CommandPages> read_pages(std::span<const Command> commands) {
    std::vector<CommandPages> pages;
    for (const Command& command : commands) {
        const std::vector<std::string> kinds =
            command.kinds != nullptr ? command.kinds() : std::vector<std::string>{""};
        const AskedTables asked;
        for (const std::string& kind : kinds) {
            ask_for_help(command, kind);
        }
        CHECK(asked.tables().size() == kinds.size());
        pages.push_back({command.name, command.help, asked.tables()});
    }
    return pages;
}

}  // namespace driftless
