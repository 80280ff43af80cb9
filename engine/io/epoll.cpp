#include "engine/io/epoll.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "engine/io/sockets.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

static constexpr int events_max = 64;  // of one look; others stay with the kernel, in their order
// A call that signals interrupt again and again is left to fail.
static constexpr int interruptions_max = 16;
static constexpr int without_end = -1;

template <typename Call>
static std::int32_t result_of(Call call) {
    ssize_t result = -1;
    for (int tries = 0; tries < interruptions_max; ++tries) {
        result = call();
        if (result >= 0 || errno != EINTR) {
            break;
        }
    }
    return result < 0 ? -errno : static_cast<std::int32_t>(result);
}

/// What the kernel says with each read: how much it still has, the end of the stream included.
static void ask_what_is_left(Socket socket) {
    const int on = 1;
    (void)::setsockopt(socket.number, IPPROTO_TCP, TCP_INQ, &on, sizeof(on));
}

/// Whether something is, or an end: read together with the bytes, so that nothing comes between.
static bool is_anything_left(msghdr& message) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level == IPPROTO_TCP && part->cmsg_type == TCP_CM_INQ) {
            int left = 0;
            std::memcpy(&left, CMSG_DATA(part), sizeof(left));
            return left > 0;
        }
    }
    return false;
}

/// Of sockets whose call takes no flag of its own for it.
static void make_nonblocking(Socket socket) {
    (void)::fcntl(socket.number, F_SETFL, O_NONBLOCK);
}

/// Whether a filter lets each of the calls through that a socket needs: of one that is not open
/// they say so; qemu-user says other things. False: errno says why not.
static bool sockets_are_allowed() {
    msghdr message{};
    const auto is_let_through = [](ssize_t result) {
        return result >= 0 || errno == EBADF || errno == EFAULT;
    };
    return is_let_through(::send(-1, "", 0, 0)) && is_let_through(::recvmsg(-1, &message, 0)) &&
           is_let_through(::connect(-1, nullptr, 0)) && is_let_through(::fcntl(-1, F_SETFL, 0));
}

Result<std::unique_ptr<EpollDriver>> EpollDriver::make(const DriverOptions& options,
                                                       std::optional<Error> why_not_ring) {
    std::unique_ptr<EpollDriver> driver(new EpollDriver());
    const Result<void> opened = driver->open(options);
    if (!opened) {
        return opened.error();
    }
    driver->why_not_ring_ = why_not_ring;
    return driver;
}

Result<void> EpollDriver::open(const DriverOptions& options) {
    CHECK(options.buffers > 0 && options.buffer_bytes > 0);
    epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
    timer_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.fd = timer_.number();
    const itimerspec unset{};
    // A filter may allow some of the calls and not the others.
    if (!epoll_.is_open() || !timer_.is_open() ||
        ::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, timer_.number(), &event) != 0 ||
        ::epoll_wait(epoll_.number(), &event, 1, 0) < 0 ||
        ::timerfd_settime(timer_.number(), TFD_TIMER_ABSTIME, &unset, nullptr) != 0 ||
        !sockets_are_allowed()) {
        return error_from_errno(errno, "set up epoll");
    }
    DriverOptions own = options;
    own.stamp_ring = false;
    open_parts(own);
    reads_max_ = std::min(options.buffers, batch_max);
    buffer_bytes_ = options.buffer_bytes;
    buffers_.resize(std::size_t{reads_max_} * buffer_bytes_);
    taken_.reserve(options.ops_max);
    outcomes_.reserve(std::size_t{options.ops_max} + reads_max_);
    return {};
}

DriverFacts EpollDriver::facts() const {
    DriverFacts facts;
    facts.kind = DriverKind::epoll;
    facts.why_not_ring = why_not_ring_;
    facts.features = {{"edge_triggered", "yes"},
                      {"absolute_wait", "yes"},
                      {"receive_buffer_bytes", std::to_string(buffers_.size())}};
    add_facts(facts);
    return facts;
}

EpollDriver::Watched& EpollDriver::watched(Socket socket) {
    CHECK(socket.open());
    const auto number = static_cast<std::size_t>(socket.number);
    if (number >= watched_.size()) {
        watched_.resize(std::max(number + 1, 2 * watched_.size()));
    }
    return watched_[number];
}

// Taken out of the set by hand: a child that has not called exec yet may hold it open. Its place in
// the line stays: a later socket with that number may be read once in vain.
void EpollDriver::close(Socket socket) {
    Watched& w = watched(socket);
    CHECK(w.reader == nullptr && w.writer == nullptr);
    if (w.registered) {
        (void)::epoll_ctl(epoll_.number(), EPOLL_CTL_DEL, socket.number, nullptr);
    }
    w.registered = false;
    HostDriver::close(socket);
}

void EpollDriver::submit(Op& op) {
    if (take(op)) {
        taken_.push_back(&op);
        ++counters_.submits;
    }
}

bool EpollDriver::flush() {
    for (Op* const op : taken_) {  // calls no handler, so that none is added
        begin(*op);
    }
    taken_.clear();
    return true;
}

void EpollDriver::begin(Op& op) {
    switch (op.spec.kind) {
        case OpKind::connect:
            begin_connect(op);
            break;
        case OpKind::send:
            try_send(op);
            break;
        case OpKind::accept:
            make_nonblocking(op.spec.socket);
            wait_for(op, &Watched::reader);
            break;
        case OpKind::receive:
            if (op.spec.kernel_stamps) {
                ++counters_.enters;
                ask_what_is_left(op.spec.socket);
            }
            wait_for(op, &Watched::reader);
            break;
        case OpKind::cancel:
            cancel(op);
            break;
        case OpKind::stamps:
            CHECK(!"begun here");
    }
}

// A Unix socket whose listener has its queue full says EAGAIN, and nothing tells when it has room:
// that connect has failed.
void EpollDriver::begin_connect(Op& op) {
    const Socket socket = op.spec.socket;
    const Address* const to = op.spec.address;
    CHECK(to != nullptr && to->length > 0 && socket.open());
    make_nonblocking(socket);
    ++counters_.enters;
    const std::int32_t result = ::connect(socket.number, to->raw(), to->length) == 0 ? 0 : -errno;
    if (result == -EINPROGRESS) {
        wait_for(op, &Watched::writer);
    } else {
        finish(op, result);
    }
}

// What ends by itself before has told so already: its outcome waits to be told.
void EpollDriver::cancel(Op& op) {
    Op* const target = op.spec.target;
    CHECK(target != nullptr);
    const Watched* const w = target->in_flight() ? &watched(target->spec.socket) : nullptr;
    const bool waits = w != nullptr && (w->reader == target || w->writer == target);
    if (waits) {
        finish(*target, -ECANCELED);
    }
    finish(op, waits ? 0 : -ENOENT);
}

void EpollDriver::try_send(Op& op) {
    const OpSpec& spec = op.spec;
    CHECK(spec.socket.open());
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (spec.more_follows ? MSG_MORE : 0);
    ++counters_.enters;
    const std::int32_t result = result_of([&spec, flags] {
        return ::send(spec.socket.number, spec.bytes.data(), spec.bytes.size(), flags);
    });
    if (result == -EAGAIN && slots_.send_goes_on(op, result, now(), unread_.since())) {
        wait_for(op, &Watched::writer);
    } else {
        finish(op, result);
    }
}

void EpollDriver::wait_for(Op& op, Op* Watched::* role) {
    Watched& w = watched(op.spec.socket);
    CHECK(w.*role == nullptr || w.*role == &op);  // one of each kind at a time
    w.*role = &op;
    if (!watch(op.spec.socket, w)) {
        finish(op, -errno);
    }
}

// Registering looks at once: what is there already is an edge, too. A descriptor that was closed
// elsewhere is not in the set any more.
bool EpollDriver::watch(Socket socket, Watched& w) {
    epoll_event event{};
    event.events = static_cast<std::uint32_t>(EPOLLET) |
                   (w.reader != nullptr ? EPOLLIN | EPOLLRDHUP : 0u) |
                   (w.writer != nullptr ? EPOLLOUT : 0u);
    event.data.fd = socket.number;
    ++counters_.enters;
    if (w.registered && ::epoll_ctl(epoll_.number(), EPOLL_CTL_MOD, socket.number, &event) == 0) {
        return true;
    }
    w.ended = false;
    w.registered = ::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, socket.number, &event) == 0;
    return w.registered;
}

void EpollDriver::finish(Op& op, std::int32_t result) {
    if (slots_.waits_for_room(op)) {
        (void)slots_.send_goes_on(op, -ECANCELED, {}, {});  // it waits no more
    }
    if (op.spec.kind != OpKind::cancel) {
        Watched& w = watched(op.spec.socket);
        w.reader = w.reader == &op ? nullptr : w.reader;
        w.writer = w.writer == &op ? nullptr : w.writer;
    }
    outcomes_.push_back({.op = &op, .result = result});
}

TurnResult EpollDriver::turn(const Turn& turn) {
    TurnResult result;
    if (told_ == batch_end_) {
        look(turn, result);
    } else if (!taken_.empty()) {
        result.entered = flush();
    }
    while (told_ != batch_end_ && result.completions < turn.completions_max) {
        const Outcome outcome = outcomes_[told_++];  // a handler may flush, and so add others
        ++result.completions;
        tell(outcome);
        if (turn_ends()) {
            break;
        }
    }
    result.more = told_ != batch_end_;
    counters_.completions += result.completions;
    return result;
}

// A look that found nothing to do says so: the loop gets to everything else, and to sleep.
void EpollDriver::look(const Turn& turn, TurnResult& result) {
    outcomes_.erase(outcomes_.begin(), outcomes_.begin() + static_cast<std::ptrdiff_t>(told_));
    told_ = batch_end_ = 0;
    buffers_used_ = 0;
    if (!taken_.empty()) {
        result.entered = flush();
    }
    if (turn.wait == Wait::sleep && !any_untold()) {
        sleep(turn.until);
        result.slept = result.entered = true;
    } else if (turn.may_enter) {
        const bool has_looked = std::exchange(looked_ahead_, false) && first_in_line_ >= 0;
        result.entered = has_looked || fetch(0, now()) || result.entered;
    } else if (turn.wait == Wait::spin) {
        pause_core();
    }
    if (turn.may_enter) {
        read_batch();
    }
    if (!outcomes_.empty()) {
        stamp_batch();
        batch_end_ = outcomes_.size();
    }
}

// By a timer: the timeouts of epoll itself may be late by a thousandth of their length, even in a
// thread whose timers are sharp. It is set only where it is not yet: most sleeps end by what
// arrives, and the next one ends at the same instant. The timer has spoken for its own instant
// only, so a look follows that says whether anything has come.
void EpollDriver::sleep(Instant until) {
    if (until <= now()) {
        (void)fetch(0, now());
        return;
    }
    if (timer_set_ != until) {
        timer_set_ = until;
        itimerspec time{};
        time.it_value = {until.ns / 1'000'000'000, until.ns % 1'000'000'000};
        ++counters_.enters;
        (void)::timerfd_settime(timer_.number(), TFD_TIMER_ABSTIME, &time, nullptr);
    }
    if (!fetch(without_end, now())) {
        (void)fetch(0, now());
    }
}

// `asked`: the clock before the call. What the kernel reports that is nothing to do, a timer or a
// stamp, counts as nothing.
bool EpollDriver::fetch(int timeout_ms, Instant asked) {
    epoll_event events[events_max];
    ++counters_.enters;
    const int count = ::epoll_wait(epoll_.number(), events, events_max, timeout_ms);
    bool any = false;
    for (int at = 0; at < count; ++at) {
        any = note_event(events[at].events, events[at].data.fd) || any;
    }
    if (timeout_ms == 0) {
        unread_.look(asked, count != 0 || any_untold());
    }
    return any;
}

bool EpollDriver::note_event(std::uint32_t events, int number) {
    constexpr std::uint32_t ends = EPOLLRDHUP | EPOLLHUP;
    if (number == timer_.number()) {
        return false;
    }
    Watched& w = watched({number});
    w.ended = w.ended || (events & ends) != 0;
    const bool readable = w.reader != nullptr && (events & (EPOLLIN | ends)) != 0;
    if (readable) {
        line_up(w, number);
    }
    const bool has_room = (events & (EPOLLOUT | EPOLLHUP)) != 0;
    if (has_room && w.writer != nullptr) {
        note_room(*w.writer);
        return true;
    }
    if ((events & EPOLLOUT) != 0) {
        (void)watch({number}, w);  // no send waits for room any more
    }
    return readable;
}

void EpollDriver::note_room(Op& op) {
    if (op.spec.kind == OpKind::send) {
        (void)slots_.send_goes_on(op, 0, now(), unread_.since());
        try_send(op);
        return;
    }
    int failure = 0;
    socklen_t size = sizeof(failure);
    ++counters_.enters;
    if (::getsockopt(op.spec.socket.number, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) {
        failure = errno;
    }
    finish(op, -failure);
}

// Each look reads one piece of a socket, so that one which floods us takes no turn from the others.
void EpollDriver::line_up(Watched& w, int number) {
    if (w.in_line) {
        return;
    }
    w.in_line = true;
    w.next_in_line = -1;
    (last_in_line_ < 0 ? first_in_line_
                       : watched_[static_cast<std::size_t>(last_in_line_)].next_in_line) = number;
    last_in_line_ = number;
}

void EpollDriver::read_batch() {
    for (std::uint32_t reads = 0; reads < reads_max_ && first_in_line_ >= 0; ++reads) {
        Watched& w = watched({first_in_line_});
        first_in_line_ = w.next_in_line;
        last_in_line_ = first_in_line_ < 0 ? -1 : last_in_line_;
        w.in_line = false;
        if (w.reader == nullptr) {
            continue;  // it has been cancelled, or closed
        }
        ++counters_.enters;
        if (w.reader->spec.kind == OpKind::accept) {
            accept_one(*w.reader, w);
        } else {
            receive_one(*w.reader, w);
        }
    }
}

void EpollDriver::accept_one(Op& op, Watched& w) {
    const int number = op.spec.socket.number;
    const std::int32_t result =
        result_of([number] { return ::accept4(number, nullptr, nullptr, SOCK_CLOEXEC); });
    if (result >= 0) {
        outcomes_.push_back({.op = &op, .result = result, .more = true});
        line_up(w, number);
    } else if (result != -EAGAIN) {
        finish(op, result);
    }
}

void EpollDriver::receive_one(Op& op, Watched& w) {
    const int number = op.spec.socket.number;
    char* const buffer = buffers_.data() + std::size_t{buffers_used_} * buffer_bytes_;
    iovec part{buffer, buffer_bytes_};
    alignas(cmsghdr) char control[receive_control_bytes + CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = op.spec.kernel_stamps ? control : nullptr;
    message.msg_controllen = op.spec.kernel_stamps ? sizeof(control) : 0;
    const std::int32_t result =
        result_of([number, &message] { return ::recvmsg(number, &message, MSG_DONTWAIT); });
    if (result <= 0) {
        if (result != -EAGAIN) {
            finish(op, result);
        }
        return;
    }
    // The kernel may have joined an end of stream to the last bytes: their stamp is then that of
    // the end, and says nothing of them.
    const bool is_cut =
        static_cast<std::uint32_t>(result) == buffer_bytes_ || w.ended || is_anything_left(message);
    const std::int64_t realtime_ns = op.spec.kernel_stamps ? receive_stamp_ns(message) : 0;
    outcomes_.push_back({&op, result, true, is_cut, buffer, realtime_ns});
    ++buffers_used_;
    if (is_cut) {
        line_up(w, number);
    }
}

void EpollDriver::tell(const Outcome& outcome) {
    Op& op = *outcome.op;
    Completion done = completion_of(op, outcome.result, outcome.is_cut);
    done.more = outcome.more;
    if (outcome.bytes != nullptr) {
        done.bytes = {outcome.bytes, static_cast<std::size_t>(outcome.result)};
        done.kernel_ns = clocks_.to_monotonic_ns(outcome.realtime_ns);
    }
    if (!done.more) {
        slots_.free(op);
    }
    op.handler(op, done);
}

// While something waits here already, the kernel is not asked for what came after it.
Instant EpollDriver::unread_since(Instant now) {
    if (!any_untold()) {
        looked_ahead_ = fetch(0, now);
    }
    return unread_.since();
}

}  // namespace driftless
