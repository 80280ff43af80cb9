#include "cmd/help/completion.hpp"

namespace driftless {

namespace {

constexpr const char* head = R"(#compdef driftless
# Completions of driftless for zsh; made by `driftless completion zsh`.

# Words that can follow those of $1; fails if there are none.
_driftless_words() {
  case $1 in
)";

constexpr const char* words_end = R"(  (*) return 1 ;;
  esac
}

_driftless_flags() {
  case $1 in
)";

constexpr const char* tail = R"(  (*) return 1 ;;
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

/// Text in which `special` letters mean something to _arguments or _describe.
std::string escaped(std::string_view text, std::string_view special) {
    std::string out;
    for (const char letter : text) {
        if (special.find(letter) != special.npos) {
            out.push_back('\\');
        }
        out.push_back(letter);
    }
    return out;
}

/// What _arguments takes for a flag under one of its names.
std::string specification(const Flag& flag, const std::string& name) {
    std::string text;
    if (flag.is_repeatable()) {
        text = "*";
    } else if (flag.names.size() > 1) {
        text = "(" + with_blanks(flag.names) + ")";
    }
    text += name;
    if (!flag.unit.empty()) {
        text += name.starts_with("--") ? "=" : "+";
    }
    text += "[" + escaped(line_of_help(flag), "[]\\") + "]";
    if (!flag.unit.empty()) {
        text += ":" + escaped(flag.unit, ":\\") + ":";
        const std::string words = "(" + with_blanks(flag.choices) + ")";
        text += flag.choices.empty() ? flag.takes_file() ? "_files" : " "
                : !flag.takes_file()
                    ? words
                    : "{_alternative \"words\\:word\\:" + words + "\" \"files\\:file\\:_files\"}";
    }
    return shell_quoted(text);
}

std::string arguments_of(const FlagTable& table) {
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

}  // namespace

std::string zsh_completion(const std::vector<Completed>& all) {
    std::string text = head;
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
    return text + tail;
}

}  // namespace driftless
