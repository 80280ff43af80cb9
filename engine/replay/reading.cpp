#include "engine/replay/reading.hpp"

#include <algorithm>
#include <utility>

#include "engine/replay/run_limits.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

// What has come is read after so long at the latest, whatever is due. One read takes 5 to 20 us
// where reads keep up, and some 100 us behind a backlog: so much later leaves a row, at times, and
// every answer keeps its stamps (perf/macro/spacing).
constexpr Duration unread_max = microseconds(100);
// Copying 64 KiB into a socket (macro_bench bodies).
constexpr Duration rest_slice_max = microseconds(20);
// Some 30 us each. A backlog without end must not hide the rest of large bodies, nor a stop, a
// second that is over, a row to be built. 65,536 completions are six for each of 10,000 streams.
constexpr std::uint32_t receives_before_rest = 4;
constexpr std::uint32_t receives_before_others = 16;
constexpr std::uint32_t receives_before_deadlines = 4096;
// 16 transmit stamps.
constexpr Duration stamps_slice_max = microseconds(20);
constexpr std::size_t resumes_max = 64;
constexpr std::size_t expire_max = 32;
// The two clocks that tell it are read some time after each other.
constexpr Duration suspension_min = microseconds(100);

}  // namespace

bool Reading::is_overdue(Instant now) {
    began_ = now;
    unread_since_ = driver_.unread_since(now);
    const bool late = now - unread_since_ >= unread_max;
    return !std::exchange(last_was_first_, false) && late && now >= read_again_;
}

void Reading::note_first(Instant from, Instant to) {
    CHECK(from <= to);
    read_again_ = to + (to - from);
    last_was_first_ = true;
}

// Behind each read, and before a row that it has completed ends: the host may have slept right
// before the read. Answers that are open may have waited for so long.
void Reading::note_suspension() {
    const std::int64_t all_ns = driver_.suspended_ns();
    const Duration last{all_ns - suspended_ns_};
    if (last <= suspension_min) {
        return;
    }
    suspended_ns_ = all_ns;
    const HostSleep& before = lanes_.parts.sleep;
    const bool same_backlog = unread_since_ <= before.noticed;
    const Duration length = same_backlog ? before.length + last : last;
    lanes_.parts.sleep = {driver_.now(), length};
    lanes_.pool.for_each(LaneState::busy, [length](Lane& lane) {
        lane.exchange.heard = true;
        lane.exchange.waited = std::max(lane.exchange.waited, length);
    });
}

std::size_t Reading::resume() {
    const std::size_t resumed = loop_.ready().run(resumes_max);
    loop_.jobs().reap();
    return resumed;
}

// The answer may have been read in a turn that waited, behind which nobody looked for a sleep.
bool Reading::settle() {
    if (lanes_.in_flight.settling() == 0) {
        return false;
    }
    note_suspension();
    return resume() > 0;
}

// Behind an answer comes first whatever waits for it: its lane is done with afterwards (`settle`).
bool Reading::slice() {
    looked_ = has_more_ ? looked_ : began_;
    const TurnResult result = driver_.turn({Instant{}, completions_max, Wait::none, true});
    CHECK(result.completions <= completions_max);
    has_more_ = result.more;
    note_suspension();
    const std::size_t resumed = lanes_.in_flight.answered().empty() ? resume() : 0;
    if (result.completions == 0 && !result.entered && resumed == 0) {
        receives_ = 0;
        rest_after_ = receives_before_rest;
        others_after_ = receives_before_others;
        return false;
    }
    ++receives_;
    return true;
}

// Behind the reads, but never for long, the rest of large bodies: under a backlog of tokens a
// server would wait for its prompts. A deadline is over when all is read that came before it: those
// of a process that was stopped have passed, but bytes that came in time keep to them.
bool Reading::step(Instant now, Instant due, Duration guard) {
    const bool received = slice();
    if (received && receives_ < rest_after_) {
        return true;
    }
    rest_after_ = receives_ + receives_before_rest;
    const Instant at = received ? driver_.now() : now;
    const Instant read_to = receives_ > receives_before_deadlines ? at : driver_.unread_since(at);
    if (loop_.timers().expire(read_to, expire_max) > 0) {
        return true;
    }
    return (due - at > guard + rest_slice_max && lanes_.exchanges.send_rest_slice()) || received;
}

bool Reading::gives_way() {
    if (receives_ < others_after_ || !lanes_.in_flight.answered().empty()) {
        return false;
    }
    others_after_ = receives_ + receives_before_others;
    return true;
}

// Behind the receives: a stamp does not grow old. A row that ends before has its own asked for.
bool Reading::collect_stamps(Instant now, Instant due, Duration guard) {
    return due - now > guard + stamps_slice_max && driver_.stamps_waiting(now) &&
           lanes_.stamps.collect();
}

}  // namespace driftless
