/// The meeting of the processes of one plan (RunMeeting), and the clocks at time 0.

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/values.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/replay_values.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/replay/replay.hpp"
#include "cmd/replay/side_threads.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"

namespace driftless {

ClockAnchors anchor(Instant zero) {
    std::array<ClockReading, 16> readings;
    for (ClockReading& reading : readings) {
        reading = {monotonic_ns(), realtime_clock().now(), monotonic_ns()};
    }
    ClockOffset tightest;
    tightest.take(readings.data(), readings.size());
    return {zero.ns, zero.ns + tightest.sample().offset_ns, tightest.sample().error_ns};
}

static constexpr int nap_ms = 100;

static void say(const std::string& note) {
    print_line("meet: %s", printable_lines(note).c_str());
}

static std::string microseconds_text(std::int64_t ns) {
    return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3);
}

/// Of all that decides which rows are sent when, what they say and how long they may take: flags,
/// and what the server said of itself.
static std::string plan_digest(const ReplayParts& parts) {
    const Server& server = parts.server();
    const ReplayOptions& options = parts.invocation().options;
    Digest digest;
    digest.add_u64(parts.workload().plan.schedule_digest);
    digest.add_u64(options.workload.plan.seed);
    std::vector<std::string> texts = sending_settings(parts.invocation().arguments);
    texts.emplace_back(options.request.dialect->name);
    texts.emplace_back(output_choices.name_of(options.request.output));
    for (const std::string& text : texts) {
        digest.add_u64(text.size());
        digest.add(text);
    }
    digest.add(parts.invocation().cache_salt);
    digest.add_u64(parts.words().digest());
    digest.add_u64(server.findings.overhead.pre);
    digest.add_u64(server.findings.overhead.post);
    return hex_text(digest.value());
}

/// The reading of CLOCK_MONOTONIC at that one of CLOCK_REALTIME.
static Instant monotonic_at(std::int64_t utc_ns) {
    const Instant now{monotonic_ns()};
    return now + Duration{utc_ns - anchor(now).zero_utc_ns};
}

RunMeeting::RunMeeting(const ReplayParts& parts, bool resumes)
    : parts_(parts), flags_(parts.invocation().options.shard), resumes_(resumes) {}

/// Shard 0, from here to the end of the run: a shard that ends before it can connect, and waits.
int RunMeeting::listen() {
    if (flags_.place.index != 0) {
        return exit_done;
    }
    Result<MeetHost> host = MeetHost::listen(flags_.meet->port);
    if (!host) {
        return fail_host(("--meet " + text_of(*flags_.meet)).c_str(), host.error());
    }
    host_.emplace(std::move(host).value());
    return exit_done;
}

MeetSetting RunMeeting::setting(MeetPhase phase) const {
    MeetSetting setting;
    setting.own = {phase,
                   flags_.place.index,
                   flags_.place.count,
                   version(),
                   hex_text(parts_.workload().trace.digest),
                   plan_digest(parts_)};
    setting.clock = realtime_clock();
    setting.timeout_ns = flags_.meet_timeout_ns;
    setting.stop_requests = &stop_requests();
    setting.say = say;
    return setting;
}

Duration RunMeeting::begin_due(Duration first_due) const {
    const std::optional<WorkloadShare>& share = parts_.workload().share;
    return share && !resumes_ ? Duration{share->first_due_ns} : first_due;
}

std::optional<Instant> RunMeeting::time_zero(Instant ready, Duration first_due,
                                             RunProgress& progress, int& code) {
    if (resumes_ || (!flags_.meet && !flags_.start_at_utc_ns)) {
        return ready - begin_due(first_due);
    }
    if (facts_) {  // it was named, and too little time was left
        code = refuse_late();
        return {};
    }
    const OrExit<Instant> named = named_zero();
    if (!named) {
        code = named.exit_code();
        return {};
    }
    progress.meeting = facts_;
    return named.value();
}

OrExit<Instant> RunMeeting::named_zero() {
    if (flags_.start_at_utc_ns) {
        return at_named_instant();
    }
    if (const int code = listen(); code != exit_done) {
        return code;
    }
    const MeetSetting met = setting(MeetPhase::before);
    say(host_ ? "this shard is ready; waiting for " + std::to_string(flags_.place.count - 1) +
                    " others at port " + std::to_string(flags_.meet->port)
              : "this shard is ready; asking shard 0 at " + text_of(*flags_.meet));
    const MeetOutcome outcome =
        host_ ? host_->gather(met) : meet_as_guest(flags_.meet->host, flags_.meet->port, met);
    if (outcome.end == MeetOutcome::End::stopped) {
        return refuse_interrupted();
    }
    if (outcome.end == MeetOutcome::End::failed) {
        return refuse(exit_host, "driftless: --meet %s: %s; nothing was sent",
                      text_of(*flags_.meet).c_str(), printable_lines(outcome.why).c_str());
    }
    const ClockDifference difference = outcome.difference.value_or(ClockDifference());
    facts_ = {text_of(*flags_.meet),
              host_ ? "host" : "guest",
              outcome.start_ns,
              {difference, std::nullopt, kernel_clock_error_ns()}};
    say("all " + std::to_string(flags_.place.count) + " shards begin at " +
        utc_text(outcome.start_ns) +
        (host_ ? ""
               : "; this clock is " + microseconds_text(difference.offset_ns) +
                     " ahead of that of shard 0, give or take " +
                     microseconds_text(difference.error_ns)));
    warn_of_clock(difference);
    return monotonic_at(outcome.start_ns + difference.offset_ns);
}

/// With everything warm; connections that a server closes meanwhile are opened anew in the last
/// seconds.
OrExit<Instant> RunMeeting::at_named_instant() {
    const std::int64_t at_ns = *flags_.start_at_utc_ns;
    facts_ = {
        utc_text(at_ns), "start-at", at_ns, {std::nullopt, std::nullopt, kernel_clock_error_ns()}};
    const std::int64_t left_ns = at_ns - realtime_clock().now();
    say("ready; the run begins at " + utc_text(at_ns) + ", in " +
        seconds_text(std::max<std::int64_t>(left_ns, 0)));
    if (flags_.is_part() &&
        facts_->clock.kernel_error_ns.value_or(INT64_MAX) > flags_.clock_error_max_ns) {
        complain(
            "driftless: warning: this host's clock is %s; shards begin as far apart as "
            "their clocks are (--meet compares the clocks)",
            facts_->clock.kernel_error_ns
                ? ("within " + microseconds_text(*facts_->clock.kernel_error_ns) + " of UTC")
                      .c_str()
                : "not synchronized by NTP or PTP, according to the kernel");
    }
    while (at_ns - realtime_clock().now() > meet_lead_ns) {  // ends: time passes
        if (stop_requests().load() > 0) {
            return refuse_interrupted();
        }
        (void)::poll(nullptr, 0, nap_ms);
    }
    return monotonic_at(at_ns);
}

int RunMeeting::refuse_late() const {
    return refuse(
        exit_host,
        "driftless: time 0 at %s came before all was ready (it is now %s), so nothing was "
        "sent; name a later instant",
        utc_text(facts_->zero_utc_ns).c_str(), utc_text(realtime_clock().now()).c_str());
}

void RunMeeting::warn_of_clock(const std::optional<ClockDifference>& difference) const {
    if (!difference || difference->error_ns <= flags_.clock_error_max_ns) {
        return;
    }
    complain(
        "driftless: warning: the offset of this clock to that of shard 0 is known only to "
        "within %s, which is more than --clock-error-max %s (a round trip takes %s)",
        microseconds_text(difference->error_ns).c_str(),
        duration_to_text(flags_.clock_error_max_ns).c_str(),
        microseconds_text(difference->round_trip_ns).c_str());
}

bool RunMeeting::meets_again() const {
    return facts_ && flags_.meet && !resumes_ && stop_requests().load() == 0;
}

void RunMeeting::wait_for_others(RunProgress& progress) {
    if (host_ && meets_again()) {
        meet_again(progress);
    }
}

bool RunMeeting::meet_host_again(RunProgress& progress) {
    if (!meets_again() || facts_->role == "host") {
        return false;
    }
    meet_again(progress);
    return facts_->clock.after.has_value();
}

void RunMeeting::meet_again(RunProgress& progress) {
    const MeetSetting met = setting(MeetPhase::after);
    if (flags_.is_part()) {
        say("the run is over; the clocks are compared once more");
    }
    const MeetOutcome outcome =
        host_ ? host_->gather(met) : meet_as_guest(flags_.meet->host, flags_.meet->port, met);
    if (outcome.end == MeetOutcome::End::failed) {
        say("after the run: " + outcome.why);
    }
    facts_->clock.after = host_ ? ClockDifference() : outcome.difference;
    host_.reset();  // later connections are refused
    warn_of_clock(facts_->clock.after);
    if (facts_->clock.after && facts_->role == "guest") {
        say("this clock moved by " +
            microseconds_text(facts_->clock.after->offset_ns - facts_->clock.before->offset_ns) +
            " against that of shard 0");
    }
    progress.meeting = facts_;
}

}  // namespace driftless
