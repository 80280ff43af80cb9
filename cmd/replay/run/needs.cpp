#include "cmd/replay/run/needs.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <queue>

#include "cmd/values.hpp"

namespace driftless {

namespace {

constexpr const char* consequence = ". Otherwise rows wait and are tainted (late_cause limit)";

}  // namespace

OpenEstimate open_estimate(const Plan& plan, const Trace& trace, std::int64_t token_ns) {
    OpenEstimate estimate;
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends;
    for (const Planned& planned : plan.rows) {
        while (!ends.empty() && ends.top() < planned.due_ns) {
            ends.pop();
        }
        ends.push(planned.due_ns + token_ns * trace.rows[planned.row].output_length);
        if (ends.size() > estimate.most) {
            estimate = {ends.size(), planned.due_ns};
        }
    }
    return estimate;
}

std::string open_warning(const OpenEstimate& estimate, const ConnectionRoom& room) {
    const std::string what = "at " + std::to_string(token_ns_estimated / 1'000'000) +
                             " ms per output token, " + std::to_string(estimate.most) +
                             " requests are open " + seconds_text(estimate.at_ns) +
                             " after the start, all";
    const std::string why = why_too_many(estimate.most, what, room);
    return why.empty() ? "" : why + consequence;
}

std::uint64_t bytes_within(const Plan& plan, const std::vector<std::size_t>& bytes,
                           std::int64_t stretch_ns) {
    std::uint64_t most = 0;
    std::uint64_t within = 0;
    std::size_t begin = 0;
    for (std::size_t end = 0; end < plan.rows.size(); ++end) {
        for (; plan.rows[end].due_ns - plan.rows[begin].due_ns >= stretch_ns; ++begin) {
            within -= bytes[begin];
        }
        within += bytes[end];
        most = std::max(most, within);
    }
    return most;
}

std::size_t event_ring_bytes(const Plan& plan, const Trace& trace, bool lengths_known,
                             bool dues_known) {
    constexpr std::uint64_t margin = 4;
    std::vector<std::size_t> bytes;
    std::uint64_t all = 0;
    for (const Planned& planned : plan.rows) {
        const std::uint32_t tokens = trace.rows[planned.row].output_length;
        if (!lengths_known || tokens == 0) {
            return event_ring_bytes_max;
        }
        bytes.push_back(row_event_bytes + token_event_bytes * tokens);
        all += bytes.back();
    }
    const std::uint64_t second = dues_known ? bytes_within(plan, bytes, 1'000'000'000) : all;
    return std::clamp<std::uint64_t>(margin * std::min(all, second), event_ring_bytes_min,
                                     event_ring_bytes_max);
}

std::string bodies_warning(std::uint64_t needed, std::uint64_t room) {
    if (needed <= room) {
        return "";
    }
    return "requests of " + std::to_string(needed >> 20) + " MiB are due within " +
           std::to_string(bodies_turnover_ns / 1'000'000) + " ms, and " +
           std::to_string(room >> 20) +
           " MiB are kept ready; --arm-ahead all holds all of them if memory allows" + consequence;
}

}  // namespace driftless
