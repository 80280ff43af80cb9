#include "cmd/replay/flags/host_flags.hpp"

#include <algorithm>
#include <vector>

#include "cmd/engine_count.hpp"
#include "proto/record/client_sample.hpp"

namespace driftless {

namespace {

/// A cap of this process that its engines share.
struct SharedCap {
    const char* flag;
    std::uint64_t value;  ///< 0: there is none
};

std::vector<SharedCap> shared_caps(const ReplayOptions& options) {
    const SendingFlags& sending = options.sending;
    const UserRules& users = options.workload.users;
    const ShardPlace& shard = options.shard.place;
    return {{"--max-inflight", sending.inflight_max.value_or(0)},
            {"--connections", sending.connections.value_or(0)},
            {users.single_rows ? "--concurrency" : "--users",
             part_of(users.users, shard.count, shard.index)},
            {"--budget-input", sending.budget_input ? sending.budget_input->rate.tokens : 0},
            {"--budget-output", sending.budget_output ? sending.budget_output->rate.tokens : 0}};
}

}  // namespace

std::string one_engine_flag(const ReplayOptions& options) {
    const UserRules& users = options.workload.users;
    if (options.request.assistant == Assistant::live) {
        return "--assistant live";
    }
    if (options.workload.grow) {
        return "--grow";
    }
    if (users.start.warms_up()) {
        return users.start.is_inside() ? "--start-within" : "--warmup-requests";
    }
    return users.idle.system_ns ? "--system-idle-cap" : "";
}

std::uint32_t engines_most(const ReplayOptions& options) {
    std::uint64_t most = engines_max;
    for (const SharedCap& cap : shared_caps(options)) {
        most = cap.value > 0 ? std::min(most, cap.value) : most;
    }
    return static_cast<std::uint32_t>(most);
}

namespace {

/// What contradicts `--engines`.
std::string engines_refusal(const ReplayOptions& options) {
    const std::uint32_t engines = options.host.engines;
    if (engines <= 1) {
        return "";
    }
    const std::string typed = "--engines " + std::to_string(engines);
    if (const std::string flag = one_engine_flag(options); !flag.empty()) {
        return typed + " and " + flag +
               " cannot be combined, because no engine sees the whole run; remove one";
    }
    for (const SharedCap& cap : shared_caps(options)) {
        if (cap.value > 0 && cap.value < engines) {
            return std::string(cap.flag) + " " + std::to_string(cap.value) +
                   (options.shard.is_part() ? " (the part of this shard)" : "") + " is less than " +
                   typed + ", and each engine needs a part; use a lower --engines";
        }
    }
    return "";
}

}  // namespace

std::string host_contradiction(const ReplayOptions& options) {
    if (options.calibration.require_certified && options.calibration.source == "none") {
        return "--require-certified and --calibration none cannot be combined; remove one";
    }
    if (options.host.warm_sends && options.host.wait == WaitPolicy::sleep) {
        return "--warm-send needs an engine that spins; use --wait hybrid, not sleep";
    }
    if (options.host.realtime && options.host.wait == WaitPolicy::spin) {
        return "--realtime with --wait spin loses 5 % of the time; use --wait hybrid";
    }
    if (options.host.realtime && options.host.scheduling) {
        return "--realtime and --scheduling cannot be combined; remove one";
    }
    return engines_refusal(options);
}

}  // namespace driftless
