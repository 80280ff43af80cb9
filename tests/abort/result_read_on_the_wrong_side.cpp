// Reading the value of a failed result is a programmer's error in every build mode.
// Dies with: check failed: value_.has_value()
#include "proto/core/result.hpp"

int main() {
    const driftless::Result<int> result =
        driftless::Error{driftless::ErrorCode::not_found, 0, "look"};
    return result.value();
}
