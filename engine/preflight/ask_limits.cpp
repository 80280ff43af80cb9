#include "engine/preflight/ask_limits.hpp"

#include <algorithm>
#include <cstdio>

namespace driftless {

namespace {

/// Below it, a limit of the user's is a likelier cause than the server.
constexpr std::int64_t strict_ns = 1'000'000'000;

/// "not established", and behind the limit the remedy.
struct PhaseWords {
    const char* flag;
    const char* before;  ///< the limit
    const char* remedy;
};

PhaseWords words_of(AskPhase phase) {
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

}  // namespace

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

}  // namespace driftless
