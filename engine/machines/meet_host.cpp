#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "engine/base/time.hpp"
#include "engine/io/sockets.hpp"
#include "engine/machines/meet.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

namespace {

using Kind = MeetMessage::Kind;

}  // namespace

// A stranger has so long to say who it is; after that it is none of us.
static constexpr std::int64_t greeting_ns = 10'000'000'000;
// Beside the guests: a port scan must not keep them out.
static constexpr std::size_t strangers_max = 64;
// Lines about them: a flood of connections must not flood the output.
static constexpr std::uint32_t strangers_said_max = 32;
// At once, so that they do not wait for each other.
static constexpr std::ptrdiff_t measuring_max = 4;
// Guests ask `clock_exchanges` times.
static constexpr std::uint32_t asked_max = 8 * clock_exchanges;

static std::string shard_text(std::uint32_t index) {
    return "shard " + std::to_string(index);
}

/// What is not alike, as a clause about the guest; empty: all is.
static std::string mismatch(const MeetHello& own, const MeetHello& guest) {
    const auto differs = [&guest](const char* what, const std::string& theirs,
                                  const std::string& ours) {
        return shard_text(guest.index) + " has " + what + " " + theirs + ", shard 0 has " + ours;
    };
    if (guest.count != own.count) {
        return differs("the number of shards", std::to_string(guest.count),
                       std::to_string(own.count));
    }
    if (guest.version != own.version) {
        return differs("version", guest.version, own.version);
    }
    if (guest.trace_digest != own.trace_digest) {
        return differs("another trace: digest", guest.trace_digest, own.trace_digest);
    }
    if (guest.plan_digest != own.plan_digest) {
        return differs("another plan (other flags): digest", guest.plan_digest, own.plan_digest);
    }
    return "";
}

static std::vector<std::uint32_t> missing_in(const std::vector<bool>& known) {
    std::vector<std::uint32_t> missing;
    for (std::uint32_t index = 0; index < known.size(); ++index) {
        if (!known[index]) {
            missing.push_back(index);
        }
    }
    return missing;
}

MeetGuests::MeetGuests(const MeetSetting& setting)
    : setting_(setting), done_(setting.own.count, false) {
    done_[setting.own.index] = true;
}

void MeetGuests::add(Fd socket, const std::string& address) {
    if (guests_.size() >= setting_.own.count + strangers_max) {
        make_room();
    }
    guests_.push_back({MeetLine(std::move(socket)), address, Stage::stranger, 0, 0,
                       monotonic_ns() + greeting_ns});
    hear(guests_.back());
    sweep();
}

/// `guests_` is in the order in which they came. A guest has an index of its own, so there are
/// strangers among so many.
void MeetGuests::make_room() {
    for (Guest& guest : guests_) {
        if (guest.stage != Stage::stranger) {
            continue;
        }
        hear(guest);  // its greeting may have come since
        if (guest.stage == Stage::stranger) {
            drop(guest, "dropped to make room for others: it did not say which shard it is");
        }
        if (guest.stage == Stage::gone) {
            break;
        }
    }
    sweep();
}

void MeetGuests::serve(int listener, int nap_ms) {
    let_measure();  // who greeted as it was added does not wait for the nap
    std::vector<pollfd> polled{{listener, POLLIN, 0}};
    for (const Guest& guest : guests_) {
        polled.push_back({guest.line.fd(), POLLIN, 0});
    }
    (void)::poll(polled.data(), polled.size(), nap_ms);
    for (std::size_t i = 0; i < guests_.size(); ++i) {
        if (polled[i + 1].revents != 0) {
            hear(guests_[i]);
        }
    }
    sweep();
    let_measure();
}

void MeetGuests::hear(Guest& guest) {
    const bool goes_on = guest.line.receive(setting_.clock);
    while (guest.stage != Stage::gone) {  // bounded: what was received is
        const std::optional<std::string> line = guest.line.take();
        if (!line) {
            break;
        }
        const std::optional<MeetMessage> message = read_meet_message(*line, document_);
        if (!message) {
            drop(guest, "it does not speak the protocol of driftless");
            return;
        }
        take(guest, *message);
    }
    if (!goes_on && guest.stage != Stage::gone) {
        const bool has_done =
            setting_.own.phase == MeetPhase::after && guest.stage == Stage::measured;
        drop(guest, has_done ? "" : "it closed the connection");
    }
}

void MeetGuests::take(Guest& guest, const MeetMessage& message) {
    if (guest.stage == Stage::stranger && message.kind == Kind::hello) {
        greet(guest, message.hello);
    } else if (guest.stage == Stage::measuring && message.kind == Kind::ask &&
               guest.asked < asked_max) {
        ++guest.asked;
        ClockExchange stamps = message.stamps;
        stamps.t2_ns = guest.line.received_ns();
        if (!guest.line.tell(stamps, setting_.clock)) {
            drop(guest, "it does not read what is sent to it");
        }
    } else if (guest.stage == Stage::measuring && message.kind == Kind::measured) {
        guest.stage = Stage::measured;
        done_[guest.index] = true;
    } else if (guest.stage == Stage::measured && starting_ && message.kind == Kind::set) {
        guest.stage = Stage::set;
    } else {
        drop(guest, "it sent a message out of order");
    }
}

void MeetGuests::greet(Guest& guest, const MeetHello& hello) {
    if (const std::string why = mismatch(setting_.own, hello); !why.empty()) {
        refuse(guest, why);
        if (setting_.own.phase == MeetPhase::before) {
            failure_ = why + " (" + guest.address + ")";
        }
        return;
    }
    if (hello.phase != setting_.own.phase) {
        refuse(guest, hello.phase == MeetPhase::before
                          ? "the run began without it, because it came too late"
                          : "the run has not begun");
        return;
    }
    if (Guest* const before = known(hello.index); before != nullptr) {
        hear(*before);  // it may have lost its connection, and come again by this one
    }
    if (hello.index == setting_.own.index || known(hello.index) != nullptr) {
        refuse(guest,
               shard_text(hello.index) + " is here already; two processes have the same --shard");
        return;
    }
    guest.index = hello.index;
    guest.stage = Stage::waiting;
    const auto here = std::count_if(guests_.begin(), guests_.end(), [](const Guest& one) {
        return one.stage != Stage::stranger && one.stage != Stage::gone;
    });
    if (setting_.own.phase == MeetPhase::before) {
        setting_.say(shard_text(guest.index) + " is here and warm (" + guest.address + "), " +
                     std::to_string(here + 1) + " of " + std::to_string(setting_.own.count));
    }
}

void MeetGuests::refuse(Guest& guest, const std::string& why) {
    MeetMessage message = of_kind(Kind::refused);
    message.why = why;
    (void)guest.line.send(to_line(message));
    drop(guest, "refused: " + why);
}

/// An empty `why`: it may go.
void MeetGuests::drop(Guest& guest, const std::string& why) {
    const bool was_known = guest.stage != Stage::stranger;
    guest.stage = Stage::gone;
    if (why.empty()) {
        return;
    }
    const std::string who =
        was_known ? shard_text(guest.index) + " (" + guest.address + ")" : guest.address;
    if (was_known) {
        setting_.say(who + ": " + why);
    } else {
        say_of_stranger(who + ": " + why);
    }
    if (was_known && setting_.own.phase == MeetPhase::before) {
        done_[guest.index] = false;
        if (starting_) {
            failure_ =
                shard_text(guest.index) + " closed the connection while time 0 was agreed on";
        }
    }
}

void MeetGuests::say_of_stranger(const std::string& note) {
    if (strangers_said_ < strangers_said_max) {
        setting_.say(note);
    } else if (strangers_said_ == strangers_said_max) {
        setting_.say("more connections that are not of a shard are dropped without a line each");
    }
    strangers_said_ = std::min(strangers_said_ + 1, strangers_said_max + 1);
}

MeetGuests::Guest* MeetGuests::known(std::uint32_t index) {
    const auto found = std::find_if(guests_.begin(), guests_.end(), [index](const Guest& guest) {
        return guest.index == index && guest.stage != Stage::stranger && guest.stage != Stage::gone;
    });
    return found == guests_.end() ? nullptr : &*found;
}

/// Before the run clocks are compared once all are here: what is measured early is stale by time 0.
void MeetGuests::let_measure() {
    const auto count = [this](Stage stage) {
        return std::count_if(guests_.begin(), guests_.end(),
                             [stage](const Guest& guest) { return guest.stage == stage; });
    };
    const std::ptrdiff_t here =
        count(Stage::waiting) + count(Stage::measuring) + count(Stage::measured);
    const bool all_here = here + 1 == std::ptrdiff_t{setting_.own.count};
    if (setting_.own.phase == MeetPhase::before && !all_here) {
        return;
    }
    std::ptrdiff_t free = measuring_max - count(Stage::measuring);
    for (Guest& guest : guests_) {
        if (free > 0 && guest.stage == Stage::waiting) {
            guest.stage = Stage::measuring;
            --free;
            if (!guest.line.send(to_line(of_kind(Kind::measure)))) {
                drop(guest, "it does not read what is sent to it");
            }
        }
    }
}

void MeetGuests::sweep() {
    const std::int64_t now_ns = monotonic_ns();
    for (Guest& guest : guests_) {
        if (guest.stage == Stage::stranger && now_ns > guest.greets_until_ns) {
            drop(guest, "it did not say which shard it is");
        }
    }
    std::erase_if(guests_, [](const Guest& guest) { return guest.stage == Stage::gone; });
}

std::vector<std::uint32_t> MeetGuests::unmeasured() const {
    return missing_in(done_);
}

std::vector<std::uint32_t> MeetGuests::absent() const {
    std::vector<std::uint32_t> absent = unmeasured();
    std::erase_if(absent, [this](std::uint32_t index) {
        return std::any_of(guests_.begin(), guests_.end(), [index](const Guest& guest) {
            return guest.index == index && guest.stage != Stage::stranger;
        });
    });
    return absent;
}

void MeetGuests::start(std::int64_t at_ns) {
    starting_ = true;
    MeetMessage message = of_kind(Kind::start);
    message.at_ns = at_ns;
    const std::string line = to_line(message);
    for (Guest& guest : guests_) {
        if (guest.stage == Stage::measured && !guest.line.send(line)) {
            drop(guest, "it does not read what is sent to it");
        }
    }
}

std::vector<std::uint32_t> MeetGuests::not_set() const {
    std::vector<bool> is_set(setting_.own.count, false);
    is_set[setting_.own.index] = true;
    for (const Guest& guest : guests_) {
        if (guest.stage == Stage::set) {
            is_set[guest.index] = true;
        }
    }
    return missing_in(is_set);
}

void MeetGuests::go() {
    const std::string line = to_line(of_kind(Kind::go));
    for (Guest& guest : guests_) {
        (void)guest.line.send(line);  // who does not hear it says so itself
    }
}

void MeetGuests::refuse_all(const std::string& why) {
    MeetMessage message = of_kind(Kind::refused);
    message.why = why;
    const std::string line = to_line(message);
    for (Guest& guest : guests_) {
        if (guest.stage != Stage::stranger) {
            (void)guest.line.send(line);
        }
    }
}

static constexpr int nap_ms = 100;
static constexpr int waiting_max =
    1024;  // connections that the kernel keeps until they are looked at
static constexpr int accepts_a_look = 64;
// After the run others may need longer, or be gone, which no connection tells.
static constexpr std::int64_t waits_unsaid_ns = 2'000'000'000;
static constexpr std::int64_t says_again_ns = 30'000'000'000;

/// IPv6 with IPv4 inside, or IPv4 where the host has no other.
static Fd open_socket(std::uint16_t port, int family) {
    Fd made(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made.is_open()) {
        return made;
    }
    const int one = 1;
    const int none = 0;
    (void)::setsockopt(made.number(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    sockaddr_storage place{};
    socklen_t length = 0;
    if (family == AF_INET6) {
        (void)::setsockopt(made.number(), IPPROTO_IPV6, IPV6_V6ONLY, &none, sizeof none);
        auto& any = reinterpret_cast<sockaddr_in6&>(place);
        any.sin6_family = AF_INET6;
        any.sin6_port = htons(port);
        length = sizeof any;
    } else {
        auto& any = reinterpret_cast<sockaddr_in&>(place);
        any.sin_family = AF_INET;
        any.sin_port = htons(port);
        length = sizeof any;
    }
    const bool bound =
        ::bind(made.number(), reinterpret_cast<const sockaddr*>(&place), length) == 0 &&
        ::listen(made.number(), waiting_max) == 0;
    return bound ? std::move(made) : Fd();
}

static void accept_all(int listener, MeetGuests& guests) {
    for (int i = 0; i < accepts_a_look; ++i) {
        Address from;
        from.length = sizeof from.storage;
        Fd taken(::accept4(listener, reinterpret_cast<sockaddr*>(&from.storage), &from.length,
                           SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!taken.is_open()) {
            return;
        }
        guests.add(std::move(taken), from.to_text());
    }
}

/// "parts 1, 2 and 5".
static std::string list_of(const std::vector<std::uint32_t>& parts) {
    constexpr std::size_t named_max = 20;
    std::string text = parts.size() == 1 ? "shard " : "shards ";
    for (std::size_t i = 0; i < std::min(parts.size(), named_max); ++i) {
        text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + std::to_string(parts[i]);
    }
    return parts.size() > named_max
               ? text + " and " + std::to_string(parts.size() - named_max) + " others"
               : text;
}

static MeetOutcome failed(MeetGuests& guests, const std::string& why) {
    guests.refuse_all(why);
    MeetOutcome outcome;
    outcome.why = why;
    return outcome;
}

/// The time for all to come, and to compare their clocks, is over.
static MeetOutcome too_late(MeetGuests& guests) {
    std::vector<std::uint32_t> absent = guests.absent();
    const std::vector<std::uint32_t> mute = guests.unmeasured();
    const bool one = mute.size() == 1;
    const std::string who =
        !absent.empty()
            ? list_of(absent) + " did not come"
            : list_of(mute) + " came, but did not compare " + (one ? "its clock" : "their clocks") +
                  " in time; look whether " + (one ? "it is" : "they are") + " stopped";
    MeetOutcome outcome = failed(guests, who);
    outcome.absent = std::move(absent);
    return outcome;
}

static MeetOutcome stopped(MeetGuests& guests) {
    guests.refuse_all("shard 0 was stopped by its user");
    MeetOutcome outcome;
    outcome.end = MeetOutcome::End::stopped;
    return outcome;
}

/// All are here, and their clocks are compared: an instant that all of them agree to.
static MeetOutcome agree(const MeetSetting& setting, int listener, MeetGuests& guests) {
    const std::int64_t until_ns = monotonic_ns() + meet_lead_ns - meet_lead_ns_min;
    MeetOutcome outcome;
    outcome.start_ns = setting.clock.now() + meet_lead_ns;
    guests.start(outcome.start_ns);
    while (!guests.not_set().empty()) {
        if (is_stopped(setting)) {
            return stopped(guests);
        }
        if (!guests.failure().empty()) {
            return failed(guests, guests.failure());
        }
        if (monotonic_ns() > until_ns) {
            return failed(guests, list_of(guests.not_set()) + " did not confirm time 0 in time");
        }
        guests.serve(listener, 1);
    }
    guests.go();
    outcome.end = MeetOutcome::End::met;
    return outcome;
}

Result<MeetHost> MeetHost::listen(std::uint16_t port) {
    Fd socket = open_socket(port, AF_INET6);
    if (!socket.is_open() && errno != EADDRINUSE && errno != EACCES) {  // no IPv6 here
        socket = open_socket(port, AF_INET);
    }
    if (!socket.is_open()) {
        return error_from_errno(errno, "listen there");
    }
    return MeetHost(std::move(socket));
}

std::uint16_t MeetHost::port() const {
    sockaddr_in6 place{};
    socklen_t length = sizeof place;
    (void)::getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&place), &length);
    return ntohs(place.sin6_port);  // where IPv4 has it, too
}

MeetOutcome MeetHost::gather(const MeetSetting& setting) {
    MeetGuests guests(setting);
    const std::int64_t until_ns = monotonic_ns() + setting.timeout_ns;
    const bool before = setting.own.phase == MeetPhase::before;
    std::int64_t said_ns = monotonic_ns() + waits_unsaid_ns;
    while (!guests.unmeasured().empty()) {
        if (is_stopped(setting)) {
            return stopped(guests);
        }
        if (!guests.failure().empty()) {
            return failed(guests, guests.failure());
        }
        const std::int64_t now_ns = monotonic_ns();
        const bool is_over = now_ns > until_ns;  // who came until then is heard
        if (!before && !is_over && now_ns > said_ns) {
            setting.say("waiting up to " + std::to_string((until_ns - now_ns) / 1'000'000'000) +
                        "s longer for " + list_of(guests.unmeasured()) + " to end");
            said_ns = now_ns + says_again_ns;
        }
        accept_all(socket_.number(), guests);
        guests.serve(socket_.number(), is_over ? 0 : nap_ms);
        if (is_over && !guests.unmeasured().empty()) {
            return too_late(guests);
        }
    }
    if (before) {
        return agree(setting, socket_.number(), guests);
    }
    MeetOutcome outcome;
    outcome.end = MeetOutcome::End::met;
    return outcome;
}

}  // namespace driftless
