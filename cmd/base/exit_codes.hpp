/// What a command ends with: one list for all of them (design, section 4), and OrExit, what a stage
/// of one returns.
#pragma once

#include <optional>
#include <utility>

#include "proto/core/errors.hpp"

namespace driftless {

inline constexpr int exit_done = 0;        ///< failed requests are data, not a failed run
inline constexpr int exit_usage = 2;       ///< flags; an output folder that exists
inline constexpr int exit_input = 3;       ///< the trace, or the tokenizer, is refused
inline constexpr int exit_preflight = 4;   ///< the server cannot be reached, or refuses probes
inline constexpr int exit_no_success = 5;  ///< not one answer was whole
/// `--require-certified`, and it is not; `--require-rules`, and one is violated
inline constexpr int exit_not_certified = 6;
inline constexpr int exit_host = 7;           ///< limits, disk full, io_uring asked for and denied
inline constexpr int exit_threshold = 8;      ///< a figure lies beyond a `--fail-if`
inline constexpr int exit_interrupted = 130;  ///< SIGINT or SIGTERM

// OrExit<T>: what a stage of a command made, or the exit code that the command ends with. A stage
// takes values and returns a new one, whole; what stopped it, it has printed itself.

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
