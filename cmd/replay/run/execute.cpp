#include "cmd/replay/run/execute.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/replay/resume/same_run.hpp"
#include "cmd/replay/run/parts.hpp"
#include "cmd/replay/run/run_settings.hpp"
#include "cmd/replay/run/written_figures.hpp"
#include "cmd/replay/run_json/anchors.hpp"
#include "cmd/replay/run_json/stamp_facts.hpp"
#include "cmd/screen/progress_line.hpp"
#include "cmd/screen/summary_table.hpp"
#include "cmd/stop.hpp"
#include "cmd/whole_file.hpp"
#include "engine/io/sockets.hpp"
#include "engine/record/fired_marks.hpp"
#include "engine/record/writer.hpp"
#include "engine/replay/run.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

// Time 0 lies this far ahead once everything is ready: the writer's thread and the first sleep.
constexpr Duration lead = milliseconds(200);
// What must be left of it when run.json is written; the writer's thread starts in a millisecond.
constexpr Duration lead_left_min = milliseconds(100);
// 0.2 s of 500 k chunks/s at 320 bytes each; the writer takes that in the same time.
constexpr std::size_t event_ring_bytes = 32 << 20;

/// One run, in its order: parts, warm-up, files, time 0, the loop, the books.
class Execution {
  public:
    Execution(const ReplayOptions& options, const Workload& workload, const Server& server,
              const HostChoice& host, UringDriver& driver, const std::string& folder, RunFile& file,
              const Resumption* resumption, Quiet& quiet)
        : options_(options),
          workload_(workload),
          server_(server),
          host_(host),
          driver_(driver),
          folder_(folder),
          file_(file),
          resumption_(resumption),
          quiet_(quiet),
          settings_(settings_of(options, workload, host)),
          parts_(options, workload, server, file.run_id),
          ring_(event_ring_bytes, std::max(settings_.inflight_max, settings_.lanes_max)) {}

    int go() {
        if (workload_.plan.rows.empty()) {  // a run that was killed when all had left
            const int code = write_interrupted();
            return code == exit_done ? close_books() : code;
        }
        if (!ring_.has_memory()) {
            return fail_host("events", {ErrorCode::exhausted, ENOMEM, "take memory for them"});
        }
        const Result<void> opened = parts_.open();
        if (!opened) {
            return fail_host("bodies", opened.error());
        }
        if (!parts_.shortage().empty()) {
            std::fprintf(stderr, "driftless: warning: %s\n", parts_.shortage().c_str());
        }
        const int code = replay();
        return code == exit_done ? close_books() : code;
    }

  private:
    int replay();
    int write_interrupted();
    int open_files();
    void discard();
    int fail_records() const { return fail_host(writer_->failed_path().c_str(), writer_->error()); }
    void open_marks();
    void forget_past(int code) const;
    void begin_segment();
    int write_time_zero(Instant zero, Lasting lasting);
    int settle_time_zero(Run& run);
    void note_end(Run& run);
    int close_books();
    int exit_code(const SummaryFigures& figures, Verdict verdict, bool summed) const;

    const ReplayOptions& options_;
    const Workload& workload_;
    const Server& server_;
    const HostChoice& host_;
    UringDriver& driver_;
    std::string folder_;
    RunFile& file_;
    const Resumption* resumption_;  ///< null: a new run
    Quiet& quiet_;
    std::optional<NewFolder> taken_;  ///< of a new run, once it has it
    ReplaySettings settings_;
    ThreadMeter meter_;
    ReplayParts parts_;
    EventRing ring_;
    FiredMarks marks_;
    std::optional<RecordWriter> writer_;
    RunEnd end_;
};

int Execution::replay() {
    Run run(driver_,
            {workload_.trace, parts_.schedule(), parts_.armer(), parts_.bodies(), ring_,
             server_.endpoints, stop_requests(), &meter_, &marks_},
            settings_);
    while (!run.warm()) {
        (void)run.turn();
    }
    // Nothing is on disk before this: what was refused leaves no folder behind.
    ProgressLine progress(
        STDERR_FILENO, {options_.progress && !options_.quiet, &stop_requests(), options_.grace_ns});
    int code = open_files();
    if (code == exit_done) {
        open_marks();
        file_.engine = settle_engine(meter_, options_.realtime);
        code = settle_time_zero(run);
    }
    if (code == exit_done) {
        const cpu_set_t cpus = cpu_set_of(host_.writer_cpus);
        writer_->watch_thread(this_thread_id());
        const Result<void> started = writer_->start_thread(ring_, &cpus, progress.callback());
        code = started ? exit_done : fail_host("writer thread", started.error());
    }
    if (code != exit_done) {
        run.abandon();
        discard();
        return code;
    }
    while (run.turn()) {
        if (writer_->failed()) {
            run.stop();
        }
    }
    writer_->stop();
    progress.wipe();
    note_end(run);
    return exit_done;
}

/// The end of a resumed run that has nothing left to send.
int Execution::write_interrupted() {
    int code = open_files();
    if (code == exit_done) {
        const Instant zero = driver_.now() - Duration{resumption_->whole().last_due_ns};
        begin_segment();
        code = write_time_zero(zero, Lasting::synced);
        writer_->begin(zero);
        forget_past(code);
    }
    if (code == exit_done) {
        writer_->finish();
    }
    return code;
}

/// Without them a run goes on all the same; when it is killed, its last second must be guessed at.
void Execution::open_marks() {
    Result<FiredMarks> marks = FiredMarks::create(file_.run_id, workload_.trace.rows.size());
    if (marks) {
        marks_ = std::move(marks).value();
        if (resumption_ != nullptr) {
            mark_again(resumption_->remaining(), marks_);
        }
    } else {
        std::printf("marks: none, after a kill --resume guesses at what had left (cannot %s: %s)\n",
                    marks.error().doing, reason_of(marks.error()).c_str());
    }
}

/// What the last segment had marked is in records or in new marks, once this one is in run.json.
/// Marks of those before it are there where a kill came between the two.
void Execution::forget_past(int code) const {
    if (code == exit_done && resumption_ != nullptr) {
        for (const RunSegment& segment : resumption_->facts().segments) {
            FiredMarks::remove(segment.run_id);
        }
    }
}

/// Before time 0: what is refused or fails leaves no folder behind, and a resumed one as it was.
void Execution::discard() {
    FiredMarks::remove(file_.run_id);
    if (resumption_ != nullptr || !taken_) {
        return;
    }
    if (writer_) {
        remove_sinks(writer_->sinks());
    }
    (void)::unlink((folder_ + "/run.json").c_str());
    if (taken_->made_by_a_run) {
        (void)::rmdir(folder_.c_str());
    }
}

int Execution::open_files() {
    if (resumption_ == nullptr) {
        Result<NewFolder> taken =
            options_.out.empty() ? take_numbered_folder(folder_) : take_new_folder(folder_);
        if (!taken) {
            return fail_folder(folder_, taken.error());
        }
        taken_ = std::move(taken).value();
    }
    if (!make_folders_above(options_.records_path)) {
        return fail_host(options_.records_path.c_str(), error_from_errno(errno, "make its folder"));
    }
    AssemblerConfig config = assembler_config(options_, workload_, file_);
    const bool saves = options_.save_responses > 0;
    std::string failed;
    if (resumption_ == nullptr) {
        Result<RecordSinks> sinks = create_sinks(folder_, options_.records_path, saves, failed);
        if (!sinks) {
            const int code = fail_host(failed.c_str(), sinks.error());
            return sinks.error().code == ErrorCode::exists ? exit_usage : code;
        }
        writer_.emplace(config, Summary(options_.goodput, server_.findings.overhead),
                        std::move(sinks).value());
        return exit_done;
    }
    Result<RecordSinks> sinks = append_sinks(folder_, options_.records_path, saves, failed);
    if (!sinks) {
        return fail_host(failed.c_str(), sinks.error());
    }
    config.segment = resumption_->segment();
    config.numbers = resumption_->remaining().positions;
    const Past& past = resumption_->past();
    writer_.emplace(config, past.summary(), std::move(sinks).value(), past.client());
    writer_->add(resumption_->settled_records(config));
    return writer_->failed() ? fail_records() : exit_done;
}

void Execution::begin_segment() {
    RunSegment segment;
    segment.run_id = file_.run_id;
    segment.command = file_.command;
    if (resumption_ != nullptr) {
        file_.segments = resumption_->facts().segments;
        segment.rows_interrupted = resumption_->rows_interrupted();
    }
    const auto& rows = workload_.plan.rows;
    segment.first_due_ns =
        rows.empty() ? file_.plan->last_due_ns : parts_.schedule().first_due_ns();
    segment.rows = rows.size();
    file_.segments.push_back(segment);
    file_.words = parts_.words().size();
    file_.words_digest = parts_.words().digest();
}

int Execution::write_time_zero(Instant zero, Lasting lasting) {
    file_.segments.back().clock = anchor(zero);
    const std::string path = folder_ + "/run.json";
    const Result<void> written = write_whole_file(path, to_json(file_), lasting);
    return written ? exit_done : fail_host(path.c_str(), written.error());
}

/// The first row to be sent is due after the lead: at time 0 itself, but for a resumed run. No row
/// is late for run.json: its first writing takes as long as the disk wants, the second, with the
/// time 0 that holds, waits for no disk; where it took long all the same, it is done once more with
/// twice the lead.
int Execution::settle_time_zero(Run& run) {
    const Duration first_due{parts_.schedule().first_due_ns()};
    begin_segment();
    int code = write_time_zero(driver_.now() + lead - first_due, Lasting::synced);
    forget_past(code);
    for (Duration ahead = lead; code == exit_done; ahead = ahead + ahead) {
        const Instant zero = driver_.now() + ahead - first_due;
        code = write_time_zero(zero, Lasting::written);
        if (code == exit_done && driver_.now() < zero + first_due - lead_left_min) {
            run.begin(zero);
            writer_->begin(zero);
            break;
        }
    }
    return code;
}

void Execution::note_end(Run& run) {
    const LaneCounts& lanes = run.lane_counts();
    end_.interrupted = run.interrupted();
    if (parts_.armer().all_armed()) {
        end_.prompts_digest = parts_.armer().prompts_digest();
    }
    end_.clamped_rows = parts_.armer().clamped_rows();
    end_.connects = lanes.connects;
    end_.connect_failures = lanes.connect_failures;
    end_.stale_retries = lanes.stale_retries;
    end_.closed_idle = lanes.closed_idle;
    end_.retired_idle = lanes.retired_idle;
    if (const IdleLimit limit = run.idle_limit(); limit.known()) {
        end_.idle_limit_ns = limit.limit.ns;
    }
    end_.system_calls = driver_.counters().enters;
    end_.operations = driver_.counters().submits;
    end_.no_buffers = driver_.counters().no_buffers;
    end_.overflows = driver_.counters().overflows;
    end_.guard_ns = run.guard().ns;
    end_.margin_ns = run.margin().ns;
    end_.stamps = stamp_facts(options_, driver_, run);
    end_.tls = tls_facts(options_, server_);
    RunMarks& marks = end_.marks;
    marks.lanes_max = lanes.open_max;
    marks.body_region = parts_.bodies().region_bytes();
    marks.body_max = parts_.bodies().used_bytes_max();
    marks.row_fields = parts_.row_fields().bytes();
    marks.event_ring = ring_.capacity_bytes();
    marks.event_ring_max = ring_.high_bytes();
    const PromptBuilder::CacheMarks cache = parts_.prompts().cache_marks();
    marks.block_cache = cache.bytes;
    marks.block_cache_hits = cache.hits;
    marks.block_cache_misses = cache.misses;
    marks.frames = run.frame_marks().slab_bytes;
    marks.frames_max = run.frame_marks().live_max;
}

// 130 before 7 before 5 before 6 (design, section 4).
int Execution::exit_code(const SummaryFigures& figures, Verdict verdict, bool summed) const {
    if (end_.interrupted) {
        return exit_interrupted;
    }
    if (writer_->failed() || !summed) {
        return exit_host;
    }
    if (figures.completed + figures.short_output + figures.long_output == 0) {
        return exit_no_success;
    }
    return options_.require_certified && verdict != Verdict::certified ? exit_not_certified
                                                                       : exit_done;
}

int Execution::close_books() {
    SummaryInfo info = summary_info(options_, workload_, file_);
    SummaryFigures figures = writer_->summary().figures();
    // The conservation law: rows selected = records written = sum over outcomes.
    CHECK(writer_->counts().ended == workload_.plan.rows.size());
    CHECK(writer_->counts().unended == 0);
    CHECK(figures.rows == file_.plan->rows.size());
    end_.rows_fired = figures.fired;
    if (writer_->failed()) {
        read_written(folder_, figures, info.unfinished);
    } else {  // --resume would need them
        FiredMarks::remove(file_.run_id);
    }
    end_.records = figures.rows;
    if (resumption_ != nullptr) {  // of all rows, not of the last segment's
        end_.prompts_digest = resumption_->prompts().digest;
        end_.clamped_rows = resumption_->prompts().clamped_rows;
    }
    info.clamped_rows = end_.clamped_rows;
    const Judgement judged = judge_run(file_.calibration, figures, writer_->client());
    info.verdict = name_of(judged.verdict);
    info.verdict_reasons = judged.reasons;
    info.limits = file_.calibration.limits;
    info.client = &writer_->client();
    // run.json comes last: its exit code tells of all files but itself.
    const std::string summary = folder_ + "/summary.json";
    const std::string run = folder_ + "/run.json";
    const Result<void> summed = write_whole_file(summary, summary_json(figures, info));
    end_.exit_code = exit_code(figures, judged.verdict, static_cast<bool>(summed));
    end_.verdict = info.verdict;
    end_.verdict_reasons = info.verdict_reasons;
    end_.marks.resident_max = read_memory_marks().resident_max;
    file_.end = end_;
    const Result<void> closed = write_whole_file(run, to_json(file_));
    quiet_.end();
    std::fputs(printable_lines(summary_table(figures, info, options_.table)).c_str(), stdout);
    std::printf("files: %s\n", folder_.c_str());
    if (writer_->failed()) {
        (void)fail_records();
    }
    if (!summed) {
        (void)fail_host(summary.c_str(), summed.error());
    }
    if (!closed) {
        (void)fail_host(run.c_str(), closed.error());
        return end_.interrupted ? exit_interrupted : exit_host;
    }
    return end_.exit_code;
}

}  // namespace

int execute_run(const ReplayOptions& options, const Workload& workload, const Server& server,
                const HostChoice& host, UringDriver& driver, const std::string& folder,
                RunFile& file, const Resumption* resumption, Quiet& quiet) {
    return Execution(options, workload, server, host, driver, folder, file, resumption, quiet).go();
}

}  // namespace driftless
