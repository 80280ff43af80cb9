/// Where another tool's command line comes in: which tool it is, and its flags under our names.

#include "cmd/flags/other_tools.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "cmd/base/secrets.hpp"

namespace driftless {

namespace {

/// A tool, and the words of its subcommand that replays, separated by '|'. `others` replay nothing.
struct Tool {
    std::string_view name;
    std::string_view words;
    ForeignTool tool = ForeignTool::other;
    std::string_view others = "";
    const char* instead = "";
};
constexpr const char* only_profile =
    "only profile is translated; driftless inspect FILE describes a trace, driftless report RUN "
    "and driftless compare read runs";
constexpr const char* only_from_config =
    "only benchmark from-config is translated; use driftless replay FILE --url URL with --rate inf "
    "(offline), --rate QPS (poisson) or --concurrency N";
constexpr const char* by_hand =
    "is not translated; use driftless replay FILE --url URL with --rate R or --concurrency N";
constexpr Tool tools[] = {
    {"aiperf", "profile", ForeignTool::aiperf, "plot|analyze-trace", only_profile},
    {"genai-perf", "profile", ForeignTool::aiperf,
     "analyze|compare|config|create-template|process-export-files", only_profile},
    {"guidellm", "benchmark|run", ForeignTool::guidellm,
     "report|from-file|config|env|preprocess|mock-server",
     "only run and benchmark are translated; driftless report RUN reads runs, driftless mock is a "
     "server"},
    {"vllm", "bench|serve", ForeignTool::vllm, "sweep|throughput|latency|startup",
     "only bench serve is translated; driftless sweep runs several loads"},
    {"vllm-bench", "serve", ForeignTool::vllm},
    {"inference-perf", "", ForeignTool::other, "--config_file|-c", by_hand},
    {"evalscope", "", ForeignTool::other, "perf", by_hand},
    {"trace-replayer", ""},
    {"trace_replayer", ""},
    {"inference-endpoint", "-v|benchmark|from-config", ForeignTool::mlperf,
     "offline|online|probe|eval|validate-yaml|init|info", only_from_config},
};
constexpr const char* no_clients =
    "is not translated; use driftless replay FILE --users N, with its conversations or those of "
    "driftless synth chat";
struct Script {
    std::string_view name;
    ForeignTool tool;
    const char* instead = "";
};
constexpr Script scripts[] = {
    {"trace_replay_tester.py", ForeignTool::kv_cache_tester},
    {"benchmark_serving.py", ForeignTool::vllm},
    {"bench_serving.py", ForeignTool::sglang},
    {"benchmark_serving_multi_turn.py", ForeignTool::other, no_clients},
    {"bench_multiturn.py", ForeignTool::other, no_clients},
    {"token_benchmark_ray.py", ForeignTool::other, by_hand},
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

    std::string_view front() const { return at(at_); }
    std::string_view second() const { return at(at_ + 1); }
    bool take(std::string_view word) {
        const bool is_next = !word.empty() && front() == word;
        at_ += is_next ? 1 : 0;
        return is_next;
    }
    void drop() { at_ += at_ < arguments_.size() ? 1 : 0; }
    void drop_for(const char* instead) {
        drop();
        instead_ = instead;
    }
    const char* instead() const { return instead_; }
    std::size_t taken() const { return at_; }

  private:
    std::string_view at(std::size_t index) const {
        return index < arguments_.size() ? std::string_view(arguments_[index]) : std::string_view();
    }

    const std::vector<std::string>& arguments_;
    std::size_t at_ = 0;
    const char* instead_ = "";
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
        const std::string_view typed = std::string_view(argument).substr(0, argument.find('='));
        return typed == "--data" || is_one_of(trace_flags, typed);
    });
}

/// A word that is also the path of a trace, as "traces/vllm", is a tool only where its subcommand
/// follows, or where a flag names the trace. None: it is no tool.
ForeignTool take_tool(Words& words, const std::vector<std::string>& arguments) {
    const std::string_view name = base_name(words.front());
    for (const Tool& tool : tools) {
        const bool has_command =
            is_one_of(tool.words, words.second()) || is_one_of(tool.others, words.second());
        if (tool.name != name || (!has_command && !names_trace(arguments))) {
            continue;
        }
        words.drop();
        while (is_one_of(tool.words, words.front())) {  // bounded by the arguments
            words.drop();
        }
        if (is_one_of(tool.others, words.front())) {
            words.drop_for(tool.instead);
        }
        return tool.tool;
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
    const auto* const script = std::find_if(std::begin(scripts), std::end(scripts),
                                            [name](const Script& one) { return one.name == name; });
    words.drop_for(script == std::end(scripts) ? "" : script->instead);
    return script == std::end(scripts) ? ForeignTool::other : script->tool;
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
                                     : ProgramWords{words.taken(), tool, words.instead()};
}

namespace {

/// A flag that names the trace, a data set or an earlier run.
bool names_data(std::string_view typed) {
    return is_one_of(trace_flags, typed) ||
           is_one_of(
               "--dataset-name|--data|--public-dataset|--hf-weka-dataset|--resume|--from|"
               "--config|-f|--search-recipe",
               typed);
}

bool is_goodput_part(std::string_view argument) {
    return argument.starts_with("ttft:") || argument.starts_with("tpot:") ||
           argument.starts_with("e2e:") || argument.starts_with("e2el:");
}

/// One pass over the arguments.
class Speller {
  public:
    explicit Speller(const std::vector<std::string>& arguments)
        : Speller(arguments, find_program_words(arguments)) {}

    Speller(const std::vector<std::string>& arguments, ProgramWords program)
        : arguments_(arguments),
          at_(program.count),
          program_(program.tool),
          tool_(program.tool),
          synthetic_(program.tool),
          foreign_(arguments, program.tool) {
        if (at_ > 0) {
            const std::vector<std::string> masked = mask_command(arguments);
            std::string words = masked[0];
            for (std::size_t i = 1; i < at_; ++i) {
                words += " " + masked[i];
            }
            out_.notes.push_back("\"" + words + "\" is ignored: driftless takes the tool's place");
            out_.refused = *program.instead == '\0' ? "" : "\"" + words + "\": " + program.instead;
        }
    }

    Spelled spell() {
        while (at_ < arguments_.size() && out_.refused.empty()) {
            const std::string_view argument = arguments_[at_++];
            if (argument == "--" && program_ == ForeignTool::aiperf) {
                out_.refused = "--: what follows it is for GenAI-Perf's Perf Analyzer; remove both";
            }
            if (argument == "--") {
                --at_;
                break;
            }
            const bool is_flag = argument.size() > 1 && argument.front() == '-';
            is_flag ? flag(argument) : word(argument);
        }
        if (program_ != ForeignTool::none) {
            synthetic_.prepare(names_data_, out_);
        }
        tool_.finish(out_);
        foreign_.finish(out_);
        synthetic_.finish(out_);
        go_round();
        for (; at_ < arguments_.size(); ++at_) {
            out_.arguments.push_back(arguments_[at_]);
        }
        return std::move(out_);
    }

  private:
    /// Rows that the line asks for beyond those of its file are further passes of the file.
    void go_round() {
        const bool closed = has_argument(out_, "--users") || has_argument(out_, "--concurrency");
        const bool open = has_argument(out_, "--rate") || has_argument(out_, "--ramp");
        if (!out_.goes_round || out_.makes_rows || (!closed && !open) || !out_.refused.empty() ||
            has_argument(out_, "--recycle") || has_argument(out_, "--replicate")) {
            return;
        }
        const bool timed = closed && has_argument(out_, "--for");
        const std::string limit = argument_of(out_, "--limit");
        if (timed && limit.empty()) {
            out_.arguments.emplace_back("--recycle");
            add_note(out_,
                     "the trace is repeated until --for ends the run (--recycle), as the "
                     "tool does; each pass has its own words");
            return;
        }
        const std::string rows = closed ? limit : made_rows(out_, "");
        if (!rows.empty()) {
            add_flag(out_, "--replicate", "rows:" + rows);
            add_note(out_, "a trace of fewer than " + rows +
                               " rows is repeated (--replicate rows:" + rows +
                               "), as the tool does; each pass has its own words");
        }
    }

    void word(std::string_view argument) {
        if (in_goodput_ && is_goodput_part(argument)) {
            out_.arguments.back() += " " + std::string(argument);
            return;
        }
        names_data_ = names_data_ || !takes_value_;
        takes_value_ = false;
        // The value of `--goodput` begins what may be gathered.
        in_goodput_ = !out_.arguments.empty() && out_.arguments.back() == "--goodput";
        out_.arguments.emplace_back(argument);
    }

    void flag(std::string_view argument) {
        const std::size_t equals = argument.find('=');
        const std::string_view typed = argument.substr(0, equals);
        in_goodput_ = false;
        takes_value_ = false;
        names_data_ = names_data_ || names_data(typed);
        const bool has_value = equals != argument.npos;
        const std::string value = has_value ? std::string(argument.substr(equals + 1)) : "";
        const std::span<const std::string> following = std::span(arguments_).subspan(at_);
        const std::string* own_value = has_value ? &value : nullptr;
        if (const auto of_data = synthetic_.take(typed, own_value, following)) {
            at_ += *of_data;
            return;
        }
        const auto of_tool = tool_.take(typed, own_value, following, out_);
        if (of_tool) {
            at_ += *of_tool;
            return;
        }
        const std::string* behind = at_ < arguments_.size() ? &arguments_[at_] : nullptr;
        const auto taken = foreign_.take(typed, has_value ? &value : behind, out_);
        if (taken) {
            at_ += has_value ? 0 : std::min(*taken, arguments_.size() - at_);
            return;
        }
        out_.arguments.emplace_back(typed);
        takes_value_ = !has_value;
        if (has_value) {
            out_.arguments.push_back(value);
            in_goodput_ = typed == "--goodput";
        }
    }

    const std::vector<std::string>& arguments_;
    std::size_t at_ = 0;
    ForeignTool program_ = ForeignTool::none;
    ToolFlags tool_;
    SyntheticFlags synthetic_;
    Foreign foreign_;
    Spelled out_;
    bool in_goodput_ = false;
    bool takes_value_ = false;  ///< the last flag was ours: its value may follow
    bool names_data_ = false;   ///< a trace, or a data set by name
};

}  // namespace

Spelled spell(const std::vector<std::string>& arguments) {
    return Speller(arguments).spell();
}

}  // namespace driftless
