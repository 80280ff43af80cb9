// Making the driver: what the kernel is asked for, and what it granted.

#include "engine/io/uring.hpp"

#include <poll.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "engine/io/sockets.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

Result<std::unique_ptr<UringDriver>> UringDriver::make(const DriverOptions& options) {
    std::unique_ptr<UringDriver> driver(new UringDriver());
    const Result<void> opened = driver->open(options);
    if (!opened) {
        return opened.error();
    }
    return driver;
}

Result<void> UringDriver::open(const DriverOptions& options) {
    CHECK(options.ops_max > 0);
    // Two completions an operation never overflow: receives end one by one and are re-armed.
    const std::uint32_t completions =
        std::bit_ceil(std::max(options.ops_max * 2, options.submit_entries * 2));
    const Result<void> opened = ring_.open(options.submit_entries, completions);
    if (!opened) {
        return opened.error();
    }
    open_parts(options);
    return buffers_.open(ring_.raw(), OpEntries::buffer_group, options.buffers,
                         options.buffer_bytes);
}

DriverFacts UringDriver::facts() const {
    const IoRingFeatures& ring = ring_.features();
    char bits[16] = {};
    std::snprintf(bits, sizeof(bits), "0x%x", ring.bits);
    DriverFacts facts;
    facts.kind = DriverKind::io_uring;
    facts.features = {{"features", bits},
                      {"single_issuer", "yes"},
                      {"defer_taskrun", "yes"},
                      {"registered_ring", yes_no(ring.registered)},
                      {"absolute_wait", yes_no(ring.absolute_wait)},
                      {"no_iowait", yes_no(ring.no_iowait)},
                      {"submission_entries", std::to_string(ring_.raw().sq.ring_entries)},
                      {"completion_entries", std::to_string(ring_.raw().cq.ring_entries)},
                      {"receive_buffer_bytes", std::to_string(buffers_.bytes())}};
    add_facts(facts);
    return facts;
}

void UringDriver::submit(Op& op) {
    if (!take(op)) {
        return;
    }
    prepare(op);
    const OpSpec& spec = op.spec;
    if (spec.kind == OpKind::cancel && spec.target != nullptr && spec.target->in_flight()) {
        slots_.note_cancel(*spec.target);
        cancelled_.push_back({slots_.user_data_of(*spec.target), now() + cancel_patience, 1});
    }
}

void UringDriver::prepare(Op& op) {
    io_uring_sqe& entry = ring_.next_entry();
    const OpSpec& spec = op.spec;
    if (slots_.waits_for_room(op)) {
        OpEntries::fill_wait_for_room(entry, spec.socket);
    } else {
        const bool has_target = spec.kind == OpKind::cancel && spec.target != nullptr;
        entries_.fill(entry, spec,
                      has_target ? slots_.user_data_of(*spec.target) : OpSlots::nobody);
    }
    entry.user_data = slots_.user_data_of(op);
    ++counters_.submits;
}

// A cancel of the driver's own: its completion is dropped.
void UringDriver::prepare_cancel(std::uint64_t user_data) {
    io_uring_sqe& entry = ring_.next_entry();
    io_uring_prep_cancel64(&entry, user_data, 0);
    entry.user_data = OpSlots::nobody;
    ++counters_.submits;
}

// An operation that was cancelled ends. Where it has not, it is cancelled again; in the end it is
// given up, so that every wait for it is bounded. No kernel is known where that happens.
void UringDriver::watch_cancelled(const Turn& turn) {
    while (!cancelled_.empty() && slots_.find(cancelled_.front().user_data) == nullptr) {
        cancelled_.pop_front();  // ends: each step takes one away
    }
    if (cancelled_.empty() || turn.completions_max == 0 || now() < cancelled_.front().overdue) {
        return;
    }
    const Cancelled first = cancelled_.front();
    cancelled_.pop_front();
    if (first.tries < cancel_tries_max) {
        prepare_cancel(first.user_data);
        cancelled_.push_back({first.user_data, now() + cancel_patience, first.tries + 1});
        return;
    }
    Op& op = slots_.op_of(first.user_data);
    Completion done;
    done.result = -ECANCELED;
    done.stamp = done.unread_since = now();
    ++given_up_;
    slots_.free(op);
    op.handler(op, done);
}

// Lets completions become visible, and stamps what did. The kernel may say that it has work where
// it has none: a CPU that brings bytes raises the flag behind the work, which an enter on this one
// may have done by then. So an enter that brought nothing is followed by a look that only takes
// what is visible: the loop gets to everything else, and to sleep. What is visible goes first, but
// not for ever: operations that end at once, as cancels do, would keep what others wait for in the
// kernel, and what is submitted for each of their ends would keep it there without end.
void UringDriver::look(const Turn& turn, TurnResult& result) {
    watch_cancelled(turn);
    const bool has_entries = ring_.publish() > 0;
    const bool visible = ring_.has_completions();
    const bool overflowed = ring_.overflowed();
    counters_.overflows += overflowed ? 1 : 0;
    const bool skip = std::exchange(entered_in_vain_, false) && turn.wait == Wait::none;
    const bool has_work = ring_.kernel_has_work();
    const bool enters =
        has_work && turn.may_enter && (!visible || overflowed || passed_over_) && !skip;
    passed_over_ = has_work && visible && !enters;
    if (!visible && turn.wait == Wait::sleep) {  // runs what is there before it sleeps
        const Instant until =
            cancelled_.empty() ? turn.until : std::min(turn.until, cancelled_.front().overdue);
        note_entry(ring_.enter(1, IORING_ENTER_GETEVENTS, &until));
        result.entered = true;
        result.slept = true;
    } else if (enters) {
        note_entry(ring_.enter(0, IORING_ENTER_GETEVENTS));
        result.entered = true;
        entered_in_vain_ = !ring_.has_completions();
    } else if (has_entries) {
        (void)ring_.enter(0, 0);
        result.entered = true;
    } else if (!visible && turn.wait == Wait::spin) {
        pause_core();
    }
    if (ring_.has_completions()) {
        stamp_batch();
        batch_end_ = ring_.tail();
    }
}

// The kernel raises its flag behind the work: what is not flagged yet came after `now`.
Instant UringDriver::unread_since(Instant now) {
    unread_.look(now, ring_.has_completions() || ring_.kernel_has_work() || ring_.has_entries());
    return unread_.since();
}

// An entry for completions runs what there is before it waits. One that was interrupted may not
// have come so far.
void UringDriver::note_entry(int status) {
    const bool ran = status >= 0 || status == -ETIME;
    if (ran && !ring_.has_completions() && !ring_.has_entries()) {
        unread_.nothing_came();
    }
}

TurnResult UringDriver::turn(const Turn& turn) {
    TurnResult result;
    if (ring_.head() == batch_end_) {
        look(turn, result);
    } else if (ring_.has_entries()) {
        (void)flush();
        result.entered = true;
    }
    while (ring_.head() != batch_end_ && result.completions < turn.completions_max) {
        const io_uring_cqe entry = ring_.take();
        ++result.completions;
        complete(entry);
        if (turn_ends()) {
            break;
        }
    }
    CHECK(result.completions <= turn.completions_max);
    result.more = ring_.head() != batch_end_;
    counters_.completions += result.completions;
    return result;
}

void UringDriver::complete(const io_uring_cqe& entry) {
    if (entry.user_data == OpSlots::nobody) {
        return;
    }
    const bool has_buffer = (entry.flags & IORING_CQE_F_BUFFER) != 0;
    const std::uint16_t buffer = static_cast<std::uint16_t>(entry.flags >> IORING_CQE_BUFFER_SHIFT);
    Op* const found = slots_.find(entry.user_data);
    if (found == nullptr) {
        CHECK(given_up_ > 0);
        if (has_buffer) {
            buffers_.give_back(buffer);
        }
        return;
    }
    Op& op = *found;
    const OpKind kind = op.spec.kind;
    if (kind == OpKind::send && slots_.send_goes_on(op, entry.res, stamp_, unread_.since())) {
        prepare(op);
        return;
    }
    const bool receive = kind == OpKind::receive;
    const bool multishot = receive || kind == OpKind::accept;
    const bool more = (entry.flags & IORING_CQE_F_MORE) != 0;

    const bool is_cut = entry.res >= static_cast<std::int32_t>(buffers_.bytes_each()) ||
                        (entry.flags & IORING_CQE_F_SOCK_NONEMPTY) != 0;
    Completion done = completion_of(op, entry.res, is_cut);
    if (has_buffer && entry.res > 0) {
        CHECK(receive);
        done.bytes = buffers_.filled(buffer, static_cast<std::size_t>(entry.res));
    }
    if (op.spec.kernel_stamps && !done.bytes.empty()) {
        const StampedBytes stamped = read_stamped(done.bytes);
        done.bytes = stamped.bytes;
        done.result = static_cast<std::int32_t>(stamped.bytes.size());
        done.kernel_ns = clocks_.to_monotonic_ns(stamped.realtime_ns);
    }
    const bool no_buffers = receive && entry.res == -ENOBUFS;
    const bool woken = receive && entry.res == -ECANCELED;  // by `find_ends`, or it is cancelled
    const bool goes_on = !slots_.is_cancelled(op) &&
                         (receive ? done.result > 0 || no_buffers || woken : entry.res >= 0);
    done.more = multishot && (more || goes_on);
    if (multishot && !more && goes_on) {
        prepare(op);  // same slot, same generation: the operation never ended for its owner
    } else if (!done.more) {
        slots_.free(op);
    }
    CHECK(op.in_flight() == done.more);
    counters_.no_buffers += no_buffers ? 1 : 0;
    if (goes_on && (no_buffers || woken)) {
        return;
    }
    op.handler(op, done);
    if (has_buffer) {
        buffers_.give_back(buffer);
    }
}

DriverCounters UringDriver::counters() const {
    DriverCounters counters = counters_;
    counters.enters += ring_.enters();
    return counters;
}

// A cancel wakes a receive whose end was lost, and another one reads it (README.md). An error that
// is no end may be a transmit stamp.
void UringDriver::find_ends(std::span<const QuietReceive> quiet) {
    CHECK(quiet.size() <= quiet_max);
    pollfd looked[quiet_max];
    for (std::size_t at = 0; at < quiet.size(); ++at) {
        looked[at] = {quiet[at].receive->spec.socket.number, POLLRDHUP, 0};
    }
    ++counters_.enters;
    if (::poll(looked, quiet.size(), 0) <= 0) {
        return;
    }
    for (std::size_t at = 0; at < quiet.size(); ++at) {
        if ((looked[at].revents & (POLLRDHUP | POLLHUP)) != 0) {
            slots_.note_quiet(*quiet[at].receive, quiet[at].since);
            prepare_cancel(slots_.user_data_of(*quiet[at].receive));
        }
    }
}

}  // namespace driftless
