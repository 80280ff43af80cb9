/// An engine's seat: what it is made of, and how much memory its parts have used.

#include <algorithm>
#include <utility>

#include "cmd/replay/engine_crew.hpp"
#include "cmd/replay/timing_notes.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

/// How much memory a run has used, part by part. `before`: the marks of the blocks that were built
/// before the run.
static RunMarks run_marks(Run& run, RequestPass& pass, const EventRing& ring, ReplayParts& parts,
                          const PromptBuilder::CacheMarks& before) {
    RunMarks marks;
    marks.lanes_max = run.lane_counts().open_max;
    marks.body_region = pass.bodies().region_bytes();
    marks.body_max = pass.bodies().used_bytes_max();
    marks.row_fields = parts.row_fields().bytes();
    marks.event_ring = ring.capacity_bytes();
    marks.event_ring_max = ring.high_bytes();
    const PromptBuilder::CacheMarks cache = parts.prompts().cache_marks();
    marks.block_cache = cache.bytes;
    marks.block_cache_hits = cache.hits - before.hits;
    marks.block_cache_misses = cache.misses - before.misses;
    marks.frames = run.frame_marks().slab_bytes;
    marks.frames_max = run.frame_marks().live_max;
    return marks;
}

static std::size_t ring_bytes(ReplayParts& parts, const Plan& plan) {
    const RequestFlags& request = parts.invocation().options.request;
    const Workload& workload = parts.workload();
    const bool lengths_known = request.output != OutputRule::free &&
                               !request.dialect->repeats_text && !workload.users.recycle;
    return event_ring_bytes(plan, workload.trace, lengths_known, !workload.waiting);
}

static std::size_t rows_open_max(ReplayParts& parts, const Plan& plan,
                                 const ReplaySettings& settings) {
    return std::min<std::size_t>(std::max(settings.inflight_max, settings.lanes_max),
                                 requests_most(plan, parts.workload().users));
}

static RequestPass pass_of(ReplayParts& parts, const Plan& plan, const EarlierRows& earlier,
                           ShardPlace place, const std::vector<std::uint32_t>* positions) {
    const Invocation& invocation = parts.invocation();
    const Workload& workload = parts.workload();
    return {parts, plan,
            schedule_of(invocation.options.workload.plan.speed, workload, plan, earlier,
                        users_of(workload.users, place), workload.live ? &*workload.live : nullptr),
            invocation.run_id, positions};
}

EngineSeat::EngineSeat(ReplayParts& parts, const Plan& plan, const EarlierRows& earlier,
                       ReplaySettings settings)
    : parts_(parts),
      settings_(std::move(settings)),
      pass_(pass_of(parts_, plan, earlier, {}, nullptr)),
      cache_before_(parts.prompts().cache_marks()),
      ring_(ring_bytes(parts_, plan), rows_open_max(parts_, plan, settings_)) {}

EngineSeat::EngineSeat(std::unique_ptr<ReplayParts> parts, PlanShare share,
                       const EarlierRows& earlier, ReplaySettings settings, ShardPlace place)
    : own_parts_(std::move(parts)),
      parts_(*own_parts_),
      share_(std::move(share)),
      own_targets_(for_another_thread(parts_.server().targets)),
      place_(place),
      settings_(std::move(settings)),
      pass_(pass_of(parts_, share_->plan, earlier, place, &share_->positions)),
      cache_before_(parts_.prompts().cache_marks()),
      ring_(ring_bytes(parts_, share_->plan), rows_open_max(parts_, share_->plan, settings_)) {
    CHECK(!parts_.workload().live);
}

std::uint32_t EngineSeat::requests_end() {
    const Users* const users = pass_.schedule().users();
    return users == nullptr ? 0 : users->requests_end();
}

RunParts EngineSeat::run_parts(const std::atomic<int>& stop_requests, const ThreadMeter& meter) {
    const ResolvedTargets& targets = own_targets_ ? *own_targets_ : parts_.server().targets;
    return {parts_.workload().trace, pass_.schedule(), pass_.armer(), pass_.bodies(), ring_,
            targets.endpoints,       stop_requests,    &meter,        &marks_};
}

RunEnd EngineSeat::end_of(Run& run, const Driver& driver) {
    const ReplayOptions& options = parts_.invocation().options;
    RunEnd end;
    end.interrupted = run.interrupted();
    if (parts_.workload().users.users == 0 && pass_.armer().all_armed()) {
        end.prompts_digest = pass_.armer().prompts_digest();
        end.against_digest = pass_.armer().against_digest();
    }
    end.clamped_rows = pass_.armer().clamped_rows();
    end.lanes = run.lane_counts();
    if (const IdleLimit limit = run.idle_limit(); limit.known()) {
        end.idle_limit_ns = limit.limit.ns;
    }
    end.driver = driver.counters();
    end.guard_ns = run.guard().ns;
    end.margin_ns = run.margin().ns;
    end.measured_from_ns = run.measured_from_ns();
    end.idle = run.idle();
    end.stamps = stamp_facts(options.host.stamps, driver.facts(), run);
    end.tls = tls_facts(options.server.tls, own_targets_ ? *own_targets_ : parts_.server().targets);
    end.marks = run_marks(run, pass_, ring_, parts_, cache_before_);
    return end;
}

ReplaySettings settings_at(ReplaySettings whole, ShardPlace place) {
    const auto part = [place](std::uint32_t total) {
        return total == 0 ? 0 : std::max(part_of(total, place.count, place.index), 1U);
    };
    const auto part_of_rate = [place](TokenRate& rate) {
        const std::uint64_t tokens = rate.tokens;
        rate.tokens = tokens / place.count + (place.index < tokens % place.count ? 1 : 0);
        rate.tokens = tokens == 0 ? 0 : std::max<std::uint64_t>(rate.tokens, 1);  // 0: no bound
    };
    whole.inflight_max = part(whole.inflight_max);
    whole.lanes_max = part(whole.lanes_max);
    whole.connections_fixed = part(whole.connections_fixed);
    part_of_rate(whole.budgets.input);
    part_of_rate(whole.budgets.output);
    return whole;
}

static void add_digest(std::optional<std::uint64_t>& sum,
                       const std::optional<std::uint64_t>& other) {
    sum = sum && other ? std::optional(*sum + *other) : std::nullopt;  // it wraps
}

/// Adds these members of another one.
template <typename Counts, typename... Members>
static void add_each(Counts& sum, const Counts& other, Members Counts::*... members) {
    ((sum.*members += other.*members), ...);
}

static void add_idle(std::optional<IdleFigures>& sum, const std::optional<IdleFigures>& other) {
    if (!sum || !other) {
        sum = sum ? sum : other;
        return;
    }
    add_each(*sum, *other, &IdleFigures::tree_jumps, &IdleFigures::tree_skipped_ns,
             &IdleFigures::system_jumps, &IdleFigures::system_skipped_ns);
}

void add_end(RunEnd& sum, const RunEnd& other) {
    sum.interrupted = sum.interrupted || other.interrupted;
    add_digest(sum.prompts_digest, other.prompts_digest);
    add_digest(sum.against_digest, other.against_digest);
    add_each(sum, other, &RunEnd::clamped_rows, &RunEnd::stepped_aside);
    add_each(sum.lanes, other.lanes, &LaneCounts::connects, &LaneCounts::connect_failures,
             &LaneCounts::stale_retries, &LaneCounts::closed_idle, &LaneCounts::retired_idle,
             &LaneCounts::wire_stamps, &LaneCounts::wire_missing, &LaneCounts::stamps_refused,
             &LaneCounts::stamps_stray);
    if (other.idle_limit_ns) {
        sum.idle_limit_ns = std::min(sum.idle_limit_ns.value_or(INT64_MAX), *other.idle_limit_ns);
    }
    add_each(sum.driver, other.driver, &DriverCounters::enters, &DriverCounters::submits,
             &DriverCounters::no_buffers, &DriverCounters::overflows);
    sum.guard_ns = std::max(sum.guard_ns, other.guard_ns);
    sum.margin_ns = std::max(sum.margin_ns, other.margin_ns);
    add_idle(sum.idle, other.idle);
    add_tls_facts(sum.tls, other.tls);
    add_each(sum.marks, other.marks, &RunMarks::body_region, &RunMarks::body_max,
             &RunMarks::row_fields, &RunMarks::event_ring, &RunMarks::event_ring_max,
             &RunMarks::block_cache, &RunMarks::block_cache_hits, &RunMarks::block_cache_misses,
             &RunMarks::frames, &RunMarks::frames_max, &RunMarks::lanes_max);
    sum.stamps.reason = sum.stamps.reason.empty() ? other.stamps.reason : sum.stamps.reason;
}

}  // namespace driftless
