/// Command lines of other tools in our flags, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cmd/flags/other_tools.hpp"
#include "cmd/flags/replay_options.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

/// All of it is known, and our parser takes it.
inline Words spelled(const Words& arguments) {
    const Spelled out = spell(arguments);
    EXPECT_EQ(out.refused, "");
    EXPECT_TRUE(parse_replay_options(arguments, "").kind == ReplayCommandLine::Kind::run)
        << parse_replay_options(arguments, "").text;
    return out.arguments;
}

inline std::string refusal(const Words& arguments) {
    return spell(arguments).refused;
}

}  // namespace driftless
