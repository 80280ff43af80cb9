// The pretended engine of the mock.

#include "cmd/mock/engine_model.hpp"

#include "tests/unit/cmd/mock/player.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::mock {

namespace {

constexpr std::int64_t ms = 1'000'000;

/// A step of one answer takes 10 ms, of n (10 + 2.5 (n - 1)) ms; 1,000 prompt tokens take 50 ms.
Pace gpu() {
    return {.between = milliseconds(10), .batch_slowdown = 0.25, .prefill_tokens_per_s = 20'000};
}

Seat seat(std::int64_t ready_ns, std::uint32_t prompt, std::uint32_t tokens) {
    return {.ready = {ready_ns}, .prompt_left = prompt, .steps = tokens, .wanted = tokens};
}

/// Lets all of it happen, and gives the seats in the order in which they were done.
std::vector<Seat*> run(Batch& batch) {
    std::vector<Seat*> reached;
    while (batch.next() < never) {
        batch.advance(batch.next(), reached);
    }
    return reached;
}

// The law in closed form: eight equal requests at once. One step computes all prompts and makes the
// first tokens; each later one makes a token of each.
TEST(Batch, EightEqualRequestsAtOnceOverTwoSlots) {
    Batch batch(gpu(), 0, 1);
    std::array<Seat, 8> seats;
    for (Seat& one : seats) {
        one = seat(7, 500, 4);
        batch.join(one);
    }
    EXPECT_EQ(batch.waiting(), 8u);
    EXPECT_EQ(batch.next(), Instant{7});
    EXPECT_EQ(run(batch).size(), 8u);
    const std::int64_t itl = 10 * ms + 7 * 10 * ms / 4;
    for (const Seat& one : seats) {
        EXPECT_EQ(std::tuple(one.begun.ns, one.first.ns, one.latest.ns),
                  std::tuple(7, 7 + itl + 8 * 500 * ms / 20, one.first.ns + 3 * itl));
        EXPECT_EQ(one.place, Seat::Place::out);
    }
    EXPECT_EQ(batch.running() + batch.waiting(), 0u);
    // The same eight over two slots: pairs, one behind the other, in the order in which they
    // joined.
    Batch other_batch(gpu(), 2, 1);
    std::array<Seat, 8> other_seats;
    for (Seat& one : other_seats) {
        one = seat(0, 500, 4);
        other_batch.join(one);
    }
    (void)run(other_batch);
    const std::int64_t other_itl = 12 * ms + ms / 2;
    const std::int64_t pair = 4 * other_itl + 2 * 25 * ms;
    for (std::int64_t i = 0; i < 8; ++i) {
        const Seat& one = other_seats[static_cast<std::size_t>(i)];
        EXPECT_EQ(one.begun.ns, i / 2 * pair) << i;
        EXPECT_EQ(one.latest.ns, (i / 2 + 1) * pair) << i;
    }
}

// A prompt that comes makes the tokens of others wait: without a budget by its whole length at
// once, with one a part in each step.
TEST(Batch, PromptsTakeTheTimeOfTheOthersTokens) {
    for (const std::uint32_t budget : {0u, 401u}) {
        Pace pace = gpu();
        pace.step_tokens = budget;
        Batch batch(pace, 0, 1);
        Seat one = seat(0, 20, 10);
        Seat other = seat(15 * ms, 1000, 2);
        batch.join(one);
        batch.join(other);
        (void)run(batch);
        // Steps of the first alone end at 11 and 21 ms. Then the other's prompt: 1,000 tokens are
        // 50 ms; 400, 400 and 200 are 20, 20 and 10 ms, each beside a token of the first.
        const std::int64_t both = 12 * ms + ms / 2;
        EXPECT_EQ(other.begun.ns, 21 * ms);
        const int steps = budget == 0 ? 1 : 3;
        EXPECT_EQ(other.first.ns, 21 * ms + 50 * ms + steps * both) << budget;
        EXPECT_EQ(other.latest.ns, other.first.ns + both);
        const int alone = 10 - 2 - steps - 1;
        EXPECT_EQ(one.latest.ns, other.latest.ns + alone * 10 * ms) << budget;
    }
}

// Tokens go before prompts, whatever the budget: a prompt waits until they leave room for it.
TEST(Batch, StepsBeginWhereStepsEndWithinTheBudget) {
    Pace pace = gpu();
    pace.step_tokens = 2;
    Batch batch(pace, 0, 1);
    Seat one = seat(0, 1, 4);
    Seat two = seat(0, 1, 4);
    Seat late = seat(1 * ms, 1, 1);
    batch.join(one);
    batch.join(two);
    batch.join(late);
    (void)run(batch);
    EXPECT_EQ(std::tuple(one.latest, late.begun), std::tuple(two.latest, one.latest));
    // Who is ready at the instant at which a step begins is part of it; who is later waits for its
    // end.
    Batch other_batch(gpu(), 0, 1);
    one = seat(0, 20, 3);  // 11, 21, ..
    Seat in_time = seat(11 * ms, 20, 1);
    late = seat(11 * ms + 1, 20, 1);
    other_batch.join(late);
    other_batch.join(in_time);
    other_batch.join(one);
    (void)run(other_batch);
    EXPECT_EQ(std::tuple(in_time.begun.ns, late.begun), std::tuple(11 * ms, in_time.first));
    // Empty again: the next step begins when somebody is ready, not before and not on a grid.
    Seat after = seat(400 * ms + 1, 20, 1);
    other_batch.join(after);
    EXPECT_EQ(other_batch.next(), after.ready);
    (void)run(other_batch);
    EXPECT_EQ(after.first.ns, 411 * ms + 1);
}

// A caller that comes late, and one that asks at every instant, get the same instants.
TEST(Batch, ALateCallerChangesNoInstant) {
    std::array<Seat, 40> prompt;
    std::array<Seat, 40> late;
    for (const bool is_late : {false, true}) {
        Pace pace = gpu();
        pace.jitter = 0.3;
        pace.step_tokens = 700;
        Batch batch(pace, 5, 9);
        Random random(4);
        std::vector<Seat*> reached;
        std::int64_t at = 0;
        for (Seat& one : is_late ? late : prompt) {
            at += static_cast<std::int64_t>(random.below(60 * ms));
            one = seat(at, 1 + static_cast<std::uint32_t>(random.below(2'000)),
                       1 + static_cast<std::uint32_t>(random.below(9)));
            while (!is_late && batch.next() < one.ready) {
                batch.advance(batch.next(), reached);
            }
            batch.join(one);
        }
        batch.advance({at + 100'000 * ms}, reached);
        EXPECT_EQ(reached.size(), 40u);
    }
    for (std::size_t i = 0; i < 40; ++i) {
        EXPECT_EQ(prompt[i].begun, late[i].begun) << i;
        EXPECT_EQ(prompt[i].first, late[i].first) << i;
        EXPECT_EQ(prompt[i].latest, late[i].latest) << i;
    }
}

// Who leaves in the middle of a step does not shorten it, and its slot is free for the next one.
TEST(Batch, AnswersLeaveWhereverTheyAre) {
    Batch batch(gpu(), 1, 1);
    Seat running = seat(0, 20, 100);
    Seat waiting = seat(0, 20, 1);
    Seat coming = seat(5 * ms, 20, 1);
    Seat last = seat(5 * ms, 20, 1);
    std::vector<Seat*> reached;
    for (Seat* one : {&running, &waiting, &coming, &last}) {
        batch.join(*one);
    }
    batch.advance({4 * ms}, reached);
    EXPECT_EQ(std::tuple(batch.running(), batch.waiting()), std::tuple(1u, 3u));
    batch.leave(coming);
    batch.leave(waiting);
    batch.leave(running);
    batch.leave(running);  // out already
    EXPECT_EQ(std::tuple(batch.running(), batch.waiting()), std::tuple(0u, 1u));
    EXPECT_EQ(batch.next().ns, 11 * ms);
    EXPECT_EQ(run(batch), std::vector<Seat*>{&last});
    EXPECT_EQ(last.begun.ns, 11 * ms);
    EXPECT_EQ(running.done + waiting.done + coming.done, 0u);
}

// Owners are told once, at the count that they wanted.
TEST(Batch, TellsWhenSoManyAreMadeAndTimeGoesOn) {
    Batch batch(gpu(), 0, 1);
    Seat one = seat(0, 20, 5);
    one.wanted = 2;
    batch.join(one);
    std::vector<Seat*> reached;
    for (int i = 0; i < 4; ++i) {
        batch.advance(batch.next(), reached);
    }
    EXPECT_EQ(std::tuple(reached.size(), one.done), std::tuple(1u, 3u));
    one.wanted = 5;
    EXPECT_EQ(run(batch).size(), 1u);
    // Without any delay time still goes on.
    Pace pace{.between = {0}, .step_tokens = 10};
    Batch other_batch(pace, 0, 1);
    one = seat(0, 95, 5);
    other_batch.join(one);
    (void)run(other_batch);
    EXPECT_EQ(one.first.ns, 10 * step_min.ns);
    EXPECT_EQ(one.latest.ns, 14 * step_min.ns);
}

// Without jitter the schedule is the arithmetic that the flags say.
TEST(AnswerSchedule, FollowsTheFlagsWithSeededJitter) {
    Pace pace{.first = milliseconds(5), .per_uncached_token = {250}, .between = milliseconds(10)};
    AnswerSchedule schedule;
    schedule.start(pace, {1'000}, 4'000, 3);
    EXPECT_EQ(schedule.next().ns, 1'000 + 5'000'000 + 4'000 * 250);
    schedule.advance(pace, 1);
    EXPECT_EQ(schedule.next().ns, 1'000 + 6'000'000 + 10'000'000);
    schedule.advance(pace, 4);
    EXPECT_EQ(schedule.next().ns, 1'000 + 6'000'000 + 50'000'000);
    // Jitter: the same seed gives the same instants, another seed others, each delay within its
    // bound.
    Pace other_pace{.jitter = 0.25};
    AnswerSchedule one;
    AnswerSchedule same;
    AnswerSchedule other;
    one.start(other_pace, {0}, 0, 42);
    same.start(other_pace, {0}, 0, 42);
    other.start(other_pace, {0}, 0, 43);
    Instant before{0};
    std::int64_t delay = other_pace.first.ns;
    int equal_to_other = 0;
    double sum = 0;
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(one.next(), same.next());
        const double stretch =
            static_cast<double>(one.next().ns - before.ns) / static_cast<double>(delay);
        ASSERT_GE(stretch, 0.75 - 1e-6);
        ASSERT_LE(stretch, 1.25 + 1e-6);
        sum += stretch;
        equal_to_other += one.next() == other.next();
        before = one.next();
        delay = other_pace.between.ns;
        one.advance(other_pace, 1);
        same.advance(other_pace, 1);
        other.advance(other_pace, 1);
    }
    EXPECT_LT(equal_to_other, 2);
    EXPECT_NEAR(sum / 1000, 1.0, 0.02);  // 0.25 / sqrt(3 * 1000) = 0.0046: four of these
}

CoreOptions checking(std::uint32_t replies = 100) {
    return {.keep_log = true, .check_history = replies};
}

/// The text of a whole answer of OpenAI's chat or of Anthropic's messages.
std::string text_of(const std::string& response) {
    const JsonText json(body_of(response));
    const bool is_chat = json.root.find("choices").present();
    const JsonValue text = at(json.root, is_chat ? "choices/0/message/content" : "content/0/text");
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
TEST(MockHistory, KnowsItsRepliesAndNothingElse) {
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
    // One byte more, or less, or words of somebody else: not a reply of ours.
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
TEST(MockHistory, TellsSessionsApartHoweverTheyCome) {
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
    // Members in another order, texts in parts, calls and nested texts, and a body cut anywhere.
    Player other_player(checking());
    Session session(other_player, "s");
    const std::string other_reply = session.ask(user("a"));
    const std::size_t half = other_reply.size() / 2;
    const std::string swapped = R"({"content":")" + other_reply + R"(","role":"assistant"})";
    const std::string parts = R"({"role" : "assistant", "content":[{"type":"text","text":")" +
                              other_reply.substr(0, half) + R"("},{"type":"text","text":")" +
                              other_reply.substr(half) + R"("}]})";
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
TEST(MockHistory, ForgetsTheOldestAndLogsTheCount) {
    Player player(checking(2));
    Session session(player, "s");
    const std::string first = session.ask(user("a"));
    const std::string second = session.ask(user("b"));
    (void)session.ask(assistant(first));  // used again, and a third reply
    EXPECT_EQ(session.count(), (HistoryCount{1, 0, 0}));
    (void)session.ask(assistant(second));
    EXPECT_EQ(session.count(), (HistoryCount{0, 0, 1}));
    EXPECT_EQ(SentReplies(UINT32_MAX).count("", {}), HistoryCount{});
    // Unasked, nothing is counted and the log has no such member; the session's headers it always
    // has.
    for (const bool check : {false, true}) {
        Player other_player(checking(check ? 5 : 0));
        (void)other_player.ask(chat(1, 1,
                                    "X-Request-Id: a-1\r\nX-CORRELATION-ID: c \"1\"\r\n"
                                    "X-Other: 2\r\nX-Dynamo-Parent-Session-ID: p\r\n"));
        std::string line;
        append_log_line(line, other_player.take_log());
        EXPECT_TRUE(says(line, R"("session":{"X-Correlation-ID":"c \"1\"",)"
                               R"("X-Dynamo-Parent-Session-ID":"p"},)"));
        EXPECT_EQ(
            line.find(R"("history":{"known":0,"elsewhere":0,"unknown":0},)") != std::string::npos,
            check);
    }
    CoreOptions options = checking();
    options.session_headers = {"X-Tree"};
    Player other_player(options);
    (void)other_player.ask(chat(1, 1, "X-Tree: 7\r\nX-Session-ID: s\r\n"));
    const RequestLog log = other_player.take_log();
    ASSERT_EQ(log.session.size(), 1u);
    EXPECT_EQ(log.session_value(), "7");
}

/// LRU as a list that is searched: slow and obvious.
class NaiveCache {
  public:
    explicit NaiveCache(std::size_t blocks_max) : blocks_max_(blocks_max) {}

    std::size_t longest_prefix(const std::vector<std::uint64_t>& blocks) const {
        std::size_t found = 0;
        while (found < blocks.size() &&
               std::find(used_.begin(), used_.end(), blocks[found]) != used_.end()) {
            ++found;
        }
        return found;
    }
    void enter(const std::vector<std::uint64_t>& blocks) {
        for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
            used_.remove(*block);
            used_.push_front(*block);
            if (blocks_max_ != 0 && used_.size() > blocks_max_) {
                used_.pop_back();
            }
        }
    }
    std::size_t size() const { return used_.size(); }

  private:
    std::size_t blocks_max_;
    std::list<std::uint64_t> used_;
};

/// A prompt of a small family with shared prefixes. `crowded`: names that share their low bits, so
/// that the table's cells collide all the time.
std::vector<std::uint64_t> make_prompt(Random& random, bool crowded) {
    std::vector<std::uint64_t> blocks;
    std::uint64_t chain = random.below(3);
    const std::size_t length = random.below(12);
    for (std::size_t i = 0; i < length; ++i) {
        chain = mix64(chain * 31 + random.below(2));
        blocks.push_back(crowded ? chain & ~std::uint64_t{0xFF0} : chain);
    }
    return blocks;
}

// The same hits and the same size as the naive cache, at every capacity, colliding or not.
TEST(PrefixCache, AgreesWithANaiveLruAndKeepsHeads) {
    for (const bool crowded : {false, true}) {
        for (const std::size_t blocks_max : {0, 1, 2, 7, 50, 400}) {
            PrefixCache cache(blocks_max);
            NaiveCache naive(blocks_max);
            Random random(blocks_max + 17);
            for (int round = 0; round < 1500; ++round) {
                const std::vector<std::uint64_t> blocks = make_prompt(random, crowded);
                ASSERT_EQ(cache.longest_prefix(blocks), naive.longest_prefix(blocks))
                    << "capacity " << blocks_max << " round " << round;
                cache.enter(blocks);
                naive.enter(blocks);
                ASSERT_EQ(cache.size(), naive.size());
            }
        }
    }
    // A prompt longer than the cache leaves its head behind, the part that can be found again.
    PrefixCache cache(3);
    std::vector<std::uint64_t> blocks = {mix64(1), mix64(2), mix64(3), mix64(4), mix64(5)};
    cache.enter(blocks);
    EXPECT_EQ(std::tuple(cache.size(), cache.longest_prefix(blocks)), std::tuple(3u, 3u));
    // The largest capacity that a flag can give.
    PrefixCache largest(UINT32_MAX);
    const std::vector<std::uint64_t> two{1, 2};
    largest.enter(two);
    EXPECT_EQ(largest.longest_prefix(two), 2u);
}

}  // namespace
}  // namespace driftless::mock
