#include "cmd/compare/option_values.hpp"

#include <charconv>
#include <optional>

namespace driftless {

Result<double> parse_margin(std::string_view text) {
    constexpr double percent_max = 50;
    const Error wrong{ErrorCode::invalid, 0, "is not a margin from 0 to 50 %; use \"1 %\" or 0.01"};
    const bool in_percent = text.ends_with('%');
    text.remove_suffix(in_percent ? 1 : 0);
    while (text.ends_with(' ')) {
        text.remove_suffix(1);
    }
    double percent = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), percent, std::chars_format::fixed);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    percent *= in_percent ? 1 : 100;
    return whole && percent >= 0 && percent <= percent_max ? Result<double>(percent / 100) : wrong;
}

Result<ComparedMetric> parse_metric(std::string_view text) {
    if (const std::optional<ComparedMetric> metric = read_metric(text)) {
        return *metric;
    }
    return Error{ErrorCode::invalid, 0,
                 "is not a metric that can be compared; use ttft, ttft_due, tpot and e2e (each "
                 "with :mean, :p99 or the like), errors, good, goodput, request_throughput, "
                 "output_throughput and total_token_throughput"};
}

Result<bool> parse_unsure(std::string_view text) {
    if (text == "pass" || text == "fail") {
        return text == "fail";
    }
    return Error{ErrorCode::invalid, 0, "is not one of pass, fail"};
}

}  // namespace driftless
