// Meet messages: what is written reads back; what is not of this talk is refused whole.
#include "engine/meet/meet_message.hpp"

#include <gtest/gtest.h>

#include <string>

namespace driftless {
namespace {

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
        MeetMessage message;
        message.kind = kind;
        message.at_ns = 5;
        message.why = std::string(400, 'w');
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
