#include "engine/prompt/arm.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "engine/tls/records.hpp"
#include "proto/core/check.hpp"
#include "proto/http/fields.hpp"
#include "proto/http/trace_context.hpp"

namespace driftless {

namespace {
constexpr std::size_t digits_max = 20;  // of a 64-bit number
}  // namespace

Armer::Armer(const Trace& trace, Schedule& schedule, PromptBuilder& prompts, BodyPool& bodies,
             const std::vector<RequestHead>& heads, const BodyFrame& frame,
             const ArmerOptions& options)
    : trace_(trace),
      schedule_(schedule),
      prompts_(prompts),
      bodies_(bodies),
      heads_(heads),
      frame_(frame),
      options_(options),
      rows_(options.armed_max) {
    CHECK(heads.size() == options.targets && options.targets > 0);
    const std::size_t fields_max =
        (options.row_fields != nullptr ? options.row_fields->bytes_max() : 0) +
        (options.traceparent ? traceparent_bytes : 0);
    fields_scratch_.reserve(fields_max);
    for (const RequestHead& head : heads) {
        const std::size_t id_max = options.run_id.size() + 1 + digits_max;
        head_room_ = std::max(head_room_, head.bytes_max(id_max, fields_max));
    }
    head_scratch_.resize(head_room_);
}

Armer::~Armer() {
    (void)stop();
}

std::uint32_t Armer::target_of(const Due& due) const {
    return driftless::target_of(options_.balance, trace_.rows[due.row], due.request,
                                static_cast<std::uint32_t>(options_.targets));
}

std::size_t Armer::room_of(std::uint32_t row) const {
    return front_room_of(row) + body_room_of(row);
}

std::size_t Armer::body_room_of(std::uint32_t row) const {
    const std::size_t prompt = prompts_.room_of(trace_.rows[row]);
    if (!trace_.body_of(trace_.rows[row]).empty()) {
        return prompt;
    }
    return opening_of(row).size() + frame_.before.size() + prompt + frame_.between.size() +
           digits_max + frame_.after.size();
}

/// What stands before the frame: the row's own model, where rows have one.
std::string_view Armer::opening_of(std::uint32_t row) const {
    return options_.row_models == nullptr ? std::string_view{}
                                          : options_.row_models->opening_of(row);
}

// The head goes right before the body; records are written from the storage's first byte on.
std::size_t Armer::front_room_of(std::uint32_t row) const {
    const std::size_t bytes = head_room_ + body_room_of(row);
    return head_room_ + (options_.for_tls ? seal_room(bytes) : 0);
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
    const std::size_t room = room_of(due.row);
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
    job_->enter(RowStage::arming);
    job_->storage = storage;
    if (!job_is_again_) {
        schedule_.pass(Lookahead::arming, *due);
    }
    job_body_ = storage + front_room_of(due->row);
    cursor_ = prompts_.begin(trace_.rows[due->row]);
    job_is_recorded_ = !cursor_.recorded.empty();
    job_before_bytes_ = 0;
    if (!job_is_recorded_) {
        const std::string_view opening = opening_of(due->row);
        char* const behind = std::copy(opening.begin(), opening.end(), job_body_);
        std::copy(frame_.before.begin(), frame_.before.end(), behind);
        job_before_bytes_ = opening.size() + frame_.before.size();
    }
    return true;
}

bool Armer::step(Instant now, std::int64_t horizon_ns, std::uint32_t tokens_max) {
    if (job_ == nullptr && !begin_job(horizon_ns)) {
        return false;
    }
    char* prompt = job_body_ + job_before_bytes_;
    if (prompts_.fill(cursor_, prompt, tokens_max)) {
        finish_job(now);
    }
    return true;
}

// Into the scratch; returns its size.
std::size_t Armer::write_head(const TraceRow& row, std::size_t body_bytes) {
    char id[128];
    const std::size_t prefix = std::min(options_.run_id.size(), sizeof(id) - 1 - digits_max);
    std::memcpy(id, options_.run_id.data(), prefix);
    id[prefix] = '-';
    const char* id_end = std::to_chars(id + prefix + 1, id + sizeof(id), row.index).ptr;
    std::string_view request_id(id, static_cast<std::size_t>(id_end - id));
    fields_scratch_.clear();
    if (options_.row_fields != nullptr) {
        fields_scratch_ = options_.row_fields->of(job_->due.request);
        const bool has_own_id = header_value(fields_scratch_, "X-Request-Id").data() != nullptr;
        request_id = has_own_id ? std::string_view{} : request_id;
    }
    if (options_.traceparent) {
        const std::size_t before = fields_scratch_.size();
        fields_scratch_.resize(before + traceparent_bytes);
        (void)write_traceparent(fields_scratch_.data() + before,
                                trace_context_of(options_.run_id, row.index));
    }
    const std::size_t bytes = heads_[target_of(job_->due)].write(head_scratch_.data(), request_id,
                                                                 body_bytes, fields_scratch_);
    CHECK(bytes <= head_room_);
    return bytes;
}

// The prompt is complete: the rest of the body behind it, the head right before the body.
void Armer::finish_job(Instant now) {
    const TraceRow& row = trace_.rows[job_->due.row];
    char* const body = job_body_;
    char* at = body + job_before_bytes_ + cursor_.bytes;
    const auto append = [&at](std::string_view text) {
        std::memcpy(at, text.data(), text.size());
        at += text.size();
    };
    if (!job_is_recorded_) {
        append(frame_.between);
        if (frame_.has_length) {
            at = std::to_chars(at, at + digits_max, row.output_length).ptr;
        }
        append(frame_.after);
    }
    const std::size_t head_bytes = write_head(row, static_cast<std::size_t>(at - body));
    char* const begin = body - head_bytes;
    std::memcpy(begin, head_scratch_.data(), head_bytes);

    CHECK(begin >= job_->storage);
    job_->bytes = {begin, static_cast<std::size_t>(at - begin)};
    job_->armed = now;
    job_->enter(RowStage::armed);
    rebuilt_ += job_is_again_ ? 1 : 0;
    if (job_is_new_) {
        prompts_digest_ += PromptBuilder::digest_of(cursor_);
        clamped_rows_ += prompts_.clamped(row) ? 1 : 0;
    }
    job_ = nullptr;
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
}

RowUnderway& Armer::give_up(const Due& due) {
    RowUnderway* const there = rows_.find(due.request);
    RowUnderway& row = there != nullptr ? *there : rows_.add(due);
    CHECK(row.stage != RowStage::bound);  // those that are bound have a due, and come to their turn
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
