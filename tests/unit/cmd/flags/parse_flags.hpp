/// A command line of replay with further flags, for tests of its options.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cmd/flags/options.hpp"

namespace driftless {

using Words = std::vector<std::string>;

inline ReplayCommandLine parse_flags(Words flags) {
    flags.insert(flags.begin(), {"trace.jsonl", "--url", "http://h:8000"});
    return parse_replay_options(flags, "");
}

inline ReplayOptions options_with(const Words& flags) {
    ReplayCommandLine line = parse_flags(flags);
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    return std::move(line.options);
}

inline std::string refusal_with(const Words& flags) {
    const ReplayCommandLine line = parse_flags(flags);
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::refused) << testing::PrintToString(flags);
    return line.text;
}

inline bool says(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
}

}  // namespace driftless
