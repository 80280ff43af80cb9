#include "cmd/mock/history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "proto/json/document.hpp"
#include "tests/unit/cmd/mock/player.hpp"

namespace driftless::mock {
namespace {

CoreOptions checking(std::uint32_t replies = 100) {
    CoreOptions options;
    options.keep_log = true;
    options.check_history = replies;
    return options;
}

/// The text of a whole answer of OpenAI's chat or of Anthropic's messages.
std::string text_of(const std::string& response) {
    JsonDocument json;
    const std::string body = body_of(response);
    const Result<JsonValue> parsed = json.parse(body);
    EXPECT_TRUE(parsed) << response;
    const JsonValue choices = parsed.value().find("choices");
    const JsonValue text = choices.present() ? choices.first().find("message").find("content")
                                             : parsed.value().find("content").first().find("text");
    return std::string(text.as_string().value_or("none"));
}

/// A session of its own, whose next requests go to one path.
struct Session {
    Session(Player& on, std::string name, std::string to = "/v1/chat/completions")
        : player(on), name_(std::move(name)), target(std::move(to)) {}

    /// Asks with these messages, a JSON list; gives the reply.
    std::string ask(const std::string& messages, std::string_view more = "",
                    std::size_t piece_bytes = SIZE_MAX) {
        static int requests = 0;  // each id gives another reply
        std::string fields = "X-Request-Id: h-" + std::to_string(++requests) + "\r\n";
        if (!name_.empty()) {
            fields += "x-session-id: " + name_ + "\r\n";
        }
        const std::string body =
            R"({"messages":[)" + messages + R"(],"max_tokens":6)" + std::string(more) + "}";
        const std::string response = player.ask(post(target, body, fields), piece_bytes);
        EXPECT_EQ(status_of(response), 200) << response;
        log = player.take_log();
        return text_of(response);
    }
    HistoryCount count() const { return log.history.value(); }

    Player& player;
    std::string name_;
    std::string target;
    RequestLog log;
};

std::string user(const std::string& text) {
    return R"({"role":"user","content":")" + text + "\"}";
}
std::string assistant(const std::string& text) {
    return R"({"role":"assistant","content":")" + text + "\"}";
}

// A live conversation: every reply in the history is one that was sent, in both APIs with messages.
TEST(MockHistory, KnowsItsReplies) {
    for (const char* target : {"/v1/chat/completions", "/v1/messages"}) {
        Player player(checking());
        Session session(player, "s", target);
        std::string history = user("a");
        for (std::uint32_t turn = 0; turn < 4; ++turn) {
            const std::string reply = session.ask(history);
            EXPECT_EQ(session.count(), (HistoryCount{turn, 0, 0})) << target;
            history += "," + assistant(reply) + "," + user("next");
        }
        EXPECT_EQ(player.core.history(), (HistoryCount{6, 0, 0}));
    }
}

// One byte more, or less, or words of somebody else: not a reply of ours.
TEST(MockHistory, KnowsNothingElse) {
    Player player(checking());
    Session session(player, "s");
    const std::string reply = session.ask(user("a"));
    for (const std::string& wrong :
         {reply + " ", reply.substr(1), std::string("as recorded"), std::string()}) {
        (void)session.ask(user("a") + "," + assistant(wrong) + "," + user("b"));
        EXPECT_EQ(session.count(), (HistoryCount{0, 0, 1})) << wrong;
    }
    (void)session.ask(user(reply) + "," + R"({"role":"tool","content":")" + reply + "\"}");
    EXPECT_EQ(session.count(), HistoryCount{}) << "only the assistant's messages count";
    (void)session.ask(assistant(reply) + "," + assistant("x") + "," + assistant(reply));
    EXPECT_EQ(session.count(), (HistoryCount{2, 0, 1}));
}

// A reply belongs to the session that it was sent to; requests without a name are one session.
TEST(MockHistory, TellsSessionsApart) {
    Player player(checking());
    Session one(player, "1");
    Session other(player, "2");
    Session nameless(player, "");
    const std::string reply = one.ask(user("a"));
    (void)other.ask(user("a") + "," + assistant(reply));
    EXPECT_EQ(other.count(), (HistoryCount{0, 1, 0}));
    const std::string said = nameless.ask(user("a"));
    (void)nameless.ask(user("a") + "," + assistant(said));
    EXPECT_EQ(nameless.count(), (HistoryCount{1, 0, 0}));
    EXPECT_EQ(player.core.history(), (HistoryCount{1, 1, 0}));
}

// Members in another order, texts in parts, calls and nested texts, and a body cut anywhere.
TEST(MockHistory, ReadsMessagesAsTheyCome) {
    Player player(checking());
    Session session(player, "s");
    const std::string reply = session.ask(user("a"));
    const std::size_t half = reply.size() / 2;
    const std::string swapped = R"({"content":")" + reply + R"(","role":"assistant"})";
    const std::string parts = R"({"role" : "assistant", "content":[{"type":"text","text":")" +
                              reply.substr(0, half) + R"("},{"type":"text","text":")" +
                              reply.substr(half) + R"("}]})";
    const std::string call =
        R"({"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f",)"
        R"("arguments":"{\"role\":\"user\"}"}}]})";
    for (const std::size_t piece_bytes : {SIZE_MAX, std::size_t{1}, std::size_t{7}}) {
        (void)session.ask(user("a") + "," + swapped + "," + parts + "," + call + "," + user("b"),
                          "", piece_bytes);
        EXPECT_EQ(session.count(), (HistoryCount{2, 0, 1})) << piece_bytes;
    }
}

// Streamed replies and those that were cut count as far as they were sent; reasoning does not.
TEST(MockHistory, RemembersWhatWasSent) {
    CoreOptions options = checking();
    options.reasoning_tokens = 2;
    options.faults = {{Fault::truncate, 0, 5}};
    Player player(options);
    const auto content = [](const std::string& response) {
        std::string text;
        for (const std::string& event : events_of(response)) {
            const std::size_t at = event.find("\"content\":\" ");
            if (at != std::string::npos) {
                text += event.substr(at + 11, event.find('"', at + 11) - at - 11);
            }
        }
        return text;
    };
    const std::string whole = content(player.ask(chat(2, 6, "X-Request-Id: a\r\n")));
    const std::string cut = content(player.ask(chat(2, 8, "X-Request-Id: r-5\r\n")));
    EXPECT_EQ(std::count(whole.begin(), whole.end(), 'w'), 4);
    EXPECT_EQ(std::count(cut.begin(), cut.end(), 'w'), 2);
    player.connection = &player.core.open(player.now);  // the fault has ended the other one
    (void)player.take_log();
    (void)player.take_log();
    Session session(player, "");
    (void)session.ask(assistant(whole) + "," + assistant(cut));
    EXPECT_EQ(session.count(), (HistoryCount{2, 0, 0}));
}

// Memory is bounded: what was used least recently is forgotten.
TEST(MockHistory, ForgetsTheOldest) {
    Player player(checking(2));
    Session session(player, "s");
    const std::string first = session.ask(user("a"));
    const std::string second = session.ask(user("b"));
    (void)session.ask(assistant(first));  // used again, and a third reply
    EXPECT_EQ(session.count(), (HistoryCount{1, 0, 0}));
    (void)session.ask(assistant(second));
    EXPECT_EQ(session.count(), (HistoryCount{0, 0, 1}));
    EXPECT_EQ(SentReplies(UINT32_MAX).count("", {}), HistoryCount{});
}

// Unasked, nothing is counted and the log has no such member; the session's headers it always has.
TEST(MockHistory, TheLogHasSessionAndCount) {
    for (const bool check : {false, true}) {
        Player player(checking(check ? 5 : 0));
        (void)player.ask(chat(1, 1,
                              "X-Request-Id: a-1\r\nX-CORRELATION-ID: c \"1\"\r\n"
                              "X-Other: 2\r\nX-Dynamo-Parent-Session-ID: p\r\n"));
        std::string line;
        append_log_line(line, player.take_log());
        EXPECT_NE(line.find(R"("session":{"X-Correlation-ID":"c \"1\"",)"
                            R"("X-Dynamo-Parent-Session-ID":"p"},)"),
                  std::string::npos)
            << line;
        EXPECT_EQ(
            line.find(R"("history":{"known":0,"elsewhere":0,"unknown":0},)") != std::string::npos,
            check);
    }
    CoreOptions options = checking();
    options.session_headers = {"X-Tree"};
    Player player(options);
    (void)player.ask(chat(1, 1, "X-Tree: 7\r\nX-Session-ID: s\r\n"));
    const RequestLog log = player.take_log();
    ASSERT_EQ(log.session.size(), 1u);
    EXPECT_EQ(log.session_value(), "7");
}

}  // namespace
}  // namespace driftless::mock
