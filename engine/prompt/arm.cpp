#include "engine/prompt/arm.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "engine/tls/records.hpp"
#include "proto/core/check.hpp"
#include "proto/http/fields.hpp"
#include "proto/http/trace_context.hpp"

namespace driftless {

namespace {
constexpr std::size_t digits_max = 20;        // of a 64-bit number
constexpr std::size_t retries_reserved = 64;  // stale connections come in bursts of a few
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
      armed_(options.armed_max) {
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
    retries_wanted_.reserve(retries_reserved);
    retries_done_.reserve(retries_reserved);
}

Armer::~Armer() {
    stop();
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

// Those that have storage first: they wait for nobody.
std::vector<Armer::Wanted>::iterator Armer::next_retry() {
    const auto with_storage =
        std::find_if(retries_wanted_.begin(), retries_wanted_.end(),
                     [](const Wanted& wanted) { return wanted.storage != nullptr; });
    return with_storage != retries_wanted_.end() ? with_storage : retries_wanted_.begin();
}

// What is built again may wait for rows that cannot leave before it: all places in flight are taken
// by rows like it, and all memory by rows behind them.
char* Armer::take_storage(const Due& due, char* kept) {
    const std::size_t room = room_of(due.row);
    char* const storage = !job_is_retry_    ? bodies_.take(room)
                          : kept != nullptr ? kept
                                            : bodies_.take_or_spare(room);
    lacked_at_ = storage == nullptr && !job_is_retry_ ? bodies_.used_bytes() : 0;
    return storage;
}

bool Armer::begin_job(std::int64_t horizon_ns) {
    job_is_retry_ = !retries_wanted_.empty();
    if (!job_is_retry_ && (stopped_ || armed_.full())) {
        return false;
    }
    const auto wanted = next_retry();
    const std::optional<Due> due = job_is_retry_ ? wanted->due : next(horizon_ns);
    if (!due) {
        return false;
    }
    char* const storage = take_storage(*due, job_is_retry_ ? wanted->storage : nullptr);
    if (storage == nullptr) {
        job_is_retry_ = false;
        return false;
    }
    job_is_new_ = !job_is_retry_ || wanted->is_new;
    if (job_is_retry_) {
        retries_wanted_.erase(wanted);
    } else {
        schedule_.pass(Lookahead::arming, *due);
    }
    job_active_ = true;
    job_due_ = *due;
    job_storage_ = storage;
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
    if (!job_active_ && !begin_job(horizon_ns)) {
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
        fields_scratch_ = options_.row_fields->of(job_due_.request);
        const bool has_own_id = header_value(fields_scratch_, "X-Request-Id").data() != nullptr;
        request_id = has_own_id ? std::string_view{} : request_id;
    }
    if (options_.traceparent) {
        const std::size_t before = fields_scratch_.size();
        fields_scratch_.resize(before + traceparent_bytes);
        (void)write_traceparent(fields_scratch_.data() + before,
                                trace_context_of(options_.run_id, row.index));
    }
    const std::size_t bytes = heads_[target_of(job_due_)].write(head_scratch_.data(), request_id,
                                                                body_bytes, fields_scratch_);
    CHECK(bytes <= head_room_);
    return bytes;
}

// The prompt is complete: the rest of the body behind it, the head right before the body.
void Armer::finish_job(Instant now) {
    const TraceRow& row = trace_.rows[job_due_.row];
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

    ArmedRequest armed;
    armed.due = job_due_;
    armed.storage = job_storage_;
    armed.bytes = {begin, static_cast<std::size_t>(at - begin)};
    armed.armed = now;
    job_active_ = false;
    if (job_is_new_) {
        prompts_digest_ += PromptBuilder::digest_of(cursor_);
        clamped_rows_ += prompts_.clamped(row) ? 1 : 0;
    }
    if (job_is_retry_) {
        job_is_retry_ = false;
        retries_done_.push_back(armed);
        return;
    }
    armed_.put(armed);
}

const ArmedRequest* Armer::ready(const Due& due) {
    const ArmedRequest* armed = armed_.find(due.request);
    const bool whole =
        armed != nullptr && (armed->storage != nullptr || armed->lane != ArmedRequest::no_lane);
    return whole ? armed : nullptr;
}

ArmedRequest Armer::take(const Due& due) {
    return armed_.take(due.request);
}

void Armer::put_back(const ArmedRequest& request) {
    ArmedRequest* place = find(request.due);
    CHECK(place != nullptr && place->storage == nullptr);
    *place = request;
}

void Armer::give_back(const ArmedRequest& request) {
    if (request.storage != nullptr) {
        bodies_.give(request.storage);
    }
}

void Armer::forget(const Due& due) {
    forgot_ = true;
    if (job_active_ && !job_is_retry_ && job_due_.request == due.request) {
        bodies_.give(job_storage_);
        job_active_ = false;
    } else if (find(due) != nullptr) {
        give_back(take(due));
    }
}

void Armer::arm_again(const Due& due, char* storage) {
    retries_wanted_.push_back({due, storage});
}

void Armer::arm_late(const Due& due) {
    CHECK(find(due) == nullptr && !schedule_.has_passed(Lookahead::arming, due));
    retries_wanted_.push_back({due, nullptr, true});
}

ArmedRequest Armer::take_retry() {
    CHECK(!retries_done_.empty());
    const ArmedRequest armed = retries_done_.front();
    retries_done_.erase(retries_done_.begin());
    return armed;
}

void Armer::stop() {
    all_armed_ = all_armed();
    for (const Wanted& wanted : retries_wanted_) {
        if (wanted.storage != nullptr) {
            bodies_.give(wanted.storage);
        }
    }
    retries_wanted_.clear();
    if (job_active_) {
        bodies_.give(job_storage_);
        job_active_ = false;
        job_is_retry_ = false;
    }
    while (retry_ready()) {
        bodies_.give(take_retry().storage);
    }
    while (armed_.count() > 0) {
        give_back(armed_.take_any());
    }
    stopped_ = true;
}

}  // namespace driftless
