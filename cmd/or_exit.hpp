/// OrExit<T>: what a stage of a command made, or the exit code that the command ends with. A stage
/// takes values and returns a new one, whole; what stopped it, it has printed itself.
#pragma once

#include <optional>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "proto/core/check.hpp"

namespace driftless {

template <typename T>
class [[nodiscard]] OrExit {
  public:
    OrExit(T value) : value_(std::move(value)) {}  // NOLINT: by design
    OrExit(int exit_code) : exit_code_(exit_code) { CHECK(exit_code_ != exit_done); }  // NOLINT

    explicit operator bool() const { return value_.has_value(); }

    T& value() & {
        CHECK(value_.has_value());
        return *value_;
    }
    const T& value() const& {
        CHECK(value_.has_value());
        return *value_;
    }
    T&& value() && {
        CHECK(value_.has_value());
        return std::move(*value_);
    }
    int exit_code() const {
        CHECK(!value_.has_value());
        return exit_code_;
    }

  private:
    std::optional<T> value_;
    int exit_code_ = exit_done;
};

}  // namespace driftless
