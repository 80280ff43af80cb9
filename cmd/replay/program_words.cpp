#include "cmd/replay/program_words.hpp"

#include <algorithm>
#include <string_view>

namespace driftless {

namespace {

/// A tool and the subcommand that replays; words that may follow it are taken, too.
struct Tool {
    std::string_view name;
    std::string_view words[2];  ///< in this order
};
constexpr Tool tools[] = {
    {"aiperf", {"profile", ""}},        {"genai-perf", {"profile", ""}},
    {"guidellm", {"benchmark", "run"}}, {"vllm", {"bench", "serve"}},
    {"vllm-bench", {"serve", ""}},      {"trace-replayer", {"", ""}},
    {"trace_replayer", {"", ""}},
};
/// Words that start another program.
constexpr std::string_view starters[] = {"nohup", "time", "sudo", "uvx", "env"};
constexpr std::string_view runners[] = {"uv", "poetry", "pixi"};  // and "run"

std::string_view base_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

bool is_assignment(std::string_view word) {
    const std::size_t equals = word.find('=');
    return equals != word.npos && equals > 0 && word.front() != '-' &&
           std::all_of(
               word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
               [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
}

template <typename List>
bool holds(const List& list, std::string_view word) {
    return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

/// Takes words off the front of the arguments.
class Words {
  public:
    explicit Words(const std::vector<std::string>& arguments) : arguments_(arguments) {}

    std::string_view front() const {
        return at_ < arguments_.size() ? std::string_view(arguments_[at_]) : std::string_view();
    }
    bool take(std::string_view word) {
        const bool is_next = !word.empty() && front() == word;
        at_ += is_next ? 1 : 0;
        return is_next;
    }
    void drop() { at_ += at_ < arguments_.size() ? 1 : 0; }
    std::size_t taken() const { return at_; }

  private:
    const std::vector<std::string>& arguments_;
    std::size_t at_ = 0;
};

void take_starters(Words& words) {
    while (true) {  // bounded by the arguments: each turn takes at least one
        if (is_assignment(words.front()) || holds(starters, words.front())) {
            words.drop();
        } else if (holds(runners, words.front())) {
            words.drop();
            (void)words.take("run");
        } else {
            return;
        }
    }
}

bool take_tool(Words& words) {
    const std::string_view name = base_name(words.front());
    for (const Tool& tool : tools) {
        if (tool.name == name) {
            words.drop();
            for (const std::string_view word : tool.words) {
                (void)words.take(word);
            }
            return true;
        }
    }
    return false;
}

/// `python3 [-u] script.py`, `python3 -m module`; the module may have subcommands.
bool take_python(Words& words) {
    if (!base_name(words.front()).starts_with("python")) {
        return false;
    }
    words.drop();
    (void)words.take("-u");
    if (words.take("-m")) {
        const bool is_vllm = words.front().starts_with("vllm");
        if (!take_tool(words)) {
            words.drop();
        }
        if (is_vllm) {
            (void)words.take("bench");
            (void)words.take("serve");
        }
        return true;
    }
    if (words.front().ends_with(".py")) {
        words.drop();
    }
    return true;
}

/// `cargo run --release --bin client -- ..`: what is behind the two dashes is the tool's.
bool take_cargo(Words& words, const std::vector<std::string>& arguments) {
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    if (words.front() != "cargo" || dashes == arguments.end()) {
        return false;
    }
    while (!words.take("--")) {  // bounded: it is there
        words.drop();
    }
    return true;
}

/// trace-replayer's binary is named `client`; a trace of that name would be alone.
bool take_client(Words& words, const std::vector<std::string>& arguments) {
    const auto names_trace = [](const std::string& one) {
        return one == "--dataset-path" || one.starts_with("--dataset-path=");
    };
    if (base_name(words.front()) != "client" ||
        std::none_of(arguments.begin(), arguments.end(), names_trace)) {
        return false;
    }
    words.drop();
    return true;
}

}  // namespace

std::size_t count_program_words(const std::vector<std::string>& arguments) {
    Words words(arguments);
    take_starters(words);
    const bool is_script = words.front().ends_with(".py");
    if (is_script) {
        words.drop();
    }
    const bool known = is_script || take_python(words) || take_cargo(words, arguments) ||
                       take_client(words, arguments) || take_tool(words);
    return known ? words.taken() : 0;
}

}  // namespace driftless
