#include <algorithm>

#include "cmd/help/help.hpp"
#include "proto/core/text.hpp"

namespace driftless {

/// A sentence's beginning, for lists: "Makes rows that share nothing.\n" is without its end.
static std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    const std::size_t end = text.find_last_not_of(" .");
    text.resize(end == text.npos ? 0 : end + 1);
    return text;
}

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

std::vector<Completed> words_behind(const std::vector<Completed>& all, std::string_view typed) {
    const std::string begin = typed.empty() ? "" : std::string(typed) + " ";
    std::vector<Completed> next;
    for (const Completed& one : all) {
        if (!one.words.starts_with(begin) || one.words.size() == begin.size()) {
            continue;
        }
        const std::string rest = one.words.substr(begin.size());
        const std::string word = rest.substr(0, rest.find(' '));
        if (std::ranges::find(next, word, &Completed::words) == next.end()) {
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

static constexpr const char* bash_head =
    R"(# Completions of driftless for bash; made by `driftless completion bash`.

# Words that can follow those of $1; fails if there are none.
_driftless_words() {
    case $1 in
)";

static constexpr const char* flags_head = R"(# The flags of a command.
_driftless_flags() {
    case $1 in
)";

static constexpr const char* values_head =
    R"(# Possible values of a flag, with / behind them for a file; fails if the flag takes no value.
_driftless_values() {
    case $1 in
)";

static constexpr const char* list_end = R"(    *) return 1 ;;
    esac
}

)";

static constexpr const char* bash_tail = R"(_driftless() {
    local cur=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD - 1]} reply= typed= i
    # bash splits --flag=value at the equals sign.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $flag == = ]]; then
        flag=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        _driftless_words "$typed" && [[ " $reply " == *" ${COMP_WORDS[i]} "* ]] || break
        typed+=${typed:+ }${COMP_WORDS[i]}
    done
    if ((i == COMP_CWORD)) && [[ $cur != -* ]] && _driftless_words "$typed"; then
        mapfile -t COMPREPLY < <(compgen -W "$reply" -- "$cur")
        return
    fi
    # After -- come flags of replay.
    for ((; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -- ]] && typed=replay
    done
    if _driftless_values "$typed $flag"; then
        :
    elif [[ $cur == -* ]]; then
        _driftless_flags "$typed"
    else
        reply=/
    fi
    mapfile -t COMPREPLY < <(compgen -W "${reply%/}" -- "$cur")
    if [[ $reply == */ ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
    fi
}
complete -F _driftless driftless
)";

/// Text between single quotes, as bash and zsh read it.
std::string shell_quoted(std::string_view text) {
    std::string out = "'";
    for (const char letter : text) {
        letter == '\'' ? out.append("'\\''") : out.append(1, letter);
    }
    return out + "'";
}

/// Text in which `special` letters have a backslash before them.
static std::string escaped(std::string_view text, std::string_view special) {
    std::string out;
    for (const char letter : text) {
        out.append(special.find(letter) != special.npos ? 1 : 0, '\\').append(1, letter);
    }
    return out;
}

static std::string case_of(const std::string& pattern, const std::string& reply) {
    return "    " + shell_quoted(pattern) + ") reply=" + shell_quoted(reply) + " ;;\n";
}

static std::string flag_lists(const std::vector<Completed>& all) {
    std::string text = flags_head + case_of("", "-h --help -V --version");
    for (const Completed& one : all) {
        if (one.table != nullptr) {
            text += case_of(one.words, joined(names_of(one.table->flags), " "));
        }
    }
    return text + list_end;
}

static std::string value_lists(const std::vector<Completed>& all) {
    std::string text = values_head;
    for (const Completed& one : all) {
        for (const Flag& flag : one.table != nullptr ? one.table->flags : std::vector<Flag>{}) {
            for (const std::string& name : flag.names) {
                const char* const file = flag.takes_file() ? "/" : "";
                const std::string reply = joined(flag.choices, " ") + file;
                text += flag.unit.empty() ? "" : case_of(one.words + " " + name, reply);
            }
        }
    }
    return text + list_end;
}

std::string bash_completion(const std::vector<Completed>& all) {
    std::string text = bash_head;
    for (const std::string& begin : beginnings(all)) {
        text += case_of(begin, joined(words_behind(all, begin), " ", &Completed::words));
    }
    return text + list_end + flag_lists(all) + value_lists(all) + bash_tail;
}

static constexpr const char* fish_head =
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
    return "'" + escaped(text, "'\\") + "'";
}

static std::string beginning(const char* function, const std::string& words) {
    return "complete -c driftless -n " +
           fish_quoted(words.empty() ? function : std::string(function) + " " + words);
}

static std::string completion_of(const Flag& flag, const std::string& words) {
    std::string text = beginning("__driftless_at", words);
    for (const std::string& name : flag.names) {
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (!flag.unit.empty()) {
        text += flag.takes_file() ? " -r -F" : " -x";
    }
    if (!flag.choices.empty()) {
        text += " -a " + fish_quoted(joined(flag.choices, " "));
    }
    return text + " -d " + fish_quoted(one_line(flag.help)) + "\n";
}

std::string fish_completion(const std::vector<Completed>& all) {
    std::string text = fish_head;
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

static constexpr const char* zsh_head = R"(#compdef driftless
# Completions of driftless for zsh; made by `driftless completion zsh`.

# Words that can follow those of $1; fails if there are none.
_driftless_words() {
  case $1 in
)";

static constexpr const char* words_end = R"(  (*) return 1 ;;
  esac
}

_driftless_flags() {
  case $1 in
)";

static constexpr const char* zsh_tail = R"(  (*) return 1 ;;
  esac
}

_driftless() {
  local typed=
  local -a next
  local -i at=1
  while (( at + 1 < CURRENT )) && _driftless_words "$typed" &&
      (( ${next[(I)${(b)words[at+1]}:*]} )); do
    (( ++at ))
    typed+=${typed:+ }$words[at]
  done
  if (( at + 1 == CURRENT )) && [[ $PREFIX != -* ]] && _driftless_words "$typed"; then
    _describe -t commands command next
    return
  fi
  # After -- come flags of replay.
  local -i bar=${words[(I)--]}
  if (( bar > at && bar < CURRENT )); then
    at=bar
    typed=replay
  fi
  words=("$words[1]" "${(@)words[at+1,-1]}")
  (( CURRENT -= at - 1 ))
  _driftless_flags "$typed"
}

# The completion system calls this if the file is in $fpath; otherwise it was sourced.
if [[ $funcstack[1] == _driftless ]]; then
  _driftless "$@"
else
  compdef _driftless driftless
fi
)";

/// What _arguments takes for a flag under one of its names.
std::string specification(const Flag& flag, const std::string& name) {
    std::string text;
    if (flag.is_repeatable()) {
        text = "*";
    } else if (flag.names.size() > 1) {
        text = "(" + joined(flag.names, " ") + ")";
    }
    text += name;
    if (!flag.unit.empty()) {
        text += name.starts_with("--") ? "=" : "+";
    }
    text += "[" + escaped(one_line(flag.help), "[]\\") + "]";
    if (!flag.unit.empty()) {
        text += ":" + escaped(flag.unit, ":\\") + ":";
        const std::string words = "(" + joined(flag.choices, " ") + ")";
        text += flag.choices.empty() ? flag.takes_file() ? "_files" : " "
                : !flag.takes_file()
                    ? words
                    : "{_alternative \"words\\:word\\:" + words + "\" \"files\\:file\\:_files\"}";
    }
    return shell_quoted(text);
}

static std::string arguments_of(const FlagTable& table) {
    std::string text = "    _arguments";
    for (const Flag& flag : table.flags) {
        for (const std::string& name : flag.names) {
            text += " \\\n      " + specification(flag, name);
        }
    }
    for (const Flag& argument : table.arguments) {
        text += " \\\n      " + shell_quoted("*:" + argument.names[0] + ":_files");
    }
    return text;
}

std::string zsh_completion(const std::vector<Completed>& all) {
    std::string text = zsh_head;
    for (const std::string& begin : beginnings(all)) {
        text += "  (" + shell_quoted(begin) + ")\n    next=(\n";
        for (const Completed& next : words_behind(all, begin)) {
            text += "      " + shell_quoted(next.words + ":" + escaped(next.summary, ":\\")) + "\n";
        }
        text += "    ) ;;\n";
    }
    text += words_end;
    text +=
        "  ('')\n    _arguments '(- *)'{-h,--help}'[print the help and exit]' "
        "'(- *)'{-V,--version}'[print the version and exit]' ;;\n";
    for (const Completed& one : all) {
        if (one.table != nullptr) {
            text += "  (" + shell_quoted(one.words) + ")\n" + arguments_of(*one.table) + " ;;\n";
        }
    }
    return text + zsh_tail;
}

}  // namespace driftless
