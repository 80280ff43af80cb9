// Flags about the certificate: what it may allow, and that it needs a calibration.
#include <gtest/gtest.h>

#include "cmd/replay/options.hpp"

namespace driftless {
namespace {

using Words = std::vector<std::string>;

ReplayCommandLine parse(Words words) {
    words.insert(words.begin(), {"trace.jsonl", "--url", "http://h:8000"});
    return parse_replay_options(words, "");
}

ReplayOptions options_of(const Words& words) {
    ReplayCommandLine line = parse(words);
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    return std::move(line.options);
}

std::string refusal_with(const Words& words) {
    const ReplayCommandLine line = parse(words);
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::refused) << testing::PrintToString(words);
    return line.text;
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
}

TEST(CertificateOptions, SayWhatACertificateMayAllow) {
    EXPECT_EQ(options_of({}).calibration, "auto");
    EXPECT_EQ(options_of({}).certify_within.sent_ns, 5'000'000);
    EXPECT_EQ(options_of({}).certify_within.read_ns, 5'000'000);
    const CertifyWithin both = options_of({"--certify-within", "2ms"}).certify_within;
    EXPECT_EQ(both.sent_ns, 2'000'000);
    EXPECT_EQ(both.read_ns, 2'000'000);
    const CertifyWithin each =
        options_of({"--certify-within", "sent:1ns, read:20ms"}).certify_within;
    EXPECT_EQ(each.sent_ns, 1);
    EXPECT_EQ(each.read_ns, 20'000'000);
    EXPECT_EQ(options_of({"--certify-within", "read:1ms"}).certify_within.sent_ns, 5'000'000);
    EXPECT_TRUE(says(refusal_with({"--certify-within", "0"}), "above 0"));
    EXPECT_TRUE(says(refusal_with({"--certify-within", "wire:1ms"}), "sent:5ms read:5ms"));
    EXPECT_TRUE(says(refusal_with({"--certify-within", ","}), "sent:5ms read:5ms"));
    EXPECT_TRUE(says(refusal_with({"--require-certified", "--calibration", "none"}), "give one"));
    EXPECT_TRUE(options_of({"--require-certified"}).require_certified);
}

}  // namespace
}  // namespace driftless
