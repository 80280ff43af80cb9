#include "cmd/sweep/sweep.hpp"

#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cmd/cells/cut_off.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/or_exit.hpp"
#include "cmd/replay/credentials.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/stop.hpp"
#include "cmd/sweep/dry_run.hpp"
#include "cmd/sweep/options.hpp"
#include "cmd/sweep/play.hpp"
#include "cmd/whole_file.hpp"
#include "proto/core/sys_error.hpp"

namespace driftless {

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
