/// A command line of replay with further flags, for tests of its options.
#pragma once

#include "cmd/flags/replay_options.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

/// The smallest command that runs, and further flags.
inline ReplayCommandLine parse_flags(Words flags, const std::string& key = "") {
    flags.insert(flags.begin(), {"trace.jsonl", "--url", "http://h:8000"});
    return parse_replay_options(flags, key);
}

inline ReplayOptions options_with(const Words& flags, const std::string& key = "") {
    ReplayCommandLine line = parse_flags(flags, key);
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    return std::move(line.options);
}

/// What was refused, in one line, but for a line feed that was given.
inline std::string refusal_of(const ReplayCommandLine& line, const Words& given) {
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::refused) << testing::PrintToString(given);
    const bool has_feed = std::any_of(given.begin(), given.end(), [](const std::string& word) {
        return word.find('\n') != word.npos;
    });
    EXPECT_TRUE(has_feed || !says(line.text, "\n")) << line.text;
    return line.text;
}
inline std::string refusal_of(const Words& words) {
    return refusal_of(parse_replay_options(words, ""), words);
}
inline std::string refusal_with(const Words& flags) {
    return refusal_of(parse_flags(flags), flags);
}

/// Whether these flags are refused with this part of a sentence.
inline testing::AssertionResult refused(const Words& flags, std::string_view part) {
    return says(refusal_with(flags), part);
}

}  // namespace driftless
