#include "cmd/screen/plots.hpp"

#include <algorithm>
#include <cmath>

namespace driftless {

namespace {

constexpr const char* across[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
constexpr const char* upward[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// The eighths of `cells` cells that a value fills.
std::size_t eighths(double value, double full, std::size_t cells) {
    if (!(value > 0) || !(full > 0)) {
        return 0;
    }
    const double filled = std::min(value / full, 1.0) * static_cast<double>(cells * 8);
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(filled)));
}

}  // namespace

std::string bar(double value, double full, std::size_t width) {
    std::string text;
    std::size_t left = eighths(value, full, width);
    for (std::size_t cell = 0; cell < width; ++cell) {
        const std::size_t here = std::min<std::size_t>(left, 8);
        text += across[here];
        left -= here;
    }
    return text;
}

std::vector<std::string> columns(std::span<const std::uint64_t> values, std::size_t height) {
    const std::uint64_t full = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
    std::vector<std::string> lines(height);
    for (const std::uint64_t value : values) {
        std::size_t left = eighths(static_cast<double>(value), static_cast<double>(full), height);
        for (std::size_t line = height; line > 0; --line) {
            const std::size_t here = std::min<std::size_t>(left, 8);
            lines[line - 1] += upward[here];
            left -= here;
        }
    }
    return lines;
}

std::string grouped(std::uint64_t value) {
    const std::string digits = std::to_string(value);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) {
            text += ',';
        }
        text += digits[i];
    }
    return text;
}

std::string grouped_sum(std::uint64_t sum, bool is_whole) {
    return is_whole ? grouped(sum) : sum == 0 ? "unknown" : "at least " + grouped(sum);
}

}  // namespace driftless
