#include "cmd/replay/flags/host_flags.hpp"

#include "cmd/replay/flags/option_values.hpp"
#include "proto/record/client_sample.hpp"

namespace driftless {

namespace {

std::string too_few(const char* flag, std::uint64_t value, const std::string& engines) {
    return std::string(flag) + " " + std::to_string(value) + " is less than " + engines +
           ", and each engine needs one; use a lower --engines";
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
    const SendingFlags& sending = options.sending;
    if (sending.inflight_max.value_or(engines) < engines) {
        return too_few("--max-inflight", *sending.inflight_max, typed);
    }
    if (sending.connections.value_or(engines) < engines) {
        return too_few("--connections", *sending.connections, typed);
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
