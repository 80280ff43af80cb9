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

/// Its value is a trace.
static bool names_trace_file(std::string_view typed) {
    const ToolRow* const row = find_row("any", typed);
    return row != nullptr && row->verb == "is" && row->text == "the trace";
}

/// Words that start another program.
static constexpr std::string_view starters = "nohup|time|sudo|uvx|env";
static constexpr std::string_view runners = "uv|poetry|pixi";  // and "run"

static std::string_view base_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

static bool is_assignment(std::string_view word) {
    const std::size_t equals = word.find('=');
    return equals != word.npos && equals > 0 && word.front() != '-' &&
           std::all_of(
               word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
               [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
}

namespace {

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

}  // namespace

static void take_starters(Words& words) {
    while (true) {  // bounded by the arguments: each turn takes at least one
        if (is_assignment(words.front()) || is_one_of(starters, words.front())) {
            words.drop();
        } else if (is_one_of(runners, words.front())) {
            words.drop();
            (void)words.take("run");
        } else {
            return;
        }
    }
}

/// A flag of other tools that names the trace or the data set: the first word is none then.
static bool names_trace(const std::vector<std::string>& arguments) {
    return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
        const std::string_view typed = std::string_view(argument).substr(0, argument.find('='));
        return !our_name("names_trace", typed).empty() || names_trace_file(typed);
    });
}

/// A word that is also the path of a trace, as "traces/vllm", is a tool only where its subcommand
/// follows, or where a flag names the trace. None: it is no tool.
static std::string_view take_tool(Words& words, const std::vector<std::string>& arguments) {
    const ToolProgram* const tool = find_program("program", base_name(words.front()));
    if (tool == nullptr || (!is_one_of(tool->words, words.second()) &&
                            !is_one_of(tool->others, words.second()) && !names_trace(arguments))) {
        return "";
    }
    words.drop();
    while (is_one_of(tool->words, words.front())) {  // bounded by the arguments
        words.drop();
    }
    if (is_one_of(tool->others, words.front())) {
        words.drop_for(tool->instead.c_str());
    }
    return tool->section;
}

/// None: no module of that name is known.
static std::string_view tool_of_module(std::string_view name) {
    const ToolProgram* const module = find_program("module", name);
    return module == nullptr ? std::string_view() : module->section;
}

static void take_subcommands(Words& words, std::string_view module) {
    if (module == "vllm") {
        (void)words.take("bench");
        (void)words.take("serve");
    }
}

/// A script of a known name, or of any where a flag names the trace or python starts it; or a
/// module by its name alone, as pages write it. None: it is neither.
static std::string_view take_script(Words& words, bool any_name) {
    const std::string_view name = base_name(words.front());
    if (const std::string_view module = tool_of_module(words.front()); !module.empty()) {
        words.drop();
        take_subcommands(words, module);
        return module;
    }
    if (!name.ends_with(".py")) {
        return "";
    }
    const ToolProgram* const script = find_program("script", name);
    const bool is_known = script != nullptr;
    if (is_known || any_name) {
        words.drop_for(is_known ? script->instead.c_str() : "");
    }
    return is_known ? std::string_view(script->section) : any_name ? "other" : "";
}

/// "python", "python3", "python3.12", and not "python.jsonl".
static bool is_python(std::string_view name) {
    constexpr std::string_view start = "python";
    return name.starts_with(start) &&
           name.find_first_not_of("0123456789.", start.size()) == name.npos;
}

/// `python3 [-u] script.py`, `python3 -m module`; the module may have subcommands.
static std::string_view take_python(Words& words, const std::vector<std::string>& arguments) {
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
static std::string_view take_cargo(Words& words, const std::vector<std::string>& arguments) {
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
static std::string_view take_client(Words& words, const std::vector<std::string>& arguments) {
    if (base_name(words.front()) != "client" || !names_trace(arguments)) {
        return "";
    }
    words.drop();
    return "other";
}

/// Keys that a shell would assign are not the names of traces, whatever follows.
static std::size_t count_keys(const std::vector<std::string>& arguments) {
    const auto other =
        std::find_if(arguments.begin(), arguments.end(),
                     [](const std::string& argument) { return assigned_secret_at(argument) == 0; });
    return static_cast<std::size_t>(other - arguments.begin());
}

namespace {

struct ProgramWords {
    std::size_t count = 0;
    std::string_view tool;
    const char* instead = "";  ///< not empty: the words are of no replay; what to use
};

}  // namespace

/// How many of the first arguments name another replay tool and its subcommand, with what starts it
/// (`python3 trace_replay.py`, `uv run`, `NAME=VALUE`), and which tool that is.
static ProgramWords find_program_words(const std::vector<std::string>& arguments) {
    Words words(arguments);
    take_starters(words);
    if (arguments.size() > words.taken() + 1 && !our_name("other_loads", words.front()).empty()) {
        words.drop_for(reason_of("understood").c_str());
        return {words.taken(), "other", words.instead()};
    }
    std::string_view tool = take_script(words, words.taken() > 0 || names_trace(arguments));
    for (const auto take : {take_python, take_cargo, take_client, take_tool}) {
        tool = tool.empty() ? take(words, arguments) : tool;
    }
    return tool.empty() ? ProgramWords{count_keys(arguments), tool}
                        : ProgramWords{words.taken(), tool, words.instead()};
}

/// A flag that names the trace, a data set or an earlier run.
static bool names_data(std::string_view typed) {
    return names_trace_file(typed) || !our_name("names_trace", typed).empty() ||
           !our_name("names_data", typed).empty();
}

static bool is_goodput_part(std::string_view argument) {
    return argument.starts_with("ttft:") || argument.starts_with("tpot:") ||
           argument.starts_with("e2e:") || argument.starts_with("e2el:");
}

/// A number may be negative; a flag begins with a letter behind its dashes.
static bool is_flag(std::string_view argument) {
    return argument.size() > 1 && argument.front() == '-' &&
           (argument[1] < '0' || argument[1] > '9') && argument[1] != '.';
}

static std::size_t count_values(std::span<const std::string> behind) {
    return static_cast<std::size_t>(std::find_if(behind.begin(), behind.end(), is_flag) -
                                    behind.begin());
}

/// `text` is the flag of ours, perhaps with its value behind a space.
static void add_renamed(const ToolRow& row, std::string_view typed, std::string_view value,
                        Spelled& out) {
    const std::string_view ours = row.text == "the trace" ? std::string_view() : row.text;
    const std::size_t space = ours.find(' ');
    const std::string name(ours.substr(0, space));
    if (!name.empty()) {
        out.typed_as.emplace_back(name, typed);
    }
    do {  // each turn takes a value off
        const std::size_t end = row.values == "X.." ? value.find_first_of(",\x1f") : value.npos;
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

/// Of rates, each may be said once.
static void keep_once(std::string_view typed, const std::string& value, Line& line) {
    const std::string flag(typed);
    if (value.empty()) {
        refuse_line(line, flag + " \"\" is empty; give it a value, or remove it");
    } else if (flag == "--burstiness" && !parse_arrivals("gamma:" + value)) {
        refuse_line(line, flag + " \"" + value +
                              "\" is not a number from 0.01 to 1000000; 1 is poisson, less is "
                              "burstier");
    }
    if (!line.kept.emplace(flag.substr(2), Line::Kept{value, "", false}).second) {
        refuse_line(line, flag + ": is given 2 times; give it once");
    }
}

void apply_row(const ToolRow& row, std::string_view typed, const std::string& value,
               const std::string& shown, Line& line) {
    const std::string_view verb = row.verb;
    if (verb == "is") {
        add_renamed(row, typed, value, line);
    } else if (verb == "adds") {
        std::string text = row.text.substr(row.text.find(' ') + 1);
        add_flag(line, row.text.substr(0, row.text.find(' ')),
                 text.replace(text.find('X'), 1, value));
    } else if (verb == "gives") {
        add_default(line, row.text, value);
    } else if (verb == "ms" && is_positive(value)) {
        add_default(line, row.text, value + "ms");
    } else if (verb == "ignored") {
        add_note(line, shown + " is ignored: " + row.text);
    } else if (verb == "code") {
        take_by_code(row.text, value, line);
    } else if (verb == "means") {
        line.kept["X"].value = value;
        run_rules(row.rules, line);
    } else if (verb == "once") {
        keep_once(typed, value, line);
    } else if (verb == "sets") {
        line.kept[row.text] = {value, std::string(typed), false};
    } else if (verb == "read" || verb == "member") {
        std::string& kept = line.kept[row.text.empty() ? std::string(typed) : row.text].value;
        kept = row.values == "X.." && !kept.empty() ? kept + between_values + value : value;
    }
}

namespace {

/// One pass over the arguments.
class Speller {
  public:
    explicit Speller(const std::vector<std::string>& arguments)
        : Speller(arguments, find_program_words(arguments)) {}

    Speller(const std::vector<std::string>& arguments, ProgramWords program)
        : arguments_(arguments), at_(program.count) {
        out_.tool = program.tool;
        out_.kept["tool"].value = program.tool;
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
        const ToolRow* const finally = find_row(out_.tool, "finally");
        if (finally != nullptr && out_.refused.empty()) {
            run_rules(finally->rules, out_);
        }
        run_rules(find_row("shared", "finally")->rules, out_);
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
        if (out_.get("goes_round").empty() || out_.makes_rows || (!closed && !open) ||
            !out_.refused.empty() || has_argument(out_, "--recycle") ||
            has_argument(out_, "--replicate")) {
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
        if (!takes_value_) {
            out_.last_word = "\"" + std::string(argument) + "\"" +
                             (last_flag_.empty() ? "" : " behind " + last_flag_);
        }
        takes_value_ = false;
        // The value of `--goodput` begins what may be gathered.
        in_goodput_ = !out_.arguments.empty() && out_.arguments.back() == "--goodput";
        out_.arguments.emplace_back(argument);
    }

    void flag(std::string_view argument) {
        const std::size_t equals = argument.find('=');
        std::string typed(argument.substr(0, equals));
        if (out_.tool == "vllm") {  // its parser takes one for the other
            std::replace(typed.begin(), typed.end(), '_', '-');
        }
        in_goodput_ = false;
        takes_value_ = false;
        last_flag_ = typed;
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
        if (!out_.tool.empty() && replay_flags().named(typed).names.empty()) {
            const std::string nearest = nearest_name(typed, flags_of_tool(out_.tool));
            refuse_line(out_, "unknown flag " + typed +
                                  (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
        }
        out_.arguments.push_back(typed);
        takes_value_ = !has_value && !is_switch(typed);
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
            refuse_switch(typed, value);
        }
    }
    void refuse_switch(std::string_view typed, const std::string& value) {
        refuse_line(out_, std::string(typed) +
                              ": is on or off and takes no value; remove \"=" + value + "\"");
    }

    /// Takes a flag of the table. `own`: what is behind its '='. Returns how many arguments
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
                value += (value.empty() ? "" : between_values) + one;
            }
        } else if (!row->values.empty() && next == nullptr) {
            refuse_line(out_, std::string(typed) + ": needs a value");
            return 0;
        } else if (row->values.empty() && own != nullptr && row->verb != "refused") {
            refuse_switch(typed, *own);
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
        std::string shown =
            std::string(typed) + (value.empty() ? "" : " " + mask_value(mask_of(typed), value));
        std::replace(shown.begin(), shown.end(), between_values[0], ' ');
        out_.last_word = names_trace_file(typed) || typed == "--data" ? shown : out_.last_word;
        if (row.verb != "refused") {
            apply_row(row, typed, value, shown, out_);
        } else if (is_one_of(row.unless, value) && !row.values.empty()) {
            add_note(out_, shown + " is ignored: it changes nothing here");
        } else {
            refuse_line(out_, shown + ": " + row.text);
        }
    }

    const std::vector<std::string>& arguments_;
    std::size_t at_ = 0;
    Line out_;
    bool in_goodput_ = false;
    bool takes_value_ = false;  ///< the last flag was ours: its value may follow
    bool names_data_ = false;   ///< a trace, or a data set by name
    std::string last_flag_;
};

}  // namespace

Spelled spell(const std::vector<std::string>& arguments) {
    return Speller(arguments).spell();
}

}  // namespace driftless
