#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/time.hpp"
#include "engine/io/sockets.hpp"
#include "engine/machines/meet.hpp"

namespace driftless {

namespace {

using Kind = MeetMessage::Kind;

}  // namespace

static constexpr int nap_ms = 100;
static constexpr int connect_ms = 2'000;  // to one address; then the next one is tried
// Shard 0, which listens, has begun to wait before us: it is the one to say who is missing.
static constexpr std::int64_t answer_ns = 2'000'000'000;
static constexpr int refused_max = 20;  // after the run: naps, until shard 0 is held to be gone

static MeetOutcome failed(std::string why) {
    MeetOutcome outcome;
    outcome.why = std::move(why);
    return outcome;
}

static MeetOutcome stopped() {
    MeetOutcome outcome;
    outcome.end = MeetOutcome::End::stopped;
    return outcome;
}

/// One try for each address. Where it is not open, `why` says what happened.
static Fd connect_to(const std::string& host, std::uint16_t port, const MeetSetting& setting,
                     std::string& why) {
    const Result<std::vector<Address>> found = resolve(host, port);
    if (!found) {
        why = "the name " + host + " does not resolve; start shard 0, or correct HOST:PORT";
        return {};
    }
    why = "no process answers there; start shard 0, or correct HOST:PORT";
    for (const Address& at : found.value()) {
        Fd socket(::socket(at.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (::connect(socket.number(), at.raw(), at.length) == 0) {
            return socket;
        }
        if (errno != EINPROGRESS) {
            continue;
        }
        pollfd one{socket.number(), POLLOUT, 0};
        for (int waited = 0; waited < connect_ms && !is_stopped(setting); waited += nap_ms) {
            if (::poll(&one, 1, nap_ms) > 0) {
                break;
            }
        }
        int error = 0;
        socklen_t length = sizeof error;
        (void)::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &length);
        if (one.revents != 0 && error == 0) {
            return socket;
        }
    }
    return {};
}

namespace {

/// How a talk ended.
struct Talk {
    MeetOutcome outcome;
    bool is_lost = false;  ///< the connection is gone, and may be made again
};

}  // namespace

static Talk closed() {
    return {failed("shard 0 closed the connection"), true};
}

static Talk not_shard_0() {
    return {
        failed("the process that answers there is not shard 0 of a driftless replay; correct "
               "HOST:PORT")};
}

namespace {

/// What shard 0 says next. Where it says nothing, or what it should not, `ended` says why.
struct Heard {
    std::optional<MeetMessage> message;
    Talk ended;
};

/// What shard 0 is to do by when.
struct Awaited {
    std::int64_t until_ns;
    const char* what;  ///< behind "shard 0 did not"
};

}  // namespace

static Heard hear(MeetLine& line, const MeetSetting& setting, Awaited awaited,
                  JsonDocument& document) {
    for (;;) {  // ends: at the deadline
        if (const std::optional<std::string> text = line.take(); text) {
            std::optional<MeetMessage> message = read_meet_message(*text, document);
            if (!message) {
                return {{}, not_shard_0()};
            }
            if (message->kind == Kind::refused) {
                return {{}, {failed(message->why)}};
            }
            return {std::move(message), {}};
        }
        if (is_stopped(setting)) {
            return {{}, {stopped()}};
        }
        if (monotonic_ns() > awaited.until_ns) {
            return {{}, {failed(std::string("shard 0 did not ") + awaited.what + " in time")}};
        }
        if (wait_for_bytes(line.fd(), awaited.until_ns, nap_ms) && !line.receive(setting.clock)) {
            return {{}, closed()};
        }
    }
}

/// The clocks, once shard 0 has asked for it. Returns what ended the talk; nothing: all went well.
static std::optional<Talk> measure(MeetLine& line, const MeetSetting& setting,
                                   std::int64_t until_ns, JsonDocument& document,
                                   std::vector<ClockExchange>& exchanges) {
    for (std::size_t i = 0; i < clock_exchanges; ++i) {
        if (!line.ask(setting.clock)) {
            return closed();
        }
        Heard heard =
            hear(line, setting, {until_ns, "answer while clocks were compared"}, document);
        if (!heard.message) {
            return std::move(heard.ended);
        }
        if (heard.message->kind != Kind::tell) {
            return not_shard_0();
        }
        heard.message->stamps.t4_ns = line.received_ns();
        exchanges.push_back(heard.message->stamps);
    }
    (void)line.send(to_line(of_kind(Kind::measured)));
    return std::nullopt;
}

/// The instant that shard 0 names, if it leaves us time.
static Talk agree(MeetLine& line, const MeetSetting& setting, std::int64_t until_ns,
                  JsonDocument& document, MeetOutcome outcome) {
    Heard named = hear(line, setting, {until_ns, "name time 0"}, document);
    if (!named.message || named.message->kind != Kind::start) {
        return std::move(named.ended);
    }
    outcome.start_ns = named.message->at_ns;
    const std::int64_t left_ns =
        outcome.start_ns + outcome.difference->offset_ns - setting.clock.now();
    if (left_ns < meet_lead_ns_min || left_ns > 2 * meet_lead_ns) {
        return {failed("the instant that shard 0 named is " + std::to_string(left_ns / 1'000'000) +
                       " ms away by this clock: the message came too late, or a clock was set")};
    }
    (void)line.send(to_line(of_kind(Kind::set)));
    const std::int64_t go_ns = monotonic_ns() + left_ns - meet_lead_ns_min / 2;
    Heard go = hear(line, setting, {go_ns, "send the start signal"}, document);
    if (!go.message || go.message->kind != Kind::go) {
        return {std::move(go.ended.outcome)};
    }
    outcome.end = MeetOutcome::End::met;
    return {std::move(outcome)};
}

static Talk talk(MeetLine& line, const MeetSetting& setting, std::int64_t until_ns) {
    JsonDocument document;
    MeetMessage hello = of_kind(Kind::hello);
    hello.hello = setting.own;
    if (!line.send(to_line(hello))) {
        return closed();
    }
    Heard called = hear(line, setting, {until_ns, "start the comparison of clocks"}, document);
    if (!called.message) {
        return std::move(called.ended);
    }
    std::vector<ClockExchange> exchanges;
    if (std::optional<Talk> ended = measure(line, setting, until_ns, document, exchanges)) {
        return std::move(*ended);
    }
    MeetOutcome outcome;
    outcome.difference = difference_of(exchanges);
    if (!outcome.difference) {
        return {failed("a clock was set while it was compared with that of shard 0")};
    }
    if (setting.own.phase == MeetPhase::before) {
        return agree(line, setting, until_ns, document, std::move(outcome));
    }
    outcome.end = MeetOutcome::End::met;
    return {std::move(outcome)};
}

MeetOutcome talk_to_host(MeetLine& line, const MeetSetting& setting, std::int64_t until_ns) {
    return talk(line, setting, until_ns).outcome;
}

MeetOutcome meet_as_guest(const std::string& host, std::uint16_t port, const MeetSetting& setting) {
    const std::int64_t until_ns = monotonic_ns() + setting.timeout_ns;
    const bool before = setting.own.phase == MeetPhase::before;
    const std::string closed =
        "shard 0 at " + host + ":" + std::to_string(port) + " closed the connection";
    bool was_closed = false;
    int refused = 0;
    for (;;) {  // ends: at the deadline
        std::string why;
        Fd socket = connect_to(host, port, setting, why);
        if (socket.is_open()) {
            MeetLine line(std::move(socket));
            Talk ended = talk(line, setting, monotonic_ns() + setting.timeout_ns + answer_ns);
            if (!ended.is_lost) {
                return std::move(ended.outcome);
            }
            was_closed = true;
            why = closed + "; its output says why";
        } else if (was_closed) {
            why = closed + ", and then no process answered there; its output says why";
        }
        if (is_stopped(setting)) {
            return stopped();
        }
        ++refused;
        if (monotonic_ns() > until_ns || (!before && refused > refused_max)) {
            return failed(std::move(why));
        }
        (void)::poll(nullptr, 0, nap_ms);
    }
}

}  // namespace driftless
