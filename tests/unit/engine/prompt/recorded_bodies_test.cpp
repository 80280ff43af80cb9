// Recorded bodies, and answers of this run inside prompts.

#include "engine/prompt/recorded_bodies.hpp"

#include <thread>

#include "engine/prompt/builder.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

/// Rows with these bodies; an empty one is built from its length.
Trace trace_of(const std::vector<std::string>& bodies) {
    Trace trace{.body_api = "openai-chat"};
    for (const std::string& body : bodies) {
        append_row(trace, {.input_length = 10});
        trace.body_bytes += body;
        trace.body_ends.push_back(trace.body_bytes.size());
    }
    return trace;
}

TEST(Recorded, BodiesAreCopiedAndOthersBuilt) {
    std::string long_body = "{\"a\":\"";
    for (int i = 0; i < 1000; ++i) {
        long_body += std::to_string(i);
    }
    long_body += "\"}";
    const std::vector<std::string> bodies{"{}", long_body, "{\"b\": [1, 2]}"};
    const Trace trace = trace_of(bodies);
    PromptBuilder builder(trace, WordTable::built_in(), {});
    for (const std::uint32_t tokens : {1u, 7u, 100u, 100'000u}) {
        for (std::size_t i = 0; i < bodies.size(); ++i) {
            std::vector<char> room(builder.room_of(trace.rows[i]));
            PromptCursor cursor = builder.begin(trace.rows[i]);
            while (!builder.fill(cursor, room.data(), tokens)) {
            }
            EXPECT_EQ(std::string_view(room.data(), cursor.bytes), bodies[i]);
            Xxh64 hash;
            hash.add(bodies[i]);
            EXPECT_EQ(PromptBuilder::digest_of(cursor), hash.value());
        }
    }
    const Trace other_trace = trace_of({"{}", "", "{}"});
    PromptBuilder other_builder(other_trace, WordTable::built_in(), {});
    std::vector<char> room(other_builder.room_of(other_trace.rows[1]));
    PromptCursor cursor = other_builder.begin(other_trace.rows[1]);
    while (!other_builder.fill(cursor, room.data(), 3)) {
    }
    EXPECT_EQ(cursor.bytes, 10u * 4 - 1);  // ten words of the built-in table
    EXPECT_FALSE(other_builder.clamped(other_trace.rows[0]));
    Trace third_trace = trace_of({"{\"a\":1}", "{\"b\":2}"});
    third_trace.copy_rows = 2;
    TraceRow copy = third_trace.rows[1];
    copy.index = 3;
    EXPECT_EQ(third_trace.body_of(copy), "{\"b\":2}");
}

TurnReply reply_of(std::uint32_t request) {
    return {.bytes = request * 3, .request = request};
}

TEST(ReplyRing, CarriesAllAndIsFullAndEmptyAgain) {
    ReplyRing ring(3);  // four cells
    TurnReply got;
    EXPECT_FALSE(ring.pop(got));
    for (std::uint32_t round = 0; round < 5; ++round) {
        for (std::uint32_t i = 0; i < 4; ++i) {
            EXPECT_TRUE(ring.push(reply_of(i)));
        }
        EXPECT_FALSE(ring.push(reply_of(9)));
        for (std::uint32_t i = 0; i < 4; ++i) {
            ASSERT_TRUE(ring.pop(got));
            EXPECT_EQ(got.request, i);
        }
        EXPECT_FALSE(ring.pop(got));
    }
    // Nothing is lost, repeated or torn between two threads.
    constexpr std::uint32_t count = 200'000;
    ReplyRing other_ring(64);
    std::thread writer([&other_ring] {
        for (std::uint32_t i = 0; i < count;) {
            i += other_ring.push(reply_of(i)) ? 1 : 0;
        }
    });
    for (std::uint32_t next = 0; next < count;) {
        TurnReply other_got;
        if (other_ring.pop(other_got)) {
            ASSERT_EQ(other_got.request, next);
            ASSERT_EQ(other_got.bytes, std::uint64_t{next} * 3);
            ++next;
        }
    }
    writer.join();
}

// From recorded conversations to prompts that hold the answers of a run: bodies, histories and what
// comes back to the engine, without a run.

/// Rows of one session, each with its messages; each waits for the one before it.
struct Talk {
    Trace trace;
    Plan plan;

    void add(const std::string& messages, std::uint32_t input = 0, std::uint32_t output = 4) {
        TraceRow& row =
            append_row(trace, {.input_length = input, .output_length = output, .session = 0});
        row.turn = row.index + 1;
        if (row.index > 0) {
            trace.dependencies.push_back({row.index, row.index - 1, Trigger::completion, 0});
        }
        plan.rows.push_back({0, row.index, 0});
        trace.body_bytes += R"({"messages":[)" + messages + R"(],"tools":[]})";
        trace.body_ends.push_back(trace.body_bytes.size());
    }
};

Talk talk_of(const std::vector<std::string>& all) {
    Talk talk;
    talk.trace.recorded = true;
    talk.trace.sessions = {"s"};
    for (const std::string& messages : all) {
        talk.add(messages);
    }
    return talk;
}

std::string answer(const std::string& text) {
    return R"({"role":"assistant","content":")" + text + R"("})";
}
/// Messages of the user and the server in turn, the user's first.
std::string said(const std::vector<std::string>& texts) {
    std::string messages;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        messages += i == 0 ? "" : ",";
        messages +=
            i % 2 == 1 ? answer(texts[i]) : R"({"role":"user","content":")" + texts[i] + R"("})";
    }
    return messages;
}

std::optional<TraceWithBodies> made(Talk talk, InputErrors& errors) {
    return make_recorded_bodies(talk.plan, dialect_of(Api::openai_chat), {.model = "m"},
                                Assistant::live, std::move(talk.trace), errors);
}

TraceWithBodies live_of(Talk talk) {
    InputErrors errors;
    std::optional<TraceWithBodies> bodies = made(std::move(talk), errors);
    EXPECT_TRUE(bodies && bodies->live);
    return std::move(*bodies);
}

/// A run of these turns, by hand.
struct ByHand {
    explicit ByHand(const TraceWithBodies& bodies, LiveRules rules = {})
        : made(bodies), run(bodies.trace, *bodies.live, rules, bodies.trace.rows.size()) {}

    /// The row has ended; what the engine hears.
    const TurnReply* end(std::uint32_t row, const std::string& content, bool whole = true,
                         const std::string& reasoning = "",
                         const std::vector<SaidCall>& calls = {}) {
        record.fired_ns = 1;
        run.histories.ended(due(row), {content, reasoning, calls, whole}, record);
        return run.replies.take();
    }
    std::string body(std::uint32_t row) const {
        const Spliced pieces = run.replies.body_of(due(row));
        std::string text(pieces.size(), '\0');
        for (std::size_t at = 0; at < text.size(); at += 7) {  // in slices
            pieces.copy(at, std::min<std::size_t>(7, text.size() - at), text.data() + at);
        }
        return text;
    }
    static Due due(std::uint32_t row) {
        Due one;
        one.request = one.row = row;
        return one;
    }

    const TraceWithBodies& made;
    LiveRun run;
    Record record;
};

/// The messages of a body.
std::string messages_of(const std::string& body) {
    const std::size_t begin = body.find("\"messages\":[") + 12;
    return body.substr(begin, body.find("],\"tools\"") - begin);
}

TEST(LiveTurns, TheServersAnswerTakesThePlaceOfTheRecordedOneAlone) {
    const TraceWithBodies bodies =
        live_of(talk_of({said({"one"}), said({"one", "recorded", "two"}),
                         said({"one", "recorded", "two", "other", "three"})}));
    EXPECT_EQ(bodies.live->figures.turns, 2u);
    EXPECT_EQ(bodies.live->figures.conversations, 1u);
    ByHand run(bodies);
    ASSERT_NE(run.end(0, "said \"so\"\n"), nullptr);
    EXPECT_FALSE(run.record.live_turns);
    EXPECT_EQ(messages_of(run.body(1)), said({"one", R"(said \"so\"\n)", "two"}));
    ASSERT_NE(run.end(1, "again"), nullptr);
    EXPECT_EQ(run.record.live_turns, 1u);
    EXPECT_EQ(messages_of(run.body(2)), said({"one", R"(said \"so\"\n)", "two", "again", "three"}));
    EXPECT_EQ(run.end(2, "last"), nullptr);  // nobody waits for it
    EXPECT_EQ(run.record.live_turns, 2u);
    // What was edited, or sent as it is, keeps the words of the trace.
    const TraceWithBodies other_bodies =
        live_of(talk_of({said({"one"}), said({"changed", "a", "two"}),
                         said({"changed", "a", "two", "b", "three"})}));
    EXPECT_EQ(other_bodies.live->figures.turns, 1u);
    EXPECT_EQ(other_bodies.live->figures.edited, 1u);
    EXPECT_FALSE(other_bodies.live->goes_on(1));
    EXPECT_TRUE(other_bodies.live->goes_on(2));
    EXPECT_EQ(messages_of(std::string(other_bodies.trace.body_of(other_bodies.trace.rows[1]))),
              said({"changed", "a", "two"}));
    Talk talk = talk_of({said({"one"}), said({"one", "a", "two"})});
    talk.trace.dependencies.clear();
    EXPECT_EQ(live_of(std::move(talk)).live->figures.turns, 0u);
    talk = talk_of({said({"one"}), said({"two"})});
    talk.trace.deltas = true;
    EXPECT_EQ(live_of(talk).live->figures.turns, 1u);
    talk.plan.rows.erase(talk.plan.rows.begin());
    InputErrors errors;
    EXPECT_FALSE(made(talk, errors));
    ASSERT_EQ(errors.count, 1u);
    EXPECT_TRUE(says(errors.list[0].problem, "new since the previous turn"));
}

// The recorded lengths hold: what the answer lacked is made up for, and what it had too much of is
// told.
TEST(LiveTurns, PromptsAreFilledUpAndBranchesGoOn) {
    Talk talk;
    talk.trace.recorded = true;
    talk.trace.sessions = {"s"};
    talk.add(said({"a b"}), 10, 5);
    talk.add(said({"a b", "x", "c"}), 16, 5);
    talk.add(said({"a b", "x", "c", "y", "d"}), 22, 5);
    const TraceWithBodies bodies = live_of(std::move(talk));
    ByHand run(bodies);
    run.record.prompt_tokens = 10;
    run.record.output_tokens = 3;
    const TurnReply* reply = run.end(0, "p q r");
    ASSERT_NE(reply, nullptr);
    EXPECT_EQ(reply->short_by, 2);
    EXPECT_EQ(messages_of(run.body(1)), said({"a b", "p q r", "c the the"}));
    run.record.prompt_tokens = 16;
    run.record.output_tokens = 9;
    ASSERT_NE(run.end(1, "s"), nullptr);
    EXPECT_EQ(run.record.padded_tokens, 2);
    EXPECT_EQ(messages_of(run.body(2)), said({"a b", "p q r", "c the the", "s", "d"}));
    run.record = Record();
    (void)run.end(2, "t");
    EXPECT_EQ(run.record.padded_tokens, -4);
    // Two rows that follow one: each has its history, whatever the other says.
    talk = talk_of({said({"one"}), said({"one", "a", "left"}), said({"one", "a", "right"}),
                    said({"one", "a", "right", "b", "on"})});
    talk.trace.dependencies[1].on = 0;
    const TraceWithBodies other_bodies = live_of(std::move(talk));
    EXPECT_EQ(other_bodies.live->figures.turns, 3u);
    EXPECT_EQ(other_bodies.live->of(2).behind, 0u);
    ByHand other_run(other_bodies);
    (void)other_run.end(0, "said");
    (void)other_run.end(1, "of the left");
    EXPECT_EQ(messages_of(other_run.body(2)), said({"one", "said", "right"}));
    (void)other_run.end(2, "of the right");
    EXPECT_EQ(messages_of(other_run.body(3)), said({"one", "said", "right", "of the right", "on"}));
}

TEST(Histories, AreKeptForAnotherTryAndBounded) {
    const TraceWithBodies bodies = live_of(talk_of({said({"one"}), said({"one", "a", "two"})}));
    ByHand strict(bodies);
    const TurnReply* reply = strict.end(0, "half", false);
    ASSERT_NE(reply, nullptr);
    EXPECT_FALSE(reply->goes_on);
    LiveRules rules{.goes_on_unanswered = true};
    ByHand easy(bodies, rules);
    reply = easy.end(0, "half", false);
    ASSERT_NE(reply, nullptr);
    EXPECT_TRUE(reply->goes_on);
    EXPECT_EQ(messages_of(easy.body(1)), said({"one"}) + "," + said({"two"}));
    (void)easy.end(1, "x");
    EXPECT_EQ(easy.record.live_turns, 0u);
    // A turn that failed is sent again with the same words before it.
    const TraceWithBodies other_bodies = live_of(talk_of(
        {said({"one"}), said({"one", "a", "two"}), said({"one", "a", "two", "b", "three"})}));
    ByHand run(other_bodies);
    (void)run.end(0, "said");
    const std::string first = run.body(1);
    (void)run.end(1, "cut o", false);
    EXPECT_EQ(run.body(1), first);
    (void)run.end(1, "whole");
    EXPECT_EQ(messages_of(run.body(2)),
              messages_of(first) + "," + answer("whole") + "," + said({"three"}));
    LiveRules other_rules;
    other_rules.goes_on_unanswered = true;  // not even then
    ByHand other_run(bodies, other_rules);
    other_run.run.histories.bound(60);
    const TurnReply* other_reply = other_run.end(0, std::string(100, 'x'));
    ASSERT_NE(other_reply, nullptr);
    EXPECT_FALSE(other_reply->goes_on);
    EXPECT_STREQ(other_run.run.histories.why_ended(0), "has more text than fits into a prompt");
    EXPECT_EQ(other_run.run.histories.why_ended(1), nullptr);
}

TEST(Histories, KeepWhatIsAskedFor) {
    const TraceWithBodies bodies = live_of(talk_of({said({"one"}), said({"one", "a", "two"})}));
    const std::vector<SaidCall> calls = {{0, "c1", "ls", R"({"d":"/"})"}};
    const auto message = [&](KeptWords kept) {
        LiveRules rules{.kept = kept};
        ByHand run(bodies, rules);
        (void)run.end(0, "text", true, "thought", calls);
        const std::string body = messages_of(run.body(1));
        const std::size_t begin = said({"one"}).size() + 1;
        return body.substr(begin, body.size() - begin - said({"two"}).size() - 1);
    };
    const std::string call =
        R"("tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"d\":\"/\"}"}}])";
    EXPECT_EQ(message({true, false, false}), answer("text"));
    EXPECT_EQ(message({true, true, false}),
              R"({"role":"assistant","content":"text",)" + call + "}");
    EXPECT_EQ(message({false, true, false}), R"({"role":"assistant","content":null,)" + call + "}");
    EXPECT_EQ(message({true, false, true}),
              R"({"role":"assistant","content":"text","reasoning_content":"thought"})");
    EXPECT_EQ(message({false, false, false}), answer(""));
}

}  // namespace
}  // namespace driftless
