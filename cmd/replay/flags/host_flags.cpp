#include "cmd/replay/flags/host_flags.hpp"

#include <algorithm>
#include <vector>

#include "cmd/replay/flags/option_values.hpp"
#include "proto/record/client_sample.hpp"

namespace driftless {

namespace {

/// A cap of the run that its engines share.
struct SharedCap {
    const char* flag;
    std::uint64_t value;  ///< 0: there is none
};

std::vector<SharedCap> shared_caps(const SendingFlags& sending) {
    return {{"--max-inflight", sending.inflight_max.value_or(0)},
            {"--connections", sending.connections.value_or(0)},
            {"--budget-input", sending.budget_input ? sending.budget_input->rate.tokens : 0},
            {"--budget-output", sending.budget_output ? sending.budget_output->rate.tokens : 0}};
}

}  // namespace

Result<std::uint32_t> parse_engines(std::string_view text) {
    if (text == "auto") {
        return engines_auto;
    }
    const Result<std::uint32_t> engines = parse_u32(text);
    if (!engines || engines.value() == 0 || engines.value() > engines_max) {
        return Error{ErrorCode::invalid, 0, "is neither auto nor a number from 1 to 256"};
    }
    return engines;
}

std::string one_engine_flag(const ReplayOptions& options) {
    if (options.workload.users.users > 0) {
        return options.workload.users.single_rows ? "--concurrency" : "--users";
    }
    return options.request.assistant == Assistant::live ? "--assistant live" : "";
}

std::uint32_t engines_most(const ReplayOptions& options) {
    std::uint64_t most = engines_max;
    for (const SharedCap& cap : shared_caps(options.sending)) {
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
               " cannot be combined, because one engine plays them; remove one";
    }
    for (const SharedCap& cap : shared_caps(options.sending)) {
        if (cap.value > 0 && cap.value < engines) {
            return std::string(cap.flag) + " " + std::to_string(cap.value) + " is less than " +
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
    return engines_refusal(options);
}

}  // namespace driftless
