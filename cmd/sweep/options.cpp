#include "cmd/sweep/options.hpp"

#include <algorithm>
#include <utility>

#include "cmd/options_flags.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/sweep/plan_file.hpp"
#include "cmd/values.hpp"
#include "cmd/whole_file.hpp"

namespace driftless {

namespace {

constexpr const char* description =
    R"(Replays a trace once for each combination of values. Each cell is an ordinary run in its own
folder; sweep.json and sweep.csv have the results of all.

  driftless sweep [FLAGS] TRACE... --over NAME=A,B,.. -- [FLAGS OF REPLAY]
  driftless sweep [FLAGS] FILE.toml
  driftless sweep --resume DIR
)";

constexpr const char* footer =
    R"(Hooks are shell commands. Their environment has each value of the cell (DRIFTLESS_SPEED=2),
and DRIFTLESS_URL, DRIFTLESS_CELL, DRIFTLESS_RUN (folder of the run). At its time limit a hook is
killed with its process group, and the cell fails. What it starts in the background keeps running.

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
to its end, 7 the host lacks something or fails, 8 a cell's --fail-if or --stop-when holds, 130
interrupted.)";

SweepCommandLine refused(const std::string& why) {
    SweepCommandLine line;
    line.kind = SweepCommandLine::Kind::refused;
    line.text = "driftless sweep: " + why + " (see driftless sweep --help)";
    return line;
}

Result<std::string> parse_text(std::string_view text) {
    if (text.empty()) {
        return Error{ErrorCode::invalid, 0, "is empty; give it a value, or remove it"};
    }
    return std::string(text);
}

Result<std::int64_t> parse_limit(std::string_view text) {
    const Result<std::int64_t> ns = parse_duration_ns(text);
    if (ns && ns.value() == 0) {
        return Error{ErrorCode::invalid, 0, "is 0; use 10m or 30s"};
    }
    return ns;
}

/// What was typed before "--".
struct Typed {
    std::vector<std::string> places;  ///< FILE.toml, or TRACE..
    std::vector<std::string> urls;
    std::vector<SweepAxis> over;
    std::vector<SweepAxis> server;
    SweepCommand command;
    std::int64_t hook_limit_ns = 0;
};

void add_flags(CLI::App& app, Typed& typed) {
    SweepPlan& plan = typed.command.plan;
    Flags flags(app);
    flags.group("Cells");
    flags.values("--over", "NAME=A,B,..", "values of a replay flag; true and false for a switch",
                 parse_axis, typed.over);
    flags.values("--server", "NAME=A,B,..", "values for hooks only", parse_axis, typed.server);
    flags.values("--url", "URL", "as in replay", parse_text, typed.urls);
    flags.value("--repeat", "N", "runs per cell; every second pass in reverse order", "1",
                parse_positive_count, plan.repeat);
    flags.values("--label", "K=V", "label for every run", parse_label, plan.labels);
    flags.group("Between cells");
    flags.value("--before", "CMD", "command before each cell, to (re)start the server [none]",
                nullptr, parse_text, plan.before.command);
    flags.value("--ready", "CMD", "command repeated until it succeeds [none]", nullptr, parse_text,
                plan.ready.command);
    flags.value("--after", "CMD", "command after each cell, even a failed one [none]", nullptr,
                parse_text, plan.after.command);
    flags.value("--hook-limit", "T", "time limit of each hook", "10m", parse_limit,
                typed.hook_limit_ns);
    flags.value("--idle-limit", "T", "longest wait until the server is idle", "30m", parse_limit,
                plan.idle_limit_ns);
    flags.group("Sweep");
    flags.value("--out", "DIR", "folder of the sweep [sweeps/<UTC time>]", nullptr, parse_text,
                typed.command.out);
    flags.on_off("--dry-run", "print the cells and how long they take; send nothing",
                 typed.command.dry_run);
    flags.value("--resume", "DIR", "continue an interrupted sweep", nullptr, parse_text,
                typed.command.resume);
}

/// --resume takes nothing else: all is in sweep.json.
bool is_more_than_resume(const Typed& typed, std::size_t arguments) {
    return !typed.command.resume.empty() && arguments > 2;
}

/// With a file, what it has may not be typed as well.
std::string read_file(Typed& typed) {
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

std::string complete(Typed& typed, const std::vector<std::string>& of_replay) {
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

}  // namespace

SweepCommandLine parse_sweep_options(const std::vector<std::string>& arguments) {
    const auto separator = std::find(arguments.begin(), arguments.end(), "--");
    const std::vector<std::string> own(arguments.begin(), separator);
    const std::vector<std::string> of_replay(
        separator == arguments.end() ? separator : separator + 1, arguments.end());
    SweepCommandLine line;
    Typed typed;
    CLI::App app{description, "driftless sweep"};
    app.footer(footer);
    app.get_formatter()->column_width(30);
    app.allow_extras();
    app.set_help_flag("-h,--help", "print this help and exit");
    app.add_option("PLAN", typed.places, "FILE.toml, or trace files as in replay");
    add_flags(app, typed);
    try {
        app.parse(std::vector<std::string>(own.rbegin(), own.rend()));
    } catch (const CLI::CallForHelp&) {
        line.kind = SweepCommandLine::Kind::help;
        line.text = help_of(app);
        return line;
    } catch (const CLI::ParseError& error) {
        return refused(reason_of(error));
    }
    if (std::string why = unknown_argument(app); !why.empty()) {
        return refused(why + "; flags of replay go after --");
    }
    if (is_more_than_resume(typed, arguments.size())) {
        return refused("--resume continues the original plan; remove everything else");
    }
    if (typed.command.resume.empty()) {
        if (const std::string why = complete(typed, of_replay); !why.empty()) {
            return refused(why);
        }
    }
    line.command = std::move(typed.command);
    return line;
}

}  // namespace driftless
