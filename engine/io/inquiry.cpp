#include "engine/io/inquiry.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/io/sockets.hpp"

namespace driftless {

/// Below it, a limit of the user's is a likelier cause than the server.
static constexpr std::int64_t strict_ns = 1'000'000'000;

namespace {

/// "not established", and behind the limit the remedy.
struct PhaseWords {
    const char* flag;
    const char* before;  ///< the limit
    const char* remedy;
};

}  // namespace

static PhaseWords words_of(AskPhase phase) {
    switch (phase) {
        case AskPhase::connect:
            return {"--timeout-connect", "no connection was established within ",
                    "check host and port of --url, and firewalls on the way"};
        case AskPhase::handshake:
            return {"--timeout-connect",
                    "the port accepted the connection, but the TLS handshake did not end within ",
                    "if the server speaks plain http, use http:// in --url"};
        case AskPhase::first_byte:
            return {"--timeout-first-byte", "the first byte of an answer did not come within ",
                    "check that the server is not stuck or overloaded, and that it speaks HTTP on "
                    "this port; if it speaks TLS, use https:// in --url"};
        case AskPhase::rest:
            break;
    }
    return {"--timeout-idle", "the answer began, and then nothing more of it came for ",
            "see the log of the server, or of the proxy in front of it, for the reason"};
}

AskLimits AskLimits::capped(Duration longest) const {
    AskLimits limits = *this;
    for (Duration* limit : {&limits.connect, &limits.first_byte, &limits.idle, &limits.total}) {
        limit->ns = std::min(limit->ns, longest.ns);
    }
    return limits;
}

std::string limit_text(Duration limit) {
    char text[48];
    const double seconds = static_cast<double>(limit.ns) / 1e9;
    if (seconds < 1) {
        (void)std::snprintf(text, sizeof text, "%.4g ms", seconds * 1e3);
    } else if (seconds <= 120) {
        (void)std::snprintf(text, sizeof text, "%.4g s", seconds);
    } else {
        (void)std::snprintf(text, sizeof text, "%.4g min", seconds / 60);
    }
    return text;
}

std::string describe(const AskTimeout& timeout) {
    const PhaseWords words = words_of(timeout.phase);
    const bool is_late_end = timeout.is_total && timeout.phase == AskPhase::rest;
    const char* const flag = timeout.is_total ? "--timeout-total" : words.flag;
    const bool is_strict = timeout.by_flag && timeout.limit.ns < strict_ns;
    return (is_late_end ? "the answer did not end within " : words.before) +
           limit_text(timeout.limit) +
           (timeout.by_flag ? " (" + std::string(flag) + ")" : std::string()) + "; " +
           (is_strict ? "allow more time, or " : "") + words.remedy;
}

/// An end that the kernel has lost is seen after so long.
static constexpr Duration end_unseen_max = milliseconds(500);

Inquiry::Inquiry(Loop& loop) : loop_(loop) {
    connect_.handler = send_.handler = cancel_.handler = &Inquiry::on_done;
    receive_.handler = &Inquiry::on_receive;
    timer_.handler = &Inquiry::on_timer;
    connect_.owner = send_.owner = cancel_.owner = receive_.owner = this;
    timer_.owner = this;
}

Inquiry::~Inquiry() {
    CHECK(!socket_.open());
}

void Inquiry::fail(const Error& error) {
    if (!failed_) {
        failed_ = true;
        error_ = error;
    }
    progress_.notify();
}

void Inquiry::on_done(Op& op, const Completion& done) {
    Inquiry& self = *static_cast<Inquiry*>(op.owner);
    if (&op != &self.cancel_) {
        self.result_ = done.result;
        self.stamp_ = done.stamp;
    }
    self.progress_.notify();
}

/// Until the limit an end that the kernel has lost is looked for.
void Inquiry::on_timer(Timer& timer, Instant now) {
    Inquiry& self = *static_cast<Inquiry*>(timer.owner);
    if (now >= self.deadline_) {
        self.fail({ErrorCode::timed_out, 0, "wait for the server"});
        return;
    }
    if (self.receive_.in_flight()) {
        const QuietReceive quiet{&self.receive_, now - end_unseen_max};
        self.loop_.driver().find_ends({&quiet, 1});
    }
    self.set_timer();
}

void Inquiry::set_timer() {
    const Instant look = loop_.driver().now() + end_unseen_max;
    loop_.timers().set(timer_, std::min(deadline_, look));
}

/// From here on it waits for this, until the limit of the phase or the whole one is reached.
void Inquiry::wait_for(AskPhase phase) {
    const Instant now = loop_.driver().now();
    const bool connects = phase == AskPhase::connect || phase == AskPhase::handshake;
    const Duration limit = connects                        ? limits_.connect
                           : phase == AskPhase::first_byte ? limits_.first_byte
                                                           : limits_.idle;
    const Instant of_phase = (connects ? begin_ : now) + limit;
    const Instant of_all = begin_ + limits_.total;
    timeout_.phase = phase;
    timeout_.is_total = of_all < of_phase;
    timeout_.limit = timeout_.is_total ? limits_.total : limit;
    timeout_.by_flag = timeout_.limit < limits_.own_bound;
    deadline_ = timeout_.is_total ? of_all : of_phase;
    set_timer();
}

void Inquiry::on_receive(Op& op, const Completion& done) {
    Inquiry& self = *static_cast<Inquiry*>(op.owner);
    const bool answers = self.timeout_.phase >= AskPhase::first_byte;
    if (done.result > 0 && answers && !self.failed_ && !self.complete_) {
        self.wait_for(AskPhase::rest);
    }
    if (done.result > 0 && self.tls_.state() != TlsStream::State::none) {
        self.take_records(done.bytes, done.stamp);
    } else if (done.result > 0) {
        self.take(done.bytes, done.stamp);
    } else if (!self.complete_ && !self.failed_) {
        const bool shaking = self.tls_.state() == TlsStream::State::handshake;
        const bool cut = self.tls_.state() == TlsStream::State::open;  // without a close_notify
        if (shaking) {
            self.tls_.fail_closed();
            self.fail_tls();
        } else if (done.result == 0 && !cut && self.parser_.finish()) {
            self.complete_ = true;
        } else if (done.result == 0) {
            self.fail({ErrorCode::closed, 0, "read the answer"});
        } else {
            self.fail(error_from_errno(-done.result, "read the answer"));
        }
    }
    self.progress_.notify();
}

void Inquiry::fail_tls() {
    tls_failure_ = tls_.failure();
    fail({ErrorCode::denied, 0, "speak TLS"});
}

// Before time 0 nothing is in a hurry: arithmetic is done as bytes come.
void Inquiry::take_records(std::string_view records, Instant stamp) {
    if (tls_.state() == TlsStream::State::handshake) {
        tls_.take(records);
        tls_.step();
    } else {
        tls_.feed(records);
    }
    for (;;) {  // bounded: each round takes a record out of what was received
        const std::string_view plain = tls_.read(plain_.data(), plain_.size());
        if (plain.empty()) {
            break;
        }
        take(plain, stamp);
    }
    if (tls_.state() == TlsStream::State::failed && !complete_) {
        fail_tls();
    } else if (tls_.state() == TlsStream::State::ended && !complete_) {
        complete_ = parser_.finish();
        if (!complete_) {
            fail({ErrorCode::closed, 0, "read the answer"});
        }
    }
}

void Inquiry::take_body(std::string_view bytes, Instant stamp) {
    const std::size_t shown = reply_.body.size();
    reply_.first_body = shown == 0 ? stamp : reply_.first_body;
    reply_.body.append(bytes);
    reply_.body_receives += reply_.last_body == stamp ? 0 : 1;
    reply_.last_body = stamp;
    if (watch_.owner != nullptr && watch_.is_enough(watch_.owner, reply_.body, shown)) {
        complete_ = reply_.is_cut = true;
    } else if (reply_.body.size() > body_bytes_max) {
        fail({ErrorCode::too_large, 0, "read the answer (16 MiB at most)"});
    }
}

void Inquiry::take(std::string_view bytes, Instant stamp) {
    begun_.append(bytes.substr(0, begun_bytes_max - begun_.size()));
    while (!complete_ && !failed_) {
        const ResponseParser::Step step = parser_.feed(bytes);
        bytes.remove_prefix(step.consumed);
        switch (step.piece) {
            case ResponsePiece::need_more:
                return;
            case ResponsePiece::head_bytes:
                reply_.head.append(step.span);
                break;
            case ResponsePiece::head_done:
                reply_.status = parser_.status();
                reply_.limits = parser_.keep_alive_limits();
                reply_.headers = stamp;
                break;
            case ResponsePiece::body:
                take_body(step.span, stamp);
                break;
            case ResponsePiece::done:
                reply_.keep_alive = parser_.keep_alive();
                complete_ = true;
                break;
            case ResponsePiece::error:
                fail({ErrorCode::bad_http, 0, parser_.error_text()});
                break;
        }
    }
}

/// Suspends until the connect ends; a failure (the timer) cancels it.
Task<void> Inquiry::connect(const Address& address) {
    const Result<Socket> made = loop_.driver().open_socket(address);
    if (!made) {
        fail(made.error());
        co_return;
    }
    socket_ = made.value();
    connect_.spec.kind = OpKind::connect;
    connect_.spec.socket = socket_;
    connect_.spec.address = &address;
    loop_.driver().submit(connect_);
    while (connect_.in_flight() || cancel_.in_flight()) {
        co_await progress_.wait();
        if (failed_) {
            cancel_once(loop_.driver(), cancel_, connect_);
        }
    }
    if (!failed_ && result_ < 0) {
        fail(error_from_errno(-result_, "connect"));
    }
}

/// Suspends until the connection is open, or has failed.
Task<void> Inquiry::shake_hands(TlsPeer& peer) {
    tls_.connect(peer);
    tls_.step();
    while (!failed_ && (tls_.state() == TlsStream::State::handshake || tls_.has_output())) {
        if (tls_.has_output()) {
            sealed_ = tls_.take_output();
            co_await send(sealed_);
        } else {
            co_await progress_.wait();
        }
    }
    if (!failed_ && tls_.state() == TlsStream::State::failed) {
        fail_tls();
    }
}

/// The whole request as records, one behind the other.
void Inquiry::seal(std::string_view request) {
    sealed_.resize(request.size() + seal_room(request.size()));
    std::size_t used = 0;
    while (!request.empty() && tls_.state() == TlsStream::State::open) {
        const std::string_view plain = request.substr(0, record_bytes_max);
        used += tls_.seal(plain, sealed_.data() + used, sealed_.size() - used);
        request.remove_prefix(plain.size());
    }
    sealed_.resize(used);
    if (tls_.state() == TlsStream::State::failed) {
        fail_tls();
    }
}

/// Suspends until the kernel has taken the bytes, or the answer has come early.
Task<void> Inquiry::send(std::string_view bytes) {
    while (!bytes.empty() && !failed_ && !complete_) {
        send_.spec.kind = OpKind::send;
        send_.spec.socket = socket_;
        send_.spec.bytes = bytes;
        loop_.driver().submit(send_);
        while (send_.in_flight() && !failed_ && !complete_) {
            co_await progress_.wait();
        }
        if (send_.in_flight()) {
            co_return;
        }
        if (result_ <= 0) {
            co_return;  // an early answer may still be read; the receive tells how this ends
        }
        bytes.remove_prefix(static_cast<std::size_t>(result_));
        reply_.sent = stamp_;
    }
}

Task<void> Inquiry::read() {
    while (!failed_ && !complete_) {
        co_await progress_.wait();
    }
}

/// Suspends until the kernel holds nothing of ours: `Driver::cancel_max` for each operation at
/// most.
Task<void> Inquiry::close() {
    if (!socket_.open()) {
        co_return;
    }
    tls_.say_goodbye();
    if (tls_.has_output() && !send_.in_flight()) {  // an alert or that, as far as it goes at once
        sealed_ = tls_.take_output();
        send_.spec.bytes = sealed_;
        loop_.driver().submit(send_);
        (void)loop_.driver().flush();
    }
    loop_.driver().shutdown(socket_);
    while (receive_.in_flight() || send_.in_flight() || cancel_.in_flight()) {
        cancel_once(loop_.driver(), cancel_, receive_.in_flight() ? receive_ : send_);
        co_await progress_.wait();
    }
    loop_.driver().close(socket_);
    socket_ = Socket{};
    tls_.close();
}

Task<Result<Reply>> Inquiry::ask(const Address& address, TlsPeer* tls, std::string_view request,
                                 AskLimits limits, BodyWatch watch) {
    failed_ = complete_ = false;
    watch_ = watch;
    tls_failure_ = 0;
    plain_.resize(tls != nullptr ? record_bytes_max : 0);
    reply_ = Reply{};
    begun_.clear();
    parser_.reset();
    progress_.clear();
    cancel_.spec.target = nullptr;
    limits_ = limits;
    begin_ = loop_.driver().now();
    wait_for(AskPhase::connect);
    co_await connect(address);
    if (!failed_) {
        receive_.spec.kind = OpKind::receive;
        receive_.spec.socket = socket_;
        loop_.driver().submit(receive_);
    }
    if (!failed_ && tls != nullptr) {
        wait_for(AskPhase::handshake);
        co_await shake_hands(*tls);
        seal(failed_ ? std::string_view() : request);
        request = sealed_;
    }
    if (!failed_) {
        wait_for(AskPhase::first_byte);
        co_await send(request);
        co_await read();
    }
    loop_.timers().clear(timer_);
    co_await close();
    if (failed_) {
        co_return error_;
    }
    co_return std::move(reply_);
}

Task<void> Asking::ask() {
    Result<Reply> answer = co_await inquiry_.ask(question_.address, question_.tls,
                                                 question_.request, AskLimits(limit_));
    answer_.emplace(std::move(answer));
}

}  // namespace driftless
