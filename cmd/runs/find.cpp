/// `driftless find`: a search from its first probe to its last, or from where it was cut off.

#include "cmd/runs/find.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/run_folder.hpp"
#include "cmd/base/values.hpp"
#include "cmd/flags/replay_options.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/flags/synth_values.hpp"
#include "cmd/replay/invocation.hpp"
#include "cmd/runs/cell.hpp"
#include "cmd/runs/sweep.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"

namespace driftless {

static int refuse_find(const std::string& why, int code) {
    return refuse_cells("find", why, code);
}

/// Of a replay that ended the search.
static int code_of(const CellEnd& end) {
    return end.exit_code > 0 ? end.exit_code : exit_host;
}

static constexpr double spare = 1.2;
static constexpr std::int64_t ns_per_second = 1'000'000'000;

Window::Window(std::vector<std::string> replay_flags) : flags_(std::move(replay_flags)) {
    for (std::size_t i = 0; i < flags_.size(); ++i) {
        for (const std::string_view name : {"--for", "--duration"}) {
            const std::string joined = std::string(name) + "=";
            const bool apart = flags_[i] == name && i + 1 < flags_.size();
            if (!apart && !flags_[i].starts_with(joined)) {
                continue;
            }
            const std::string text = apart ? flags_[i + 1] : flags_[i].substr(joined.size());
            if (const Result<std::int64_t> ns = parse_duration_ns(text); ns && ns.value() > 0) {
                typed_ns_ = ns.value();
                at_ = apart ? i + 1 : i;
                before_ = apart ? "" : joined;
            }
        }
    }
}

void Window::grow(std::uint64_t rows, std::uint64_t wanted) {
    const double lacks =
        static_cast<double>(wanted) / static_cast<double>(std::max<std::uint64_t>(rows, 1));
    times_ = std::min(longest, times_ * std::max(spare, spare * lacks));
}

std::string Window::text() const {
    if (typed_ns_ == 0) {
        return "";
    }
    // Whole seconds where it was lengthened.
    const double ns = static_cast<double>(typed_ns_) * times_;
    const auto whole =
        static_cast<std::int64_t>(std::ceil(ns / static_cast<double>(ns_per_second)));
    return duration_to_text(times_ > 1 ? whole * ns_per_second : typed_ns_);
}

std::vector<std::string> Window::flags() const {
    std::vector<std::string> flags = flags_;
    if (times_ > 1) {
        flags[at_] = before_ + text();
    }
    return flags;
}

static constexpr const char* dry_run_folder = "00-dry-run";
static constexpr const char* loop_folder = "00-closed-loop";
/// Of the closed loop: engines of today run as many requests at once, and each place has a few.
static constexpr int loop_open = 64;
static constexpr int loop_rows = 3 * loop_open;
static constexpr const char* loop_time = "60s";  ///< for servers that answer one a second, or fewer
static constexpr std::int64_t idle_limit_ns = 60 * ns_per_second;

/// Eight hex digits that no other search has: equal seeds mean equal prompts, and the server's
/// cache must not know them from the probe before.
static std::string draw_name() {
    std::uint32_t drawn = 0;
    (void)::getrandom(&drawn, sizeof drawn, 0);
    return fmt::format("{:08x}", drawn);
}

static ReplayCommandLine replay_line(const std::vector<std::string>& arguments) {
    const char* const variable = std::getenv("OPENAI_API_KEY");
    return parse_replay_options(arguments, variable != nullptr ? variable : "");
}

/// Whether replay takes a probe with these arguments, and its traces are there.
static OrExit<std::vector<KeptTrace>> check_probe(const std::vector<std::string>& arguments) {
    const ReplayCommandLine line = replay_line(arguments);
    if (line.kind != ReplayCommandLine::Kind::run) {
        return refuse_find("the first probe cannot run: " + line.text, exit_usage);
    }
    std::vector<std::string> files = line.options.workload.files.paths;
    std::erase_if(files, [](const auto& one) { return one.starts_with(made_scheme); });
    std::string unread;
    Result<std::vector<KeptTrace>> kept = keep_traces(files, unread);
    if (!kept) {
        return refuse_find(unread + ": " + reason_of(kept.error()), exit_input);
    }
    return std::move(kept).value();
}

static KneeProbe first_probe(const FindOptions& options) {
    return {options.rules.start, 0, 0, Purpose::bracket};
}

namespace {

/// A search from its first probe to its last, or from where it was cut off: plays what `next_step`
/// asks for, and keeps `find.json`. One process at a time has the folder.
class Finder {
  public:
    /// `folder` is ours, and locked.
    Finder(FindOptions options, std::vector<std::string> command, std::string folder)
        : options_(std::move(options)),
          folder_(std::move(folder)),
          window_(options_.replay_flags),
          name_(draw_name()),
          began_(std::chrono::steady_clock::now()) {
        report_.options = &options_;
        report_.command = std::move(command);
    }

    OrExit<std::vector<KeptTrace>> check() const {
        return check_probe(arguments(first_probe(options_)));
    }

    /// A search from its beginning. Returns the exit code.
    int begin(std::vector<KeptTrace> traces) {
        report_.home = absolute_path(".");
        report_.traces = std::move(traces);
        return run();
    }

    /// The search that has left `kept` in the folder. Its probes count as they were; the one that
    /// was cut off is played anew.
    int resume(SearchReport kept) {
        report_ = std::move(kept);
        report_.options = &options_;
        if (report_.saturated) {
            begin_near(options_, *report_.saturated);
        }
        seconds_before_ = report_.seconds;
        if (const std::string why = recall(); !why.empty()) {
            return refuse_find(folder_ + "/find.json " + why, exit_input);
        }
        say("continues after " + counted(report_.probes.size(), "probe", "probes") + " in " +
            folder_);
        return run();
    }

  private:
    /// What a person who waits wants to know.
    void say(const std::string& line) const {
        if (!options_.quiet) {
            complain("find: %s", line.c_str());
        }
    }

    std::vector<std::string> with_server(const std::vector<std::string>& flags) const {
        std::vector<std::string> out = options_.traces;
        for (const std::string& url : options_.urls) {
            out.push_back("--url=" + url);
        }
        out.insert(out.end(), flags.begin(), flags.end());
        return out;
    }

    std::vector<std::string> arguments(const KneeProbe& probe) const {
        std::vector<std::string> out = with_server(window_.flags());
        out.push_back("--" + std::string(options_.over->name) + "=" + load_text(probe.value));
        out.push_back("--seed=" + std::to_string(options_.seed + probe.seed));
        if (!options_.salted) {
            out.push_back("--cache-salt=find-" + name_ + "-" +
                          std::to_string(report_.probes.size()));
        }
        for (const Slo& slo : options_.slos.list) {
            out.push_back("--fail-if=" + slo.fail_if);
        }
        return out;
    }

    /// Writes find.json anew.
    int keep() {
        report_.seconds = seconds_before_ + seconds();
        const std::string path = folder_ + "/find.json";
        const Result<void> written = write_whole_file(path, find_json(report_));
        return written ? exit_done : fail_host(path.c_str(), written.error());
    }

    /// The replay was interrupted, or the user asks to stop.
    static bool was_stopped(const CellEnd& end) {
        return end.outcome == CellOutcome::interrupted || stop_requests().load() > 0;
    }

    int interrupted(const std::string& where) {
        return end_with("interrupted", "interrupted " + where, exit_interrupted);
    }

    int end_with(const char* state, const std::string& why, int code) {
        report_.state = state;
        report_.why = why;
        const int kept = keep();
        std::fputs(printable_lines(result_lines(report_)).c_str(), stdout);
        print_line("find: %s/find.json", printable(folder_).c_str());
        if (!report_.probes.empty()) {
            write_search_page(report_, folder_);
        }
        if (report_.state == "interrupted") {
            print_line("find: driftless find --resume %s continues it", printable(folder_).c_str());
        }
        return kept == exit_done ? code : kept;
    }

    /// A window in which a run would have as many rows as its percentile needs; or the end of the
    /// search, where there is none: `rows` did not grow with it.
    int lengthen(double value, std::uint64_t rows) {
        const std::uint64_t wanted = options_.slos.rows_min;
        const bool grew = value != short_at_ || rows > short_rows_;
        short_at_ = value;
        short_rows_ = rows;
        if (grew && window_.can_grow()) {
            window_.grow(rows, wanted);
            say(std::to_string(rows) + " requests are too few for a percentile of the SLO (needs " +
                std::to_string(wanted) + "); probes now last " + window_.text() +
                " (a higher --low keeps them short)");
            return exit_done;
        }
        const std::string_view over = options_.over->name;
        const std::string more = over == "replicate" ? "begin at more copies with --low"
                                 : over == "users" || over == "concurrency"
                                     ? "add -- --recycle --for T"
                                     : "add -- --replicate rows:" + std::to_string(wanted);
        const std::string why = "a percentile of the SLO needs " + std::to_string(wanted) +
                                " requests; the probe at " + load_text(value) + " has " +
                                std::to_string(rows) + ": use a longer part of the trace, " + more +
                                ", or choose a lower percentile";
        return stop(why, exit_usage);
    }

    /// Rows of the first probe, without a server; nothing where only a run can tell.
    OrExit<std::optional<std::uint64_t>> count_rows(const std::string& folder) {
        const Cell cell{arguments_of_dry_run(arguments(first_probe(options_))), folder};
        const CellEnd end = run_cell(cell);
        if (was_stopped(end)) {
            return interrupted("before the first probe");
        }
        if (end.exit_code != exit_done) {
            return stop("the first probe cannot run: " + end.why, code_of(end));
        }
        const std::optional<RunFacts> run = read_run_partly(folder);
        const bool recycles = has_flag(options_.replay_flags, "--recycle");
        return recycles || !run ? std::nullopt : std::optional(run->rows);
    }

    /// A search that is resumed counts again: the folder behind those that are there.
    std::string free_dry_run_folder() const {
        std::string folder = folder_ + "/" + dry_run_folder;
        for (int number = 2; is_there(folder); ++number) {
            folder = folder_ + "/" + dry_run_folder + "-" + std::to_string(number);
        }
        return folder;
    }

    /// Reads the flags and the trace as the first probe will, and sees that it is long enough,
    /// before anything is sent.
    int check_input() {
        int code = exit_done;
        while (code == exit_done) {  // each turn lengthens the window, which has a bound
            const std::string folder = free_dry_run_folder();
            const OrExit<std::optional<std::uint64_t>> rows = count_rows(folder);
            if (!rows) {
                return rows.exit_code();
            }
            if (!rows.value() || *rows.value() >= options_.slos.rows_min) {
                break;
            }
            code = lengthen(options_.rules.start, *rows.value());
        }
        return code;
    }

    /// The trace as fast as the server answers it.
    std::vector<std::string> loop_arguments() const {
        constexpr std::array left_out{"--duration", "--limit",       "--arrivals",
                                      "--report",   "--calibration", "--cache-salt"};
        std::vector<std::string> flags;
        for (std::size_t i = 0; i < options_.replay_flags.size(); ++i) {
            const std::string& flag = options_.replay_flags[i];
            const std::string name = flag.substr(0, flag.find('='));
            if (std::ranges::find(left_out, name) == left_out.end()) {
                flags.push_back(flag);
            } else {
                i += name == flag ? 1 : 0;  // its value
            }
        }
        std::vector<std::string> out = with_server(flags);
        out.push_back("--concurrency=" + std::to_string(loop_open));
        out.push_back("--limit=" + std::to_string(loop_rows));
        out.push_back(std::string("--for=") + loop_time);
        out.push_back("--seed=" + std::to_string(options_.seed));
        out.push_back("--cache-salt=find-" + name_ + "-loop");
        for (const char* const flag : {"--drain=0s", "--calibration=none", "--report=none"}) {
            out.emplace_back(flag);
        }
        return out;
    }

    /// Where a search over rates begins: near what a closed loop gets answered, because from 1 a
    /// second it takes many probes. Where that cannot be known, it begins as any other.
    int estimate_start() {
        if (!begins_by_loop(options_) || report_.saturated || !report_.probes.empty()) {
            return exit_done;
        }
        const std::vector<std::string> arguments = loop_arguments();
        const ReplayCommandLine line = replay_line(arguments);
        if (line.kind != ReplayCommandLine::Kind::run) {
            return exit_done;
        }
        const std::string folder = folder_ + "/" + loop_folder;
        if (const Result<std::string> cut = set_aside(folder_, loop_folder); !cut) {
            return fail_host(loop_folder, cut.error());
        }
        say("closed loop of " + std::to_string(loop_open) +
            " requests, for a first load: up to a minute");
        const CellEnd end = run_cell({arguments, folder});
        if (was_stopped(end)) {
            return interrupted("before the first probe");
        }
        return end.exit_code == exit_preflight ? stop_after(loop_folder, end)
               : can_be_judged(end)            ? take_estimate(folder, line.options)
                                               : exit_done;  // the dry run will say why
    }

    int take_estimate(const std::string& folder, const ReplayOptions& of_loop) {
        const std::optional<LoopEnd> loop = read_loop(folder);
        report_.saturated = loop ? saturated_rate(loop->ended_ns) : std::nullopt;
        if (!report_.saturated) {
            say("the closed loop got too few answers to say at which load to begin");
            return exit_done;
        }
        begin_near(options_, *report_.saturated);
        say("closed loop: " + load_text(*report_.saturated) + " requests a second");
        if (loop->cut) {  // the server may still be busy with them
            (void)wait_until_idle(of_loop, idle_limit_ns, stop_requests().load());
        }
        return keep();
    }

    int judge(JudgedProbe judged, const CellEnd& end, const std::string& folder) {
        if (const Result<void> read = judge_probe(end, folder, options_.slos, judged); !read) {
            return stop(folder + ": " + read.error().doing + " is " + reason_of(read.error()),
                        exit_host);
        }
        const std::uint64_t rows = judged.rows;
        const double value = judged.probe.value;
        const bool too_short = judged.outcome == ProbeOutcome::too_short;
        report_.probes.push_back(std::move(judged));
        const SearchStep step = next_step(options_.rules, report_.probes);
        report_.knee = step.knee;
        say(probe_line(report_, report_.probes.back(), step.next));
        forget_marks(folder_, report_.probes.back().cut_folders);
        const int kept = keep();
        return kept == exit_done && too_short ? lengthen(value, rows) : kept;
    }

    /// A run that says nothing of its load, and that the next one would not, either.
    int stop_after(const std::string& run, const CellEnd& end) {
        return stop("the probe of " + run + " ended: " + end.why, code_of(end));
    }

    int stop(const std::string& why, int code) {
        (void)refuse_find(why, code);
        return end_with("stopped", why, code);
    }

    int play(const KneeProbe& probe) {
        JudgedProbe judged;
        judged.probe = probe;
        judged.run = fmt::format("{:02}-{}-{}", report_.probes.size() + 1, options_.over->name,
                                 load_text(probe.value));
        const std::string folder = folder_ + "/" + judged.run;
        if (const int code = clear_place(judged); code != exit_done) {
            return code;
        }
        const double before = seconds();
        const CellEnd end = run_cell({arguments(probe), folder});
        judged.seconds = seconds() - before;
        if (was_stopped(end)) {
            return interrupted("in the probe of " + judged.run);
        }
        if (!can_be_judged(end)) {
            return stop_after(judged.run, end);
        }
        return judge(std::move(judged), end, folder);
    }

    int run() {
        report_.state = name_of(SearchState::searching);
        report_.knee = next_step(options_.rules, report_.probes).knee;
        int code = keep();
        const bool plays_all = !window_.can_grow();  // whatever the load: it is checked at any
        if (plays_all && next_step(options_.rules, report_.probes).next && code == exit_done) {
            code = check_input();
        }
        code = code == exit_done ? estimate_start() : code;
        const std::optional<KneeProbe> first = next_step(options_.rules, report_.probes).next;
        if (first && !plays_all && code == exit_done) {
            code = check_input();
        }
        code = first && code == exit_done ? lengthen_as_before() : code;
        if (first && code == exit_done) {
            say("first probe: " + std::string(options_.over->name) + " " + load_text(first->value));
        }
        // Bounded by `probes_max`, and by how often a window can grow.
        while (code == exit_done && report_.state == name_of(SearchState::searching)) {
            const SearchStep step = next_step(options_.rules, report_.probes);
            report_.knee = step.knee;
            if (step.next && stop_requests().load() > 0) {
                return interrupted("between two probes");
            }
            if (step.next) {
                code = play(*step.next);
                continue;
            }
            const int ends = step.knee.state == SearchState::lowest_fails ? exit_threshold
                             : step.knee.state == SearchState::spoiled    ? exit_not_certified
                                                                          : exit_done;
            return end_with(name_of(step.knee.state), "", ends);
        }
        return code;
    }

    /// The probes of the file are those that the search asked for: it asks again, from its
    /// beginning. Returns what is wrong with them, or the empty text.
    std::string recall() {
        for (std::size_t i = 0; i < report_.probes.size(); ++i) {
            JudgedProbe& one = report_.probes[i];
            const std::optional<KneeProbe> asked =
                next_step(options_.rules, std::span(report_.probes).first(i)).next;
            if (!asked || load_text(asked->value) != load_text(one.probe.value) ||
                asked->seed != one.probe.seed) {
                return "has probes that do not match its command; start a new search";
            }
            one.probe = *asked;
            forget_marks(folder_, one.cut_folders);
        }
        return "";
    }

    /// By the probes that were too short, the window is what it was.
    int lengthen_as_before() {
        int code = exit_done;
        for (std::size_t i = 0; i < report_.probes.size() && code == exit_done; ++i) {
            const JudgedProbe& one = report_.probes[i];
            code =
                one.outcome == ProbeOutcome::too_short ? lengthen(one.probe.value, one.rows) : code;
        }
        return code;
    }

    /// What a probe left that was cut off is kept, beside the place that it had.
    int clear_place(JudgedProbe& probe) {
        if (const int code = wait_for_orphan("find", "search", folder_ + "/" + probe.run);
            code != exit_done) {
            return code == exit_interrupted ? interrupted("between two probes") : code;
        }
        const Result<std::string> cut = set_aside(folder_, probe.run);
        if (!cut) {
            return fail_host(probe.run.c_str(), cut.error());
        }
        probe.cut_folders = cuts_of(folder_, probe.run);
        return exit_done;
    }

    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    }

    FindOptions options_;
    std::string folder_;
    Window window_;
    std::string name_;  ///< of this process's salts
    std::chrono::steady_clock::time_point began_;
    double seconds_before_ = 0;  ///< of the processes that were killed
    SearchReport report_;
    double short_at_ = 0;           ///< load of the last probe that was too short
    std::uint64_t short_rows_ = 0;  ///< its rows
};

}  // namespace

static int begin(const FindOptions& options, const std::vector<std::string>& command) {
    OrExit<std::vector<KeptTrace>> traces = Finder(options, command, "").check();
    if (!traces) {
        return traces.exit_code();
    }
    const bool named = !options.out.empty();
    std::string folder = named ? options.out : default_folder("find");
    const Result<NewFolder> taken = named ? take_new_folder(folder) : take_numbered_folder(folder);
    if (!taken) {
        return fail_folder(folder, taken.error());
    }
    count_stop_requests();
    return Finder(options, command, folder).begin(std::move(traces).value());
}

/// All that a search is to do is in its command, which find.json has.
static int go_on(const std::string& shown, const std::string& folder, SearchReport kept) {
    const FindCommandLine line = parse_find_options(kept.command);
    if (line.kind != FindCommandLine::Kind::run || !line.options.resume.empty()) {
        return refuse_find(shown + "/find.json has an invalid command: " + line.text, exit_input);
    }
    if (const std::string why = go_home(kept.home, kept.traces); !why.empty()) {
        return refuse_find("--resume " + shown + ": " + why, exit_input);
    }
    count_stop_requests();
    return Finder(line.options, {}, folder).resume(std::move(kept));
}

static int resume(const std::string& folder) {
    OrExit<KeptFolder> taken = take_kept_folder("find", "a search", folder);
    if (!taken) {
        return taken.exit_code();
    }
    SearchReport kept;
    if (const std::string why = read_search(taken.value().text, kept); !why.empty()) {
        return refuse_find(folder + "/find.json " + why, exit_input);
    }
    return go_on(folder, absolute_path(folder), std::move(kept));
}

int run_find(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const FindCommandLine line = parse_find_options(arguments);
    if (const std::optional<int> code = line.finish()) {
        return *code;
    }
    catch_stop_signals();
    (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
    return line.options.resume.empty() ? begin(line.options, arguments)
                                       : resume(without_slashes(line.options.resume));
}

}  // namespace driftless
