#include "cmd/runs/sweep_play.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/guard.hpp"
#include "cmd/base/process.hpp"
#include "cmd/base/values.hpp"
#include "cmd/flags/options.hpp"
#include "cmd/replay/server.hpp"
#include "cmd/runs/cell.hpp"
#include "cmd/runs/cut_off.hpp"
#include "cmd/runs/sweep_ledger.hpp"
#include "engine/io/uring.hpp"
#include "engine/server/asker.hpp"
#include "proto/core/result.hpp"
#include "proto/http/url.hpp"

namespace driftless {

namespace {

// Gauges. A page may have those of two servers (a router and its engines): all are summed, because
// none may have a request.
constexpr std::array<std::string_view, 10> names{"vllm:num_requests_running",
                                                 "vllm:num_requests_waiting",
                                                 "sglang:num_running_reqs",
                                                 "sglang:num_queue_reqs",
                                                 "tgi_queue_size",
                                                 "tgi_batch_current_size",
                                                 "llamacpp:requests_processing",
                                                 "llamacpp:requests_deferred",
                                                 "dynamo_frontend_inflight_requests",
                                                 "dynamo_frontend_queued_requests"};

/// The value of a line "name{labels} 3.0 [time]", where it is one of ours.
std::optional<double> value_of(std::string_view line) {
    const std::size_t name_end = std::min(line.find_first_of("{ \t"), line.size());
    if (std::find(names.begin(), names.end(), line.substr(0, name_end)) == names.end()) {
        return std::nullopt;
    }
    line.remove_prefix(name_end);
    if (line.starts_with('{')) {  // a label's value may hold blanks, but no line ends behind it
        const std::size_t close = line.rfind('}');
        line = close == line.npos ? std::string_view() : line.substr(close + 1);
    }
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    double value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    return error == std::errc() && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<double> busy_requests(std::string_view page) {
    std::optional<double> sum;
    while (!page.empty()) {
        const std::size_t end = std::min(page.find('\n'), page.size());
        if (const std::optional<double> value = value_of(page.substr(0, end)); value) {
            sum = sum.value_or(0) + *value;
        }
        page.remove_prefix(std::min(end + 1, page.size()));
    }
    return sum;
}

namespace {

constexpr std::int64_t poll_ns = 500'000'000;
// A server that has just ended a request may count it for a moment, or begin another one.
constexpr int idle_polls = 3;
constexpr std::int64_t quiet_ns = 2'000'000'000;
constexpr Duration page_timeout = seconds(10);

std::int64_t now_ns() {
    return HostClocks::now().ns;
}

/// Requests of all targets.
struct Polled {
    std::optional<double> busy;  ///< nothing: a target does not say
    std::string why;             ///< then
};

class Servers {
  public:
    Servers(Driver& driver, const ReplayOptions& options, const ResolvedTargets& resolved) {
        for (std::size_t i = 0; i < options.server.targets.size(); ++i) {
            const ReplayTarget& target = options.server.targets[i];
            AskedServer asked;
            asked.address = resolved.endpoints[i].address;
            asked.tls = resolved.endpoints[i].tls;
            asked.host = host_header(target.url);
            asked.root_path = target.root_path;
            asked.run_id = "sweep";
            asked.limits = AskLimits(page_timeout);
            asked.stop_requests = &stop_requests();
            servers_.push_back(std::make_unique<AskedServer>(std::move(asked)));
            pages_.push_back(std::make_unique<PageAsker>(driver, *servers_.back()));
        }
    }

    Polled poll() {
        Polled polled{0, ""};
        for (std::size_t i = 0; i < pages_.size() && polled.busy; ++i) {
            const std::string path = servers_[i]->root_path + "/metrics";
            const Reply* const page = pages_[i]->get(path);
            const std::optional<double> busy =
                page != nullptr && page->status == 200 ? busy_requests(page->body) : std::nullopt;
            if (!busy) {
                polled.why = page == nullptr ? path + ": " + pages_[i]->why()
                             : page->status != 200
                                 ? path + ": status " + std::to_string(page->status)
                                 : path + " reports no number of running requests";
            }
            polled.busy = busy ? std::optional(*polled.busy + *busy) : std::nullopt;
        }
        return polled;
    }

  private:
    std::vector<std::unique_ptr<AskedServer>> servers_;  ///< immovable: they are referred to
    std::vector<std::unique_ptr<PageAsker>> pages_;
};

IdleEnd quiet_time(const std::string& why, int stops) {
    return pause_ns(quiet_ns, stops)
               ? IdleEnd{IdleOutcome::unknown,
                         "whether the server is idle is not known (" + why + "); waited 2 s"}
               : IdleEnd{IdleOutcome::stopped, "stopped by the user"};
}

}  // namespace

IdleEnd wait_until_idle(const ReplayOptions& options, std::int64_t limit_ns, int stops) {
    const std::int64_t end = now_ns() + limit_ns;
    Result<std::unique_ptr<UringDriver>> driver = UringDriver::make(UringOptions::small());
    if (!driver) {
        return quiet_time("io_uring: " + reason_of(driver.error()), stops);
    }
    const OrExit<ResolvedTargets> resolved =
        resolve_targets(options.server, options.sending.timeouts.connect);
    if (!resolved) {
        return quiet_time("the server's name cannot be resolved", stops);
    }
    Servers servers(*driver.value(), options, resolved.value());
    for (int idle = 0; idle < idle_polls;) {
        const Polled polled = servers.poll();
        if (!polled.busy) {
            return quiet_time(polled.why, stops);
        }
        idle = *polled.busy > 0 ? 0 : idle + 1;
        if (idle < idle_polls && now_ns() >= end) {
            return {IdleOutcome::busy, "the server still has " +
                                           std::to_string(static_cast<long long>(*polled.busy)) +
                                           " requests after " + duration_to_text(limit_ns)};
        }
        if (idle < idle_polls && !pause_ns(poll_ns, stops)) {
            return {IdleOutcome::stopped, "stopped by the user"};
        }
    }
    return {};
}

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
