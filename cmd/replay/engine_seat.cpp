/// An engine's seat: what it is made of, and how much memory its parts have used.

#include <algorithm>
#include <utility>

#include "cmd/replay/engine_crew.hpp"
#include "cmd/replay/host_choice.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/replay/run_file.hpp"
#include "cmd/replay/timing_notes.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/run.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

namespace {

/// How much memory a run has used, part by part. `before`: the marks of the blocks that were built
/// before the run.
RunMarks run_marks(Run& run, RequestPass& pass, const EventRing& ring, ReplayParts& parts,
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

std::size_t ring_bytes(ReplayParts& parts, const Plan& plan) {
    const RequestFlags& request = parts.invocation().options.request;
    const Workload& workload = parts.workload();
    const bool lengths_known = request.output != OutputRule::free &&
                               !request.dialect->repeats_text && !workload.users.recycle;
    return event_ring_bytes(plan, workload.trace, lengths_known, !workload.waiting);
}

std::size_t rows_open_max(ReplayParts& parts, const Plan& plan, const ReplaySettings& settings) {
    return std::min<std::size_t>(std::max(settings.inflight_max, settings.lanes_max),
                                 requests_most(plan, parts.workload().users));
}

RequestPass pass_of(ReplayParts& parts, const Plan& plan, const EarlierRows& earlier,
                    ShardPlace place, const std::vector<std::uint32_t>* positions) {
    const Invocation& invocation = parts.invocation();
    const Workload& workload = parts.workload();
    return {parts, plan,
            schedule_of(invocation.options.workload.plan.speed, workload, plan, earlier,
                        users_of(workload.users, place), workload.live ? &*workload.live : nullptr),
            invocation.run_id, positions};
}

}  // namespace

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
    const LaneCounts& lanes = run.lane_counts();
    RunEnd end;
    end.interrupted = run.interrupted();
    if (parts_.workload().users.users == 0 && pass_.armer().all_armed()) {
        end.prompts_digest = pass_.armer().prompts_digest();
        end.against_digest = pass_.armer().against_digest();
    }
    end.clamped_rows = pass_.armer().clamped_rows();
    end.connects = lanes.connects;
    end.connect_failures = lanes.connect_failures;
    end.stale_retries = lanes.stale_retries;
    end.closed_idle = lanes.closed_idle;
    end.retired_idle = lanes.retired_idle;
    if (const IdleLimit limit = run.idle_limit(); limit.known()) {
        end.idle_limit_ns = limit.limit.ns;
    }
    end.system_calls = driver.counters().enters;
    end.operations = driver.counters().submits;
    end.no_buffers = driver.counters().no_buffers;
    end.overflows = driver.counters().overflows;
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

namespace {

void add_digest(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& other) {
    sum = sum && other ? std::optional(*sum + *other) : std::nullopt;  // it wraps
}

void add_marks(RunMarks& sum, const RunMarks& other) {
    sum.body_region += other.body_region;
    sum.body_max += other.body_max;
    sum.row_fields += other.row_fields;
    sum.event_ring += other.event_ring;
    sum.event_ring_max += other.event_ring_max;
    sum.block_cache += other.block_cache;
    sum.block_cache_hits += other.block_cache_hits;
    sum.block_cache_misses += other.block_cache_misses;
    sum.frames += other.frames;
    sum.frames_max += other.frames_max;
    sum.lanes_max += other.lanes_max;
}

void add_idle(std::optional<IdleFigures>& sum, const std::optional<IdleFigures>& other) {
    if (!sum || !other) {
        sum = sum ? sum : other;
        return;
    }
    sum->tree_jumps += other->tree_jumps;
    sum->tree_skipped_ns += other->tree_skipped_ns;
    sum->system_jumps += other->system_jumps;
    sum->system_skipped_ns += other->system_skipped_ns;
}

void add_stamps(StampFacts& sum, const StampFacts& other) {
    sum.reason = sum.reason.empty() ? other.reason : sum.reason;
    sum.wire += other.wire;
    sum.missing += other.missing;
    sum.refused += other.refused;
    sum.stray += other.stray;
}

}  // namespace

void add_end(RunEnd& sum, const RunEnd& other) {
    sum.interrupted = sum.interrupted || other.interrupted;
    add_digest(sum.prompts_digest, other.prompts_digest);
    add_digest(sum.against_digest, other.against_digest);
    sum.clamped_rows += other.clamped_rows;
    sum.connects += other.connects;
    sum.connect_failures += other.connect_failures;
    sum.stale_retries += other.stale_retries;
    sum.stepped_aside += other.stepped_aside;
    sum.closed_idle += other.closed_idle;
    sum.retired_idle += other.retired_idle;
    if (other.idle_limit_ns) {
        sum.idle_limit_ns = std::min(sum.idle_limit_ns.value_or(INT64_MAX), *other.idle_limit_ns);
    }
    sum.system_calls += other.system_calls;
    sum.operations += other.operations;
    sum.no_buffers += other.no_buffers;
    sum.overflows += other.overflows;
    sum.guard_ns = std::max(sum.guard_ns, other.guard_ns);
    sum.margin_ns = std::max(sum.margin_ns, other.margin_ns);
    add_idle(sum.idle, other.idle);
    add_tls_facts(sum.tls, other.tls);
    add_marks(sum.marks, other.marks);
    add_stamps(sum.stamps, other.stamps);
}

}  // namespace driftless
