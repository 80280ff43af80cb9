/// The answer side of a MockConnection: from a request that is understood to bytes in time.
#include <algorithm>
#include <utility>

#include "cmd/mock/core.hpp"

namespace driftless::mock {

namespace {
/// Stamps of one answer for which room is taken at once; longer answers grow.
constexpr std::uint32_t stamps_reserved_max = 4'096;
constexpr Instant at_once{0};
}  // namespace

/// The request is good: its prompt goes through the cache, and it takes or awaits a slot.
void MockConnection::open_answer(Instant now) {
    const CoreOptions& options = core_.options_;
    log_.status = 200;
    log_.cached_tokens = core_.look_up(prompt_);
    made_ = 0;
    fault_at_ = asked_.output_tokens / 2;
    text_.begin(*voice_, facts(now));
    if (asked_.stream && options.early_headers) {
        send_head(ready_);
    }
    if (options.keep_log) {
        log_.token_ns.reserve(asked_.stream ? std::min(asked_.output_tokens, stamps_reserved_max)
                                            : 1);
    }
    phase_ = Phase::queued;
    if (core_.take_slot(*this)) {
        start_making(now);
    }
}

AnswerFacts MockConnection::facts(Instant now) const {
    const CoreOptions& options = core_.options_;
    AnswerFacts facts;
    facts.stream = asked_.stream;
    facts.request_id = log_.request_id;
    facts.model = options.model.name;
    facts.created_s = core_.utc_seconds(now);
    facts.prompt_tokens = prompt_.tokens();
    facts.cached_tokens = log_.cached_tokens;
    facts.cached_known =
        options.cache_block_tokens != 0 &&
        (options.cached_reported == CachedReported::always ||
         (options.cached_reported == CachedReported::hits && log_.cached_tokens > 0));
    facts.output_tokens = asked_.output_tokens;
    facts.reasoning_tokens = options.reasoning_tokens;
    facts.include_usage = asked_.include_usage && options.usage;
    facts.continuous_usage = asked_.continuous_usage && options.usage;
    facts.incremental = options.incremental;
    facts.seed = seed_;
    return facts;
}

/// A slot is free. From here on the schedule runs.
void MockConnection::start_making(Instant now) {
    const Pace& pace = core_.options_.pace;
    has_slot_ = true;
    log_.begin_ns = now.ns;
    const std::uint32_t uncached = log_.prompt_tokens - log_.cached_tokens;
    const Instant computed = core_.prefill_.take(pace, now, uncached);
    schedule_.start(pace, computed, uncached, seed_);
    log_.due_ns = schedule_.next().ns;
    phase_ = asked_.stream ? Phase::stream : Phase::whole;
    if (phase_ == Phase::whole) {  // due when its last token is
        schedule_.advance(pace, asked_.output_tokens - 1, core_.crowd());
    }
}

Instant MockConnection::next_deadline() const {
    if (!ready_.empty() || !slow_.empty()) {
        return at_once;
    }
    if (phase_ == Phase::reading) {
        return idle_ends_;
    }
    return phase_ == Phase::stream || phase_ == Phase::whole ? schedule_.next() : never;
}

void MockConnection::produce(Instant now, std::string& out) {
    const bool slow = slow_left_ > 0 || !slow_.empty();
    std::string& into = slow ? slow_ : out;
    into += ready_;
    ready_.clear();
    if (idle_for_too_long(now)) {
        phase_ = Phase::over;
        action_ = Action::close;
    } else if (phase_ == Phase::page) {
        end_exchange(now);
    } else if (phase_ == Phase::stream) {
        produce_stream(now, into);
    } else if (phase_ == Phase::whole && schedule_.next() <= now) {
        produce_whole(now, into);
    }
    if (slow) {
        trickle(out);
    }
}

void MockConnection::produce_stream(Instant now, std::string& out) {
    while (phase_ == Phase::stream && schedule_.next() <= now && out.size() < produce_bytes_max) {
        if (!produce_fault(now, out)) {
            produce_chunk(now, out);
        }
    }
}

/// True where the fault of this request took the place of its next chunk.
bool MockConnection::produce_fault(Instant now, std::string& out) {
    if (fault_ == Fault::none || made_ < fault_at_) {
        return false;
    }
    send_head(out);
    switch (fault_) {
        case Fault::reset:
        case Fault::truncate:
            action_ = fault_ == Fault::reset ? Action::reset : Action::close;
            end_answer(now, Ending::faulted);
            phase_ = Phase::over;
            return true;
        case Fault::stall:
            phase_ = Phase::stalled;
            return true;
        case Fault::error:
            text_.append_error_end(out);
            end_answer(now, Ending::faulted);
            end_exchange(now);
            return true;
        case Fault::malformed:
            text_.append_broken_event(out);
            fault_ = Fault::none;
            return false;
        default:
            return false;  // the others do not strike in the middle
    }
}

/// The head, where it has not left yet.
void MockConnection::send_head(std::string& out) {
    if (!head_sent_) {
        append_stream_head(out, reply(), voice_->content_type);
        head_sent_ = true;
    }
}

std::uint32_t MockConnection::chunk_tokens() const {
    return std::min(core_.options_.pace.tokens_per_chunk, text_.tokens_until_turn(made_));
}

void MockConnection::produce_chunk(Instant now, std::string& out) {
    if (made_ == 0) {
        send_head(out);
        text_.append_opening(out);
    }
    const std::uint32_t tokens = chunk_tokens();
    text_.append_tokens(out, made_, tokens);
    made_ += tokens;
    if (core_.options_.keep_log) {
        log_.token_ns.push_back(now.ns);
    }
    if (made_ < asked_.output_tokens) {
        schedule_.advance(core_.options_.pace, chunk_tokens(), core_.crowd());
        return;
    }
    text_.append_end(out);
    end_answer(now, Ending::complete);
    end_exchange(now);
}

void MockConnection::produce_whole(Instant now, std::string& out) {
    std::string body;
    text_.append_body(body);
    std::string page;
    std::string count_field(voice_->count_field);
    if (!count_field.empty()) {
        count_field += ": " + std::to_string(log_.prompt_tokens) + "\r\n";
    }
    append_page(page, reply(), 200, "application/json", body, count_field);
    made_ = asked_.output_tokens;
    if (core_.options_.keep_log) {
        log_.token_ns.push_back(now.ns);
    }
    const std::size_t half = page.size() - body.size() / 2;
    switch (fault_) {
        case Fault::reset:
        case Fault::truncate:
            out.append(page, 0, half);
            action_ = fault_ == Fault::reset ? Action::reset : Action::close;
            end_answer(now, Ending::faulted);
            phase_ = Phase::over;
            return;
        case Fault::stall:
            out.append(page, 0, half);
            phase_ = Phase::stalled;
            return;
        case Fault::malformed:
            page[half] = '\x01';  // no JSON text holds a bare control byte
            break;
        case Fault::error:
            page.clear();
            append_refusal(page, reply(), {500, "InternalServerError", "Internal server error"},
                           voice_->refusal);
            log_.status = 500;
            break;
        default:
            break;
    }
    out += page;
    end_answer(now, Ending::complete);
    end_exchange(now);
}

/// Fault::slow: the first bytes of the answer leave one by one, the rest as it comes.
void MockConnection::trickle(std::string& out) {
    const std::size_t bytes =
        slow_left_ > 0 ? std::min<std::size_t>(slow_.size(), 1) : slow_.size();
    out.append(slow_, 0, bytes);
    slow_.erase(0, bytes);
    slow_left_ -= slow_left_ > 0 ? static_cast<std::uint32_t>(bytes) : 0;
}

/// The answer is over, in whichever way: its log entry is complete and its slot free.
void MockConnection::end_answer(Instant now, Ending ending) {
    log_.ending = ending;
    log_.end_ns = now.ns;
    log_.output_tokens = made_;
    Metrics& metrics = core_.metrics_;
    metrics.generation_tokens += made_;
    ++(ending == Ending::complete && log_.status == 200 ? metrics.requests_ok
                                                        : metrics.requests_failed);
    made_ = 0;
    ++core_.ended_;
    if (core_.options_.keep_log) {
        core_.finished_.push_back(std::move(log_));
        log_ = RequestLog();
    }
    if (has_slot_) {
        has_slot_ = false;
        core_.give_slot(now);
    }
}

/// The response is complete: the connection ends or reads its next request.
void MockConnection::end_exchange(Instant now) {
    const bool last = bad_http_ || last_on_connection();
    ++answered_;
    fault_ = Fault::none;
    if (last) {
        phase_ = Phase::over;
        action_ = Action::close;
        return;
    }
    phase_ = Phase::reading;
    parser_.reset();
    now_idle(now);
    if (!pipelined_.empty()) {
        const std::string bytes = std::exchange(pipelined_, {});
        take(bytes, now);
    }
}

}  // namespace driftless::mock
