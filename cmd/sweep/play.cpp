#include "cmd/sweep/play.hpp"

#include <time.h>

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/cells/cut_off.hpp"
#include "cmd/cells/hook.hpp"
#include "cmd/cells/idle.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/stop.hpp"
#include "cmd/sweep/table.hpp"
#include "cmd/whole_file.hpp"
#include "proto/core/sys_error.hpp"
#include "proto/http/url.hpp"

namespace driftless {

namespace {

std::string utc_now() {
    timespec now{};
    (void)::clock_gettime(CLOCK_REALTIME, &now);
    return utc_text(now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec);
}

/// One cell: its hooks, the barrier and its run.
class CellPlay {
  public:
    CellPlay(const SweepPlan& plan, LedgerCell& cell, const std::string& folder,
             const ReplayOptions& options)
        : plan_(plan),
          cell_(cell),
          run_folder_(folder + "/" + cell.planned.folder),
          options_(options),
          environment_(cell_environment(
              cell.planned.values,
              options.server.targets.empty() ? "" : to_text(options.server.targets.front().url),
              cell.planned.name, run_folder_)),
          stops_(stop_requests().load()) {}

    void play() {
        if (prepare()) {
            take(run_cell({arguments_of(plan_, cell_.planned), run_folder_}));
        }
        cell_.state = CellState::ended;
    }

    /// Also after a cell that failed or was interrupted; one more request to stop ends it.
    void clean_up() {
        const HookEnd end = run_hook(hook("after", plan_.after), environment_,
                                     run_folder_ + ".after.txt", stop_requests().load());
        if (end.outcome != HookOutcome::done) {
            cell_.note += (cell_.note.empty() ? "" : "; ") + end.why;
        }
    }

  private:
    /// False: the cell has ended.
    bool prepare() {
        return begin(run_hook(hook("before", plan_.before), environment_,
                              run_folder_ + ".before.txt", stops_)) &&
               begin(ready()) && wait();
    }

    HookEnd ready() {
        return plan_.ready.command.empty()
                   ? HookEnd()
                   : run_until_ready(hook("ready", plan_.ready), environment_,
                                     run_folder_ + ".ready.txt", stops_);
    }

    bool begin(const HookEnd& end) {
        return end.outcome == HookOutcome::done ||
               fail(end.outcome == HookOutcome::stopped, end.why);
    }

    bool wait() {
        const IdleEnd idle = wait_until_idle(options_, plan_.idle_limit_ns, stops_);
        if (idle.outcome == IdleOutcome::unknown) {
            cell_.note = idle.note;
        }
        const bool goes_on =
            idle.outcome == IdleOutcome::idle || idle.outcome == IdleOutcome::unknown;
        return goes_on || fail(idle.outcome == IdleOutcome::stopped, idle.note);
    }

    bool fail(bool stopped, const std::string& why) {
        cell_.outcome = stopped ? CellOutcome::interrupted : CellOutcome::failed;
        cell_.why = why;
        return false;
    }

    void take(const CellEnd& end) {
        cell_.outcome = end.outcome;
        cell_.why = end.why;
        if (end.exit_code >= 0) {
            cell_.exit_code = end.exit_code;
        }
        if (end.summary) {
            cell_.warm = end.summary->warm();
            cell_.verdict = end.summary->verdict();
            cell_.summary = kept_figures(*end.summary);
        }
    }

    static Hook hook(const char* name, const SweepHook& planned) {
        return {name, planned.command, planned.limit_ns};
    }

    const SweepPlan& plan_;
    LedgerCell& cell_;
    std::string run_folder_;
    const ReplayOptions& options_;
    std::vector<std::string> environment_;
    int stops_;
};

int exit_code_of(const Ledger& ledger, bool stopped) {
    bool any = false;
    bool crossed = false;
    for (const LedgerCell& cell : ledger.cells) {
        const bool ended = cell.state == CellState::ended;
        crossed = crossed || (ended && cell.outcome == CellOutcome::threshold);
        any = any || (ended && (cell.outcome == CellOutcome::completed ||
                                cell.outcome == CellOutcome::threshold ||
                                cell.outcome == CellOutcome::spoiled));
    }
    return stopped   ? exit_interrupted
           : !any    ? exit_no_success
           : crossed ? exit_threshold
                     : exit_done;
}

/// A cell anew, as if it had not been begun.
void forget(LedgerCell& cell) {
    LedgerCell fresh;
    fresh.planned = std::move(cell.planned);
    fresh.cut_folders = std::move(cell.cut_folders);
    cell = std::move(fresh);
}

int write_or_fail(const Ledger& ledger, const std::string& folder) {
    const Result<void> written = write_ledger(ledger, folder);
    return written ? exit_done : fail_host((folder + "/sweep.json").c_str(), written.error());
}

/// What sweep.json could not be told, and what standard output may have lost with it: both can be
/// on a disk that is full.
void tell_end(const LedgerCell& cell) {
    complain("driftless sweep: cell %s: %s%s%s; sweep.json does not record this",
             cell.planned.name.c_str(), name_of(cell.outcome), cell.why.empty() ? "" : ": ",
             cell.why.c_str());
}

bool has_ended(const LedgerCell& cell) {
    return cell.state == CellState::ended && cell.outcome != CellOutcome::interrupted;
}

/// From its beginning to what is kept of it; what stops the whole sweep is an exit code.
int play_cell(Ledger& ledger, std::size_t index, const std::string& folder,
              const std::string& key) {
    LedgerCell& cell = ledger.cells[index];
    const Result<std::string> cut = set_aside(folder, cell.planned.folder);
    if (!cut) {
        return fail_host(cell.planned.folder.c_str(), cut.error());
    }
    if (!cut.value().empty()) {
        cell.cut_folders.push_back(cut.value());
        print_line("cut off: %s is kept as %s", cell.planned.folder.c_str(), cut.value().c_str());
    }
    forget(cell);
    cell.state = CellState::running;
    cell.began = utc_now();
    if (const int code = write_or_fail(ledger, folder); code != exit_done) {
        return code;
    }
    std::fputs(cell_begins(ledger, index).c_str(), stdout);
    (void)std::fflush(stdout);
    const ReplayCommandLine line =
        parse_replay_options(arguments_of(ledger.plan, cell.planned), key);
    CellPlay play(ledger.plan, cell, folder, line.options);
    play.play();
    const int kept = write_or_fail(ledger, folder);  // before a hook that may hang
    play.clean_up();
    std::fputs(cell_ends(cell).c_str(), stdout);
    if (kept != exit_done) {
        tell_end(cell);
        return kept;
    }
    return write_or_fail(ledger, folder);
}

}  // namespace

int play_sweep(Ledger& ledger, const std::string& folder, const std::string& key) {
    bool stopped = false;
    for (std::size_t i = 0; i < ledger.cells.size() && !stopped; ++i) {
        const LedgerCell& cell = ledger.cells[i];
        if (!has_ended(cell)) {
            if (const int code = play_cell(ledger, i, folder, key); code != exit_done) {
                return code;
            }
        }
        if (has_ended(cell)) {
            forget_marks(folder, cell.cut_folders);
        }
        stopped = stop_requests().load() > 0;
    }
    std::fputs(sweep_table(ledger).c_str(), stdout);
    print_line("files: %s", folder.c_str());
    if (stopped) {
        print_line("interrupted: driftless sweep --resume %s continues it", folder.c_str());
    }
    return exit_code_of(ledger, stopped);
}

}  // namespace driftless
