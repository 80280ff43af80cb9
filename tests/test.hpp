/// GoogleTest, and what tests use of the standard library, in one include.
#pragma once

#include <gtest/gtest.h>

#include "tests/std.hpp"

namespace driftless {

/// An input, and what comes of it: for `expect_each`.
template <typename In, typename Out>
std::pair<In, Out> gives(In in, Out out) {
    return {std::move(in), std::move(out)};
}
/// `expect_each(bytes, gives("64k", 65536), gives("0", 0))`.
template <typename Of, typename... Cases>
void expect_each(const Of& of, const Cases&... cases) {
    const auto expect = [&of](const auto& one) {
        EXPECT_EQ(of(one.first), one.second) << testing::PrintToString(one.first);
    };
    (expect(cases), ...);
}

}  // namespace driftless
