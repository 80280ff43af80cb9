#include "cmd/replay/run/execute.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/replay/run/run_settings.hpp"
#include "cmd/replay/run/written_figures.hpp"
#include "cmd/replay/run_json/anchors.hpp"
#include "cmd/replay/run_json/stamp_facts.hpp"
#include "cmd/replay/workload/waiting.hpp"
#include "cmd/run_folder.hpp"
#include "cmd/screen/progress_line.hpp"
#include "cmd/screen/summary_table.hpp"
#include "cmd/stop.hpp"
#include "cmd/whole_file.hpp"
#include "engine/io/sockets.hpp"
#include "engine/record/writer.hpp"
#include "engine/session/run_order.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

// 0.2 s of 500 k chunks/s at 320 bytes each; the writer takes that in the same time.
constexpr std::size_t event_ring_bytes = 32 << 20;

/// One run on this host: its parts, and what the order of a run asks for. Prints what stops it.
class Execution final : private RunHost {
  public:
    Execution(const PreparedRun& prepared, UringDriver& driver, const std::string& folder,
              RunFile& file, Quiet& quiet)
        : prepared_(prepared),
          options_(prepared.parts.options()),
          workload_(prepared.parts.workload()),
          driver_(driver),
          folder_(folder),
          file_(file),
          quiet_(quiet),
          settings_(settings_of(options_, prepared.plan, prepared.host)),
          pass_(prepared.parts, prepared.plan,
                schedule_of(options_, workload_, prepared.plan,
                            prepared.resumed != nullptr ? prepared.resumed->remaining.earlier
                                                        : EarlierRows()),
                file.run_id),
          cache_before_(prepared.parts.prompts().cache_marks()),
          ring_(event_ring_bytes, std::max(settings_.inflight_max, settings_.lanes_max)),
          progress_(STDERR_FILENO, {options_.results.progress && !options_.results.quiet,
                                    &stop_requests(), options_.sending.grace_ns}) {}

    int go();

  private:
    std::optional<RecordSinks> open_files() override;
    FiredMarks create_marks(const std::string& run_id, std::size_t rows) override;
    void settle_engine() override;
    bool name_segment(const RunSegment& segment, Instant zero) override;
    void remove_marks(const std::string& run_id) override { FiredMarks::remove(run_id); }
    bool set_time_zero(Instant zero) override { return write_run_json(zero, Lasting::written); }
    bool start_writer(RecordWriter& writer) override;
    void stop_writer(RecordWriter& writer) override;
    void close_books(const RecordWriter& writer, Run* run) override;
    void discard(const RecordWriter* writer) override;

    OrderParts order_parts();
    int play();
    bool refuse(int code);
    bool write_run_json(Instant zero, Lasting lasting);
    void note_end(Run& run);
    int exit_code(const SummaryFigures& figures, bool failed, Verdict verdict) const;

    const PreparedRun& prepared_;
    const ReplayOptions& options_;
    const Workload& workload_;
    UringDriver& driver_;
    std::string folder_;
    RunFile& file_;
    Quiet& quiet_;
    std::optional<NewFolder> taken_;  ///< of a new run, once it has it
    ReplaySettings settings_;
    ThreadMeter meter_;
    RequestPass pass_;
    PromptBuilder::CacheMarks cache_before_;  ///< of what was built before the run
    EventRing ring_;
    FiredMarks marks_;
    ProgressLine progress_;
    RunEnd end_;
    int code_ = exit_done;  ///< of what refused, or of the books
};

int fail_records(const RecordWriter& writer) {
    return fail_host(writer.failed_path().c_str(), writer.error());
}

int Execution::go() {
    if (prepared_.plan.rows.empty()) {  // a run that was killed when all had left
        return play();
    }
    if (!ring_.has_memory()) {
        return fail_host("events", {ErrorCode::exhausted, ENOMEM, "take memory for them"});
    }
    const Result<void> opened = pass_.open();
    if (!opened) {
        return fail_host("bodies", opened.error());
    }
    if (!pass_.shortage().empty()) {
        std::fprintf(stderr, "driftless: warning: %s\n", pass_.shortage().c_str());
    }
    return play();
}

int Execution::play() {
    RunOrder order(driver_, *this, order_parts());
    OrderEnd end = OrderEnd::refused;
    if (prepared_.plan.rows.empty()) {
        end = order.play_without_rows();
    } else {
        Run run(driver_,
                {workload_.trace, pass_.schedule(), pass_.armer(), pass_.bodies(), ring_,
                 prepared_.server.endpoints, stop_requests(), &meter_, &marks_},
                settings_);
        end = order.play(run);
    }
    const RecordWriter* const writer = order.writer();
    const bool unwritten = end == OrderEnd::refused && writer != nullptr && writer->failed();
    return unwritten ? fail_records(*writer) : code_;
}

OrderParts Execution::order_parts() {
    RunSegment segment;
    segment.run_id = file_.run_id;
    segment.command = file_.command;
    segment.first_due_ns =
        prepared_.plan.rows.empty() ? prepared_.plan.last_due_ns : pass_.schedule().first_due_ns();
    return {assembler_config(options_, workload_, prepared_.plan, file_),
            Summary(options_.results.goodput, prepared_.server.findings.overhead), segment, marks_,
            prepared_.resumed};
}

bool Execution::refuse(int code) {
    code_ = code;
    return false;
}

std::optional<RecordSinks> Execution::open_files() {
    const bool is_new = prepared_.resumed == nullptr;
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
    const bool saves = options_.results.save_responses > 0;
    std::string failed;
    Result<RecordSinks> sinks = is_new ? create_sinks(folder_, records, saves, failed)
                                       : append_sinks(folder_, records, saves, failed);
    if (!sinks) {
        const int code = fail_host(failed.c_str(), sinks.error());
        const bool is_there = is_new && sinks.error().code == ErrorCode::exists;
        (void)refuse(is_there ? exit_usage : code);
        return {};
    }
    return std::move(sinks).value();
}

/// Without them, should the run be killed, its last second must be guessed at.
FiredMarks Execution::create_marks(const std::string& run_id, std::size_t rows) {
    Result<FiredMarks> marks = FiredMarks::create(run_id, rows);
    if (marks) {
        return std::move(marks).value();
    }
    std::printf("marks: none, after a kill --resume guesses at what had left (cannot %s: %s)\n",
                marks.error().doing, reason_of(marks.error()).c_str());
    return {};
}

void Execution::settle_engine() {
    file_.engine = driftless::settle_engine(meter_, options_.host.realtime);
}

bool Execution::name_segment(const RunSegment& segment, Instant zero) {
    if (prepared_.resumed != nullptr) {
        file_.segments = prepared_.resumed->segments;
    }
    file_.segments.push_back(segment);
    file_.words = prepared_.parts.words().size();
    file_.words_digest = prepared_.parts.words().digest();
    return write_run_json(zero, Lasting::synced);
}

bool Execution::write_run_json(Instant zero, Lasting lasting) {
    file_.segments.back().clock = anchor(zero);
    const std::string path = folder_ + "/run.json";
    const Result<void> written = write_whole_file(path, to_json(file_), lasting);
    return written || refuse(fail_host(path.c_str(), written.error()));
}

bool Execution::start_writer(RecordWriter& writer) {
    const cpu_set_t cpus = cpu_set_of(prepared_.host.writer_cpus);
    writer.watch_thread(this_thread_id());
    const Result<void> started = writer.start_thread(ring_, &cpus, progress_.callback());
    return started || refuse(fail_host("writer thread", started.error()));
}

void Execution::stop_writer(RecordWriter& writer) {
    writer.stop();
    progress_.wipe();
}

void Execution::discard(const RecordWriter* writer) {
    if (!taken_) {
        return;
    }
    if (writer != nullptr) {
        remove_sinks(writer->sinks());
    }
    (void)::unlink((folder_ + "/run.json").c_str());
    if (taken_->made_by_a_run) {
        (void)::rmdir(folder_.c_str());
    }
}

void Execution::note_end(Run& run) {
    const LaneCounts& lanes = run.lane_counts();
    end_.interrupted = run.interrupted();
    if (pass_.armer().all_armed()) {
        end_.prompts_digest = pass_.armer().prompts_digest();
    }
    end_.clamped_rows = pass_.armer().clamped_rows();
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
    end_.tls = tls_facts(options_, prepared_.server);
    RunMarks& marks = end_.marks;
    marks.lanes_max = lanes.open_max;
    marks.body_region = pass_.bodies().region_bytes();
    marks.body_max = pass_.bodies().used_bytes_max();
    marks.row_fields = prepared_.parts.row_fields().bytes();
    marks.event_ring = ring_.capacity_bytes();
    marks.event_ring_max = ring_.high_bytes();
    const PromptBuilder::CacheMarks cache = prepared_.parts.prompts().cache_marks();
    marks.block_cache = cache.bytes;
    marks.block_cache_hits = cache.hits - cache_before_.hits;
    marks.block_cache_misses = cache.misses - cache_before_.misses;
    marks.frames = run.frame_marks().slab_bytes;
    marks.frames_max = run.frame_marks().live_max;
}

// 130 before 7 before 5 before 6 (design, section 4).
int Execution::exit_code(const SummaryFigures& figures, bool failed, Verdict verdict) const {
    if (end_.interrupted) {
        return exit_interrupted;
    }
    if (failed) {
        return exit_host;
    }
    if (figures.completed + figures.short_output + figures.long_output == 0) {
        return exit_no_success;
    }
    return options_.calibration.require_certified && verdict != Verdict::certified
               ? exit_not_certified
               : exit_done;
}

void Execution::close_books(const RecordWriter& writer, Run* run) {
    if (run != nullptr) {
        note_end(*run);
    }
    SummaryInfo info = summary_info(options_, workload_, file_);
    SummaryFigures figures = writer.summary().figures();
    end_.rows_fired = figures.fired;
    if (writer.failed()) {
        read_written(folder_, figures, info.unfinished);
    }
    end_.records = figures.rows;
    if (prepared_.resumed != nullptr) {  // of all rows, not of the last segment's
        end_.prompts_digest = prepared_.prompts.digest;
        end_.clamped_rows = prepared_.prompts.clamped_rows;
    }
    info.clamped_rows = end_.clamped_rows;
    const Judgement judged = judge_run(file_.calibration, figures, writer.client());
    info.verdict = name_of(judged.verdict);
    info.verdict_reasons = judged.reasons;
    info.limits = file_.calibration.limits;
    info.client = &writer.client();
    // run.json comes last: its exit code tells of all files but itself.
    const std::string summary = folder_ + "/summary.json";
    const std::string run_json = folder_ + "/run.json";
    const Result<void> summed = write_whole_file(summary, summary_json(figures, info));
    end_.exit_code = exit_code(figures, writer.failed() || !summed, judged.verdict);
    end_.verdict = info.verdict;
    end_.verdict_reasons = info.verdict_reasons;
    end_.marks.resident_max = read_memory_marks().resident_max;
    file_.end = end_;
    const Result<void> closed = write_whole_file(run_json, to_json(file_));
    quiet_.end();
    std::fputs(printable_lines(summary_table(figures, info, options_.results.table)).c_str(),
               stdout);
    std::printf("files: %s\n", folder_.c_str());
    if (writer.failed()) {
        (void)fail_records(writer);
    }
    if (!summed) {
        (void)fail_host(summary.c_str(), summed.error());
    }
    code_ = end_.exit_code;
    if (!closed) {
        (void)fail_host(run_json.c_str(), closed.error());
        code_ = end_.interrupted ? exit_interrupted : exit_host;
    }
}

}  // namespace

int execute_run(const PreparedRun& prepared, UringDriver& driver, const std::string& folder,
                RunFile& file, Quiet& quiet) {
    return Execution(prepared, driver, folder, file, quiet).go();
}

}  // namespace driftless
