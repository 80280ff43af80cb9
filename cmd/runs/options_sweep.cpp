/// The command lines of `sweep` and `find`.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "cmd/base/files.hpp"
#include "cmd/base/values.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/options_parser.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/runs/find.hpp"
#include "cmd/runs/sweep.hpp"

namespace driftless {

static constexpr const char* sweep_description =
    R"(Replays a trace once for each combination of values. Each cell is an ordinary run in its own
folder; sweep.json and sweep.csv have the results of all.

  driftless sweep [FLAGS] TRACE... --over NAME=A,B,.. -- [FLAGS OF REPLAY]
  driftless sweep [FLAGS] FILE.toml
  driftless sweep --resume DIR
)";

static constexpr const char* sweep_footer =
    R"(Hooks are shell commands. Their environment has each value of the cell (DRIFTLESS_SPEED=2),
and DRIFTLESS_URL, DRIFTLESS_RUN (folder of the run), DRIFTLESS_CELL (name of that folder). At its
time limit a hook is killed with its process group, and the cell fails. What it starts in the
background keeps running. If hooks before the run fail alike for two
cells in a row, of different values, the sweep stops.

A cell without --before, --cache-salt or --reset-cache gets --cache-salt random: otherwise it would
find the previous cell's prompts in the server's cache.

Examples:
  driftless sweep trace.jsonl --url http://a:8000 --over speed=1,2,4
  driftless sweep trace.jsonl --url http://a:8000 --over users=8,16,32 --repeat 2 -- --for 10m
  driftless sweep trace.jsonl --url http://a:8000 --over rate=5,10 --server tp=1,2 \
      --before './start.sh "$DRIFTLESS_TP" &' --ready 'curl -sf a:8000/health' --after ./stop.sh
  driftless sweep plan.toml --dry-run
  driftless sweep --resume sweeps/20261121T062957Z

Exit codes: 0 done (cells and hooks that failed are data), 2 usage, 3 input refused, 5 no cell ran
to its end, 7 stopped by failing hooks, or the host lacks something or fails, 8 a cell's --fail-if
or --stop-when holds, 130 interrupted.)";

/// Where a flag or an argument is unknown.
static constexpr const char* replay_flags_hint = "; flags of replay go after --";

/// Replay's own help, where it is asked for behind "--".
static bool is_help_of_replay(const std::vector<std::string>& of_replay, CommandLine& line) {
    if (!help_topic(of_replay)) {
        return false;
    }
    line.kind = CommandLine::Kind::help;
    line.text = parse_replay_options(of_replay, "").text;
    return true;
}

static Result<std::int64_t> parse_limit(std::string_view text) {
    const Result<std::int64_t> ns = parse_duration_ns(text);
    if (ns && ns.value() == 0) {
        return invalid("is 0; use 10m or 30s");
    }
    return ns;
}

namespace {

/// What was typed before "--".
struct TypedSweep {
    std::vector<std::string> places;  ///< FILE.toml, or TRACE..
    std::vector<std::string> urls;
    std::vector<SweepAxis> over;
    std::vector<SweepAxis> server;
    SweepCommand command;
    std::int64_t hook_limit_ns = 0;
};

}  // namespace

static void add_flags(Flags& flags, TypedSweep& typed) {
    SweepPlan& plan = typed.command.plan;
    flags.group("Cells");
    flags.values("--over", "NAME=A,B,..", "values of a replay flag; true and false for a switch",
                 parse_axis, typed.over);
    flags.values("--server", "NAME=A,B,..", "values for hooks only", parse_axis, typed.server);
    flags.values("--url", "URL", "as in replay", typed.urls);
    flags.value("--repeat", "N", "runs per cell; every second pass in reverse order", "1",
                parse_positive_count, plan.repeat);
    flags.values("--label", "K=V", "label for every run", parse_label, plan.labels);
    flags.group("Between cells");
    flags.value("--before", "CMD", "command before each cell, to (re)start the server [none]",
                plan.before.command);
    flags.value("--ready", "CMD", "command repeated until it succeeds [none]", plan.ready.command);
    flags.value("--after", "CMD", "command after each cell, even a failed one [none]",
                plan.after.command);
    flags.value("--hook-limit", "T", "time limit of each hook", "10m", parse_limit,
                typed.hook_limit_ns);
    flags.value("--idle-limit", "T", "longest wait until the server is idle", "30m", parse_limit,
                plan.idle_limit_ns);
    flags.group("Sweep");
    flags.value("--out", "DIR", "folder of the sweep [sweeps/<UTC time>]", typed.command.out);
    flags.on_off("--dry-run", "print the cells and how long they take; send nothing",
                 typed.command.dry_run);
    flags.value("--resume", "DIR", "continue an interrupted sweep", typed.command.resume);
}

/// With a file, what it has may not be typed as well.
static std::string read_file(TypedSweep& typed) {
    SweepPlan& plan = typed.command.plan;
    const bool more = typed.places.size() > 1 || !typed.over.empty() || !typed.server.empty() ||
                      plan.repeat > 1 || !plan.labels.empty() || !plan.before.command.empty() ||
                      !plan.ready.command.empty() || !plan.after.command.empty();
    const std::string& path = typed.places[0];
    if (more) {
        return path +
               " is the whole plan; add only --url, --out, --dry-run and, after --, flags of "
               "replay";
    }
    const Result<std::string> text = read_whole_file(path);
    if (!text) {
        return path + " cannot be read: " + reason_of(text.error());
    }
    const std::string why = read_plan_file(text.value(), plan);
    return why.empty() ? "" : path + ": " + why;
}

static std::string complete(TypedSweep& typed, const std::vector<std::string>& of_replay) {
    SweepPlan& plan = typed.command.plan;
    plan.before.limit_ns = plan.ready.limit_ns = plan.after.limit_ns = typed.hook_limit_ns;
    if (typed.places.empty()) {
        return "no plan is given; name FILE.toml, or a trace and --over";
    }
    if (typed.places[0].ends_with(".toml")) {
        if (std::string why = read_file(typed); !why.empty()) {
            return why;
        }
    } else {
        plan.arguments = typed.places;
    }
    for (SweepAxis& axis : typed.server) {
        axis.of_server = true;
    }
    plan.axes.insert(plan.axes.end(), typed.over.begin(), typed.over.end());
    plan.axes.insert(plan.axes.end(), typed.server.begin(), typed.server.end());
    for (const std::string& url : typed.urls) {
        plan.arguments.push_back("--url=" + url);
    }
    plan.arguments.insert(plan.arguments.end(), of_replay.begin(), of_replay.end());
    std::string why = check_plan(plan);
    plan.salted = why.empty() && needs_salt(plan);
    return why;
}

SweepCommandLine parse_sweep_options(const std::vector<std::string>& arguments) {
    const auto separator = std::ranges::find(arguments, "--");
    const std::vector<std::string> own(arguments.begin(), separator);
    const std::vector<std::string> of_replay(
        separator == arguments.end() ? separator : separator + 1, arguments.end());
    SweepCommandLine line;
    if (is_help_of_replay(of_replay, line)) {
        return line;
    }
    TypedSweep typed;
    CommandParser parser("sweep", sweep_description, sweep_footer);
    parser.flag_hint = parser.argument_hint = replay_flags_hint;
    parser.flags.argument("PLAN", "FILE.toml, or trace files as in replay", typed.places);
    add_flags(parser.flags, typed);
    parser.read(own, line, [&] {
        // --resume takes nothing else: all is in sweep.json.
        return typed.command.resume.empty() ? complete(typed, of_replay)
               : arguments.size() > 2
                   ? "--resume continues the original plan; remove everything else"
                   : "";
    });
    line.command = std::move(typed.command);
    return line;
}

static constexpr const char* find_description =
    "Finds the highest load at which a server meets an SLO. Each probe is an ordinary replay at "
    "one\n"
    "load, in its own folder. All have one seed and take the rows in the same order; with "
    "--duration\n"
    "or --for a higher load plays more of them. Flags after -- are passed to replay.\n";

static constexpr const char* find_footer =
    R"(Loads:
  replicate    copies of the trace, sharing nothing; sharing inside a copy stays as recorded
  rate         requests per second (sessions, with replay --sessions open or closed)
  users        live session trees
  concurrency  open requests of a closed loop
  speed        factor on the recorded pace; changes when prefixes recur

Flags after -- go to every replay; replay --help all lists them. A percentile needs this many
requests: p50 11, p90 64, p95 130, p99 662, p99.9 6,636. If a probe has fewer, --duration or
--for is lengthened; without either, the search ends and says what to do.

A probe also fails when the server cannot keep up: when waiting requests and TTFT both rise during
the run. A probe that the client, the host or the network spoiled is repeated.

Examples:
  driftless find trace.jsonl --url http://a:8000 --slo "ttft:p90<2s tpot:p90<50ms" --over replicate
  driftless find trace.jsonl --url http://a:8000 --slo "ttft:p90<1s" --over rate --low 2 --high 40 \
    -- --duration 2m --calibration none
  driftless find chats/ --url http://a:8000 --slo "tpot:p50<30ms" --over users --high 512 \
    -- --recycle --for 5m
  driftless find --resume runs/20261121T062957Z-find

Exit codes: 0 done, 2 usage, 6 a probe was spoiled in every try, 8 the lowest load fails,
130 interrupted; 3, 4 and 7 as in the replay that ended so.)";

static constexpr std::array axes{
    LoadAxis{"replicate", true, "copies"},     LoadAxis{"rate", false, "a second"},
    LoadAxis{"users", true, "users"},          LoadAxis{"concurrency", true, "open requests"},
    LoadAxis{"speed", false, "times as fast"},
};
static constexpr Choices<const LoadAxis*> axis_choices({{axes[0].name.data(), &axes[0]},
                                                        {axes[1].name.data(), &axes[1]},
                                                        {axes[2].name.data(), &axes[2]},
                                                        {axes[3].name.data(), &axes[3]},
                                                        {axes[4].name.data(), &axes[4]}},
                                                       "is not a load; use ", " or ");
/// Without --low and --high: so far from the first probe, doubled or halved.
static constexpr double reach = 1024;

static Result<std::optional<double>> parse_load(std::string_view text) {
    const auto value = read_number<double>(text, std::chars_format::fixed);
    if (!value || !(*value >= load_min && *value <= load_max)) {
        return invalid("is not a load; use a number above 0, up to 1000000");
    }
    return value;
}

static Result<double> parse_tolerance(std::string_view text) {
    const bool percent = text.ends_with('%');
    text.remove_suffix(percent ? 1 : 0);
    const double value =
        read_number<double>(text, std::chars_format::fixed).value_or(0) / (percent ? 100 : 1);
    if (!(value >= 0.001 && value <= 1)) {
        return invalid("is not a tolerance; use 0.1% to 100%, as in 5%");
    }
    return value;
}

static Result<std::uint32_t> parse_up_to_20(std::string_view text) {
    return within(parse_u32(text), 0, 20, "is not a whole number from 0 to 20");
}

static Result<std::uint32_t> parse_tries(std::string_view text) {
    return within(parse_u32(text), 1, 20, "is not a number from 1 to 20");
}

static std::string check_whole(const LoadAxis& axis, const char* flag,
                               const std::optional<double>& value) {
    if (value && axis.whole && *value != std::floor(*value)) {
        return std::string(flag) + " " + load_text(*value) +
               " is not a whole number, as required by --over " + std::string(axis.name);
    }
    return "";
}

static double three_digits(double value) {
    return std::stod(fmt::format("{:.3g}", value));
}

/// Bounds and the first probe, where they were not given.
static std::string complete_rules(const TypedLoads& typed, const LoadAxis& axis,
                                  SearchRules& rules) {
    constexpr std::array names{"--low", "--high", "--start-at"};
    const std::array given{&typed.low, &typed.high, &typed.start};
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (std::string why = check_whole(axis, names[i], *given[i]); !why.empty()) {
            return why;
        }
    }
    if (typed.low && typed.high && *typed.low > *typed.high) {
        return "--low " + load_text(*typed.low) + " is above --high " + load_text(*typed.high) +
               "; swap them";
    }
    rules.whole = axis.whole;
    if (typed.start) {
        rules.start = *typed.start;
    } else if (typed.low && typed.high) {
        const double middle = std::sqrt(*typed.low * *typed.high);
        rules.start = axis.whole ? std::round(middle) : three_digits(middle);
        rules.start = std::clamp(rules.start, *typed.low, *typed.high);
    } else {
        rules.start = typed.low.value_or(std::min(1.0, typed.high.value_or(1.0)));
    }
    rules.low = typed.low.value_or(axis.whole ? 1 : std::min(1.0, rules.start) / reach);
    rules.high = typed.high.value_or(std::min(load_max, std::max(1.0, rules.start) * reach));
    const Result<void> checked = check_rules(rules);
    return checked
               ? ""
               : "--low, --high and --start-at do not fit: " + std::string(checked.error().doing);
}

static std::string complete(FindOptions& options) {
    if (options.traces.empty()) {
        return "no trace is given; name a file or a directory";
    }
    if (options.over == nullptr) {
        return std::string("--over is missing: ") + axis_choices.list();
    }
    if (options.slos.list.empty()) {
        return "--slo is missing: say what must hold, as in --slo \"ttft:p99<2s\"";
    }
    if (options.urls.empty() && !has_flag(options.replay_flags, "--url")) {
        return "--url is missing: name the server, as in --url http://127.0.0.1:8000";
    }
    for (const std::string& trace : options.traces) {
        if (trace == "-") {
            return "standard input can be read only once, but each probe needs the trace; name a "
                   "file";
        }
    }
    const std::string own = "--" + std::string(options.over->name);
    if (has_flag(options.replay_flags, own)) {
        return own +
               " after -- is the load that the search varies; remove it, or use --low and --high";
    }
    if (std::string why = why_not_in_probe(options.replay_flags); !why.empty()) {
        return why;
    }
    options.salted = has_flag(options.replay_flags, "--cache-salt");
    return complete_rules(options.loads, *options.over, options.rules);
}

static void add_flags(Flags& flags, FindOptions& options) {
    flags.group("Search");
    flags.value("--slo", "CONDITIONS",
                "what must hold: \"ttft:p99<2s tpot:p95<50ms\"; errors<1% is added", parse_slos,
                options.slos);
    flags.value("--over", "LOAD", axis_choices.list(), axis_choices, options.over);
    flags.value("--low", "L", "lowest load [1, or 1/1024 of the first probe]", parse_load,
                options.loads.low);
    flags.value("--high", "H", "highest load [1024 times the first probe]", parse_load,
                options.loads.high);
    flags.value("--start-at", "V",
                "load of the first probe [of a rate: below what a closed loop gets;\n"
                "else between --low and --high; 1]",
                parse_load, options.loads.start);
    flags.value("--tolerance", "SHARE",
                "stop when pass and fail are this close, relative to the pass", "5%",
                parse_tolerance, options.rules.tolerance);
    flags.value("--replicates", "N", "more seeds at each of these two loads, for the interval", "3",
                parse_up_to_20, options.rules.replicates);
    flags.value("--tries", "N", "tries of a spoiled probe", "3", parse_tries,
                options.rules.tries_max);
    flags.value("--seed", "N", "seed of the replays; --replicates use the next ones", "0",
                parse_count, options.seed);
    flags.group("Output");
    flags.value("--out", "DIR", "new folder for find.json and the runs [runs/<UTC time>-find]",
                options.out);
    flags.value("--resume", "DIR", "continue an interrupted search", options.resume);
    flags.on_off("--quiet", "print only the result, not each probe", options.quiet);
    flags.group("Server");
    flags.values("--url", "URL", "as in replay", options.urls);
}

bool has_flag(const std::vector<std::string>& flags, std::string_view name) {
    return std::ranges::any_of(flags, [&](const std::string& one) {
        return one == name ||
               (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=');
    });
}

std::string load_text(double value) {
    constexpr int digits = 6;
    const int before = value >= 1 ? static_cast<int>(std::floor(std::log10(value))) + 1 : 1;
    const int zeros = value < 1 ? static_cast<int>(std::floor(-std::log10(value))) : 0;
    std::string out = fmt::format("{:.{}f}", value, std::max(0, digits - before + zeros));
    if (out.find('.') != out.npos) {
        out.erase(out.find_last_not_of('0') + 1);
        out.erase(out.find_last_not_of('.') + 1);
    }
    return out;
}

bool begins_by_loop(const FindOptions& options) {
    constexpr double far_apart = 8;
    const TypedLoads& typed = options.loads;
    const bool near = typed.low && typed.high && *typed.high <= far_apart * *typed.low;
    return options.over->name == "rate" && !typed.start && !near &&
           !has_flag(options.replay_flags, "--sessions");
}

void begin_near(FindOptions& options, double saturated_rate) {
    constexpr double below = 0.8;  // an open loop waits before it is saturated
    constexpr double step = 1.25;  // the next probe is at what the closed loop reached
    TypedLoads typed = options.loads;
    const double start = three_digits(below * saturated_rate);
    typed.start = std::clamp(start, typed.low.value_or(load_min), typed.high.value_or(load_max));
    options.rules.step = step;
    const std::string why = complete_rules(typed, *options.over, options.rules);
    CHECK(why.empty());
}

FindCommandLine parse_find_options(const std::vector<std::string>& arguments) {
    FindCommandLine line;
    FindOptions& options = line.options;
    const auto bar = std::ranges::find(arguments, "--");
    if (bar != arguments.end()) {
        options.replay_flags.assign(bar + 1, arguments.end());
    }
    if (is_help_of_replay(options.replay_flags, line)) {
        return line;
    }
    CommandParser parser("find", find_description, find_footer);
    if (bar == arguments.end()) {
        parser.flag_hint = parser.argument_hint = replay_flags_hint;
    }
    parser.flags.argument("TRACE", "trace files, or a directory; read by each replay",
                          options.traces);
    add_flags(parser.flags, options);
    parser.read({arguments.begin(), bar}, line, [&]() -> std::string {
        if (!options.resume.empty()) {
            return arguments.size() <= 2
                       ? ""
                       : "--resume continues the original command; remove everything else";
        }
        if (mask_command(arguments) != arguments) {
            return "a key in a flag would be visible in find.json and in the process list; use "
                   "OPENAI_API_KEY, --api-key env:NAME or --header K:env:NAME";
        }
        return complete(options);
    });
    return line;
}

}  // namespace driftless
