/// The steps of a run on this host, and what is made of it at its end: verdict, figures, page.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "cmd/base/files.hpp"
#include "cmd/base/toml_reader.hpp"
#include "cmd/flags/rule_sets.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/replay/engine_crew.hpp"
#include "cmd/replay/replay.hpp"
#include "cmd/replay/run_file.hpp"
#include "cmd/replay/side_threads.hpp"
#include "cmd/replay/timing_notes.hpp"
#include "cmd/report/exports.hpp"
#include "cmd/report/page.hpp"
#include "cmd/report/summary_table.hpp"
#include "engine/prompt/recorded_bodies.hpp"
#include "engine/record/writer.hpp"
#include "engine/replay/run_steps.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/criteria.hpp"
#include "proto/figures/summary.hpp"
#include "proto/figures/verdict.hpp"

namespace driftless {

/// Fills in verdict, rules and thresholds, by the figures of the run and of its client.
static void judge(const Replay& run, const SummaryFigures& figures, const ClientTotals& client,
                  const std::string& records_path, SummaryInfo& info) {
    const ReplayOptions& options = run.options();
    const Judgement judged = judge_run(run.calibration, figures, client, info.cache_probe);
    info.verdict = name_of(judged.verdict);
    info.verdict_reasons = judged.reasons;
    info.limits = run.calibration.limits;
    info.client = &client;
    info.rules = judge_rules(options.rules.chosen.sets, info.run, figures, same_value);
    const std::string why =
        judge_thresholds_in(records_path, options.results.fail_if, figures, info.thresholds);
    if (!why.empty()) {
        complain("driftless: --fail-if: %s", why.c_str());
    }
}

/// By what `judge` found: 130 before 7 before 5 before 6 before 8 (design, section 4). `failed`:
/// the host failed us.
static int exit_code_of(const Replay& run, bool interrupted, const SummaryFigures& figures,
                        const SummaryInfo& info, bool failed) {
    const ReplayOptions& options = run.options();
    if (interrupted) {
        return exit_interrupted;
    }
    if (failed) {
        return exit_host;
    }
    if (figures.answered() == 0) {
        return exit_no_success;
    }
    const bool uncertified =
        options.calibration.require_certified && info.verdict != name_of(Verdict::certified);
    const bool unruly = options.rules.required && any_violated(info.rules);
    if (uncertified || unruly) {
        return exit_not_certified;
    }
    return any_fails(info.thresholds) || info.stopped_when ? exit_threshold : exit_done;
}

/// After the writer failed: replaces the figures of a run, which count all rows that were fired, by
/// those of the records in `folder`, as `driftless report` reads them, and says how many rows have
/// no record. Does nothing if the records cannot be read.
static void read_written(const std::string& folder, SummaryFigures& figures,
                         std::optional<Unfinished>& unfinished) {
    RunFacts facts;
    if (!read_run(folder, facts).empty()) {
        return;
    }
    Past past(facts);
    std::string why;
    if (!read_past(folder, facts.records_path, past, why)) {
        return;
    }
    const Unrecorded lost = unrecorded_rows(facts, past, figures.fired);
    figures = past.summary().figures();
    figures.unrecorded = lost.rows;
    unfinished = Unfinished{facts.rows - past.records(), lost.rows};
}

/// Why it could not be written, or empty.
static std::string try_page(const ReportedRun& run) {
    std::string why;
    const Result<std::string> page = page_of(run, why);
    if (!page) {
        return why;
    }
    const Result<void> written =
        write_whole_file(run.folder + "/report.html", page.value(), Lasting::written);
    return written ? "" : failed_text(written.error());
}

/// Writes `report.html` into the folder, over that of an earlier segment, and what `--markdown` and
/// `--junit` name. If the page fails, a warning says why; the run itself has all of its files.
/// Returns an exit code.
static int write_for_people(const std::string& folder, const SummaryFigures& figures,
                            const SummaryInfo& info, std::string summary,
                            const ResultFlags& results) {
    RunFacts facts;
    std::string why = read_run(folder, facts);
    const ReportedRun run{folder, facts, figures, info, std::move(summary)};
    if (results.page) {
        why = why.empty() ? try_page(run) : why;
        if (why.empty() && !results.quiet) {
            print_line("page: %s/report.html", folder.c_str());
        } else if (!why.empty()) {
            complain(
                "driftless: warning: %s/report.html was not written: %s; once that is fixed, "
                "run driftless report %s --html FILE",
                folder.c_str(), why.c_str(), folder.c_str());
        }
    }
    return write_ci_files(results.ci, run);
}

namespace {

/// One run on this host: its parts, and what the steps of a run ask for. Prints what stops it.
class Execution final : private RunHost {
  public:
    explicit Execution(const Replay& replay)
        : replay_(replay),
          options_(replay.options()),
          workload_(replay.workload),
          host_(replay.host),
          driver_(*replay.driver),
          folder_(folder_of(options_, workload_.trace.name)),
          line_(STDERR_FILENO, {options_.results.progress && !options_.results.quiet,
                                &stop_requests(), options_.sending.grace_ns}),
          sides_(*replay.parts, cpu_set_of(host_.apart)),
          meeting_(*replay.parts, replay.resumes()) {}

    int go();
    bool began() const { return began_; }

  private:
    std::optional<RecordSinks> open_files() override;
    FiredMarks create_marks(const std::string& run_id, std::size_t rows) override;
    void settle_engine() override {
        progress_.engine = {meter_.why_no_instructions(), settle_memory(), options_.host.realtime};
    }
    bool name_segment(const RunSegment& segment, Instant zero) override;
    void remove_marks(const std::string& run_id) override { FiredMarks::remove(run_id); }
    std::optional<Instant> time_zero(Instant ready, Duration first_due) override {
        return meeting_.time_zero(ready, first_due, progress_, code_);
    }
    bool set_time_zero(Instant zero) override {
        zero_ = zero;
        return write_run_json(zero, Lasting::written);
    }
    bool start_writer(RecordWriter& writer) override;
    void stop_writer(RecordWriter& writer) override;
    void close_books(const RecordWriter& writer) override;
    void discard(const RecordWriter* writer) override;

    const LiveTurns* live_turns() const { return workload_.live ? &*workload_.live : nullptr; }
    std::uint32_t segment() const { return resumed_ ? resumed_->segment() : 0; }
    /// What is to be sent: the workload's own plan, or what a resumed run has left.
    const Plan& plan() const { return resumed_ ? remaining_ : workload_.plan; }
    ProgressCallback progress_callback();
    std::uint32_t requests_end();
    Result<void> open_crew();
    OrderEnd play_engines(RunSteps& order);
    StepParts step_parts();
    int play();
    bool refuse(int code) {
        code_ = code;
        return false;
    }
    bool refuse_unless_done(int code) { return code == exit_done || refuse(code); }
    bool write_run_json(Instant zero, Lasting lasting);
    bool write_config();
    RunEnd end_of_engines();
    void print_end(const SummaryFigures& figures, const SummaryInfo& info,
                   std::uint32_t stepped_aside);

    const Replay& replay_;
    const ReplayOptions& options_;
    const Workload& workload_;
    const HostChoice& host_;
    Driver& driver_;
    /// Was checked not to exist, and is made here (numbered, where `--out` did not name it and
    /// another run has it), but for a run that is resumed.
    std::string folder_;
    std::optional<ResumedRun> resumed_;
    Plan remaining_;  ///< of a resumed run
    RunProgress progress_;
    std::optional<NewFolder> taken_;  ///< of a new run, once it has it
    ThreadMeter meter_;
    EngineStanding standing_;
    std::unique_ptr<EngineCrew> crew_;            ///< null: nothing is left to be sent
    Run* first_run_ = nullptr;                    ///< of the first engine, while it lives
    std::optional<LiveRun> live_;                 ///< `--assistant live`
    FiredMarks unused_marks_;                     ///< of a run without rows
    std::atomic<std::uint32_t> users_wanted_{0};  ///< of `--grow`: set by the writer's thread
    std::atomic<bool> stop_wanted_{false};        ///< of `--stop-when`: the same
    ProgressLine line_;
    RunSides sides_;
    RunMeeting meeting_;
    Instant zero_;          ///< time 0, once it is settled
    bool began_ = false;    ///< the books were closed, so that there is a run
    int code_ = exit_done;  ///< of what refused, or of the books
};

}  // namespace

static int fail_records(const RecordWriter& writer) {
    return fail_host(writer.failed_path().c_str(), writer.error());
}

int Execution::go() {
    if (replay_.resumes()) {
        resumed_.emplace(resumed_run(replay_));
        remaining_ = resumed_->remaining_plan();
    }
    if (plan().rows.empty()) {  // a run that was killed when all had left
        return play();
    }
    OrExit<std::unique_ptr<EngineCrew>> crew =
        EngineCrew::make(replay_, plan(), resumed_ ? resumed_->remaining.earlier : EarlierRows());
    if (!crew) {
        return crew.exit_code();
    }
    crew_ = std::move(crew).value();
    const Result<void> opened = open_crew();
    if (!opened) {
        return fail_host("bodies", opened.error());
    }
    if (const std::string& shortage = crew_->first().pass().shortage(); !shortage.empty()) {
        complain("driftless: warning: %s", shortage.c_str());
    }
    const int code = sides_.start(segment());
    return code == exit_done ? play() : code;
}

/// Of users: their requests have numbers below this; else 0.
std::uint32_t Execution::requests_end() {
    return crew_ == nullptr ? 0 : crew_->requests_end(plan().rows.size());
}

Result<void> Execution::open_crew() {
    if (live_turns() == nullptr) {
        return crew_->open(nullptr);
    }
    LiveRules rules;
    rules.kept = options_.request.live_keep;
    rules.goes_on_unanswered = workload_.users.failures.rule == FailureRule::go_on;
    live_.emplace(workload_.trace, *live_turns(), rules,
                  std::max<std::size_t>(requests_end(), plan().rows.size()));
    const Result<void> opened = crew_->open(&live_->replies);
    live_->histories.bound(crew_->first().pass().bodies().region_bytes() / 2);
    return opened;
}

int Execution::play() {
    RunSteps order(driver_, *this, step_parts());
    const OrderEnd end = plan().rows.empty() ? order.play_without_rows() : play_engines(order);
    const RecordWriter* const writer = order.writer();
    const bool unwritten = end == OrderEnd::refused && writer != nullptr && writer->failed();
    return unwritten ? fail_records(*writer) : code_;
}

OrderEnd Execution::play_engines(RunSteps& order) {
    if (!refuse_unless_done(crew_->start_others(host_.granted, stop_wanted_))) {
        return OrderEnd::refused;
    }
    RunParts parts = crew_->first().run_parts(stop_requests(), meter_);
    take_standing(host_.granted, host_.engine_cpu.cpu, standing_, parts);
    parts.replies = live_ ? &live_->replies : nullptr;
    parts.users_wanted = options_.workload.grow ? &users_wanted_ : nullptr;
    parts.stop_wanted = &stop_wanted_;
    Run run(driver_, parts, crew_->first().settings());
    first_run_ = &run;
    EngineThreads engines(run, crew_->others());
    const OrderEnd end = order.play(engines);
    first_run_ = nullptr;
    (void)refuse_unless_done(crew_->failure());
    crew_->dismiss();  // before what they use goes
    standing_.keeper.stop();
    return end;
}

StepParts Execution::step_parts() {
    RunSegment segment;
    segment.run_id = replay_.invocation.run_id;
    segment.command = replay_.invocation.command;
    segment.driver = name_of(host_.driver);
    segment.first_due_ns = plan().rows.empty() ? plan().last_due_ns : 0;  // else the engines know
    AssemblerConfig config = assembler_config(replay_, plan(), requests_end());
    config.histories = live_ ? &live_->histories : nullptr;
    config.periods.users_wanted = &users_wanted_;
    config.periods.stop_wanted = &stop_wanted_;
    const bool is_part = options_.shard.is_part();
    return {std::move(config),
            Summary(options_.results.goodput, largest_overhead(replay_.server),
                    {.others_send = is_part,
                     .merged = false,
                     .forecast_apart = is_part && workload_.waiting.has_value()}),
            segment, crew_ == nullptr ? unused_marks_ : crew_->first().marks(),
            resumed_ ? &*resumed_ : nullptr};
}

std::optional<RecordSinks> Execution::open_files() {
    const bool is_new = !resumed_;
    if (is_new) {
        Result<NewFolder> taken =
            options_.results.out.empty() ? take_numbered_folder(folder_) : take_new_folder(folder_);
        if (!taken) {
            (void)refuse(fail_folder(folder_, taken.error()));
            return {};
        }
        taken_ = std::move(taken).value();
    }
    const std::string& records = options_.results.records_path;
    if (!make_folders_above(records)) {
        (void)refuse(fail_host(records.c_str(), error_from_errno(errno, "make its folder")));
        return {};
    }
    const RecordFiles files = {folder_, records, options_.results.save_responses > 0,
                               options_.results.period_ns > 0};
    std::string failed;
    Result<RecordSinks> sinks = open_sinks(files, is_new, failed);
    if (!sinks) {
        const int code = fail_host(failed.c_str(), sinks.error());
        const bool is_there = is_new && sinks.error().code == ErrorCode::exists;
        (void)refuse(is_there ? exit_usage : code);
        return {};
    }
    if (const int code = sides_.open(folder_, segment()); code != exit_done) {
        if (is_new) {
            remove_sinks(sinks.value());
        }
        (void)refuse(code);
        return {};
    }
    return std::move(sinks).value();
}

/// Without them, should the run be killed, its last second must be guessed at.
FiredMarks Execution::create_marks(const std::string& run_id, std::size_t rows) {
    Result<FiredMarks> marks =
        crew_ == nullptr ? FiredMarks::create(run_id, rows) : crew_->create_marks(run_id, rows);
    if (marks) {
        return std::move(marks).value();
    }
    print_line(
        "marks: none; after a kill, --resume can only guess which rows were sent (cannot %s: %s)",
        marks.error().doing, reason_of(marks.error()).c_str());
    return {};
}

bool Execution::name_segment(const RunSegment& segment, Instant zero) {
    if (resumed_) {
        progress_.segments = resumed_->segments;
        progress_.meeting = resumed_->meeting;
    }
    progress_.segments.push_back(segment);
    return write_run_json(zero, Lasting::synced) && (resumed_ || write_config());
}

/// What `--config` reads: to repeat the run, or to change a line of it.
bool Execution::write_config() {
    const std::string path = folder_ + "/run.toml";
    const Result<void> written =
        write_whole_file(path, arguments_as_toml(arguments_to_repeat(replay_.invocation.arguments)),
                         Lasting::written);
    return written || refuse(fail_host(path.c_str(), written.error()));
}

bool Execution::write_run_json(Instant zero, Lasting lasting) {
    progress_.segments.back().clock = anchor(zero);
    const std::string path = folder_ + "/run.json";
    const Result<void> written = write_whole_file(path, to_json(replay_, progress_), lasting);
    return written || refuse(fail_host(path.c_str(), written.error()));
}

ProgressCallback Execution::progress_callback() {
    return {[](void* self, const Progress& progress) {
                auto* const execution = static_cast<Execution*>(self);
                execution->line_.show(progress);
                execution->sides_.show(progress);
            },
            this};
}

bool Execution::start_writer(RecordWriter& writer) {
    writer.read_from(crew_->sources());
    const Result<void> started = writer.start_thread(&host_.writer, progress_callback());
    if (!started) {
        return refuse(fail_host("writer thread", started.error()));
    }
    if (host_.writer_cpus == std::vector<std::uint32_t>{host_.engine_cpu.cpu}) {
        standing_.keeper.shares_with(writer.cpu_clock());
    }
    const int code =
        sides_.begin(zero_, meeting_.begin_due({progress_.segments.back().first_due_ns}).ns);
    if (code == exit_done) {
        return true;
    }
    writer.stop();
    return refuse(code);
}

void Execution::stop_writer(RecordWriter& writer) {
    writer.stop();
    line_.wipe();
    meeting_.wait_for_others(progress_);  // shard 0 reads the servers for all
    sides_.stop();
}

void Execution::discard(const RecordWriter* writer) {
    if (!taken_) {
        return;
    }
    sides_.discard();
    if (writer != nullptr) {
        remove_sinks(writer->sinks());
    }
    for (const char* const name : {"/run.json", "/run.toml"}) {
        (void)::unlink((folder_ + name).c_str());
    }
    if (taken_->made_by_a_run) {
        (void)::rmdir(folder_.c_str());
    }
}

/// All of them are over.
RunEnd Execution::end_of_engines() {
    RunEnd end = first_run_ != nullptr ? crew_->end(*first_run_, driver_) : RunEnd();
    end.stepped_aside += standing_.steps_aside.times();
    if (live_) {
        end.prompts_digest = end.against_digest = std::nullopt;
    }
    return end;
}

void Execution::print_end(const SummaryFigures& figures, const SummaryInfo& info,
                          std::uint32_t stepped_aside) {
    replay_.quiet.end();
    const ResultFlags& results = options_.results;
    std::fputs(printable_lines(results.quiet ? summary_brief(figures, info)
                                             : summary_table(figures, info, results.table))
                   .c_str(),
               stdout);
    if (stepped_aside > 0) {
        print_line(
            "realtime: %u times an engine went among ordinary threads for a second, because it "
            "slept for less than a tenth of the time, and the kernel stops such a thread for 50 ms "
            "of each second",
            stepped_aside);
    }
    print_line("files: %s", folder_.c_str());
}

void Execution::close_books(const RecordWriter& writer) {
    began_ = true;
    RunEnd& end = progress_.end.emplace(end_of_engines());
    SummaryFigures figures = writer.summary().figures();
    std::optional<Unfinished> unfinished;
    end.rows_fired = figures.fired + figures.warmup_fired;
    if (writer.failed()) {
        read_written(folder_, figures, unfinished);
    }
    end.records = figures.rows + figures.warmup_rows;
    if (resumed_) {  // of all rows, not of the last segment's
        end.prompts_digest = replay_.sums.digest;
        end.against_digest = replay_.sums.against_digest;
        end.clamped_rows = replay_.sums.clamped_rows;
    }
    if (first_run_ != nullptr && crew_->stopped_early(*first_run_)) {
        end.stopped_when = writer.stopped_when();
    }
    const RunFacts facts = facts_of(replay_, progress_);
    SummaryInfo info = facts.info;
    info.unfinished = unfinished;
    sides_.sum_up(folder_, figures, info);
    figures.warnings = warnings_of(figures, info);
    judge(replay_, figures, writer.client(), facts.records_in(folder_), info);
    // run.json comes last: its exit code tells of all files but itself.
    const std::string summary = folder_ + "/summary.json";
    const std::string run_json = folder_ + "/run.json";
    std::string summary_text = summary_json(figures, info);
    const Result<void> summed = write_whole_file(summary, summary_text);
    const bool failed = writer.failed() || !summed || sides_.failed();
    end.exit_code = exit_code_of(replay_, end.interrupted, figures, info, failed);
    end.verdict = info.verdict;
    end.verdict_reasons = info.verdict_reasons;
    end.marks.resident_max = read_memory_marks().resident_max;
    const Result<void> closed = write_whole_file(run_json, to_json(replay_, progress_));
    check_kept(replay_.calibration, writer.client());
    print_end(figures, info, end.stepped_aside);
    if (writer.failed()) {
        (void)fail_records(writer);
    }
    if (!summed) {
        (void)fail_host(summary.c_str(), summed.error());
    }
    code_ = end.exit_code;
    if (!closed) {
        (void)fail_host(run_json.c_str(), closed.error());
        code_ = end.interrupted ? exit_interrupted : exit_host;
    }
    const int shown =
        write_for_people(folder_, figures, info, std::move(summary_text), options_.results);
    code_ = code_ == exit_done || (shown == exit_host && code_ != exit_interrupted) ? shown : code_;
    if (meeting_.meet_host_again(progress_)) {
        (void)write_whole_file(run_json, to_json(replay_, progress_));
    }
}

Played execute_run(const Replay& run) {
    Execution execution(run);
    const int code = execution.go();
    return {code, execution.began()};
}

}  // namespace driftless
