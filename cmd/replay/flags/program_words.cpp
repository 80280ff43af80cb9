#include "cmd/replay/flags/program_words.hpp"

#include <algorithm>
#include <string_view>

#include "cmd/secrets.hpp"

namespace driftless {

namespace {

/// A tool and the subcommand that replays; words that may follow it are taken, too.
struct Tool {
    std::string_view name;
    std::string_view words[2];  ///< in this order
    ForeignTool tool = ForeignTool::other;
};
constexpr Tool tools[] = {
    {"aiperf", {"profile", ""}, ForeignTool::aiperf},
    {"genai-perf", {"profile", ""}, ForeignTool::aiperf},
    {"guidellm", {"benchmark", "run"}, ForeignTool::guidellm},
    {"vllm", {"bench", "serve"}, ForeignTool::vllm},
    {"vllm-bench", {"serve", ""}, ForeignTool::vllm},
    {"trace-replayer", {"", ""}},
    {"trace_replayer", {"", ""}},
    {"inference-endpoint", {"benchmark", "from-config"}, ForeignTool::mlperf},
};
constexpr std::string_view kv_cache_tester_script = "trace_replay_tester.py";
constexpr std::string_view vllm_script = "benchmark_serving.py";
constexpr std::string_view sglang_script = "bench_serving.py";
/// Words that start another program.
constexpr std::string_view starters[] = {"nohup", "time", "sudo", "uvx", "env"};
constexpr std::string_view runners[] = {"uv", "poetry", "pixi"};  // and "run"
constexpr std::string_view trace_flags[] = {"--dataset-path", "--input-file", "--trace-path",
                                            "--data"};

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

    std::string_view front() const { return at(at_); }
    std::string_view second() const { return at(at_ + 1); }
    bool take(std::string_view word) {
        const bool is_next = !word.empty() && front() == word;
        at_ += is_next ? 1 : 0;
        return is_next;
    }
    void drop() { at_ += at_ < arguments_.size() ? 1 : 0; }
    std::size_t taken() const { return at_; }

  private:
    std::string_view at(std::size_t index) const {
        return index < arguments_.size() ? std::string_view(arguments_[index]) : std::string_view();
    }

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

/// A flag of other tools that names the trace: the first word is none then.
bool names_trace(const std::vector<std::string>& arguments) {
    return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
        return holds(trace_flags, std::string_view(argument).substr(0, argument.find('=')));
    });
}

/// A word that is also the path of a trace, as "traces/vllm", is a tool only where its subcommand
/// follows, or where a flag names the trace. None: it is no tool.
ForeignTool take_tool(Words& words, const std::vector<std::string>& arguments) {
    const std::string_view name = base_name(words.front());
    for (const Tool& tool : tools) {
        const bool has_command = !tool.words[0].empty() && words.second() == tool.words[0];
        if (tool.name == name && (has_command || names_trace(arguments))) {
            words.drop();
            for (const std::string_view word : tool.words) {
                (void)words.take(word);
            }
            return tool.tool;
        }
    }
    return ForeignTool::none;
}

/// None: no module of that name is known.
ForeignTool tool_of_module(std::string_view name) {
    constexpr std::string_view of_vllm[] = {
        "vllm.benchmarks.serve", "vllm.benchmarks.benchmark_serving", "vllm.entrypoints.cli.main"};
    constexpr std::string_view of_sglang[] = {"sglang.bench_serving", "sglang.benchmark.serving"};
    return holds(of_vllm, name)     ? ForeignTool::vllm
           : holds(of_sglang, name) ? ForeignTool::sglang
                                    : ForeignTool::none;
}

void take_subcommands(Words& words, ForeignTool module) {
    if (module == ForeignTool::vllm) {
        (void)words.take("bench");
        (void)words.take("serve");
    }
}

/// A script of which only the name is known, or a module by its name alone, as pages write it.
/// None: it is neither.
ForeignTool take_script(Words& words) {
    const std::string_view name = base_name(words.front());
    if (const ForeignTool module = tool_of_module(words.front());
        module != ForeignTool::none && module != ForeignTool::other) {
        words.drop();
        take_subcommands(words, module);
        return module;
    }
    if (!name.ends_with(".py")) {
        return ForeignTool::none;
    }
    words.drop();
    return name == kv_cache_tester_script ? ForeignTool::kv_cache_tester
           : name == vllm_script          ? ForeignTool::vllm
           : name == sglang_script        ? ForeignTool::sglang
                                          : ForeignTool::other;
}

/// "python", "python3", "python3.12", and not "python.jsonl".
bool is_python(std::string_view name) {
    constexpr std::string_view start = "python";
    return name.starts_with(start) &&
           name.find_first_not_of("0123456789.", start.size()) == name.npos;
}

/// `python3 [-u] script.py`, `python3 -m module`; the module may have subcommands.
ForeignTool take_python(Words& words, const std::vector<std::string>& arguments) {
    const std::string_view second = words.second();
    const bool runs = second == "-m" || second == "-u" || second.ends_with(".py");
    if (!is_python(base_name(words.front())) || !runs) {
        return ForeignTool::none;
    }
    words.drop();
    (void)words.take("-u");
    if (words.take("-m")) {
        const bool is_vllm = words.front().starts_with("vllm");
        const ForeignTool known = tool_of_module(words.front());
        const ForeignTool module = is_vllm                      ? ForeignTool::vllm
                                   : known == ForeignTool::none ? ForeignTool::other
                                                                : known;
        const ForeignTool tool = take_tool(words, arguments);
        if (tool == ForeignTool::none) {
            words.drop();
        }
        take_subcommands(words, module);
        return tool == ForeignTool::none ? module : tool;
    }
    const ForeignTool script = take_script(words);
    return script == ForeignTool::none ? ForeignTool::other : script;
}

/// `cargo run --release --bin client -- ..`: what is behind the two dashes is the tool's.
ForeignTool take_cargo(Words& words, const std::vector<std::string>& arguments) {
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    if (words.front() != "cargo" || dashes == arguments.end()) {
        return ForeignTool::none;
    }
    while (!words.take("--")) {  // bounded: it is there
        words.drop();
    }
    return ForeignTool::other;
}

/// trace-replayer's binary is named `client`; a trace of that name would be alone.
ForeignTool take_client(Words& words, const std::vector<std::string>& arguments) {
    if (base_name(words.front()) != "client" || !names_trace(arguments)) {
        return ForeignTool::none;
    }
    words.drop();
    return ForeignTool::other;
}

/// Keys that a shell would assign are not the names of traces, whatever follows.
std::size_t count_keys(const std::vector<std::string>& arguments) {
    const auto other =
        std::find_if(arguments.begin(), arguments.end(),
                     [](const std::string& argument) { return assigned_secret_at(argument) == 0; });
    return static_cast<std::size_t>(other - arguments.begin());
}

}  // namespace

ProgramWords find_program_words(const std::vector<std::string>& arguments) {
    Words words(arguments);
    take_starters(words);
    ForeignTool tool = take_script(words);
    for (const auto take : {take_python, take_cargo, take_client, take_tool}) {
        tool = tool == ForeignTool::none ? take(words, arguments) : tool;
    }
    return tool == ForeignTool::none ? ProgramWords{count_keys(arguments), tool}
                                     : ProgramWords{words.taken(), tool};
}

}  // namespace driftless
