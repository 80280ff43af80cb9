// What our host has no room for and what the network loses, in virtual time: who is reported to be
// late by it, and who is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "tests/sim/laws.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

std::size_t count_of(const SimResult& result, LateCause cause) {
    return static_cast<std::size_t>(
        std::count_if(result.records.begin(), result.records.end(),
                      [cause](const Record& record) { return record.late_cause == cause; }));
}

std::size_t tainted_by(const SimResult& result, std::string_view reason) {
    return static_cast<std::size_t>(
        std::count_if(result.records.begin(), result.records.end(), [reason](const Record& record) {
            return std::find(record.tainted.begin(), record.tainted.end(), reason) !=
                   record.tainted.end();
        }));
}

// The same rows are held back, by a cap that somebody asked for or by one that nobody did.
TEST(Limits, ACapOfTheHostIsNotTheUsers) {
    SimOptions options{.seed = 5, .inflight_max = 3};
    const SimResult asked = run(make_trace(5, 100), options);
    options.capped_by_host = true;
    const SimResult lacking = run(make_trace(5, 100), options);
    EXPECT_EQ(broken_laws(asked), "");
    EXPECT_EQ(broken_laws(lacking), "");
    EXPECT_GT(count_of(asked, LateCause::inflight), 10u);
    EXPECT_EQ(count_of(asked, LateCause::limit), 0u);
    EXPECT_EQ(tainted_by(asked, taint_limit), 0u);
    EXPECT_EQ(count_of(lacking, LateCause::limit), count_of(asked, LateCause::inflight));
    EXPECT_EQ(count_of(lacking, LateCause::inflight), 0u);
    for (const Record& record : lacking.records) {
        EXPECT_EQ(record.late_cause == LateCause::limit, record.held_ns > 0);
        EXPECT_LE(record.held_ns, record.drift_ns.value_or(0));
    }
}

// Bodies that the kernel does not take leave no room for those behind them.
TEST(Limits, NoRoomForBodiesIsALimit) {
    SimOptions options;
    options.seed = 5;
    options.weather.block_send = 0.5;
    options.body_bytes = 192 << 10;  // more than the longest row needs
    const SimResult result = run(make_trace(5, 100), options);
    EXPECT_EQ(broken_laws(result), "");
    EXPECT_GT(count_of(result, LateCause::limit), 0u);
}

// A request whose segment is lost comes late, and says so; one that is sent again though it had
// arrived says so, too, and is as good as any.
TEST(Limits, OnlyWhatWasLostIsTainted) {
    SimOptions options;
    options.seed = 7;
    options.weather.resend_in_vain = 0.3;
    options.server.pace.first = milliseconds(300);  // the kernel has sent again before the end
    const SimResult in_vain = run(make_trace(7, 100), options);
    EXPECT_EQ(broken_laws(in_vain), "");
    EXPECT_GT(in_vain.segments_resent, 10u);
    EXPECT_EQ(tainted_by(in_vain, taint_retransmitted), 0u);
    std::uint64_t reported = 0;
    for (const Record& record : in_vain.records) {
        reported += record.retransmits.value();
    }
    EXPECT_EQ(reported, in_vain.segments_resent);

    options.weather.lose_sent = 0.3;
    options.weather.resend_in_vain = 0;
    const SimResult lost = run(make_trace(7, 100), options);
    EXPECT_EQ(broken_laws(lost), "");
    EXPECT_GT(tainted_by(lost, taint_retransmitted), 10u);
    EXPECT_LT(tainted_by(lost, taint_retransmitted), 100u);
}

// The kernel has not sent again yet when the row gives up: nobody knows that the server had it.
TEST(Limits, RowsThatGiveUpBeforeTheResendAreTainted) {
    SimOptions options;
    options.seed = 7;
    options.weather.lose_sent = 0.3;
    options.timeouts.first_byte = milliseconds(100);
    const SimResult lost = run(make_trace(7, 100), options);
    EXPECT_EQ(broken_laws(lost), "");
    std::uint64_t uncounted = 0;
    for (const Record& record : lost.records) {
        const bool tainted = !record.tainted.empty();
        uncounted += tainted && record.retransmits == 0u ? 1 : 0;
        EXPECT_TRUE(tainted || record.outcome != Outcome::timeout_first_byte) << record.row;
    }
    EXPECT_GT(uncounted, 10u);
}

// Zero is known to be zero.
TEST(Limits, WithoutALossNothingIsCounted) {
    SimOptions options;
    options.seed = 9;
    const SimResult result = run(make_trace(9, 50), options);
    for (const Record& record : result.records) {
        EXPECT_EQ(record.retransmits, 0u);
    }
    EXPECT_EQ(tainted_by(result, taint_retransmitted), 0u);
}

}  // namespace
}  // namespace driftless::sim
