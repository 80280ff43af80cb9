#include "engine/replay/run_steps.hpp"

#include <utility>

#include "proto/core/errors.hpp"

namespace driftless {

RunSteps::RunSteps(Driver& driver, RunHost& host, StepParts parts)
    : driver_(driver), host_(host), parts_(std::move(parts)) {
    RunSegment& segment = parts_.segment;
    segment.rows = plan().rows.size();
    if (const ResumedRun* const resumed = parts_.resumed; resumed != nullptr) {
        parts_.config.segment = resumed->segment();
        parts_.config.numbers = resumed->remaining.positions;
        parts_.config.earlier_ends = &resumed->whole.past.ends();
        segment.rows_interrupted = resumed->remaining.given_up.size();
    }
}

OrderEnd RunSteps::play(Engines& engines) {
    CHECK(!plan().rows.empty());
    parts_.segment.first_due_ns = engines.first_due_ns();
    while (engines.warm()) {  // ends: warming up has a bound of its own
    }
    if (engines.failed() || !prepare(engines)) {
        engines.abandon();
        give_up();
        return OrderEnd::refused;
    }
    for (bool more = true; more;) {  // the event loop
        more = engines.turn();
        if (!host_.turned()) {
            return OrderEnd::broken_off;
        }
        if (writer_->failed()) {
            engines.stop();
        }
    }
    host_.stop_writer(*writer_);
    close_books(engines.rows_taken());
    return OrderEnd::closed;
}

OrderEnd RunSteps::play_without_rows() {
    CHECK(plan().rows.empty() && parts_.resumed != nullptr);
    const Instant zero = driver_.now() - Duration{parts_.resumed->whole.plan.last_due_ns};
    if (!open_files() || !name_segment(zero)) {
        return OrderEnd::refused;
    }
    writer_->begin(zero);
    writer_->finish();
    close_books(0);
    return OrderEnd::closed;
}

// Nothing is on disk before this: what was refused leaves no folder behind.
bool RunSteps::prepare(Engines& engines) {
    if (!open_files()) {
        return false;
    }
    open_marks();
    host_.settle_engine();
    return settle_time_zero(engines) && host_.start_writer(*writer_);
}

// Rows that are given up have their records before run.json names the segment: were it killed
// between the two, the next one would find them recorded.
bool RunSteps::open_files() {
    std::optional<RecordSinks> sinks = host_.open_files();
    if (!sinks) {
        return false;
    }
    const ResumedRun* const resumed = parts_.resumed;
    if (resumed == nullptr) {
        writer_.emplace(parts_.config, parts_.summary, std::move(*sinks));
        return true;
    }
    parts_.config.periods.begin_ns = parts_.segment.first_due_ns;
    const Past& past = resumed->whole.past;
    const SummaryFigures before = past.summary().figures();
    parts_.config.periods.ended_before = {before.ended_sent(), before.failed_sent()};
    writer_.emplace(parts_.config, past.summary(), std::move(*sinks), past.client());
    writer_->add(resumed->settled(parts_.config));
    return !writer_->failed();
}

void RunSteps::open_marks() {
    parts_.marks = host_.create_marks(parts_.segment.run_id,
                                      marks_for(parts_.config.trace->rows.size(), plan().dual));
    if (parts_.resumed != nullptr) {
        mark_again(parts_.resumed->remaining, parts_.marks);
    }
}

// What the segments before had marked is in records or in new marks, and may be forgotten once
// run.json names this one, and no earlier. Those before the last are there where a kill came
// between the two.
bool RunSteps::name_segment(Instant zero) {
    named_ = host_.name_segment(parts_.segment, zero);
    if (named_ && parts_.resumed != nullptr) {
        for (const RunSegment& before : parts_.resumed->segments) {
            host_.remove_marks(before.run_id);
        }
    }
    return named_;
}

// The first row to be sent is due after the lead: at time 0 itself, but for a resumed run. No row
// is late for run.json: its first writing takes as long as the disk wants, the second, with the
// time 0 that holds, waits for no disk; where it took long all the same, it is done once more with
// twice the lead.
bool RunSteps::settle_time_zero(Engines& engines) {
    const Duration first_due{parts_.segment.first_due_ns};
    if (!name_segment(driver_.now() + time_zero_lead - first_due)) {
        return false;
    }
    for (Duration lead = time_zero_lead;; lead = lead + lead) {  // ends: the lead outgrows any disk
        const std::optional<Instant> zero = host_.time_zero(driver_.now() + lead, first_due);
        if (!zero || !host_.set_time_zero(*zero)) {
            return false;
        }
        if (driver_.now() < *zero + first_due - time_zero_lead_min) {
            engines.begin(*zero);
            writer_->begin(*zero);
            return true;
        }
    }
}

// A resumed run stays as it was, or, where run.json names this segment already, as one that was
// killed before its first row: a resumption then looks for these marks.
void RunSteps::give_up() {
    if (parts_.resumed == nullptr || !named_) {
        host_.remove_marks(parts_.segment.run_id);
    }
    if (parts_.resumed == nullptr) {
        host_.discard(writer());
    }
}

// The conservation law: rows selected, or released by users = records written = sum over outcomes.
void RunSteps::close_books(std::uint64_t rows_taken) {
    const Plan& whole = parts_.resumed != nullptr ? parts_.resumed->whole.plan : plan();
    CHECK(writer_->counts().ended == rows_taken);
    CHECK(writer_->counts().unended == 0);
    const bool has_users = parts_.config.has_users();
    const SummaryFigures figures = writer_->summary().figures();
    CHECK(figures.rows + figures.warmup_rows ==
          (has_users ? writer_->counts().ended : whole.rows.size()));
    if (!writer_->failed()) {  // else --resume needs them
        host_.remove_marks(parts_.segment.run_id);
    }
    host_.close_books(*writer_);
}

}  // namespace driftless
