#include "cmd/find/window.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "cmd/values.hpp"

namespace driftless {

namespace {

constexpr double spare = 1.2;
constexpr std::int64_t ns_per_second = 1'000'000'000;

}  // namespace

Window::Window(std::vector<std::string> replay_flags) : flags_(std::move(replay_flags)) {
    for (std::size_t i = 0; i < flags_.size(); ++i) {
        for (const std::string_view name : {"--for", "--duration"}) {
            const std::string joined = std::string(name) + "=";
            const bool apart = flags_[i] == name && i + 1 < flags_.size();
            if (!apart && !flags_[i].starts_with(joined)) {
                continue;
            }
            const std::string text = apart ? flags_[i + 1] : flags_[i].substr(joined.size());
            if (const Result<std::int64_t> ns = parse_duration_ns(text); ns && ns.value() > 0) {
                typed_ns_ = ns.value();
                at_ = apart ? i + 1 : i;
                before_ = apart ? "" : joined;
            }
        }
    }
}

bool Window::can_grow() const {
    return typed_ns_ > 0 && times_ < longest;
}

void Window::grow(std::uint64_t rows, std::uint64_t wanted) {
    const double lacks =
        static_cast<double>(wanted) / static_cast<double>(std::max<std::uint64_t>(rows, 1));
    times_ = std::min(longest, times_ * std::max(spare, spare * lacks));
}

std::string Window::text() const {
    if (typed_ns_ == 0) {
        return "";
    }
    // Whole seconds where it was lengthened.
    const double ns = static_cast<double>(typed_ns_) * times_;
    const auto whole =
        static_cast<std::int64_t>(std::ceil(ns / static_cast<double>(ns_per_second)));
    return duration_to_text(times_ > 1 ? whole * ns_per_second : typed_ns_);
}

std::vector<std::string> Window::flags() const {
    std::vector<std::string> flags = flags_;
    if (times_ > 1) {
        flags[at_] = before_ + text();
    }
    return flags;
}

}  // namespace driftless
