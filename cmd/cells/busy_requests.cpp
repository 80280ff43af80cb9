#include "cmd/cells/busy_requests.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace driftless {

namespace {

// Gauges. A page may have those of two servers (a router and its engines): all are summed, because
// none may have a request.
constexpr std::array<std::string_view, 10> names{"vllm:num_requests_running",
                                                 "vllm:num_requests_waiting",
                                                 "sglang:num_running_reqs",
                                                 "sglang:num_queue_reqs",
                                                 "tgi_queue_size",
                                                 "tgi_batch_current_size",
                                                 "llamacpp:requests_processing",
                                                 "llamacpp:requests_deferred",
                                                 "dynamo_frontend_inflight_requests",
                                                 "dynamo_frontend_queued_requests"};

/// The value of a line "name{labels} 3.0 [time]", where it is one of ours.
std::optional<double> value_of(std::string_view line) {
    const std::size_t name_end = std::min(line.find_first_of("{ \t"), line.size());
    if (std::find(names.begin(), names.end(), line.substr(0, name_end)) == names.end()) {
        return std::nullopt;
    }
    line.remove_prefix(name_end);
    if (line.starts_with('{')) {  // a label's value may hold blanks, but no line ends behind it
        const std::size_t close = line.rfind('}');
        line = close == line.npos ? std::string_view() : line.substr(close + 1);
    }
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    double value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    return error == std::errc() && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<double> busy_requests(std::string_view page) {
    std::optional<double> sum;
    while (!page.empty()) {
        const std::size_t end = std::min(page.find('\n'), page.size());
        if (const std::optional<double> value = value_of(page.substr(0, end)); value) {
            sum = sum.value_or(0) + *value;
        }
        page.remove_prefix(std::min(end + 1, page.size()));
    }
    return sum;
}

}  // namespace driftless
