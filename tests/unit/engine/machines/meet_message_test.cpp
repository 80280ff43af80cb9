// Clock difference: the truth lies within what is said, however unequal the ways are.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/machines/meet.hpp"

namespace driftless {

namespace {

constexpr std::int64_t year_2026_ns = 1'795'000'000'000'000'000;

/// Our clock is ahead by `offset_ns`; the ways take `there_ns` and `back_ns`, the answer `work_ns`.
ClockExchange exchange(std::int64_t offset_ns, std::int64_t there_ns, std::int64_t back_ns,
                       std::int64_t work_ns = 700) {
    ClockExchange one{.t1_ns = year_2026_ns + offset_ns, .t2_ns = year_2026_ns + there_ns};
    one.t3_ns = one.t2_ns + work_ns;
    one.t4_ns = one.t3_ns + back_ns + offset_ns;
    return one;
}

TEST(ClockDifference, IsExactWhereTheWaysAreEqual) {
    for (const std::int64_t offset_ns : {0L, 3'000'000L, -3'000'000L, 86'400'000'000'000L}) {
        const std::vector<ClockExchange> one{exchange(offset_ns, 40'000, 40'000)};
        const auto difference = difference_of(one);
        ASSERT_TRUE(difference);
        EXPECT_EQ(difference->offset_ns, offset_ns);
        EXPECT_EQ(difference->error_ns, 40'000);
        EXPECT_EQ(difference->round_trip_ns, 80'000);
    }
}

TEST(ClockDifference, HoldsTheTruthHoweverUnequalTheWaysAre) {
    for (std::int64_t there_ns = 0; there_ns <= 100'001; there_ns += 9'091) {
        const std::vector<ClockExchange> one{exchange(3'000'000, there_ns, 100'001 - there_ns)};
        const auto difference = difference_of(one);
        ASSERT_TRUE(difference);
        EXPECT_LE(std::abs(difference->offset_ns - 3'000'000), difference->error_ns);
        EXPECT_EQ(difference->error_ns, 50'001) << "half of it, rounded up";
    }
}

TEST(ClockDifference, TakesTheShortestRoundTrip) {
    const std::vector<ClockExchange> all{exchange(5'000, 900'000, 20'000),
                                         exchange(5'000, 21'000, 20'000),
                                         exchange(5'000, 20'000, 700'000)};
    const auto difference = difference_of(all);
    ASSERT_TRUE(difference);
    EXPECT_EQ(difference->round_trip_ns, 41'000);
    EXPECT_EQ(difference->offset_ns, 4'500) << "half of the 1'000 ns that the ways differ";
}

TEST(ClockDifference, LeavesOutWhatCannotBe) {
    ClockExchange backwards = exchange(0, 1'000, 1'000);
    backwards.t4_ns = backwards.t1_ns - 1;
    ClockExchange longer_there = exchange(0, 1'000, 1'000);
    longer_there.t3_ns = longer_there.t2_ns + 10'000'000;
    ClockExchange made_up{INT64_MAX, INT64_MIN, INT64_MAX, INT64_MAX};
    ClockExchange below{1, -5, 5, 9};
    const std::vector<ClockExchange> bad{backwards, longer_there, made_up, below};
    EXPECT_FALSE(difference_of(bad));
    EXPECT_FALSE(difference_of({}));
    std::vector<ClockExchange> one_good = bad;
    one_good.push_back(exchange(7, 5'000, 5'000));
    ASSERT_TRUE(difference_of(one_good));
    EXPECT_EQ(difference_of(one_good)->offset_ns, 7);
}

// Meet messages: what is written reads back; what is not of this talk is refused whole.

using Kind = MeetMessage::Kind;

std::optional<MeetMessage> read(const std::string& line) {
    JsonDocument document;
    return read_meet_message(line, document);
}

TEST(MeetMessage, ReadsBackWhatItWrites) {
    MeetMessage hello;
    hello.hello = {MeetPhase::after, 2, 3, "1.0 \"x\"", "00ff", "abcd"};
    const auto back = read(to_line(hello));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->hello.phase, MeetPhase::after);
    EXPECT_EQ(back->hello.index, 2U);
    EXPECT_EQ(back->hello.count, 3U);
    EXPECT_EQ(back->hello.version, "1.0 \"x\"");
    EXPECT_EQ(back->hello.plan_digest, "abcd");
    MeetMessage tell;
    tell.kind = Kind::tell;
    tell.stamps = {1, INT64_MAX, 3, 0};
    ASSERT_TRUE(read(to_line(tell)));
    EXPECT_EQ(read(to_line(tell))->stamps.t2_ns, INT64_MAX);
    for (const Kind kind : {Kind::measure, Kind::measured, Kind::set, Kind::go, Kind::start,
                            Kind::ask, Kind::refused}) {
        MeetMessage message{.kind = kind, .at_ns = 5, .why = std::string(400, 'w')};
        ASSERT_TRUE(read(to_line(message)));
        EXPECT_EQ(read(to_line(message))->kind, kind);
        EXPECT_LE(to_line(message).size(), meet_line_bytes_max);
    }
}

// A reason may hold what the other side called itself: whatever that is, the line can be read.
TEST(MeetMessage, CutsAReason) {
    MeetMessage message;
    message.kind = Kind::refused;
    const auto read_back = [&message](const std::string& why) {
        message.why = why;
        EXPECT_LE(to_line(message).size() - 1, meet_line_bytes_max);
        const auto back = read(to_line(message));
        return back ? back->why : "not read";
    };
    EXPECT_EQ(read_back(std::string(256, '"')), std::string(256, '"'));
    EXPECT_EQ(read_back(std::string(256, '\n')), std::string(256, '\n'));
    EXPECT_EQ(read_back(std::string(300, '\1')), std::string(166, '\1'));  // 6 bytes each
    EXPECT_EQ(read_back(std::string(255, 'x') + "\xC3\xA4"), std::string(255, 'x'));
    EXPECT_EQ(read_back(std::string(254, 'x') + "\xC3\xA4y"), std::string(254, 'x') + "\xC3\xA4");
}

TEST(MeetMessage, RefusesAllElse) {
    const std::string hello =
        R"({"say":"hello","phase":"before","index":1,"count":3,"version":"v","trace":"t","plan":"p"})";
    ASSERT_TRUE(read(hello));
    for (const char* line : {
             "",
             "x",
             "[]",
             "{}",
             "null",
             R"({"say":"hello"})",
             R"({"say":"shout"})",
             R"({"say":5})",
             R"({"say":"ask"})",
             R"({"say":"ask","t1":"5"})",
             R"({"say":"ask","t1":-5})",
             R"({"say":"ask","t1":1e30})",
             R"({"say":"start"})",
             R"({"say":"tell","t1":1,"t2":2})",
             R"({"say":"refused"})",
             "GET / HTTP/1.1\r",
         }) {
        EXPECT_FALSE(read(line)) << line;
    }
    for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
             {"\"index\":1", "\"index\":3"},
             {"\"index\":1", "\"index\":-1"},
             {"before", "later"},
             {"\"count\":3", "\"count\":99999999999"},
             {"\"version\":\"v\"", "\"version\":7"}}) {
        std::string other = hello;
        other.replace(other.find(from), std::string(from).size(), to);
        EXPECT_FALSE(read(other)) << other;
    }
    EXPECT_FALSE(read(R"({"say":"refused","why":")" + std::string(257, 'x') + "\"}"));
    EXPECT_TRUE(read(R"({"say":"refused","why":")" + std::string(256, 'x') + "\"}"));
    EXPECT_FALSE(read(R"({"say":"go","more":")" + std::string(1024, 'x') + "\"}"));
    for (std::size_t end = 0; end < hello.size(); ++end) {
        EXPECT_FALSE(read(hello.substr(0, end)));
    }
}

}  // namespace

}  // namespace driftless
