#include "engine/machines/meet.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/base/time.hpp"
#include "proto/core/text.hpp"
#include "proto/json/members.hpp"

namespace driftless {

/// Stamps of a stranger may be anything: beyond this no arithmetic is done with them. Of the year
/// 2116, and far from where sums of two overflow.
static constexpr std::int64_t stamp_ns_max = std::int64_t{1} << 62;

static std::int64_t read_realtime(const void*) {
    timespec time{};
    (void)::clock_gettime(CLOCK_REALTIME, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

static bool is_possible(const ClockExchange& one) {
    for (const std::int64_t stamp : {one.t1_ns, one.t2_ns, one.t3_ns, one.t4_ns}) {
        if (stamp < 0 || stamp > stamp_ns_max) {
            return false;
        }
    }
    return one.t1_ns <= one.t4_ns && one.t2_ns <= one.t3_ns &&
           one.t3_ns - one.t2_ns <= one.t4_ns - one.t1_ns;
}

MeetClock realtime_clock() {
    return {read_realtime, nullptr};
}

std::optional<ClockDifference> difference_of(std::span<const ClockExchange> exchanges) {
    std::optional<ClockDifference> best;
    for (const ClockExchange& one : exchanges) {
        if (!is_possible(one)) {
            continue;
        }
        const std::int64_t round_trip_ns = (one.t4_ns - one.t1_ns) - (one.t3_ns - one.t2_ns);
        if (best && round_trip_ns >= best->round_trip_ns) {
            continue;
        }
        // Halves are taken of small numbers: the sum of two stamps would overflow.
        const std::int64_t there_ns = one.t1_ns - one.t2_ns;
        const std::int64_t back_ns = one.t4_ns - one.t3_ns;
        best = {there_ns + (back_ns - there_ns) / 2, (round_trip_ns + 1) / 2, round_trip_ns};
    }
    return best;
}

std::optional<std::int64_t> kernel_clock_error_ns() {
    timex facts{};
    const int state = ::adjtimex(&facts);
    if (state == -1 || state == TIME_ERROR || (facts.status & STA_UNSYNC) != 0) {
        return {};
    }
    return std::int64_t{facts.maxerror} * 1'000;
}

namespace {

using Kind = MeetMessage::Kind;

}  // namespace

/// As much of a reason as the other side takes: whole characters, and a line that is not too long
/// with its escapes.
static std::string_view cut_reason(std::string_view why) {
    constexpr std::size_t bytes_max =
        meet_line_bytes_max - std::string_view(R"({"say":"refused","why":""})").size();
    why = why.substr(0, meet_text_bytes_max);
    constexpr std::string_view short_escapes = "\"\\\b\f\n\r\t";
    std::size_t kept = 0;
    std::size_t written = 0;
    for (const char c : why) {
        written += short_escapes.find(c) != short_escapes.npos ? 2
                   : static_cast<unsigned char>(c) < 0x20      ? 6
                                                               : 1;
        kept += written <= bytes_max ? 1 : 0;
    }
    why = why.substr(0, kept);
    return why.substr(0, utf8_valid_prefix(why));
}

/// Numbers and texts are such as the other side writes.
static bool is_sane(const MeetMessage& message) {
    const MeetHello& hello = message.hello;
    const ClockExchange& stamps = message.stamps;
    return (message.kind != Kind::hello || hello.index < hello.count) &&
           std::min({stamps.t1_ns, stamps.t2_ns, stamps.t3_ns, message.at_ns}) >= 0 &&
           std::max({hello.version.size(), hello.trace_digest.size(), hello.plan_digest.size(),
                     message.why.size()}) <= meet_text_bytes_max;
}

/// What belongs to its kind.
static void walk(auto& fields, IsOf<MeetMessage> auto& message) {
    fields.value("say", 1, message.kind);
    if (message.kind == Kind::hello) {
        fields.value("phase", 1, message.hello.phase);
        fields.value("index", 1, message.hello.index);
        fields.value("count", 1, message.hello.count);
        fields.value("version", 1, message.hello.version);
        fields.value("trace", 1, message.hello.trace_digest);
        fields.value("plan", 1, message.hello.plan_digest);
    }
    if (message.kind == Kind::ask || message.kind == Kind::tell) {
        fields.value("t1", 1, message.stamps.t1_ns);
    }
    if (message.kind == Kind::tell) {
        fields.value("t2", 1, message.stamps.t2_ns);
        fields.value("t3", 1, message.stamps.t3_ns);
    }
    if (message.kind == Kind::start) {
        fields.value("at", 1, message.at_ns);
    }
    if (message.kind == Kind::refused) {
        fields.value("why", 1, message.why);
    }
}

std::string to_line(const MeetMessage& message) {
    MeetMessage cut = message;
    cut.why = cut_reason(message.why);
    std::string line;
    JsonWriter json(line);
    MemberWriter(json).write(cut);
    return line + '\n';
}

std::optional<MeetMessage> read_meet_message(std::string_view line, JsonDocument& document) {
    if (line.size() > meet_line_bytes_max) {
        return {};
    }
    const auto read = read_json_line<MeetMessage>(document, line, "read a message");
    return read && is_sane(read.value()) ? std::optional(read.value()) : std::nullopt;
}

bool MeetLine::receive(const MeetClock& clock) {
    char bytes[meet_line_bytes_max];
    const ssize_t count = ::recv(socket_.number(), bytes, sizeof bytes, 0);
    const int error = errno;
    received_ns_ = clock.now();
    if (count < 0) {
        return error == EAGAIN || error == EINTR;
    }
    received_.append(bytes, static_cast<std::size_t>(count));
    return count > 0 &&
           (received_.size() <= meet_line_bytes_max || received_.find('\n') != received_.npos);
}

std::optional<std::string> MeetLine::take() {
    const std::size_t end = received_.find('\n');
    if (end == received_.npos) {
        return {};
    }
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
}

bool MeetLine::send(std::string_view line) {
    const ssize_t count = ::send(socket_.number(), line.data(), line.size(), MSG_NOSIGNAL);
    return count == static_cast<ssize_t>(line.size());
}

bool MeetLine::ask(const MeetClock& clock) {
    MeetMessage message;
    message.kind = MeetMessage::Kind::ask;
    message.stamps.t1_ns = clock.now();
    return send(to_line(message));
}

bool MeetLine::tell(ClockExchange stamps, const MeetClock& clock) {
    MeetMessage message;
    message.kind = MeetMessage::Kind::tell;
    message.stamps = stamps;
    message.stamps.t3_ns = clock.now();
    return send(to_line(message));
}

bool wait_for_bytes(int fd, std::int64_t until_ns, int nap_ms) {
    const std::int64_t left_ms = (until_ns - monotonic_ns()) / 1'000'000 + 1;
    const auto wait_ms = static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, nap_ms));
    pollfd one{fd, POLLIN, 0};
    return ::poll(&one, 1, wait_ms) > 0;
}

}  // namespace driftless
