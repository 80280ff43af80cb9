#include "engine/prompt/arm.hpp"

#include <algorithm>
#include <utility>

#include "proto/core/check.hpp"

namespace driftless {

Armer::Armer(const Trace& trace, Schedule& schedule, PromptBuilder& prompts, BodyPool& bodies,
             const std::vector<RequestHead>& heads, const BodyFrame& frame,
             const ArmerOptions& options)
    : schedule_(schedule),
      bodies_(bodies),
      writer_(trace, prompts, heads, frame, options),
      armed_max_(options.armed_max),
      rows_(options.armed_max) {
    rows_.reserve(std::min(schedule.left(), armed_max_));
}

Armer::~Armer() {
    (void)stop();
}

// The first that is not armed yet. Those that have storage first: they wait for nobody.
RowUnderway* Armer::next_again() const {
    RowUnderway* bare = nullptr;
    for (RowUnderway* row = again_.first; row != nullptr; row = row->next) {
        if (row->stage != RowStage::armed && row->storage != nullptr) {
            return row;
        }
        bare = bare == nullptr && row->stage != RowStage::armed ? row : bare;
    }
    return bare;
}

// What is built again may wait for rows that cannot leave before it: all places in flight are taken
// by rows like it, and all memory by rows behind them.
char* Armer::take_storage(const Due& due, const RowUnderway* again) {
    const std::size_t room = writer_.room_of(due);
    char* const storage = again == nullptr            ? bodies_.take(room)
                          : again->storage != nullptr ? again->storage
                                                      : bodies_.take_or_spare(room);
    lacked_at_ = storage == nullptr && again == nullptr ? bodies_.used_bytes() : 0;
    return storage;
}

bool Armer::begin_job(std::int64_t horizon_ns) {
    CHECK(job_ == nullptr);
    RowUnderway* const again = again_.count > rebuilt_ ? next_again() : nullptr;
    if (again == nullptr && (stopped_ || full())) {
        return false;
    }
    const std::optional<Due> due = again != nullptr ? again->due : next(horizon_ns);
    if (!due) {
        return false;
    }
    char* const storage = take_storage(*due, again);
    if (storage == nullptr) {
        return false;
    }
    job_is_again_ = again != nullptr;
    job_ = job_is_again_ ? again : &rows_.add(*due);
    job_is_new_ = job_->stage == RowStage::wanted;
    job_is_soon_ = !job_is_again_ && schedule_.arms_soon();
    job_->enter(RowStage::arming);
    job_->storage = storage;
    if (!job_is_again_) {
        schedule_.pass(Lookahead::arming, *due);
    }
    writer_.begin(*due, storage);
    return true;
}

bool Armer::step(Instant now, std::int64_t horizon_ns, std::uint32_t tokens_max) {
    if (job_ == nullptr && !begin_job(horizon_ns)) {
        return false;
    }
    if (writer_.fill(tokens_max)) {
        finish_job(now);
    }
    return true;
}

void Armer::finish_job(Instant now) {
    job_->bytes = writer_.finish();
    job_->armed = now;
    job_->enter(RowStage::armed);
    rebuilt_ += job_is_again_ ? 1 : 0;
    if (job_is_new_) {
        (job_->due.side == Side::b ? against_digest_ : prompts_digest_) += writer_.prompt_digest();
        clamped_rows_ += writer_.is_clamped() ? 1 : 0;
    }
    job_ = nullptr;
    job_is_soon_ = false;
}

RowUnderway* Armer::ready(const Due& due) {
    RowUnderway* const row = rows_.find(due.request);
    return row != nullptr && row->is_ready() ? row : nullptr;
}

RowUnderway& Armer::take(const Due& due) {
    RowUnderway* const row = ready(due);
    CHECK(row != nullptr);
    rows_.take(*row, due);
    return *row;
}

void Armer::give_back(RowUnderway& row) {
    if (row.storage != nullptr) {
        bodies_.give(row.storage);
        row.storage = nullptr;
        row.bytes = {};
    }
}

void Armer::discard(RowUnderway& row) {
    give_back(row);
    row.enter(RowStage::ended);
    rows_.remove(row);
}

/// The row that is being built is not built any further.
void Armer::drop_job() {
    CHECK(job_ != nullptr);
    job_->enter(job_is_new_ ? RowStage::wanted : RowStage::again);
    give_back(*job_);
    job_ = nullptr;
    job_is_soon_ = false;
}

RowUnderway& Armer::give_up(const Due& due) {
    RowUnderway* const there = rows_.find(due.request);
    RowUnderway& row = there != nullptr ? *there : rows_.add(due);
    CHECK(row.stage != RowStage::bound);  // those that are bound have a due, and come to their turn
    unbuilt_ = unbuilt_ || there == nullptr || job_ == &row;
    if (job_ == &row) {
        drop_job();
    }
    give_back(row);
    rows_.take(row, due);
    return row;
}

void Armer::arm_again(RowUnderway& row) {
    CHECK(row.stage == RowStage::again && !stopped_);
    again_.push_back(row);
}

RowUnderway& Armer::arm_late(const Due& due) {
    CHECK(rows_.find(due.request) == nullptr && !schedule_.has_passed(Lookahead::arming, due));
    RowUnderway& row = rows_.add(due);
    rows_.take(row, due);
    again_.push_back(row);
    return row;
}

RowUnderway* Armer::take_again() {
    RowUnderway* row = rebuilt_ > 0 ? again_.first : nullptr;
    while (row != nullptr && row->stage != RowStage::armed) {
        row = row->next;
    }
    if (row != nullptr) {
        again_.remove(*row);
        --rebuilt_;
    }
    return row;
}

RowList Armer::stop() {
    all_armed_ = all_armed();
    if (job_ != nullptr) {
        drop_job();
    }
    for (RowUnderway* row = again_.first; row != nullptr; row = row->next) {
        give_back(*row);
        if (row->stage == RowStage::armed) {
            row->enter(RowStage::again);
        }
    }
    rebuilt_ = 0;
    rows_.for_each_untaken([this](RowUnderway& row) {
        if (row.stage == RowStage::armed) {  // a connection's are given back with it
            give_back(row);
            row.enter(RowStage::wanted);
        }
    });
    stopped_ = true;
    return std::exchange(again_, {});
}

}  // namespace driftless
