// Flags about the certificate: what it may allow, and that it needs a calibration.
#include "tests/unit/cmd/flags/parse_flags.hpp"

namespace driftless {
namespace {

TEST(CertificateOptions, SayWhatACertificateMayAllow) {
    EXPECT_EQ(options_with({}).calibration.source, "auto");
    EXPECT_EQ(options_with({}).calibration.certify_within.sent_ns, 5'000'000);
    EXPECT_EQ(options_with({}).calibration.certify_within.read_ns, 5'000'000);
    const CertifyWithin both = options_with({"--certify-within", "2ms"}).calibration.certify_within;
    EXPECT_EQ(both.sent_ns, 2'000'000);
    EXPECT_EQ(both.read_ns, 2'000'000);
    const CertifyWithin each =
        options_with({"--certify-within", "sent:1ns, read:20ms"}).calibration.certify_within;
    EXPECT_EQ(each.sent_ns, 1);
    EXPECT_EQ(each.read_ns, 20'000'000);
    EXPECT_EQ(options_with({"--certify-within", "read:1ms"}).calibration.certify_within.sent_ns,
              5'000'000);
    EXPECT_TRUE(says(refusal_with({"--certify-within", "0"}), "above 0"));
    EXPECT_TRUE(says(refusal_with({"--certify-within", "wire:1ms"}), "sent:5ms read:5ms"));
    EXPECT_TRUE(says(refusal_with({"--certify-within", ","}), "sent:5ms read:5ms"));
    EXPECT_TRUE(says(refusal_with({"--require-certified", "--calibration", "none"}), "remove one"));
    EXPECT_TRUE(options_with({"--require-certified"}).calibration.require_certified);
}

}  // namespace
}  // namespace driftless
