#include "cmd/mock/outgoing.hpp"

#include <algorithm>

namespace driftless::mock {

void Outgoing::clear() {
    ready_.clear();
    slow_.clear();
    slow_left_ = 0;
}

std::string& Outgoing::begin(std::string& out) {
    is_slow_ = slow_left_ > 0 || !slow_.empty();
    std::string& into = is_slow_ ? slow_ : out;
    into += ready_;
    ready_.clear();
    return into;
}

void Outgoing::finish(std::string& out) {
    if (!is_slow_) {
        return;
    }
    const std::size_t bytes =
        slow_left_ > 0 ? std::min<std::size_t>(slow_.size(), 1) : slow_.size();
    out.append(slow_, 0, bytes);
    slow_.erase(0, bytes);
    slow_left_ -= slow_left_ > 0 ? static_cast<std::uint32_t>(bytes) : 0;
}

}  // namespace driftless::mock
