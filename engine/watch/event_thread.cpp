#include "engine/watch/event_thread.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/io/io_ring.hpp"
#include "proto/core/text.hpp"

namespace driftless {

/// Reads of one call: the thread that reads has others to look after.
static constexpr int reads_max = 16;

Result<EventCommand> EventCommand::start(const std::string& command) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return error_from_errno(errno, "open a pipe for its output");
    }
    Fd output(ends[0]);
    const Fd input(ends[1]);
    (void)::fcntl(output.number(), F_SETFL, O_NONBLOCK);
    ChildCommand shell;
    shell.program = "/bin/sh";
    shell.arguments = {"sh", "-c", command};
    shell.environment = own_environment();
    shell.output = shell.messages = input.number();
    shell.dies_with_us = false;  // what it may do to a server goes on to its end
    Result<Child> child = Child::start(shell);
    if (!child) {
        return child.error();
    }
    return EventCommand(std::move(child).value(), std::move(output));
}

EventCommand::EventCommand(EventCommand&& other) noexcept
    : child_(std::move(other.child_)),
      owns_group_(std::exchange(other.owns_group_, false)),
      output_(std::move(other.output_)) {}

EventCommand::~EventCommand() {
    if (owns_group_) {
        kill();
    }
}

void EventCommand::read_output(std::string& kept, std::size_t kept_max, std::uint64_t& read) {
    char bytes[4096];
    for (int i = 0; i < reads_max && output_.is_open(); ++i) {
        const ssize_t count = ::read(output_.number(), bytes, sizeof bytes);
        if (count < 0) {
            return;  // nothing is there now
        }
        if (count == 0) {
            output_.close();
            return;
        }
        const auto whole = static_cast<std::size_t>(count);
        kept.append(bytes, std::min(whole, kept_max - std::min(kept_max, kept.size())));
        read += whole;
    }
}

// While its leader is not reaped, no other process can get the number of the group.
std::optional<ChildEnd> EventCommand::end() {
    const std::optional<ChildEnd> end = child_.wait(0);
    if (end && owns_group_) {
        kill();
        owns_group_ = false;
    }
    return end;
}

/// A command that is to end gets SIGTERM, and so much later SIGKILL.
static constexpr Duration kill_pause = seconds(1);
/// While answers are awaited, commands are looked at so often.
static constexpr Duration look_pause = milliseconds(2);
/// Nothing is due: the thread wakes all the same, to look whether the user wants to stop.
static constexpr Duration sleep_max = seconds(1);

static constexpr std::size_t timers_max = 256;

/// As nothing has come of it yet.
static TimedEvent line_of(const PlannedEvent& event) {
    TimedEvent line;
    line.event = event.number;
    line.kind = event.kind;
    line.what = event.shown.empty() ? event.what : event.shown;
    line.at_ns = event.at_ns;
    return line;
}

EventThread::EventThread(std::vector<PlannedEvent> events, EventRules rules, LineSink file)
    : events_(std::move(events)), rules_(std::move(rules)), file_(std::move(file)) {
    std::stable_sort(
        events_.begin(), events_.end(),
        [](const PlannedEvent& a, const PlannedEvent& b) { return a.at_ns < b.at_ns; });
}

EventThread::~EventThread() {
    stop(true);
}

Result<void> EventThread::start(Instant zero, std::int64_t from_ns, const cpu_set_t* cpus) {
    CHECK(!thread_.runs());
    zero_ = zero;
    for (; next_ < events_.size() && events_[next_].at_ns < from_ns; ++next_) {
        leave_out(events_[next_]);
    }
    left_out_ = next_;
    wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_.is_open()) {
        return error_from_errno(errno, "start a thread");
    }
    return thread_.start<&EventThread::work>("events", cpus, *this);
}

void EventThread::stop(bool interrupted) {
    if (!thread_.runs()) {
        return;
    }
    ending_.store(interrupted ? Ending::interrupted : Ending::over, std::memory_order_release);
    const std::uint64_t one = 1;
    (void)!::write(wake_.number(), &one, sizeof one);
    thread_.join();
}

void EventThread::work() {
    if (std::ranges::count(events_, TimedEventKind::post, &PlannedEvent::kind) > 0) {
        Result<std::unique_ptr<Driver>> made = make_driver(DriverOptions::small());
        if (made) {
            driver_ = std::move(made).value();
            loop_ = std::make_unique<Loop>(*driver_, timers_max);
        } else {
            no_driver_ = failed_text(made.error());
        }
    }
    for (;;) {  // ends: after `stop` nothing begins, and what goes on has a limit
        const Instant now = HostClocks::now();
        const bool over = ending_.load(std::memory_order_acquire) != Ending::no;
        if (over) {
            hurry(now);
        } else {
            begin_due(now);
        }
        std::erase_if(underway_, [this, now](const auto& one) { return step(*one, now); });
        if (over && underway_.empty()) {
            break;
        }
        wait(HostClocks::now());
    }
    for (; next_ < events_.size(); ++next_) {
        write(line_of(events_[next_]), {});
    }
    loop_.reset();
    driver_.reset();
}

void EventThread::leave_out(const PlannedEvent& event) {
    const std::vector<std::uint64_t>& told = rules_.told;
    const bool has_line = std::find(told.begin(), told.end(), event.number) != told.end();
    if (rules_.segment > 0 && !has_line) {
        TimedEvent line = line_of(event);
        line.status = EventStatus::unknown;
        write(std::move(line), {});
    }
}

/// None begins any more: the run is over, or the user has asked it to stop.
bool EventThread::ends() const {
    return ending_.load(std::memory_order_acquire) != Ending::no ||
           (rules_.stop_requests != nullptr && rules_.stop_requests->load() > 0);
}

void EventThread::begin_due(Instant now) {
    while (!ends() && next_ < events_.size() && zero_ + Duration{events_[next_].at_ns} <= now) {
        begin(events_[next_], HostClocks::now());
        ++next_;
    }
}

void EventThread::begin(const PlannedEvent& event, Instant now) {
    auto one = std::make_unique<Underway>();
    one->line = line_of(event);
    one->line.begin_ns = (now - zero_).ns;
    one->limit = now + rules_.limit;
    switch (event.kind) {
        case TimedEventKind::label:
            one->line.status = EventStatus::ok;
            write(std::move(one->line), now);
            return;
        case TimedEventKind::run:
            begin_run(*one, event.what);
            break;
        case TimedEventKind::post:
            begin_post(*one, event);
            break;
    }
    if (one->command || one->posting != nullptr) {
        underway_.push_back(std::move(one));
    }
}

void EventThread::fail(Underway& one, std::string why) {
    one.line.status = EventStatus::failed;
    one.line.error = std::move(why);
    write(std::move(one.line), HostClocks::now());
}

void EventThread::begin_run(Underway& one, const std::string& what) {
    Result<EventCommand> command = EventCommand::start(what);
    if (!command) {
        fail(one, failed_text(command.error()));
        return;
    }
    one.command.emplace(std::move(command).value());
}

void EventThread::begin_post(Underway& one, const PlannedEvent& event) {
    if (loop_ == nullptr) {
        fail(one, no_driver_);
        return;
    }
    one.posting = std::make_unique<Asking>(*loop_, event.question, rules_.limit);
    one.posting->begin();
}

/// True where it has ended, and its line is written.
bool EventThread::step(Underway& one, Instant now) {
    if (one.command) {
        one.command->read_output(one.line.output, event_output_max, one.line.output_bytes);
        if (const std::optional<ChildEnd> end = one.command->end()) {
            one.command->read_output(one.line.output, event_output_max, one.line.output_bytes);
            take_end(one, *end);
            return true;
        }
    } else if (one.posting->answer()) {
        take_answer(one, *one.posting->answer());
        return true;
    }
    if (now >= one.limit) {
        force(one, now);
    }
    return false;
}

/// It has had its time. Called again where it goes on all the same.
void EventThread::force(Underway& one, Instant now) {
    const bool again = one.forced != EventStatus::ok;
    one.forced = again            ? one.forced
                 : one.is_hurried ? EventStatus::cut_off
                                  : EventStatus::timed_out;
    one.limit = now + kill_pause;
    if (!one.command) {
        one.posting->cancel();
    } else if (again) {
        one.command->kill();
    } else {
        one.command->ask_to_end();
    }
}

void EventThread::take_end(Underway& one, const ChildEnd& end) {
    if (end.exit_code >= 0) {
        one.line.code = end.exit_code;
    } else if (end.signal != 0) {
        one.line.signal = end.signal;
    }
    const bool good = end.exit_code == 0;
    one.line.status = one.forced != EventStatus::ok ? one.forced
                      : good                        ? EventStatus::ok
                                                    : EventStatus::failed;
    write(std::move(one.line), HostClocks::now());
}

void EventThread::take_answer(Underway& one, const Result<Reply>& answer) {
    TimedEvent& line = one.line;
    line.status = EventStatus::failed;
    Instant end = HostClocks::now();
    if (answer) {
        const Reply& reply = answer.value();
        const bool good = reply.status >= 200 && reply.status < 300;
        line.code = reply.status;
        line.status = good ? EventStatus::ok : EventStatus::failed;
        line.output = reply.body.substr(0, event_output_max);
        line.output_bytes = reply.body.size();
        end = std::max(reply.headers, reply.last_body);
    } else if (one.forced != EventStatus::ok) {
        line.status = one.forced;
    } else {
        const bool late = answer.error().code == ErrorCode::timed_out;
        line.status = late ? EventStatus::timed_out : EventStatus::failed;
        line.error = late ? "" : failed_text(answer.error());
    }
    write(std::move(line), end);
}

/// The run is over: nothing goes on for longer than the rules allow.
void EventThread::hurry(Instant now) {
    const bool interrupted = ending_.load() == Ending::interrupted;
    if (hurried_) {
        return;
    }
    hurried_ = true;
    for (const std::unique_ptr<Underway>& one : underway_) {
        const Instant last = interrupted ? now : now + rules_.last_wait;
        one->is_hurried = last < one->limit && one->forced == EventStatus::ok;
        one->limit = std::min(one->limit, last);
    }
}

/// Until something is due, ends, or was said.
void EventThread::wait(Instant now) {
    Instant until = now + sleep_max;
    if (!ends() && next_ < events_.size()) {
        until = std::min(until, std::max(zero_ + Duration{events_[next_].at_ns}, now));
    }
    std::vector<pollfd> watched{{wake_.number(), POLLIN, 0}};
    if (hurried_) {
        watched.clear();  // it stays readable
    }
    bool posting = false;
    for (const std::unique_ptr<Underway>& one : underway_) {
        until = std::min(until, std::max(one->limit, now));
        posting = posting || one->posting != nullptr;
        if (one->command) {
            watched.push_back({one->command->end_fd(), POLLIN, 0});
            watched.push_back(
                {one->command->output_fd(), POLLIN, 0});  // below 0 it is not looked at
        }
    }
    if (posting) {
        (void)loop_->turn(std::min(until, now + look_pause), Wait::sleep);
        return;
    }
    const std::int64_t ns = (until - now).ns;
    const timespec pause{ns / 1'000'000'000, ns % 1'000'000'000};
    (void)::ppoll(watched.data(), watched.size(), &pause, nullptr);
}

void EventThread::write(TimedEvent line, std::optional<Instant> end) {
    line.segment = rules_.segment;
    if (end) {
        line.end_ns = std::max((*end - zero_).ns, line.begin_ns.value_or(0));
    }
    line.what = masked(line.what, rules_.secrets, line.what.size());
    line.output = masked(line.output, rules_.secrets, event_output_max);
    line.error = masked(line.error, rules_.secrets, event_output_max);
    append_json_line(file_.buffer(), line);
    file_.commit();
    file_.flush();
    if (rules_.tell != nullptr) {
        rules_.tell(line, rules_);
    }
    ended_.push_back(std::move(line));
}

}  // namespace driftless
