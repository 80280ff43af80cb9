#include "engine/preflight/retrying_asker.hpp"

#include <algorithm>

#include "proto/http/fields.hpp"

namespace driftless {

namespace {

/// A question that is answered 429 is asked so often; the pauses between double from one second,
/// or are those of Retry-After, up to a limit.
constexpr int busy_tries = 5;
constexpr std::int64_t busy_pause_s_max = 30;
constexpr int status_busy = 429;
/// One that breaks off, or meets an error of the server, is asked so often, with `ready_pause`
/// between: a flaw that passes is no reason to send nothing, one that stays is said.
constexpr int broken_tries = 3;

bool is_loading(int status) {
    return status == 502 || status == 503 || status == 504;
}

}  // namespace

Task<void> RetryingAsker::pause(Duration length) {
    Signal over;
    Timer timer;
    timer.owner = &over;
    timer.handler = [](Timer& rung, Instant) { static_cast<Signal*>(rung.owner)->notify(); };
    context_.asker.loop().timers().set(timer, context_.now() + length);
    co_await over.wait();
}

bool RetryingAsker::patient() const {
    const Duration waited = context_.now() - begun_;
    return context_.plan.wait_ready && waited < *context_.plan.wait_ready &&
           !context_.asker.stopped();
}

/// A limit of requests: how long to wait before the question is asked for the next time.
Duration RetryingAsker::busy_pause(int times) {
    const std::int64_t reported =
        count_in(header_value(context_.asker.reply().head, "retry-after"));
    const std::int64_t wanted = reported > 0 ? reported : std::int64_t{1} << (times - 1);
    if (!busy_noted_) {
        busy_noted_ = true;
        context_.note(
            "it answers 429 to the preflight, which waits and retries; rows that get a 429 are not "
            "sent again");
    }
    return seconds(std::min(wanted, busy_pause_s_max));
}

/// Whether the server broke the question off, or failed at it.
bool RetryingAsker::broke(bool answered) const {
    if (answered) {
        const int status = context_.asker.reply().status;
        return status >= 500 &&
               !(is_loading(status) && context_.plan.wait_ready);  // that has its own limit
    }
    const ErrorCode code = context_.asker.error().code;
    return code == ErrorCode::reset || code == ErrorCode::closed;
}

void RetryingAsker::note_broken(bool answered) {
    if (!broken_noted_) {
        broken_noted_ = true;
        context_.note("warning: a preflight request " +
                      (answered ? "was answered " + std::to_string(context_.asker.reply().status)
                                : std::string("broke off")) +
                      " and was sent again; rows that meet this fail");
    }
}

Task<bool> RetryingAsker::fetch(const std::string& method, const std::string& path,
                                const std::string& body, BodyWatch watch) {
    Asker& asker = context_.asker;
    bool answered = false;
    int busy = 0;  // answers of 429
    int broken = 0;
    while (true) {  // bounded by `busy_tries`, `broken_tries` and `--wait-ready`
        answered = co_await asker.fetch(method, path, body, watch);
        const int status = answered ? asker.reply().status : 0;
        Duration length = ready_pause;
        busy += status == status_busy ? 1 : 0;
        if (status == status_busy && busy < busy_tries && !asker.stopped()) {
            length = busy_pause(busy);
        } else if (is_loading(status) && patient()) {
            // asked again for as long as the user said
        } else if (broke(answered) && ++broken < broken_tries && !asker.stopped()) {
            note_broken(answered);
        } else {
            break;
        }
        co_await pause(length);
    }
    co_return answered;
}

}  // namespace driftless
