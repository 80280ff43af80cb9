#include "cmd/help/completion.hpp"

namespace driftless {

namespace {

constexpr const char* head =
    R"(# Completions of driftless for fish; made by `driftless completion fish`.

# Whether the command line begins with these words.
function __driftless_at
    set -l typed (commandline -opc)
    set -e typed[1]
    # After -- come flags of replay.
    if contains -- -- $typed
        test "$argv" = replay
        return
    end
    for word in $argv
        test "$typed[1]" = "$word"; or return 1
        set -e typed[1]
    end
end

# Whether it is exactly these words, with the next one being typed.
function __driftless_next
    set -l typed (commandline -opc)
    set -e typed[1]
    test "$typed" = "$argv"
end

complete -c driftless -n __driftless_next -s h -l help -d 'print the help and exit'
complete -c driftless -n __driftless_next -s V -l version -d 'print the version and exit'
)";

std::string fish_quoted(std::string_view text) {
    std::string out = "'";
    for (const char letter : text) {
        if (letter == '\'' || letter == '\\') {
            out.push_back('\\');
        }
        out.push_back(letter);
    }
    return out + "'";
}

std::string beginning(const char* function, const std::string& words) {
    return "complete -c driftless -n " +
           fish_quoted(words.empty() ? function : std::string(function) + " " + words);
}

std::string completion_of(const Flag& flag, const std::string& words) {
    std::string text = beginning("__driftless_at", words);
    for (const std::string& name : flag.names) {
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (!flag.unit.empty()) {
        text += flag.takes_file() ? " -r -F" : " -x";
    }
    if (!flag.choices.empty()) {
        text += " -a " + fish_quoted(with_blanks(flag.choices));
    }
    return text + " -d " + fish_quoted(line_of_help(flag)) + "\n";
}

}  // namespace

std::string fish_completion(const std::vector<Completed>& all) {
    std::string text = head;
    for (const std::string& begin : beginnings(all)) {
        for (const Completed& next : words_behind(all, begin)) {
            text += beginning("__driftless_next", begin) + " -f -a " + next.words + " -d " +
                    fish_quoted(next.summary) + "\n";
        }
    }
    for (const Completed& one : all) {
        for (const Flag& flag : one.table != nullptr ? one.table->flags : std::vector<Flag>{}) {
            text += completion_of(flag, one.words);
        }
    }
    return text;
}

}  // namespace driftless
