/// Where another tool's command line comes in: which tool it is, and its flags under our names.

#include "cmd/flags/other_tools.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "cmd/base/program.hpp"
#include "cmd/flags/replay_values.hpp"
#include "cmd/flags/settings.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

namespace {

struct Table {
    std::map<std::string, std::string, std::less<>> reasons;
    std::vector<ToolRow> rows;
};

/// Takes a word off the front.
std::string cut_word(std::string& text) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::string word = text.substr(0, end);
    text.erase(0, std::min(text.find_first_not_of(' ', end), text.size()));
    return word;
}

constexpr std::string_view verbs = "is|adds|ignored|refused|read|member|sets|once|code|gives|ms";

/// "--flag X  verb text", "--flag  refused unless 0|1: text".
ToolRow read_row(std::string_view section, std::string text, const Table& table) {
    ToolRow row{std::string(section), cut_word(text), "", "", "", ""};
    row.values = text.starts_with("X ") || text.starts_with("X.. ") ? cut_word(text) : "";
    row.verb = cut_word(text);
    if (text.starts_with("unless ")) {
        (void)cut_word(text);
        row.unless = cut_word(text);
        CHECK(row.unless.ends_with(':'));
        row.unless.pop_back();
    } else if (row.verb.ends_with(':')) {
        row.verb.pop_back();
    }
    if (row.verb == "read" && !text.empty()) {
        (void)cut_word(text);  // "as"
    }
    const auto reason = table.reasons.find(text.starts_with('$') ? text.substr(1) : "");
    CHECK(reason != table.reasons.end() || !text.starts_with('$'));
    CHECK(is_one_of(verbs, row.verb));
    row.text = reason == table.reasons.end() ? text : reason->second;
    return row;
}

/// A line that begins with a space continues the one before it.
Table read_table(std::string_view text) {
    Table table;
    std::string section;
    while (!text.empty()) {  // each turn takes a line off
        std::string line;
        do {
            const std::string_view part = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(part.size() + 1, text.size()));
            line += line.empty() || line.ends_with('|') ? "" : " ";
            line += part.substr(std::min(part.find_first_not_of(' '), part.size()));
        } while (text.starts_with(' '));
        if (line.starts_with('[')) {
            section = line.substr(1, line.find_first_of(" ,:]") - 1);
        } else if (line.starts_with('$')) {
            const std::string name = cut_word(line).substr(1);
            table.reasons[name] = line;
        } else if (!line.empty() && !line.starts_with('#')) {
            table.rows.push_back(read_row(section, line, table));
        }
    }
    return table;
}

const Table& tool_table() {
    static const Table table = read_table(find_shipped_file("other_tools.txt")->text);
    return table;
}

}  // namespace

const ToolRow* find_row(std::string_view section, std::string_view typed) {
    for (const ToolRow& row : tool_table().rows) {
        if (row.section == section && is_one_of(row.typed, typed)) {
            return &row;
        }
    }
    return nullptr;
}

std::string_view our_flag(std::string_view typed) {
    for (const ToolRow& row : tool_table().rows) {
        if (row.verb == "is" && is_one_of(row.typed, typed)) {
            return row.text;
        }
    }
    return "";
}

const std::string& reason_of(std::string_view name) {
    const auto found = tool_table().reasons.find(name);
    CHECK(found != tool_table().reasons.end());
    return found->second;
}

std::string members_of(Line& line) {
    std::string members;
    for (const ToolRow& row : tool_table().rows) {
        for (std::string_view names = row.typed;
             row.section == line.tool && row.verb == "member" && !names.empty();) {
            const std::string_view typed = names.substr(0, names.find('|'));
            names.remove_prefix(std::min(typed.size() + 1, names.size()));
            if (line.has(typed)) {
                std::string name(typed.substr(2));
                std::replace(name.begin(), name.end(), '-', '_');
                extend_members(members, name, line.get(typed));
            }
        }
    }
    return members;
}

namespace {

/// Its value is a trace.
bool names_trace_file(std::string_view typed) {
    const ToolRow* const row = find_row("any", typed);
    return row != nullptr && row->verb == "is" && row->text == "the trace";
}

/// A tool, and the words of its subcommand that replays, separated by '|'. `others` replay nothing.
struct Tool {
    std::string_view name;
    std::string_view words;
    std::string_view tool = "other";
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
    {"aiperf", "profile", "aiperf", "plot|analyze-trace", only_profile},
    {"genai-perf", "profile", "aiperf",
     "analyze|compare|config|create-template|process-export-files", only_profile},
    {"guidellm", "benchmark|run", "guidellm", "report|from-file|config|env|preprocess|mock-server",
     "only run and benchmark are translated; driftless report RUN reads runs, driftless mock is a "
     "server"},
    {"vllm", "bench|serve", "vllm", "sweep|throughput|latency|startup",
     "only bench serve is translated; driftless sweep runs several loads"},
    {"vllm-bench", "serve", "vllm"},
    {"inference-perf", "", "other", "--config_file|-c", by_hand},
    {"evalscope", "", "other", "perf", by_hand},
    {"trace-replayer", ""},
    {"trace_replayer", ""},
    {"inference-endpoint", "-v|benchmark|from-config", "mlperf",
     "offline|online|probe|eval|validate-yaml|init|info", only_from_config},
};
constexpr const char* no_clients =
    "is not translated; use driftless replay FILE --users N, with its conversations or those of "
    "driftless synth chat";
struct Script {
    std::string_view name;
    std::string_view tool;
    const char* instead = "";
};
constexpr Script scripts[] = {
    {"trace_replay_tester.py", "kv_cache_tester"},
    {"benchmark_serving.py", "vllm"},
    {"bench_serving.py", "sglang"},
    {"benchmark_serving_multi_turn.py", "other", no_clients},
    {"bench_multiturn.py", "other", no_clients},
    {"token_benchmark_ray.py", "other", by_hand},
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

/// A flag of other tools that names the trace or the data set: the first word is none then.
bool names_trace(const std::vector<std::string>& arguments) {
    return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
        const std::string_view typed = std::string_view(argument).substr(0, argument.find('='));
        return is_one_of("--data|--dataset-name|--public-dataset", typed) ||
               names_trace_file(typed);
    });
}

/// A word that is also the path of a trace, as "traces/vllm", is a tool only where its subcommand
/// follows, or where a flag names the trace. None: it is no tool.
std::string_view take_tool(Words& words, const std::vector<std::string>& arguments) {
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
    return "";
}

/// None: no module of that name is known.
std::string_view tool_of_module(std::string_view name) {
    constexpr std::string_view of_vllm[] = {
        "vllm.benchmarks.serve", "vllm.benchmarks.benchmark_serving", "vllm.entrypoints.cli.main"};
    constexpr std::string_view of_sglang[] = {"sglang.bench_serving", "sglang.benchmark.serving"};
    return holds(of_vllm, name) ? "vllm" : holds(of_sglang, name) ? "sglang" : "";
}

void take_subcommands(Words& words, std::string_view module) {
    if (module == "vllm") {
        (void)words.take("bench");
        (void)words.take("serve");
    }
}

/// A script of a known name, or of any where a flag names the trace or python starts it; or a
/// module by its name alone, as pages write it. None: it is neither.
std::string_view take_script(Words& words, bool any_name) {
    const std::string_view name = base_name(words.front());
    if (const std::string_view module = tool_of_module(words.front());
        !module.empty() && module != "other") {
        words.drop();
        take_subcommands(words, module);
        return module;
    }
    if (!name.ends_with(".py")) {
        return "";
    }
    const auto* const script = std::find_if(std::begin(scripts), std::end(scripts),
                                            [name](const Script& one) { return one.name == name; });
    const bool is_known = script != std::end(scripts);
    if (is_known || any_name) {
        words.drop_for(is_known ? script->instead : "");
    }
    return is_known ? script->tool : any_name ? "other" : "";
}

/// "python", "python3", "python3.12", and not "python.jsonl".
bool is_python(std::string_view name) {
    constexpr std::string_view start = "python";
    return name.starts_with(start) &&
           name.find_first_not_of("0123456789.", start.size()) == name.npos;
}

/// `python3 [-u] script.py`, `python3 -m module`; the module may have subcommands.
std::string_view take_python(Words& words, const std::vector<std::string>& arguments) {
    const std::string_view second = words.second();
    const bool runs = second == "-m" || second == "-u" || second.ends_with(".py");
    if (!is_python(base_name(words.front())) || !runs) {
        return "";
    }
    words.drop();
    (void)words.take("-u");
    if (words.take("-m")) {
        const bool is_vllm = words.front().starts_with("vllm");
        const std::string_view known = tool_of_module(words.front());
        const std::string_view module = is_vllm ? "vllm" : known.empty() ? "other" : known;
        const std::string_view tool = take_tool(words, arguments);
        if (tool.empty()) {
            words.drop();
        }
        take_subcommands(words, module);
        return tool.empty() ? module : tool;
    }
    const std::string_view script = take_script(words, true);
    return script.empty() ? "other" : script;
}

/// `cargo run --release --bin client -- ..`: what is behind the two dashes is the tool's.
std::string_view take_cargo(Words& words, const std::vector<std::string>& arguments) {
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    if (words.front() != "cargo" || dashes == arguments.end()) {
        return "";
    }
    while (!words.take("--")) {  // bounded: it is there
        words.drop();
    }
    return "other";
}

/// trace-replayer's binary is named `client`; a trace of that name would be alone.
std::string_view take_client(Words& words, const std::vector<std::string>& arguments) {
    if (base_name(words.front()) != "client" || !names_trace(arguments)) {
        return "";
    }
    words.drop();
    return "other";
}

/// Keys that a shell would assign are not the names of traces, whatever follows.
std::size_t count_keys(const std::vector<std::string>& arguments) {
    const auto other =
        std::find_if(arguments.begin(), arguments.end(),
                     [](const std::string& argument) { return assigned_secret_at(argument) == 0; });
    return static_cast<std::size_t>(other - arguments.begin());
}

struct ProgramWords {
    std::size_t count = 0;
    std::string_view tool;
    const char* instead = "";  ///< not empty: the words are of no replay; what to use
};

/// How many of the first arguments name another replay tool and its subcommand, with what starts it
/// (`python3 trace_replay.py`, `uv run`, `NAME=VALUE`), and which tool that is.
ProgramWords find_program_words(const std::vector<std::string>& arguments) {
    Words words(arguments);
    take_starters(words);
    std::string_view tool = take_script(words, words.taken() > 0 || names_trace(arguments));
    for (const auto take : {take_python, take_cargo, take_client, take_tool}) {
        tool = tool.empty() ? take(words, arguments) : tool;
    }
    return tool.empty() ? ProgramWords{count_keys(arguments), tool}
                        : ProgramWords{words.taken(), tool, words.instead()};
}

/// A flag that names the trace, a data set or an earlier run.
bool names_data(std::string_view typed) {
    return names_trace_file(typed) ||
           is_one_of(
               "--dataset-name|--data|--public-dataset|--hf-weka-dataset|--resume|--from|"
               "--config|-f|--search-recipe",
               typed);
}

bool is_goodput_part(std::string_view argument) {
    return argument.starts_with("ttft:") || argument.starts_with("tpot:") ||
           argument.starts_with("e2e:") || argument.starts_with("e2el:");
}

/// A number may be negative; a flag begins with a letter behind its dashes.
bool is_flag(std::string_view argument) {
    return argument.size() > 1 && argument.front() == '-' &&
           (argument[1] < '0' || argument[1] > '9') && argument[1] != '.';
}

std::size_t count_values(std::span<const std::string> behind) {
    return static_cast<std::size_t>(std::find_if(behind.begin(), behind.end(), is_flag) -
                                    behind.begin());
}

/// `text` is the flag of ours, perhaps with its value behind a space.
void add_renamed(const ToolRow& row, std::string_view typed, std::string_view value, Spelled& out) {
    const std::string_view ours = row.text == "the trace" ? std::string_view() : row.text;
    const std::size_t space = ours.find(' ');
    const std::string name(ours.substr(0, space));
    if (!name.empty()) {
        out.typed_as.emplace_back(name, typed);
    }
    do {  // each turn takes a value off
        const std::size_t end = row.values == "X.." ? value.find_first_of(" ,") : value.npos;
        if (!name.empty()) {
            out.arguments.push_back(name);
        }
        if (space != ours.npos || !row.values.empty()) {
            out.arguments.emplace_back(space != ours.npos ? ours.substr(space + 1)
                                                          : value.substr(0, end));
        }
        value = end == value.npos ? "" : value.substr(end + 1);
    } while (!value.empty());
}

constexpr struct {
    std::string_view tool;
    void (*finish)(Line& line);
} finishes[] = {{"vllm", finish_vllm},
                {"sglang", finish_sglang},
                {"guidellm", finish_guidellm},
                {"aiperf", finish_aiperf},
                {"kv_cache_tester", finish_kv_cache_tester},
                {"mlperf", finish_mlperf}};

/// One pass over the arguments.
class Speller {
  public:
    explicit Speller(const std::vector<std::string>& arguments)
        : Speller(arguments, find_program_words(arguments)) {}

    Speller(const std::vector<std::string>& arguments, ProgramWords program)
        : arguments_(arguments), at_(program.count) {
        out_.tool = program.tool;
        out_.has_data_path =
            std::any_of(arguments.begin(), arguments.end(), [](const std::string& one) {
                return one == "--dataset-path" || one.starts_with("--dataset-path=");
            });
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
            if (argument == "--" && out_.tool == "aiperf") {
                out_.refused = "--: what follows it is for GenAI-Perf's Perf Analyzer; remove both";
            }
            if (argument == "--") {
                --at_;
                break;
            }
            const bool is_flag = argument.size() > 1 && argument.front() == '-';
            is_flag ? flag(argument) : word(argument);
        }
        if (!out_.tool.empty()) {
            prepare_synthetic(names_data_, out_);
        }
        for (const auto& [tool, finish] : finishes) {
            if (tool == out_.tool && out_.refused.empty()) {
                finish(out_);
            }
        }
        finish_shared(out_);
        finish_synthetic(out_);
        go_round();
        for (; at_ < arguments_.size(); ++at_) {
            out_.arguments.push_back(arguments_[at_]);
        }
        return static_cast<Spelled&&>(out_);
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
        if (const auto taken = take(typed, has_value ? &value : nullptr)) {
            at_ += *taken;
            return;
        }
        if (has_value && is_switch(typed)) {
            take_switch(typed, value);
            return;
        }
        out_.arguments.emplace_back(typed);
        takes_value_ = !has_value;
        if (has_value) {
            out_.arguments.push_back(value);
            in_goodput_ = typed == "--goodput";
        }
    }

    static bool is_switch(std::string_view typed) {
        const Flag& flag = replay_flags().named(typed);
        return !flag.names.empty() && flag.unit.empty();
    }

    /// `--quiet=true`, as its key in a file.
    void take_switch(std::string_view typed, const std::string& value) {
        if (value == "true") {
            out_.arguments.emplace_back(typed);
        } else if (value != "false") {
            refuse_line(out_, std::string(typed) +
                                  ": is on or off and takes no value; remove \"=" + value + "\"");
        }
    }

    /// Takes a flag of the table. `own`: what stands behind its '='. Returns how many arguments
    /// behind it were its value; nothing where it is no such flag.
    std::optional<std::size_t> take(std::string_view typed, const std::string* own) {
        const std::span<const std::string> behind = std::span(arguments_).subspan(at_);
        const std::string* const next = own != nullptr || behind.empty() ? own : behind.data();
        const ToolRow* row = find_row(out_.tool, typed);
        if (row == nullptr || (row->verb == "sets" && !row->values.empty() && next == nullptr)) {
            row = is_ours(typed, next) ? nullptr : find_row("any", typed);
        }
        if (row == nullptr) {
            return std::nullopt;
        }
        std::string value = row->values.empty() || next == nullptr ? "" : *next;
        std::size_t count = own != nullptr || row->values.empty() ? 0 : 1;
        if (row->values == "X..") {
            count = own != nullptr ? 0 : count_values(behind);
            value = own != nullptr ? *own : "";
            for (const std::string& one : behind.subspan(0, count)) {
                value += (value.empty() ? "" : " ") + one;
            }
        } else if (!row->values.empty() && next == nullptr) {
            refuse_line(out_, std::string(typed) + ": needs a value");
            return 0;
        }
        apply(*row, typed, value);
        return count;
    }

    /// The same name may be a flag of ours with another meaning.
    bool is_ours(std::string_view typed, const std::string* next) const {
        const bool with_value = next != nullptr && !next->starts_with("-");
        const bool of_trace_replayer = typed == "--dataset" || typed == "--api";
        return (of_trace_replayer && !out_.has_data_path) ||
               (typed == "--save-prompts" && with_value);
    }

    void apply(const ToolRow& row, std::string_view typed, const std::string& value) {
        const std::string shown =
            std::string(typed) + (value.empty() ? "" : " " + mask_value(mask_of(typed), value));
        const std::string_view verb = row.verb;
        if (verb == "is") {
            add_renamed(row, typed, value, out_);
        } else if (verb == "adds") {
            std::string text = row.text;
            const std::string flag = cut_word(text);
            add_flag(out_, flag, text.replace(text.find('X'), 1, value));
        } else if (verb == "ignored") {
            add_note(out_, shown + " is ignored: " + row.text);
        } else if (verb == "refused" && is_one_of(row.unless, value) && !row.values.empty()) {
            add_note(out_, shown + " is ignored: it changes nothing here");
        } else if (verb == "refused") {
            refuse_line(out_, shown + ": " + row.text);
        } else if (verb == "code") {
            take_by_code(row.text, value, out_);
        } else if (verb == "once") {
            keep_once(typed, value);
        } else if (verb == "sets") {
            out_.kept[row.text] = {value, std::string(typed), false};
        } else {  // "read as NAME", "member"
            std::string& kept = out_.kept[row.text.empty() ? std::string(typed) : row.text].value;
            kept = row.values == "X.." && !kept.empty() ? kept + " " + value : value;
        }
    }

    /// Of rates, each may be said once.
    void keep_once(std::string_view typed, const std::string& value) {
        const std::string flag(typed);
        if (value.empty()) {
            refuse_line(out_, flag + " \"\" is empty; give it a value, or remove it");
        } else if (flag == "--burstiness" && !parse_arrivals("gamma:" + value)) {
            refuse_line(out_, flag + " \"" + value +
                                  "\" is not a number from 0.01 to 1000000; 1 is poisson, less is "
                                  "burstier");
        }
        if (!out_.kept.emplace(flag.substr(2), Line::Kept{value, "", false}).second) {
            refuse_line(out_, flag + ": is given 2 times; give it once");
        }
    }

    const std::vector<std::string>& arguments_;
    std::size_t at_ = 0;
    Line out_;
    bool in_goodput_ = false;
    bool takes_value_ = false;  ///< the last flag was ours: its value may follow
    bool names_data_ = false;   ///< a trace, or a data set by name
};

}  // namespace

Spelled spell(const std::vector<std::string>& arguments) {
    return Speller(arguments).spell();
}

}  // namespace driftless
