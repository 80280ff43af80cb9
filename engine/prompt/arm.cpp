#include "engine/prompt/arm.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "proto/core/check.hpp"

namespace driftless {

namespace {
constexpr std::size_t digits_max = 20;        // of a 64-bit number
constexpr std::size_t retries_reserved = 64;  // stale connections come in bursts of a few
}  // namespace

Armer::Armer(const Trace& trace, const Plan& plan, PromptBuilder& prompts, BodyPool& bodies,
             const std::vector<RequestHead>& heads, const BodyFrame& frame,
             const ArmerOptions& options)
    : trace_(trace),
      plan_(plan),
      prompts_(prompts),
      bodies_(bodies),
      heads_(heads),
      frame_(frame),
      options_(options) {
    CHECK(heads.size() == options.targets && options.targets > 0);
    CHECK((options.armed_max & (options.armed_max - 1)) == 0);
    for (const RequestHead& head : heads) {
        head_room_ = std::max(head_room_, head.bytes_max(options.run_id.size() + 1 + digits_max));
    }
    head_scratch_.resize(head_room_);
    queue_.resize(options.armed_max);
    retries_wanted_.reserve(retries_reserved);
    retries_done_.reserve(retries_reserved);
}

Armer::~Armer() {
    (void)stop();
}

std::uint32_t Armer::target_of(std::uint32_t planned) const {
    return planned % static_cast<std::uint32_t>(options_.targets);
}

std::size_t Armer::room_of(std::uint32_t planned) const {
    const TraceRow& row = trace_.rows[plan_.rows[planned].row];
    if (!trace_.body_of(row).empty()) {
        return head_room_ + prompts_.room_of(row);
    }
    return head_room_ + frame_.before.size() + prompts_.room_of(row) + frame_.between.size() +
           digits_max + frame_.after.size();
}

bool Armer::begin_job() {
    job_is_retry_ = !retries_wanted_.empty();
    if (!job_is_retry_ && (next_ >= plan_.rows.size() || armed_count() >= options_.armed_max)) {
        return false;
    }
    const std::uint32_t planned = job_is_retry_ ? retries_wanted_.front() : next_;
    char* storage = bodies_.take(room_of(planned));
    if (storage == nullptr) {
        ++room_waits_;
        job_is_retry_ = false;
        return false;
    }
    if (job_is_retry_) {
        retries_wanted_.erase(retries_wanted_.begin());
    } else {
        ++next_;
    }
    job_active_ = true;
    job_planned_ = planned;
    job_storage_ = storage;
    cursor_ = prompts_.begin(trace_.rows[plan_.rows[planned].row]);
    job_is_recorded_ = !cursor_.recorded.empty();
    if (!job_is_recorded_) {
        std::memcpy(storage + head_room_, frame_.before.data(), frame_.before.size());
    }
    return true;
}

bool Armer::step(Instant now, std::int64_t horizon_ns, std::uint32_t tokens_max) {
    if (!job_active_) {
        const bool wanted = !retries_wanted_.empty() ||
                            (next_ < plan_.rows.size() && plan_.rows[next_].due_ns <= horizon_ns);
        if (!wanted || !begin_job()) {
            return false;
        }
    }
    char* prompt = job_storage_ + head_room_ + (job_is_recorded_ ? 0 : frame_.before.size());
    if (prompts_.fill(cursor_, prompt, tokens_max)) {
        finish_job(now);
    }
    return true;
}

// The prompt is complete: the rest of the body behind it, the head right before the body.
void Armer::finish_job(Instant now) {
    const TraceRow& row = trace_.rows[plan_.rows[job_planned_].row];
    char* const body = job_storage_ + head_room_;
    char* at = body + (job_is_recorded_ ? 0 : frame_.before.size()) + cursor_.bytes;
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

    char id[128];
    const std::size_t prefix = std::min(options_.run_id.size(), sizeof(id) - 1 - digits_max);
    std::memcpy(id, options_.run_id.data(), prefix);
    id[prefix] = '-';
    const char* id_end = std::to_chars(id + prefix + 1, id + sizeof(id), row.index).ptr;
    const std::string_view request_id(id, static_cast<std::size_t>(id_end - id));
    const std::size_t head_bytes = heads_[target_of(job_planned_)].write(
        head_scratch_.data(), request_id, static_cast<std::uint64_t>(at - body));
    CHECK(head_bytes <= head_room_);
    char* const begin = body - head_bytes;
    std::memcpy(begin, head_scratch_.data(), head_bytes);

    ArmedRequest armed;
    armed.planned = job_planned_;
    armed.storage = job_storage_;
    armed.bytes = {begin, static_cast<std::size_t>(at - begin)};
    armed.armed = now;
    job_active_ = false;
    if (job_is_retry_) {
        job_is_retry_ = false;
        retries_done_.push_back(armed);
        return;
    }
    prompts_digest_ += PromptBuilder::digest_of(cursor_);
    clamped_rows_ += prompts_.clamped(row) ? 1 : 0;
    queue_[tail_ & (options_.armed_max - 1)] = armed;
    ++tail_;
}

const ArmedRequest* Armer::front() const {
    return head_ == tail_ ? nullptr : &queue_[head_ & (options_.armed_max - 1)];
}

ArmedRequest Armer::take_front() {
    CHECK(head_ != tail_);
    return queue_[head_++ & (options_.armed_max - 1)];
}

void Armer::arm_again(std::uint32_t planned) {
    retries_wanted_.push_back(planned);
}

ArmedRequest Armer::take_retry() {
    CHECK(!retries_done_.empty());
    const ArmedRequest armed = retries_done_.front();
    retries_done_.erase(retries_done_.begin());
    return armed;
}

std::vector<std::uint32_t> Armer::stop() {
    std::vector<std::uint32_t> abandoned = std::move(retries_wanted_);
    retries_wanted_.clear();
    if (job_active_) {
        bodies_.give(job_storage_);
        if (job_is_retry_) {
            abandoned.push_back(job_planned_);
        }
        job_active_ = false;
        job_is_retry_ = false;
    }
    while (retry_ready()) {
        const ArmedRequest armed = take_retry();
        bodies_.give(armed.storage);
        abandoned.push_back(armed.planned);
    }
    while (front() != nullptr) {
        bodies_.give(take_front().storage);
    }
    next_ = static_cast<std::uint32_t>(plan_.rows.size());
    return abandoned;
}

}  // namespace driftless
