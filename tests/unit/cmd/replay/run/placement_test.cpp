#include "cmd/replay/run/placement.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

using Cpus = std::vector<std::uint32_t>;
using Where = WriterCpu::Where;

Placement placed(const Cpus& allowed, bool server_is_here, const HostFlags& flags = {},
                 bool has_quota = false) {
    return choose_placement(flags, {allowed, {allowed.back()}, server_is_here, true, has_quota});
}

HostFlags waiting(WaitPolicy wait) {
    HostFlags flags;
    flags.wait = wait;
    return flags;
}

HostFlags writing(Where where, std::uint32_t cpu = 0) {
    HostFlags flags;
    flags.writer_cpu = {where, cpu};
    return flags;
}

TEST(Placement, AServerOfThisHostHasTheCpuThatTheEngineLeaves) {
    const Placement two = placed({0, 1}, true);
    EXPECT_EQ(two.writer_cpus, (Cpus{1}));
    EXPECT_TRUE(two.gives_way);
    EXPECT_TRUE(two.may_leave);
    EXPECT_EQ(two.wait, WaitPolicy::hybrid);
    EXPECT_EQ(two.scheduling, Scheduling::kept);
    EXPECT_EQ(placed({0, 1, 2}, true).writer_cpus, (Cpus{2}));
    EXPECT_EQ(placed({0, 1, 2}, true).wait, WaitPolicy::hybrid);
}

TEST(Placement, AServerElsewhereOrManyCpusLeaveTheWriterApart) {
    const Placement two = placed({0, 1}, false);
    EXPECT_EQ(two.writer_cpus, (Cpus{0}));
    EXPECT_FALSE(two.gives_way);
    EXPECT_EQ(two.scheduling, Scheduling::kept);
    const Placement three = placed({0, 1, 2}, false);
    EXPECT_EQ(three.wait, WaitPolicy::spin);
    EXPECT_EQ(three.scheduling, Scheduling::slice);
    const Placement four = placed({0, 1, 2, 3}, true);
    EXPECT_EQ(four.writer_cpus, (Cpus{0, 1, 2}));
    EXPECT_EQ(four.wait, WaitPolicy::spin);
}

TEST(Placement, OneCpuIsShared) {
    const Placement one = placed({3}, true);
    EXPECT_EQ(one.writer_cpus, (Cpus{3}));
    EXPECT_TRUE(one.gives_way);
    EXPECT_FALSE(one.may_leave);
    EXPECT_EQ(one.wait, WaitPolicy::hybrid);
    EXPECT_EQ(one.scheduling, Scheduling::slice) << "everybody else is there, too";
}

TEST(Placement, ACpuIsKeptAwakeOnlyWhereThatTakesNothingFromOthers) {
    HostFlags kept;
    kept.scheduling = Scheduling::kept;
    for (const HostFlags& flags : {HostFlags(), kept}) {
        EXPECT_EQ(choose_placement(flags, {{0, 1}, {1}, true, false, false}).scheduling,
                  Scheduling::slice);
        EXPECT_EQ(choose_placement(flags, {{0, 1}, {1}, true, true, false}).scheduling,
                  Scheduling::kept);
        EXPECT_EQ(choose_placement(flags, {{0, 1}, {1, 0}, true, true, false}).scheduling,
                  Scheduling::slice)
            << "everybody else is there, too";
    }
}

TEST(Placement, AQuotaIsNotSpentOnWaiting) {
    EXPECT_EQ(placed({0, 1, 2, 3}, false, {}, true).wait, WaitPolicy::hybrid);
    EXPECT_EQ(placed({0, 1}, true, {}, true).scheduling, Scheduling::slice);
}

TEST(Placement, FlagsGoFirst) {
    const Placement spin = placed({0, 1}, true, waiting(WaitPolicy::spin));
    EXPECT_EQ(spin.writer_cpus, (Cpus{0})) << "an engine that never sleeps lets no writer in";
    EXPECT_FALSE(spin.gives_way);
    EXPECT_EQ(placed({0, 1}, true, waiting(WaitPolicy::sleep)).scheduling, Scheduling::slice);
    EXPECT_EQ(placed({0, 1}, true, writing(Where::apart)).writer_cpus, (Cpus{0}));
    EXPECT_EQ(placed({0, 1}, false, writing(Where::beside)).writer_cpus, (Cpus{1}));
    EXPECT_FALSE(placed({0, 1}, true, writing(Where::on, 0)).gives_way);
    const Placement own = placed({0, 1}, true, writing(Where::on, 1));
    EXPECT_TRUE(own.gives_way);
    EXPECT_FALSE(own.may_leave) << "the user said where";
    HostFlags ordinary;
    ordinary.scheduling = Scheduling::ordinary;
    EXPECT_EQ(placed({0, 1}, true, ordinary).scheduling, Scheduling::ordinary);
}

TEST(Placement, RealtimeIsOnlyWhatTheUserAsksFor) {
    HostFlags flags;
    flags.realtime = true;
    const Placement placement = placed({0, 1, 2, 3}, false, flags);
    EXPECT_EQ(placement.scheduling, Scheduling::realtime);
    EXPECT_EQ(placement.wait, WaitPolicy::hybrid);
    EXPECT_NE(placed({0, 1, 2, 3}, false).scheduling, Scheduling::realtime);
}

TEST(Placement, EnginesOnAllCpusShareThemWithTheWriter) {
    const Placement both = choose_placement({}, {{0, 1}, {1, 0}, true, true, false});
    EXPECT_EQ(both.writer_cpus, (Cpus{0, 1}));
    EXPECT_TRUE(both.gives_way);
    EXPECT_FALSE(both.may_leave);
}

}  // namespace
}  // namespace driftless
