/// `driftless sweep`: the command, its cells without playing them (`--dry-run`), and playing them.

#include "cmd/runs/sweep.hpp"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/values.hpp"
#include "cmd/flags/replay_options.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/replay/invocation.hpp"
#include "cmd/replay/server.hpp"
#include "cmd/runs/cell.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/io_ring.hpp"
#include "engine/server/asker.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/http/request.hpp"

namespace driftless {

namespace {

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

}  // namespace

/// Of a closed loop: what --for says, else the least that its gaps allow.
static std::optional<Estimate> read_estimate(const std::string& folder) {
    const std::optional<RunFacts> facts = read_run_partly(folder);
    if (!facts) {
        return std::nullopt;
    }
    const OptionalNs profile_ns = facts->info.run.for_ns;
    const std::int64_t lasts_ns =
        profile_ns.value_or(facts->least_ns.value_or(facts->info.run.last_due_ns));
    const bool closed = facts->has_users || facts->least_ns;
    return Estimate{facts->rows, in_s(lasts_ns), closed && !profile_ns};
}

static void print_cell(const PlannedCell& cell, const CellEnd& end,
                       const std::optional<Estimate>& estimate) {
    if (!estimate) {
        print_line("%s: %s", cell.name.c_str(), end.why.c_str());
        return;
    }
    print_line("%s: %llu rows, %s%.1f s", cell.name.c_str(),
               static_cast<unsigned long long>(estimate->rows),
               estimate->at_least ? "at least " : "", estimate->seconds);
}

/// Lets replay make a dry run of each combination: the cells, with their rows and how long each
/// takes. Prints; returns the exit code.
static int dry_run_sweep(const Ledger& ledger) {
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
        const CellEnd end =
            run_cell({arguments_of_dry_run(arguments_of(ledger.plan, cell.planned)), folder});
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

// Gauges. A page may have those of two servers (a router and its engines): all are summed, because
// none may have a request.
static constexpr std::array<std::string_view, 10> names{"vllm:num_requests_running",
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
static std::optional<double> value_of(std::string_view line) {
    const std::size_t name_end = std::min(line.find_first_of("{ \t"), line.size());
    if (std::ranges::find(names, line.substr(0, name_end)) == names.end()) {
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

std::optional<double> busy_requests(std::string_view page) {
    std::optional<double> sum;
    for (const auto line : std::views::split(page, '\n')) {
        if (const auto value = value_of(std::string_view(line.begin(), line.end()))) {
            sum = sum.value_or(0) + *value;
        }
    }
    return sum;
}

static constexpr std::int64_t poll_ns = 500'000'000;
// A server that has just ended a request may count it for a moment, or begin another one.
static constexpr int idle_polls = 3;
static constexpr std::int64_t quiet_ns = 2'000'000'000;
static constexpr Duration page_timeout = seconds(10);

namespace {

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

}  // namespace

static IdleEnd quiet_time(const std::string& why, int stops) {
    return pause_ns(quiet_ns, stops)
               ? IdleEnd{IdleOutcome::unknown,
                         "whether the server is idle is not known (" + why + "); waited 2 s"}
               : IdleEnd{IdleOutcome::stopped, "stopped by the user"};
}

IdleEnd wait_until_idle(const ReplayOptions& options, std::int64_t limit_ns, int stops) {
    const std::int64_t end = monotonic_ns() + limit_ns;
    Result<std::unique_ptr<Driver>> driver = make_driver(DriverOptions::small());
    if (!driver) {
        return quiet_time(
            std::string("cannot ") + driver.error().doing + ": " + reason_of(driver.error()),
            stops);
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
        if (idle < idle_polls && monotonic_ns() >= end) {
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

static std::string utc_now() {
    timespec now{};
    (void)::clock_gettime(CLOCK_REALTIME, &now);
    return utc_text(now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec);
}

/// What people see, now.
static void show(const std::string& text) {
    std::fputs(printable_lines(text).c_str(), stdout);
    (void)std::fflush(stdout);
}

namespace {

/// One cell: its hooks, the barrier and its run. Shows what comes of it.
class CellPlay {
  public:
    CellPlay(const SweepPlan& plan, LedgerCell& cell, std::string begins, const std::string& folder,
             const ReplayOptions& options)
        : plan_(plan),
          cell_(cell),
          begins_(std::move(begins)),
          run_folder_(folder + "/" + cell.planned.folder),
          options_(options),
          environment_(cell_environment(
              cell.planned.values,
              options.server.targets.empty() ? "" : to_text(options.server.targets.front().url),
              run_folder_)),
          stops_(stop_requests().load()) {
        std::vector<Header> known = secrets_of_environment(environment_);
        if (OrExit<Credentials> keys = read_credentials(options.request, options.server.targets)) {
            known.insert(known.end(), keys.value().all.begin(), keys.value().all.end());
        }
        secrets_ = secrets_of(known);
    }

    void play() {
        if (prepare()) {
            take(run_cell({arguments_of(plan_, cell_.planned), run_folder_}));
        }
        cell_.state = CellState::ended;
        show(cell_ends(cell_) + said_);
    }

    /// Also after a cell that failed or was interrupted; one more request to stop ends it.
    void clean_up() {
        const HookEnd end = run_hook(known(plan_.after), environment_, run_folder_ + ".after.txt",
                                     stop_requests().load(), [](const auto& late) { tell(late); });
        if (end.outcome != HookOutcome::done) {
            note_failed(end);
            cell_.note += (cell_.note.empty() ? "" : "; ") + end.why();
            show(end.why() + "\n" + (end.outcome == HookOutcome::stopped ? "" : end.said));
        }
        for (const char* const said_since : {".before.txt", ".ready.txt"}) {  // in the background
            mask_output(run_folder_ + said_since, secrets_);
        }
    }

  private:
    /// With what its output may not show.
    Hook known(Hook hook) const {
        hook.secrets = secrets_;
        return hook;
    }

    /// False: the cell has ended.
    bool prepare() {
        const auto waits = [this](const auto& late) { tell(late, begins_); };
        return begin(run_hook(known(plan_.before), environment_, run_folder_ + ".before.txt",
                              stops_, waits)) &&
               begin(run_until_ready(known(plan_.ready), environment_, run_folder_ + ".ready.txt",
                                     stops_, waits)) &&
               wait();
    }

    /// While it is waited for.
    static void tell(const HookEnd& hook, const std::string& behind = "") {
        show("waiting: " + hook.why() + "\n" + hook.said + behind);
    }

    bool begin(const HookEnd& end) {
        if (end.outcome == HookOutcome::done) {
            return true;
        }
        note_failed(end);
        said_ = end.said;
        return fail(end.outcome == HookOutcome::stopped, end.why());
    }

    void note_failed(const HookEnd& end) {
        if (end.outcome != HookOutcome::stopped) {
            cell_.hook_failed += (cell_.hook_failed.empty() ? "" : "; ") + end.what;
        }
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

    const SweepPlan& plan_;
    LedgerCell& cell_;
    std::string begins_;  ///< its line on the screen
    std::string run_folder_;
    const ReplayOptions& options_;
    std::vector<std::string> environment_;
    std::vector<std::string> secrets_;
    int stops_;
    std::string said_;  ///< the end of what the hook printed that failed
};

}  // namespace

static int exit_code_of(const Ledger& ledger, bool stopped, bool hooks_fail) {
    bool any = false;
    bool crossed = false;
    for (const LedgerCell& cell : ledger.cells) {
        const bool ended = cell.state == CellState::ended;
        crossed = crossed || (ended && cell.outcome == CellOutcome::threshold);
        any = any || (ended && (cell.outcome == CellOutcome::completed ||
                                cell.outcome == CellOutcome::threshold ||
                                cell.outcome == CellOutcome::spoiled));
    }
    return stopped      ? exit_interrupted
           : hooks_fail ? exit_host
           : !any       ? exit_no_success
           : crossed    ? exit_threshold
                        : exit_done;
}

/// A cell anew, as if it had not been begun.
static void forget(LedgerCell& cell) {
    LedgerCell fresh;
    fresh.planned = std::move(cell.planned);
    fresh.cut_folders = std::move(cell.cut_folders);
    cell = std::move(fresh);
}

static int write_or_fail(const Ledger& ledger, const std::string& folder) {
    const Result<void> written = write_ledger(ledger, folder);
    return written ? exit_done : fail_host((folder + "/sweep.json").c_str(), written.error());
}

/// What sweep.json could not be told, and what standard output may have lost with it: both can be
/// on a disk that is full.
static void tell_end(const LedgerCell& cell) {
    complain("driftless sweep: cell %s: %s%s%s; sweep.json does not record this",
             cell.planned.name.c_str(), name_of(cell.outcome), cell.why.empty() ? "" : ": ",
             cell.why.c_str());
}

/// Its run did not begin, for a hook before it failed.
static bool hook_kept_out(const LedgerCell& cell) {
    return cell.outcome == CellOutcome::failed && !cell.hook_failed.empty() &&
           !cell.hook_failed.starts_with("after");
}

/// False: it is to be played, or to be played again.
static bool has_ended(const LedgerCell& cell) {
    return cell.state == CellState::ended && cell.outcome != CellOutcome::interrupted &&
           !hook_kept_out(cell);
}

/// Cells in the order of the plan; those that a hook kept out before come last, so that others are
/// played even where these can never be.
static std::vector<std::size_t> order_of_play(const Ledger& ledger) {
    std::vector<std::size_t> order(ledger.cells.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_partition(
        order, [&](std::size_t index) { return !hook_kept_out(ledger.cells[index]); });
    return order;
}

/// Hooks kept out two cells of different values, in the same way. Once more the same values say
/// nothing of the hooks.
static bool fail_alike(const LedgerCell& a, const LedgerCell& b) {
    const bool same_values = std::ranges::equal(a.planned.values, b.planned.values, {},
                                                &CellValue::value, &CellValue::value);
    return hook_kept_out(a) && a.hook_failed == b.hook_failed && !same_values;
}

/// From its beginning to what is kept of it; what stops the whole sweep is an exit code.
static int play_cell(Ledger& ledger, std::size_t index, const std::string& folder,
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
    const std::string begins = cell_begins(ledger, index);
    show(begins);
    const ReplayCommandLine line =
        parse_replay_options(arguments_of(ledger.plan, cell.planned), key);
    CellPlay play(ledger.plan, cell, begins, folder, line.options);
    play.play();
    const int kept = write_or_fail(ledger, folder);  // before a hook that may hang
    play.clean_up();
    if (kept != exit_done) {
        tell_end(cell);
        return kept;
    }
    return write_or_fail(ledger, folder);
}

/// Plays every cell of the ledger that has not ended, in order; writes the files into `folder`
/// after each step, prints a line per cell and a table. The caller holds the folder's lock and has
/// called `count_stop_requests`. `key` is the value of OPENAI_API_KEY. Returns the exit code.
static int play_sweep(Ledger& ledger, const std::string& folder, const std::string& key) {
    bool stopped = false;
    const LedgerCell* kept_out = nullptr;  // the last cell that was played, if a hook kept it out
    bool hooks_fail = false;
    const std::vector<std::size_t> order = order_of_play(ledger);
    for (auto at = order.begin(); at != order.end() && !stopped && !hooks_fail; ++at) {
        const LedgerCell& cell = ledger.cells[*at];
        if (!has_ended(cell)) {
            if (const int code = play_cell(ledger, *at, folder, key); code != exit_done) {
                return code;
            }
            const bool more = std::any_of(at + 1, order.end(), [&](std::size_t index) {
                return !has_ended(ledger.cells[index]);
            });
            hooks_fail = more && kept_out != nullptr && fail_alike(cell, *kept_out);
            kept_out = hook_kept_out(cell) ? &cell : nullptr;
        }
        if (has_ended(cell)) {
            forget_marks(folder, cell.cut_folders);
        }
        stopped = stop_requests().load() > 0;
    }
    const ManyRuns table = table_of(sweep_runs(ledger, folder), false);
    std::fputs(("\n" + table_screen(table)).c_str(), stdout);
    for (const LedgerCell& cell : ledger.cells) {  // the table has their figures alone
        if (cell.state == CellState::ended && cell.outcome == CellOutcome::threshold) {
            print_line("%s: threshold: %s", cell.planned.folder.c_str(), cell.why.c_str());
        }
    }
    print_line("files: %s", folder.c_str());
    write_sweep_page(ledger, table.runs, folder);
    if (stopped) {
        print_line("interrupted: driftless sweep --resume %s continues it", folder.c_str());
    } else if (hooks_fail) {
        complain(
            "driftless sweep: stopped: hooks of two cells in a row failed alike (%s); correct "
            "what they need, then driftless sweep --resume %s plays the cells that are left, these "
            "last",
            kept_out->hook_failed.c_str(), folder.c_str());
    }
    return exit_code_of(ledger, stopped, hooks_fail);
}

static int refuse(const std::string& why, int code = exit_usage) {
    return refuse_cells("sweep", why, code);
}

/// Replay's own words, without its name and its hint.
static std::string words_of_replay(const std::string& text) {
    constexpr std::string_view before = "driftless replay: ";
    constexpr std::string_view behind = " (see driftless replay --help)";
    std::string words = text.starts_with(before) ? text.substr(before.size()) : text;
    return words.ends_with(behind) ? words.substr(0, words.size() - behind.size()) : words;
}

/// Every cell is one that replay takes, before the first hook runs. `paths`: its traces.
static int check_cells(const Ledger& ledger, const std::string& key, bool dry_run,
                       std::vector<std::string>& paths) {
    for (const Hook* const hook : {&ledger.plan.before, &ledger.plan.ready, &ledger.plan.after}) {
        if (repeats_secret({"--" + std::string(hook->name) + "=" + hook->command}, {})) {
            return exit_usage;
        }
    }
    for (const LedgerCell& cell : ledger.cells) {
        std::vector<std::string> arguments = arguments_of(ledger.plan, cell.planned);
        if (dry_run) {
            arguments = arguments_of_dry_run(arguments);
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

static void print_plan(const Ledger& ledger, const std::string& folder) {
    print_line("sweep: %zu cells in %s", ledger.cells.size(), folder.c_str());
    if (ledger.plan.salted) {
        print_line(
            "cache: every cell has its own prompts (--cache-salt random), except for "
            "recorded text");
    }
}

/// A new folder that is ours from now on.
static OrExit<FolderLock> take_folder(const std::string& folder) {
    if (!make_folder(folder)) {
        return errno == EEXIST
                   ? refuse("--out " + folder +
                            ": already exists; name a new folder, or use --resume " + folder +
                            " to continue the sweep there")
                   : fail_host(folder.c_str(), error_from_errno(errno, "make a folder"));
    }
    return lock_folder("sweep", folder);
}

/// Each cell that was cut off is nobody's any more.
static int wait_for_orphans(const Ledger& ledger, const std::string& folder) {
    for (const LedgerCell& cell : ledger.cells) {
        const std::string run = folder + "/" + cell.planned.folder;
        const int code =
            cell.state == CellState::running ? wait_for_orphan("sweep", "sweep", run) : exit_done;
        if (code != exit_done) {
            return code;
        }
    }
    return exit_done;
}

static int begin(const SweepCommand& command, const std::string& key) {
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
    const std::string folder = command.out.empty() ? "sweeps/" + folder_date() : command.out;
    const OrExit<FolderLock> lock = take_folder(folder);
    if (!lock) {
        return lock.exit_code();
    }
    print_plan(ledger, folder);
    return play_sweep(ledger, folder, key);
}

static int resume(const std::string& shown, const std::string& key) {
    const OrExit<KeptFolder> kept = take_kept_folder("sweep", "a sweep", shown);
    if (!kept) {
        return kept.exit_code();
    }
    Ledger ledger;
    if (const std::string why = read_ledger(kept.value().text, ledger); !why.empty()) {
        return refuse(shown + "/sweep.json " + why, exit_input);
    }
    const std::string folder = absolute_path(shown);
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

int run_sweep(int argc, char** argv) {
    const SweepCommandLine line = parse_sweep_options({argv + 1, argv + argc});
    if (const std::optional<int> code = line.finish()) {
        return *code;
    }
    const char* variable = std::getenv("OPENAI_API_KEY");
    const std::string key = variable != nullptr ? variable : "";
    catch_stop_signals();
    count_stop_requests();
    (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
    return line.command.resume.empty() ? begin(line.command, key)
                                       : resume(without_slashes(line.command.resume), key);
}

}  // namespace driftless
