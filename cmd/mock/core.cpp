#include "cmd/mock/core.hpp"

#include <algorithm>
#include <utility>

namespace driftless::mock {

MockCore::MockCore(const CoreOptions& options)
    : options_(options), cache_(options.cache_blocks_max) {
    CHECK(options_.pace.tokens_per_chunk > 0);
    if (options_.cache_block_tokens > 0) {
        metrics_.cache_blocks = options_.cache_blocks_max;
        metrics_.cache_block_tokens = options_.cache_block_tokens;
    }
    if (options_.pace.in_steps()) {
        batch_.emplace(options_.pace, options_.slots, options_.seed);
    }
    if (options_.check_history != 0) {
        sent_.emplace(options_.check_history);
    }
    if (options_.tokenizer != nullptr) {
        texts_.emplace(*options_.tokenizer);
    }
}

MockConnection& MockCore::open(Instant now) {
    if (free_.empty()) {
        connections_.push_back(std::make_unique<MockConnection>(*this));
        free_.push_back(connections_.back().get());
    }
    MockConnection& connection = *free_.back();
    free_.pop_back();
    connection.open(opened_++, now);
    return connection;
}

void MockCore::close(MockConnection& connection, Instant now) {
    connection.abandon(now);
    std::erase(woken_, &connection);
    free_.push_back(&connection);
}

void MockCore::advance(Instant now) {
    if (!batch_) {
        return;
    }
    reached_.clear();
    batch_->advance(now, reached_);
    for (const Seat* seat : reached_) {
        woken_.push_back(static_cast<MockConnection*>(seat->owner));
    }
}

void MockCore::leave(Seat& seat, Instant now) {
    if (seat.place != Seat::Place::out) {
        advance(now - Duration{1});  // it takes part in the steps that have begun before
        batch_->leave(seat);
    }
}

MockConnection* MockCore::next_woken() {
    if (woken_.empty()) {
        return nullptr;
    }
    MockConnection* connection = woken_.front();
    woken_.pop_front();
    return connection;
}

bool MockCore::take_finished(RequestLog& entry) {
    if (finished_.empty()) {
        return false;
    }
    entry = std::move(finished_.front());
    finished_.pop_front();
    return true;
}

Metrics MockCore::metrics() const {
    Metrics metrics = metrics_;
    metrics.running = batch_ ? batch_->running() : metrics_.running;
    metrics.waiting = batch_ ? batch_->waiting() : queue_.size();
    return metrics;
}

bool MockCore::take_slot(MockConnection& connection) {
    if (options_.slots != 0 && metrics_.running == options_.slots) {
        queue_.push_back(&connection);
        return false;
    }
    ++metrics_.running;
    return true;
}

void MockCore::leave_queue(MockConnection& connection) {
    queue_.erase(std::find(queue_.begin(), queue_.end(), &connection));
}

void MockCore::give_slot(Instant now) {
    --metrics_.running;
    if (!queue_.empty()) {
        MockConnection* next = queue_.front();
        queue_.pop_front();
        ++metrics_.running;
        next->start_making(now);
        woken_.push_back(next);
    }
}

std::uint32_t MockCore::look_up(const PromptCount& prompt) {
    metrics_.prompt_tokens += prompt.tokens();
    if (options_.cache_block_tokens == 0) {
        return 0;
    }
    const std::uint32_t blocks_max = (prompt.tokens() - 1) / options_.cache_block_tokens;
    const std::size_t found = cache_.longest_prefix(prompt.blocks().first(blocks_max));
    cache_.enter(prompt.blocks());
    const std::uint32_t cached = static_cast<std::uint32_t>(found) * options_.cache_block_tokens;
    metrics_.cache_queries += prompt.tokens();
    metrics_.cache_hits += cached;
    return cached;
}

void MockCore::reset_cache() {
    cache_ = PrefixCache(options_.cache_blocks_max);
}

void MockCore::check_history(RequestLog& log, std::span<const std::uint64_t> replies) {
    if (sent_) {
        const HistoryCount found = sent_->count(log.session_value(), replies);
        log.history = found;
        history_.known += found.known;
        history_.elsewhere += found.elsewhere;
        history_.unknown += found.unknown;
    }
}

void MockCore::note_reply(const RequestLog& log, std::string_view text) {
    if (sent_) {
        sent_->enter(log.session_value(), text);
    }
}

void MockCore::count_end(RequestLog& entry) {
    const bool fine = entry.ending == Ending::complete && entry.status == 200;
    metrics_.generation_tokens += entry.output_tokens;
    ++(fine ? metrics_.requests_ok : metrics_.requests_failed);
    ++ended_;
    if (options_.keep_log) {
        finished_.push_back(std::move(entry));
        entry = RequestLog();
    }
}

std::int64_t MockCore::utc_seconds(Instant now) const {
    return (now.ns + options_.utc_offset_ns) / 1'000'000'000;
}

}  // namespace driftless::mock
