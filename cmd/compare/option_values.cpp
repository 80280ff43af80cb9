#include "cmd/compare/option_values.hpp"

#include <charconv>
#include <optional>

namespace driftless {

Result<double> parse_margin(std::string_view text) {
    constexpr double percent_max = 50;
    constexpr double share_max = 0.05;
    const Error wrong{ErrorCode::invalid, 0,
                      "is not a margin from 0 to 50 %; use \"1 %\", or 0.01 (up to 0.05)"};
    const bool in_percent = text.ends_with('%');
    text.remove_suffix(in_percent ? 1 : 0);
    while (text.ends_with(' ')) {
        text.remove_suffix(1);
    }
    double percent = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), percent, std::chars_format::fixed);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (!whole || percent < 0) {
        return wrong;
    }
    // A larger share without its sign may have been meant as one: 0.5 as 0.5 %.
    const double share = in_percent ? percent / 100 : percent;
    return share <= (in_percent ? percent_max / 100 : share_max) ? Result<double>(share) : wrong;
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
