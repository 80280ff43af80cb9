/// choose: a value by its name, of a few. Included by the readers of flag values only.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "proto/core/result.hpp"

namespace driftless {

template <typename T>
struct Choice {
    std::string_view name;
    T value;
};

/// Errors: invalid, with the remedy.
template <typename T, std::size_t count>
Result<T> choose(std::string_view text, const std::array<Choice<T>, count>& choices,
                 const char* remedy) {
    for (const Choice<T>& choice : choices) {
        if (choice.name == text) {
            return choice.value;
        }
    }
    return Error{ErrorCode::invalid, 0, remedy};
}

}  // namespace driftless
