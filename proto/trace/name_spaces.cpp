#include "proto/trace/name_spaces.hpp"

namespace driftless {

void NameSpaces::begin_file(bool one_log) {
    if (!one_log) {
        named_.clear();
    }
    if (scope_ == IdScope::format ? !one_log : scope_ != IdScope::all) {
        current_.reset();
    }
}

void NameSpaces::begin() {
    if (scope_ == IdScope::format) {
        current_.reset();
    }
}

void NameSpaces::enter(std::string_view name) {
    if (scope_ != IdScope::format) {
        return;
    }
    const auto known = named_.find(name);
    if (known != named_.end()) {
        current_ = known->second;
        return;
    }
    current_ = trace_.name_spaces++;
    named_.emplace(name, *current_);
}

std::uint32_t NameSpaces::of(const TraceRow& row) {
    const bool own = scope_ == IdScope::session && row.session != no_session;
    if (own && of_session_.size() <= row.session) {
        of_session_.resize(row.session + std::size_t{1});
    }
    std::optional<std::uint32_t>& chosen = own ? of_session_[row.session] : current_;
    if (!chosen) {
        chosen = trace_.name_spaces++;
    }
    return *chosen;
}

}  // namespace driftless
