#include "engine/host/power.hpp"

#include <time.h>

#include <algorithm>
#include <array>

#include "engine/host/kernel_files.hpp"

namespace driftless {

namespace {

constexpr int idle_states_max = 16;  // CPUIDLE_STATE_MAX is 10

std::optional<bool> read_turbo(const std::string& devices) {
    if (const auto off = kernel_number(devices + "/intel_pstate/no_turbo"); off) {
        return *off == 0;
    }
    if (const auto on = kernel_number(devices + "/cpufreq/boost"); on) {
        return *on != 0;
    }
    return std::nullopt;
}

std::int64_t now_ns() {
    timespec now{};
    (void)::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

PowerSettings read_power_settings(std::uint32_t cpu, const std::string& root) {
    const std::string devices = root + "/devices/system/cpu";
    const std::string own = devices + "/cpu" + std::to_string(cpu);
    PowerSettings settings;
    settings.governor = kernel_line(own + "/cpufreq/scaling_governor");
    settings.turbo = read_turbo(devices);
    for (int i = 0; i < idle_states_max; ++i) {
        const std::string state = own + "/cpuidle/state" + std::to_string(i);
        const auto latency = kernel_number(state + "/latency");
        if (!latency) {
            break;
        }
        if (kernel_number(state + "/disable").value_or(0) == 0 &&
            *latency >= settings.idle_latency_us) {
            settings.idle_state = kernel_line(state + "/name");
            settings.idle_latency_us = *latency;
        }
    }
    return settings;
}

ClockSource read_clock_source() {
    constexpr int per_round = 64;
    std::array<std::int64_t, 31> rounds{};
    for (std::int64_t& round : rounds) {
        const std::int64_t begin = now_ns();
        for (int i = 1; i < per_round; ++i) {
            (void)now_ns();
        }
        round = (now_ns() - begin) / per_round;
    }
    std::nth_element(rounds.begin(), rounds.begin() + rounds.size() / 2, rounds.end());
    return {kernel_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            rounds[rounds.size() / 2]};
}

}  // namespace driftless
