#include "engine/record/writer.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/time.hpp"
#include "engine/host/probes.hpp"
#include "engine/host/threads.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/put.hpp"
#include "proto/run/period.hpp"

namespace driftless {

static std::uint32_t number_in_plan(std::uint32_t request, const EventSource& engine,
                                    std::size_t rows_in_all) {
    if (engine.positions == nullptr) {
        return request;
    }
    const auto rows = static_cast<std::uint32_t>(engine.positions->size());
    if (request >= std::max(engine.requests_end, rows)) {
        return UINT32_MAX;
    }
    return request / rows * static_cast<std::uint32_t>(rows_in_all) +
           (*engine.positions)[request % rows];
}

Event numbered(const Event& event, const EventSource& engine, ShardPlace place,
               std::size_t rows_in_all) {
    Event made = event;
    made.request = number_in_plan(event.request, engine, rows_in_all);
    made.lane = place.number_of(event.lane);
    if (event.kind == EventKind::armed && event.user != Due::no_user) {
        made.user = place.number_of(event.user);
    }
    return made;
}

/// Events that the thread takes between two looks at the clock: well below a millisecond of work.
static constexpr std::size_t events_per_look = 256;
/// ... where the engine waits for the same CPU: some 20 us of work.
static constexpr std::size_t events_in_a_row = 8;
/// A thread that gives way hurries once more than an eighth of a ring waits for it, for so long,
/// and until it is less than a 64th. Payload is dropped from seven eighths on.
static constexpr std::uint64_t behind_part = 8;
static constexpr std::uint64_t caught_up_part = 64;
static constexpr std::int64_t hurry_min_ns = 1'000'000'000;

static void nap(std::int64_t ns) {
    const timespec length{0, ns};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &length, nullptr);
}

static void append_saved(std::string& out, const Record& record, const SavedText& text) {
    out += printable_json({{"row", record.row},
                           {"text", text.content},
                           {"reasoning", text.reasoning},
                           {"tool_calls", text.tool_text},
                           {"cut", text.cut}}) +
           '\n';
}

static std::optional<Periods> periods_of(const AssemblerConfig& config) {
    return config.periods.length_ns > 0 ? std::optional<Periods>(config) : std::nullopt;
}

Result<RecordSinks> open_sinks(const RecordFiles& files, bool is_new, std::string& failed) {
    RecordSinks sinks;
    const std::string& folder = files.folder;
    const std::pair<LineSink*, std::string> paths[] = {
        {&sinks.requests,
         files.records_path.empty() ? folder + "/requests.jsonl" : files.records_path},
        {&sinks.fired, folder + "/fired.jsonl"},
        {&sinks.client, folder + "/client.jsonl"},
        {&sinks.responses, files.responses ? folder + "/responses.jsonl" : ""},
        {&sinks.periods, files.periods ? folder + "/periods.jsonl" : ""},
    };
    for (const auto& [sink, path] : paths) {
        if (path.empty()) {
            continue;
        }
        Result<LineSink> file = LineSink::open(path, is_new);
        if (!file) {
            failed = path;
            if (is_new) {
                remove_sinks(sinks);
            }
            return file.error();
        }
        *sink = std::move(file).value();
    }
    return sinks;
}

void remove_sinks(const RecordSinks& sinks) {
    for (const LineSink* sink :
         {&sinks.requests, &sinks.fired, &sinks.client, &sinks.responses, &sinks.periods}) {
        if (!sink->path().empty()) {
            (void)::unlink(sink->path().c_str());
        }
    }
}

RecordWriter::RecordWriter(AssemblerConfig config, Summary summary, RecordSinks sinks,
                           const ClientTotals& client)
    : config_(config),
      periods_(periods_of(config_)),
      assembler_(std::move(config), periods_ ? &*periods_ : nullptr),
      summary_(std::move(summary)),
      client_(client),
      sinks_(std::move(sinks)) {}

RecordWriter::~RecordWriter() {
    CHECK(!thread_.runs());
}

void RecordWriter::begin(Instant time_zero) {
    CHECK(time_zero.ns != no_stamp);
    CHECK(begin_ns_.load(std::memory_order_relaxed) == no_stamp);  // once
    begin_ns_.store(time_zero.ns, std::memory_order_release);
}

bool RecordWriter::begun() {
    if (time_zero_ns_ == no_stamp) {
        time_zero_ns_ = begin_ns_.load(std::memory_order_acquire);
        if (time_zero_ns_ != no_stamp) {
            assembler_.begin({time_zero_ns_});
            if (periods_) {
                periods_->begin(time_zero_ns_);
            }
        }
    }
    return time_zero_ns_ != no_stamp;
}

void RecordWriter::read_from(const std::vector<EventSource>& engines) {
    CHECK(sources_.empty() && !engines.empty() && !thread_.runs());
    for (const EventSource& engine : engines) {
        CHECK(engine.ring != nullptr);
        Source& source = sources_.emplace_back(Source{engine, std::nullopt});
        if (engine.thread_id > 0) {
            source.probe.emplace(engine.thread_id);
        }
    }
}

// Null where all rings are empty, or hold only what must wait for time 0.
RecordWriter::Source* RecordWriter::next_source(bool all_kinds) {
    Source* next = nullptr;
    std::int64_t stamp_ns = 0;
    for (Source& source : sources_) {
        const Event* const event = source.engine.ring->front();
        const bool may_be_taken =
            event != nullptr && (all_kinds || event->kind == EventKind::armed);
        if (may_be_taken && (next == nullptr || event->stamp_ns < stamp_ns)) {
            next = &source;
            stamp_ns = event->stamp_ns;
        }
    }
    return next;
}

std::size_t RecordWriter::drain(std::size_t events_max) {
    CHECK(!sources_.empty());
    const bool all_kinds = begun();
    std::size_t taken = 0;
    for (; taken < events_max; ++taken) {
        Source* const source = next_source(all_kinds);
        if (source == nullptr) {
            break;
        }
        EventRing& ring = *source->engine.ring;
        const Event& event = *ring.front();
        take(event, EventRing::payload_of(event), *source);
        ring.pop();
    }
    if (config_.histories != nullptr) {
        config_.histories->flush();
    }
    return taken;
}

void RecordWriter::take(const Event& event, std::string_view payload, Source& source) {
    CHECK(stage_ == Stage::recording);
    CHECK(time_zero_ns_ != no_stamp || event.kind == EventKind::armed);
    if (event.kind == EventKind::sample) {
        take_sample(payload, source);
        return;
    }
    const bool was_read = (event.flags & event_payload_dropped) == 0;
    chunks_read_ += event.kind == EventKind::chunk && was_read ? 1 : 0;
    const ShardPlace place{static_cast<std::uint32_t>(&source - sources_.data()),
                           static_cast<std::uint32_t>(sources_.size())};
    const Event of_run = numbered(event, source.engine, place, config_.plan->rows.size());
    if (of_run.kind == EventKind::fired) {
        write_fired(of_run);
    }
    const Record* record = assembler_.consume(of_run, payload);
    if (record != nullptr) {
        write_record(*record);
    }
    write_periods();
}

void RecordWriter::add_own_cost(ClientSample& sample) {
    const std::int64_t cpu_ns = thread_cpu_ns();
    sample.writer_chunks = std::exchange(chunks_read_, 0);
    sample.writer_cpu_ns = cpu_ns - std::exchange(cpu_ns_, cpu_ns);
    sample.writer_run_delay_ns = probe_->next().run_delay_ns;
}

void RecordWriter::take_sample(std::string_view payload, Source& source) {
    ClientSample sample;
    if (payload.size() != sizeof sample) {
        return;
    }
    std::memcpy(&sample, payload.data(), sizeof sample);
    sample.engine = &source - sources_.data();
    if (source.probe) {
        const ThreadCost cost = source.probe->next();
        sample.run_delay_ns = cost.run_delay_ns;
        sample.steal_ns = cost.steal_ns;
    }
    if (probe_ && sample.engine == 0) {
        add_own_cost(sample);
    }
    ClientSample from_zero = sample;
    from_zero.from_ns -= time_zero_ns_;
    from_zero.to_ns -= time_zero_ns_;
    client_.add(from_zero);
    append_client_sample(sinks_.client.buffer(), sample, time_zero_ns_);
    commit(sinks_.client);
}

void RecordWriter::look(std::int64_t now_ns) {
    if (periods_ && begun()) {
        periods_->look(now_ns);
        write_periods();
    }
}

void RecordWriter::write_periods() {
    if (periods_ && !periods_->lines().empty()) {
        sinks_.periods.buffer() += periods_->lines();
        periods_->lines().clear();
        commit(sinks_.periods);
    }
}

void RecordWriter::write_fired(const Event& event) {
    CHECK(event.kind == EventKind::fired);
    const Due* due = assembler_.due_of(event.request);
    if (due == nullptr) {
        return;
    }
    CHECK(due->row < config_.trace->rows.size());
    const TraceRow& row = config_.trace->rows[due->row];
    FiredRow fired{.row = row.index,
                   .due_ns = due->due_ns,
                   .fired_ns = event.stamp_ns - time_zero_ns_,
                   .held_ns = event.fired.held_ns,
                   .late_cause = event.fired.late_cause};
    if (config_.has_users()) {
        fired.pass = due->pass;
    }
    if (due->side != Side::none) {
        fired.side = due->side;
    }
    append_json_line(sinks_.fired.buffer(), fired);
    commit(sinks_.fired);
}

void RecordWriter::write_record(const Record& record) {
    append_jsonl(sinks_.requests.buffer(), record);
    probe_record(record.row, static_cast<unsigned>(record.outcome));
    if (sinks_.requests.buffer().size() >= sink_bytes_max) {
        sinks_.fired.flush();  // before what `commit` writes
        note_error(sinks_.fired);
    }
    commit(sinks_.requests);
    if (assembler_.saved() != nullptr) {
        append_saved(sinks_.responses.buffer(), record, *assembler_.saved());
        commit(sinks_.responses);
    }
    summary_.add(record);
    tally_.add(record);
}

void RecordWriter::add(const std::vector<Record>& records) {
    CHECK(!thread_.runs() && stage_ == Stage::recording);
    for (const Record& record : records) {
        write_record(record);
    }
    flush();
}

void RecordWriter::commit(LineSink& sink) {
    sink.commit();
    note_error(sink);
}

void RecordWriter::note_error(const LineSink& sink) {
    if (sink.error().has_value() && !failed_.load(std::memory_order_relaxed)) {
        CHECK(!sink.path().empty());  // memory cannot fail
        error_ = *sink.error();
        failed_path_ = sink.path();
        failed_.store(true, std::memory_order_release);
    }
}

void RecordWriter::flush() {
    for (LineSink* sink :
         {&sinks_.fired, &sinks_.requests, &sinks_.client, &sinks_.responses, &sinks_.periods}) {
        sink->flush();
        note_error(*sink);
    }
}

void RecordWriter::finish() {
    CHECK(stage_ == Stage::recording);
    if (begun()) {  // a run that never began has no records, and no folder
        while (const Record* record = assembler_.next_unended()) {
            write_record(*record);
        }
        CHECK(assembler_.rows_open() == 0);
        if (periods_) {
            periods_->finish();
            write_periods();
        }
    }
    stage_ = Stage::finished;
    flush();
}

Result<void> RecordWriter::start_thread(const WriterSeat* seat, ProgressCallback progress) {
    CHECK(!thread_.runs() && !sources_.empty());
    progress_ = progress;
    stopping_.store(false);
    seat_ = seat == nullptr ? std::nullopt : std::optional<WriterSeat>(*seat);
    return thread_.start<&RecordWriter::thread_loop>("writer", seat_ ? &seat_->cpus : nullptr,
                                                     *this);
}

void RecordWriter::stop() {
    stopping_.store(true, std::memory_order_release);
    thread_.join();
}

// Of a thread that gives way: hurries while too much waits, and does so elsewhere if it may.
void RecordWriter::settle(std::int64_t now_ns) {
    std::uint64_t spare = UINT64_MAX;
    for (const Source& source : sources_) {
        spare = std::min(spare, source.engine.ring->spare_times());
    }
    if (!hurries_ && spare < behind_part) {
        hurries_ = true;
        hurried_at_ns_ = now_ns;
    } else if (hurries_ && spare > caught_up_part && now_ns - hurried_at_ns_ > hurry_min_ns) {
        hurries_ = false;
    } else {
        return;
    }
    if (seat_->refuge) {
        const cpu_set_t& cpus = hurries_ ? *seat_->refuge : seat_->cpus;
        (void)::sched_setaffinity(0, sizeof cpus, &cpus);
    }
}

void RecordWriter::thread_loop() {
    const bool gives_way = seat_ && seat_->gives_way;
    std::int64_t flush_at = monotonic_ns() + flush_every_ns;
    progress_at_ns_ = monotonic_ns();
    probe_.emplace(this_thread_id());
    cpu_ns_ = thread_cpu_ns();
    while (true) {  // until `stop`, and then until the rings are empty
        const bool last = stopping_.load(std::memory_order_acquire);
        const bool yields = gives_way && !hurries_ && !last;
        const std::size_t taken = drain(yields ? events_in_a_row : events_per_look);
        const std::int64_t now = monotonic_ns();
        if (gives_way) {
            settle(now);
        }
        if (now >= flush_at) {
            flush();
            flush_at = now + flush_every_ns;
        }
        if (progress_.call != nullptr && now >= progress_at_ns_ + progress_every_ns && begun()) {
            show_progress(now);
        }
        if (taken == 0) {
            if (last) {
                break;
            }
            look(now);
            nap(config_.histories != nullptr ? words_nap_ns : nap_ns);
        } else if (yields) {
            (void)::sched_yield();
        }
    }
    finish();
    if (progress_.call != nullptr && begun()) {
        show_progress(monotonic_ns());
    }
}

void RecordWriter::show_progress(std::int64_t now) {
    CHECK(time_zero_ns_ != no_stamp && progress_.call != nullptr);
    const AssemblerCounts& counts = assembler_.counts();
    CHECK(counts.inflight <= counts.fired && counts.ended <= counts.rows);
    const auto& rows = config_.plan->rows;
    Progress progress;
    progress.elapsed_ns = now - time_zero_ns_;
    if (!config_.closed) {
        const std::int64_t last_ns = rows.empty() ? 0 : rows.back().due_ns;
        progress.left_ns = std::max<std::int64_t>(0, last_ns - progress.elapsed_ns);
    } else if (const PeriodRules& rules = config_.periods; rules.for_ns && !rules.warms_up) {
        progress.left_ns = std::max<std::int64_t>(0, *rules.for_ns - progress.elapsed_ns);
    }
    progress.rows = counts.rows;
    progress.rows_open = config_.has_users();
    progress.fired = counts.fired;
    progress.ended = counts.ended;
    progress.inflight = counts.inflight;
    progress.tokens = counts.tokens;
    progress.drift_max_ns = counts.drift_max_ns;
    tally_.fill(progress);
    progress_at_ns_ = now;
    progress_.call(progress_.owner, progress);
}

}  // namespace driftless
