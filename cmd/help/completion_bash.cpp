#include "cmd/help/completion.hpp"

namespace driftless {

namespace {

constexpr const char* head =
    R"(# Completions of driftless for bash; made by `driftless completion bash`.

)";

constexpr const char* words_head = R"(# Words that can follow those of $1; fails if there are none.
_driftless_words() {
    case $1 in
)";

constexpr const char* flags_head = R"(# The flags of a command.
_driftless_flags() {
    case $1 in
)";

constexpr const char* values_head =
    R"(# Possible values of a flag, with / behind them for a file; fails if the flag takes no value.
_driftless_values() {
    case $1 in
)";

constexpr const char* list_end = R"(    *) return 1 ;;
    esac
}

)";

constexpr const char* tail = R"(_driftless() {
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

std::string case_of(const std::string& pattern, const std::string& reply) {
    return "    " + shell_quoted(pattern) + ") reply=" + shell_quoted(reply) + " ;;\n";
}

std::string flag_lists(const std::vector<Completed>& all) {
    std::string text = flags_head + case_of("", "-h --help -V --version");
    for (const Completed& one : all) {
        if (one.table != nullptr) {
            text += case_of(one.words, with_blanks(names_of(one.table->flags)));
        }
    }
    return text + list_end;
}

std::string value_lists(const std::vector<Completed>& all) {
    std::string text = values_head;
    for (const Completed& one : all) {
        for (const Flag& flag : one.table != nullptr ? one.table->flags : std::vector<Flag>{}) {
            for (const std::string& name : flag.names) {
                const char* const file = flag.takes_file() ? "/" : "";
                const std::string reply = with_blanks(flag.choices) + file;
                text += flag.unit.empty() ? "" : case_of(one.words + " " + name, reply);
            }
        }
    }
    return text + list_end;
}

}  // namespace

std::string bash_completion(const std::vector<Completed>& all) {
    std::string text = std::string(head) + words_head;
    for (const std::string& begin : beginnings(all)) {
        std::vector<std::string> words;
        for (const Completed& next : words_behind(all, begin)) {
            words.push_back(next.words);
        }
        text += case_of(begin, with_blanks(words));
    }
    return text + list_end + flag_lists(all) + value_lists(all) + tail;
}

}  // namespace driftless
