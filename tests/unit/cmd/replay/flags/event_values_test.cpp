// Timed events as people type them, alone and in files; what is wrong is said with the remedy.
#include "cmd/replay/flags/event_values.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "cmd/secrets.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

TEST(EventValues, ReadsWhatIsToBeDone) {
    const Result<TypedEvent> post = parse_event("+90s post http://a:8000/start_profile");
    ASSERT_TRUE(post);
    EXPECT_EQ(post.value().at_ns, 90'000'000'000);
    EXPECT_EQ(post.value().kind, TimedEventKind::post);
    EXPECT_EQ(post.value().url.host, "a");
    EXPECT_EQ(post.value().url.port, 8000);
    EXPECT_EQ(post.value().url.path, "/start_profile");
    const Result<TypedEvent> run = parse_event("  +1.5m   run  ./kill-pod.sh  a  b ");
    ASSERT_TRUE(run);
    EXPECT_EQ(run.value().at_ns, 90'000'000'000);
    EXPECT_EQ(run.value().kind, TimedEventKind::run);
    EXPECT_EQ(run.value().what, "./kill-pod.sh  a  b");
    const Result<TypedEvent> label = parse_event("+0 label phase=degraded");
    ASSERT_TRUE(label);
    EXPECT_EQ(label.value().at_ns, 0);
    EXPECT_EQ(label.value().what, "phase=degraded");
}

TEST(EventValues, RefusesTheRest) {
    for (const char* text :
         {"", "90s run x", "+90s", "+90s run", "+90s run  ", "+ run x", "+-1s run x", "+1x run x",
          "+1s jump x", "+1s post", "+1s post http://", "+1s post http://u:word@h/x",
          "+1s post http://h/x?key=1"}) {
        EXPECT_FALSE(parse_event(text)) << text;
    }
}

// Credentials of a URL are refused; the refusal does not show them.
TEST(EventValues, AreShownWithoutCredentials) {
    EXPECT_EQ(mask_value("--event", "+1s post http://u:word@h/x"), "+1s post http://***@h/x");
    EXPECT_EQ(mask_value("--event", "+1s run echo a@b"), "+1s run echo a@b");
}

TEST(EventValues, ReadsAFileOfThem) {
    const ScratchFolder folder;
    const std::string path = folder.path() + "/events.txt";
    std::ofstream(path) << "# comment\n\n+1s label a\r\n  +2s run b\n";
    std::vector<TypedEvent> events;
    EXPECT_EQ(read_events(path, events), "");
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[1].what, "b");
    std::ofstream(path) << "+1s label a\n1s label a\n";
    EXPECT_NE(read_events(path, events).find("events.txt:2: \"1s label a\" is not an event"),
              std::string::npos);
    EXPECT_NE(read_events(path + "x", events).find("cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace driftless
