/// AskLimits: how long one question to a server may take, phase by phase, and the words for a limit
/// that was reached. Values. A question has a bound of its own for every phase; the flags of the
/// rows (`--timeout-connect`, ..) can only shorten it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/task.hpp"
#include "engine/base/time.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/tls.hpp"
#include "proto/core/errors.hpp"
#include "proto/http/parsers.hpp"

namespace driftless {

/// What a question waits for, in the order of time.
enum class AskPhase : std::uint8_t {
    connect,     ///< the connection
    handshake,   ///< TLS on it; within the limit of the connection
    first_byte,  ///< of the answer
    rest,        ///< of the answer
};

struct AskLimits {
    explicit AskLimits(Duration own)
        : own_bound(own), connect(own), first_byte(own), idle(own), total(own) {}

    Duration own_bound;   ///< limits below it come from flags, which messages then name
    Duration connect;     ///< from the beginning; with the TLS handshake
    Duration first_byte;  ///< from the send
    Duration idle;        ///< longest pause inside the answer
    Duration total;       ///< from the beginning to the end of the answer

    /// Each limit, where it is longer than this, becomes this.
    AskLimits capped(Duration longest) const;
};

/// The limit that ended a question.
struct AskTimeout {
    AskPhase phase = AskPhase::connect;
    Duration limit;
    bool is_total = false;  ///< `total`, in any phase
    bool by_flag = false;   ///< it is shorter than the question's own bound
};

/// What was waited for, how long, by which flag, and the remedy: clauses for people.
std::string describe(const AskTimeout& timeout);
/// "2 s", "1.5 s", "250 ms", "10 min".
std::string limit_text(Duration limit);

// Inquiry: one HTTP request and its whole answer, on a connection of its own.
//
// It collects bodies and takes its time: for the preflight, before time 0, on the run's driver, so
// that what it finds out is found the way the run will go; and for timed events, on a driver of
// their own thread. Never for rows. Reusable, one request at a time;
// immovable.

/// An answer as it came. Instants are the driver's.
struct Reply {
    int status = 0;
    std::string head;
    std::string body;
    Instant sent;                     ///< the last byte was accepted by the kernel
    Instant headers;                  ///< the head was complete
    Instant first_body;               ///< the first body byte; 0 where there was none
    Instant last_body;                ///< the latest receive that brought some
    std::uint32_t body_receives = 0;  ///< those that brought some, told apart by their stamps
    bool keep_alive = false;
    bool is_cut = false;     ///< its reader had enough of it
    KeepAliveLimits limits;  ///< what the head says of its connection
};

/// Looks at a body as it comes; true: that is enough. The answer ends there, and its connection is
/// closed, which stops the server.
struct BodyWatch {
    void* owner = nullptr;  ///< null: answers are read to their end
    /// `shown`: so many bytes of this body it has seen before; 0: an answer begins.
    bool (*is_enough)(void* owner, std::string_view body, std::size_t shown) = nullptr;
};

/// A request, and where it goes to.
struct Question {
    Address address;
    TlsPeer* tls = nullptr;  ///< null: plain; outlives the question
    std::string request;     ///< a whole HTTP/1.1 request
};

class Inquiry {
  public:
    explicit Inquiry(Loop& loop);
    ~Inquiry();
    Inquiry(const Inquiry&) = delete;
    Inquiry& operator=(const Inquiry&) = delete;

    /// Connects, sends `request` (a whole HTTP/1.1 request), reads the answer to its end, closes.
    /// Errors: refused, unreachable, reset, closed (before the answer was complete), timed_out,
    /// denied (TLS failed), bad_http, too_large. `tls`: null for a plain server. What it refers to
    /// outlives the call (Task).
    Task<Result<Reply>> ask(const Address& address, TlsPeer* tls, std::string_view request,
                            AskLimits limits, BodyWatch watch = {});
    /// Which limit it reached, where the latest call ended with `timed_out` by this timer (its
    /// `sys_errno` is 0 then).
    const AskTimeout& timeout() const { return timeout_; }
    /// What the latest call waited for in the end.
    AskPhase phase() const { return timeout_.phase; }
    /// Why TLS failed, where it did in the latest call; else 0.
    TlsFailure tls_failure() const { return tls_failure_; }
    /// The first bytes that the server said in the latest call, HTTP or not.
    std::string_view begun() const { return begun_; }

    /// Gives up what is being asked: it ends soon with `cancelled`.
    void cancel() { fail({ErrorCode::cancelled, 0, "ask the server"}); }

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return loop_.frames(); }
    ReadyList& ready() { return loop_.ready(); }

    /// A models list or a tokenised word list stays far below this.
    static constexpr std::size_t body_bytes_max = 16 << 20;
    static constexpr std::size_t begun_bytes_max = 64;

  private:
    void wait_for(AskPhase phase);
    Task<void> connect(const Address& address);
    Task<void> shake_hands(TlsPeer& peer);
    Task<void> send(std::string_view bytes);
    Task<void> read();
    Task<void> close();
    void fail(const Error& error);
    void seal(std::string_view request);
    void take_records(std::string_view records, Instant stamp);
    void fail_tls();
    void take(std::string_view bytes, Instant stamp);
    void take_body(std::string_view bytes, Instant stamp);

    static void on_done(Op& op, const Completion& done);
    static void on_receive(Op& op, const Completion& done);
    void set_timer();
    static void on_timer(Timer& timer, Instant now);

    Loop& loop_;
    Op connect_;
    Op send_;
    Op receive_;
    Op cancel_;
    Timer timer_;
    AskLimits limits_{Duration{}};
    AskTimeout timeout_;
    BodyWatch watch_;
    Instant begin_;
    Instant deadline_;
    Signal progress_;
    Socket socket_;
    TlsStream tls_;
    TlsFailure tls_failure_ = 0;
    std::string sealed_;  ///< the request as records, or bytes of TLS itself
    std::string plain_;   ///< room for what one record holds
    ResponseParser parser_;
    Reply reply_;
    std::string begun_;
    Error error_;
    std::int32_t result_ = 0;
    Instant stamp_;
    bool failed_ = false;
    bool complete_ = false;
};

/// Asking: a question on its way, as a job of a loop beside others. It owns its connection, ends by
/// itself within its limit, and never moves.
class Asking {
  public:
    /// `question` outlives this.
    Asking(Loop& loop, const Question& question, Duration limit)
        : loop_(loop), inquiry_(loop), question_(question), limit_(limit) {}

    void begin() { loop_.jobs().spawn(ask()); }
    /// Gives it up: it ends soon.
    void cancel() { inquiry_.cancel(); }
    /// Nothing while it is on its way.
    std::optional<Result<Reply>>& answer() { return answer_; }

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return loop_.frames(); }
    ReadyList& ready() { return loop_.ready(); }

  private:
    /// Root job; ends in `answer_`.
    Task<void> ask();

    Loop& loop_;
    Inquiry inquiry_;
    const Question& question_;
    Duration limit_;
    std::optional<Result<Reply>> answer_;
};

}  // namespace driftless
