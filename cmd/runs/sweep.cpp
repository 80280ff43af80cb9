/// `driftless sweep`, and its cells without playing them (`--dry-run`).

#include "cmd/runs/sweep.hpp"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/guard.hpp"
#include "cmd/base/process.hpp"
#include "cmd/flags/options.hpp"
#include "cmd/replay/invocation.hpp"
#include "cmd/runs/cell.hpp"
#include "cmd/runs/cut_off.hpp"
#include "cmd/runs/sweep_ledger.hpp"
#include "cmd/runs/sweep_play.hpp"
#include "proto/core/result.hpp"

namespace driftless {

// `driftless sweep --dry-run`: the cells, with their rows and how long each takes.

/// Lets replay make a dry run of each combination. Prints; returns the exit code.
int dry_run_sweep(const Ledger& ledger);

namespace {

constexpr double ns_per_second = 1e9;

/// A folder of ours that is gone afterwards.
class Scratch {
  public:
    Scratch() {
        const char* temporary = std::getenv("TMPDIR");
        path_ = std::string(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp") +
                "/driftless-sweep-XXXXXX";
        made_ = ::mkdtemp(path_.data()) != nullptr;
    }
    ~Scratch() {
        std::error_code ignored;
        made_ ? void(std::filesystem::remove_all(path_, ignored)) : void();
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    bool made() const { return made_; }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
    bool made_ = false;
};

struct Estimate {
    std::uint64_t rows = 0;
    double seconds = 0;
    bool at_least = false;  ///< answers decide how long it takes
};

/// Of a closed loop: what --for says, else the least that its gaps allow.
std::optional<Estimate> read_estimate(const std::string& folder) {
    const Result<std::string> text = read_whole_file(folder + "/run.json");
    JsonDocument document;
    const Result<JsonValue> root =
        text ? document.parse(text.value()) : Result<JsonValue>(text.error());
    if (!root) {
        return std::nullopt;
    }
    const JsonValue plan = root.value().find("plan");
    Estimate estimate;
    estimate.rows = plan.find("rows").as_u64().value_or(0);
    const std::optional<double> least = plan.find("least_ns").as_double();
    const std::optional<double> profile = plan.find("users").find("for_ns").as_double();
    const bool closed = plan.find("users").is(JsonType::object) || least;
    estimate.at_least = closed && !profile;
    estimate.seconds = (profile ? *profile
                        : least ? *least
                                : plan.find("last_due_ns").as_double().value_or(0)) /
                       ns_per_second;
    return estimate;
}

void print_cell(const PlannedCell& cell, const CellEnd& end,
                const std::optional<Estimate>& estimate) {
    if (!estimate) {
        print_line("%s: %s", cell.name.c_str(), end.why.c_str());
        return;
    }
    print_line("%s: %llu rows, %s%.1f s", cell.name.c_str(),
               static_cast<unsigned long long>(estimate->rows),
               estimate->at_least ? "at least " : "", estimate->seconds);
}

}  // namespace

int dry_run_sweep(const Ledger& ledger) {
    const Scratch scratch;
    if (!scratch.made()) {
        return fail_host("TMPDIR", error_from_errno(errno, "make a temporary folder"));
    }
    double seconds = 0;
    bool at_least = false;
    bool failed = false;
    for (const LedgerCell& cell : ledger.cells) {
        if (cell.planned.repeat > 1 || stop_requests().load() > 0) {
            continue;
        }
        const std::string folder = scratch.path() + "/" + cell.planned.folder;
        std::vector<std::string> arguments = arguments_of(ledger.plan, cell.planned);
        arguments.emplace_back("--dry-run");
        const CellEnd end = run_cell({arguments, folder});
        const std::optional<Estimate> estimate = read_estimate(folder);
        print_cell(cell.planned, end, estimate);
        failed = failed || !estimate;
        seconds += estimate ? estimate->seconds : 0;
        at_least = at_least || (estimate && estimate->at_least);
    }
    if (stop_requests().load() > 0) {
        return exit_interrupted;
    }
    print_line(
        "dry run: %zu cells, %s%.1f s of load, plus hooks, waiting for an idle server, preflight "
        "and up to a second of calibration per cell; nothing was sent",
        ledger.cells.size(), at_least ? "at least " : "",
        seconds * static_cast<double>(ledger.plan.repeat));
    return failed ? exit_input : exit_done;
}

namespace {

int refuse(const std::string& why, int code = exit_usage) {
    complain("driftless sweep: %s", why.c_str());
    return code;
}

std::string default_sweep_folder() {
    const time_t now = ::time(nullptr);
    tm parts{};
    (void)::gmtime_r(&now, &parts);
    char text[32];
    (void)::strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &parts);
    return std::string("sweeps/") + text;
}

/// Replay's own words, without its name and its hint.
std::string words_of_replay(const std::string& text) {
    constexpr std::string_view before = "driftless replay: ";
    constexpr std::string_view behind = " (see driftless replay --help)";
    std::string words = text.starts_with(before) ? text.substr(before.size()) : text;
    return words.ends_with(behind) ? words.substr(0, words.size() - behind.size()) : words;
}

/// Every cell is one that replay takes, before the first hook runs. `paths`: its traces.
int check_cells(const Ledger& ledger, const std::string& key, bool dry_run,
                std::vector<std::string>& paths) {
    for (const LedgerCell& cell : ledger.cells) {
        std::vector<std::string> arguments = arguments_of(ledger.plan, cell.planned);
        if (dry_run) {
            arguments.emplace_back("--dry-run");
        }
        const ReplayCommandLine line = parse_replay_options(arguments, key);
        if (line.kind == ReplayCommandLine::Kind::help) {
            return refuse("flags of replay: remove -h");
        }
        if (line.kind == ReplayCommandLine::Kind::refused) {
            return refuse("cell " + cell.planned.name + ": " + words_of_replay(line.text));
        }
        const OrExit<Credentials> keys =
            read_credentials(line.options.request, line.options.server.targets);
        if (!keys) {
            return keys.exit_code();
        }
        if (repeats_secret(arguments, keys.value())) {
            return exit_usage;
        }
        for (const std::string& path : line.options.workload.files.paths) {
            struct stat facts{};
            if (::stat(path.c_str(), &facts) != 0) {
                return refuse(path + ": " + reason_of(error_from_errno(errno, "open the trace")),
                              exit_input);
            }
            paths.push_back(path);
        }
    }
    return exit_done;
}

void print_plan(const Ledger& ledger, const std::string& folder) {
    print_line("sweep: %zu cells in %s", ledger.cells.size(), folder.c_str());
    if (ledger.plan.salted) {
        print_line(
            "cache: every cell has its own prompts (--cache-salt random), except for "
            "recorded text");
    }
}

/// A folder that is ours from now on.
OrExit<FolderLock> take_folder(const std::string& folder, bool is_new) {
    if (is_new && !make_folder(folder)) {
        return errno == EEXIST
                   ? refuse("--out " + folder +
                            ": already exists; name a new folder, or use --resume " + folder +
                            " to continue the sweep there")
                   : fail_host(folder.c_str(), error_from_errno(errno, "make a folder"));
    }
    Result<FolderLock> lock = FolderLock::take(folder);
    if (lock) {
        return std::move(lock).value();
    }
    return lock.error().code == ErrorCode::exists
               ? refuse(folder + ": another driftless sweep is running there; wait until it ends")
               : fail_host(folder.c_str(), lock.error());
}

/// Each cell that was cut off is nobody's any more.
int wait_for_orphans(const Ledger& ledger, const std::string& folder) {
    for (const LedgerCell& cell : ledger.cells) {
        if (cell.state != CellState::running) {
            continue;
        }
        const std::string run = folder + "/" + cell.planned.folder;
        switch (wait_for_orphan(run)) {
            case OrphanEnd::gone:
                break;
            case OrphanEnd::runs:
                return refuse(run +
                              ": its replay is still running; stop it, then resume the sweep");
            case OrphanEnd::stopped:
                return exit_interrupted;
        }
    }
    return exit_done;
}

int begin(const SweepCommand& command, const std::string& key) {
    Ledger ledger = new_ledger(command.plan);
    std::vector<std::string> paths;
    if (const int code = check_cells(ledger, key, command.dry_run, paths); code != exit_done) {
        return code;
    }
    if (command.dry_run) {
        return dry_run_sweep(ledger);
    }
    std::string unread;
    Result<std::vector<KeptTrace>> traces = keep_traces(paths, unread);
    if (!traces) {
        return refuse(unread + ": " + reason_of(traces.error()), exit_input);
    }
    ledger.plan.home = absolute_path(".");
    ledger.plan.traces = std::move(traces).value();
    const std::string folder = command.out.empty() ? default_sweep_folder() : command.out;
    const OrExit<FolderLock> lock = take_folder(folder, true);
    if (!lock) {
        return lock.exit_code();
    }
    print_plan(ledger, folder);
    return play_sweep(ledger, folder, key);
}

int resume(std::string folder, const std::string& key) {
    while (folder.size() > 1 && folder.back() == '/') {
        folder.pop_back();
    }
    const std::string path = folder + "/sweep.json";
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0) {
        return refuse("--resume " + folder +
                      ": not the folder of a sweep: it has no sweep.json; name one that has");
    }
    const OrExit<FolderLock> lock = take_folder(folder, false);
    if (!lock) {
        return lock.exit_code();
    }
    const Result<std::string> text = read_whole_file(path);
    if (!text) {
        return refuse(path + " cannot be read: " + reason_of(text.error()), exit_input);
    }
    Ledger ledger;
    if (const std::string why = read_ledger(text.value(), ledger); !why.empty()) {
        return refuse(path + " " + why, exit_input);
    }
    const std::string shown = folder;
    folder = absolute_path(folder);
    if (const std::string why = go_home(ledger.plan.home, ledger.plan.traces); !why.empty()) {
        return refuse("--resume " + shown + ": " + why, exit_input);
    }
    std::vector<std::string> paths;
    if (const int code = check_cells(ledger, key, false, paths); code != exit_done) {
        return code;
    }
    print_plan(ledger, shown);
    if (const int code = wait_for_orphans(ledger, folder); code != exit_done) {
        return code;
    }
    return play_sweep(ledger, folder, key);
}

}  // namespace

int run_sweep(int argc, char** argv) {
    const SweepCommandLine line =
        parse_sweep_options(std::vector<std::string>(argv + 1, argv + argc));
    if (line.kind == SweepCommandLine::Kind::help) {
        std::fputs(line.text.c_str(), stdout);
        return exit_done;
    }
    if (line.kind == SweepCommandLine::Kind::refused) {
        complain("%s", line.text.c_str());
        return exit_usage;
    }
    const char* variable = std::getenv("OPENAI_API_KEY");
    const std::string key = variable != nullptr ? variable : "";
    catch_stop_signals();
    count_stop_requests();
    (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
    return line.command.resume.empty() ? begin(line.command, key)
                                       : resume(line.command.resume, key);
}

}  // namespace driftless
