#include "cmd/mock/core.hpp"

#include <algorithm>
#include <utility>

#include "cmd/mock/pages.hpp"

namespace driftless::mock {

void KeepAlive::begin_idle(Instant now) {
    const Duration limit = options_.keep_alive_timeout;
    idle_ends_ = limit.ns == 0 ? never : now + limit;
}

void KeepAlive::announce(Reply& reply) const {
    if (options_.announce_keep_alive) {
        reply.timeout_s =
            static_cast<std::uint32_t>(options_.keep_alive_timeout.ns / seconds(1).ns);
        reply.answers_max = options_.keep_alive_requests;
    }
}

std::string& Outgoing::begin(std::string& out) {
    is_slow_ = slow_left_ > 0 || !slow_.empty();
    std::string& into = is_slow_ ? slow_ : out;
    into += ready_;
    ready_.clear();
    return into;
}

void Outgoing::finish(std::string& out) {
    if (!is_slow_) {
        return;
    }
    const std::size_t bytes =
        slow_left_ > 0 ? std::min<std::size_t>(slow_.size(), 1) : slow_.size();
    out.append(slow_, 0, bytes);
    slow_.erase(0, bytes);
    slow_left_ -= slow_left_ > 0 ? static_cast<std::uint32_t>(bytes) : 0;
}

static constexpr Instant at_once{0};

MockConnection::MockConnection(MockCore& core)
    : core_(core), request_(core), answer_(core, request_, log_), keep_alive_(core.options()) {}

void MockConnection::open(std::uint64_t number, Instant now) {
    number_ = number;
    phase_ = Phase::reading;
    action_ = Action::keep;
    has_slot_ = bad_http_ = false;
    request_.reset();
    pipelined_.clear();
    outgoing_ = Outgoing();
    keep_alive_.open(now);
    host = nullptr;
    if (refuses_connection(core_.options().faults, mix64(core_.options().seed ^ number))) {
        end_connection(Action::reset);
    }
}

/// The peer is gone. What was being made ends here.
void MockConnection::abandon(Instant now) {
    if (phase_ == Phase::queued) {
        core_.leave_queue(*this);
    }
    if (phase_ == Phase::queued || phase_ == Phase::making) {
        end_answer(now, Ending::aborted);
    } else if (phase_ == Phase::stalled) {
        end_answer(now, Ending::faulted);
    }
    phase_ = Phase::over;
}

void MockConnection::receive(std::string_view bytes, Instant now) {
    if (phase_ != Phase::reading) {
        if (pipelined_.size() + bytes.size() > pipelined_bytes_max) {
            abandon(now);
            action_ = Action::reset;
        } else if (phase_ != Phase::over) {
            pipelined_ += bytes;
        }
        return;
    }
    take(bytes, now);
}

void MockConnection::take(std::string_view bytes, Instant now) {
    if (request_.head().idle()) {
        keep_alive_.end_idle();
        log_ = RequestLog();
        log_.start_ns = now.ns;
    }
    bool more = true;
    while (more && phase_ == Phase::reading) {  // every step consumes bytes or ends the request
        switch (request_.feed(bytes)) {
            case RequestReader::Found::part:
                more = false;
                break;
            case RequestReader::Found::head:
                take_head();
                break;
            case RequestReader::Found::done:
                take_request(now);
                break;
            case RequestReader::Found::bad:
                append_bad_http(outgoing_.ready(), request_.head().head_too_large());
                phase_ = Phase::page;
                bad_http_ = true;
                return;
        }
    }
    pipelined_ += bytes;
}

void MockConnection::take_head() {
    const RequestParser& head = request_.head();
    Fault fault = Fault::none;
    log_.request_id = head.header("X-Request-Id");
    if (request_.route() == Route::generate) {
        if (log_.request_id.empty()) {
            log_.request_id =
                "mock." + std::to_string(number_) + '.' + std::to_string(keep_alive_.answered());
        }
        log_.row = row_of_request_id(log_.request_id);
        log_.traceparent = head.header("traceparent");
        take_session();
        log_.connection = number_;
        log_.api = dialect_of(request_.voice()->api).name;
        answer_.plan();
        fault = answer_.fault();
    }
    if (fault == Fault::refuse) {
        end_answer({log_.start_ns}, Ending::faulted);
        end_connection(Action::reset);
    } else if (head.expects_continue()) {
        outgoing_.ready() += "HTTP/1.1 100 Continue\r\n\r\n";
    }
    outgoing_.begin_answer(fault == Fault::slow);
}

/// The header fields that say whose request it is, where anybody asks for them.
void MockConnection::take_session() {
    const CoreOptions& options = core_.options();
    if (!options.keep_log && options.check_history == 0) {
        return;
    }
    for (const std::string& name : options.session_headers) {
        const std::string_view value = request_.head().header(name);
        if (value.data() != nullptr) {
            log_.session.push_back({name, std::string(value)});
        }
    }
}

void MockConnection::take_request(Instant now) {
    log_.last_byte_ns = now.ns;
    phase_ = Phase::page;
    if (request_.body_refused()) {
        refuse({413, "BadRequestError", "The request body is too large or too deep."}, now);
        return;
    }
    switch (request_.route()) {
        case Route::generate:
            answer_completion(now);
            break;
        case Route::tokenize:
            answer_tokenize(now);
            break;
        case Route::apply_template:
            answer_template(now);
            break;
        case Route::other:
            answer_page(outgoing_.ready(), reply(), request_.head(), core_, now);
            break;
    }
}

void MockConnection::answer_tokenize(Instant now) {
    const CoreOptions& options = core_.options();
    if (const auto refusal = request_.read_tokenize()) {
        refuse(*refusal, now);
    } else {
        append_tokenized(outgoing_.ready(), reply(), options.model, request_.prompt().recorded(),
                         options.tokenize);
    }
}

void MockConnection::answer_template(Instant now) {
    std::string escaped;
    if (const auto refusal = request_.read_template(escaped)) {
        refuse(*refusal, now);
    } else {
        append_templated(outgoing_.ready(), reply(), escaped);
    }
}

void MockConnection::answer_completion(Instant now) {
    const auto refusal = request_.read_completion();
    log_.stream = request_.asked().stream;
    log_.prompt_tokens = request_.prompt().tokens();
    log_.asked_tokens = request_.asked().output_tokens;
    core_.check_history(log_, request_.history());
    if (refusal) {
        refuse(*refusal, now);
    } else if (answer_.fault() == Fault::http_429) {
        refuse({429, "RateLimitError", "Rate limit reached (fault 429)."}, now,
               "retry-after: 1\r\n");
    } else if (answer_.fault() == Fault::http_500) {
        refuse({500, "InternalServerError", "Internal server error (fault 500)."}, now);
    } else {
        open_answer(now);
    }
}

/// The request is good: its answer takes or awaits a slot.
void MockConnection::open_answer(Instant now) {
    answer_.begin(reply(), now, outgoing_.ready());
    if (core_.in_steps()) {
        phase_ = Phase::making;
        answer_.join(*this, now);
        return;
    }
    phase_ = Phase::queued;
    if (core_.take_slot(*this)) {
        start_making(now);
    }
}

void MockConnection::start_making(Instant now) {
    has_slot_ = true;
    phase_ = Phase::making;
    answer_.start(now);
}

/// An answer at once instead of tokens.
void MockConnection::refuse(const Refusal& refusal, Instant now, std::string_view extra_fields) {
    const Voice* const voice = request_.voice();
    append_refusal(outgoing_.ready(), reply(), refusal, voice != nullptr ? voice->refusal : nullptr,
                   extra_fields);
    if (request_.route() == Route::generate) {
        log_.status = refusal.status;
        end_answer(now, Ending::complete);
    }
}

Instant MockConnection::next_deadline() const {
    if (outgoing_.is_waiting()) {
        return at_once;
    }
    if (phase_ == Phase::reading) {
        return keep_alive_.idle_ends();
    }
    return phase_ == Phase::making ? answer_.due() : never;
}

void MockConnection::produce(Instant now, std::string& out) {
    std::string& into = outgoing_.begin(out);
    if (idle_for_too_long(now)) {
        end_connection(Action::close);
    } else if (phase_ == Phase::page) {
        end_exchange(now);
    } else if (phase_ == Phase::making) {
        follow(answer_.produce(now, into), now);
    }
    outgoing_.finish(out);
}

/// What follows from how far the answer is.
void MockConnection::follow(MockAnswer::State state, Instant now) {
    switch (state) {
        case MockAnswer::State::going:
            break;
        case MockAnswer::State::complete:
            end_answer(now, Ending::complete);
            end_exchange(now);
            break;
        case MockAnswer::State::error_end:
            end_answer(now, Ending::faulted);
            end_exchange(now);
            break;
        case MockAnswer::State::stalled:
            phase_ = Phase::stalled;
            break;
        case MockAnswer::State::cut:
            end_answer(now, Ending::faulted);
            end_connection(Action::close);
            break;
        case MockAnswer::State::reset:
            end_answer(now, Ending::faulted);
            end_connection(Action::reset);
            break;
    }
}

/// The answer is over, in whichever way: its log entry is complete and its slot free.
void MockConnection::end_answer(Instant now, Ending ending) {
    answer_.end(now);
    log_.ending = ending;
    log_.end_ns = now.ns;
    log_.output_tokens = answer_.made();
    core_.count_end(log_);
    if (has_slot_) {
        has_slot_ = false;
        core_.give_slot(now);
    }
}

/// The response is complete: the connection ends or reads its next request.
void MockConnection::end_exchange(Instant now) {
    const bool last = bad_http_ || last_on_connection();
    keep_alive_.count_answer();
    if (last) {
        end_connection(Action::close);
        return;
    }
    phase_ = Phase::reading;
    request_.reset();
    keep_alive_.begin_idle(now);
    if (!pipelined_.empty()) {
        const std::string bytes = std::exchange(pipelined_, {});
        take(bytes, now);
    }
}

bool MockConnection::idle_for_too_long(Instant now) const {
    return phase_ == Phase::reading && request_.head().idle() && now >= keep_alive_.idle_ends();
}

Reply MockConnection::reply() const {
    Reply reply{
        .request_id = log_.request_id, .close = last_on_connection(), .pod = core_.options().pod};
    keep_alive_.announce(reply);
    return reply;
}

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

}  // namespace driftless::mock
