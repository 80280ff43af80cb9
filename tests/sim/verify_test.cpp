// Verification against a simulated server: what it accepts is right by the server's own tokens, and
// what is wrong (a count, a shared prefix) is found and named.

#include "engine/server/checks.hpp"
#include "tests/sim/effort.hpp"
#include "tests/sim/preflight_parts.hpp"
#include "tests/sim/swarm.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::sim {

namespace {

/// A trace with its prompts, verified against a server in fair weather.
struct Bench {
    explicit Bench(Overhead around = {5, 3}, std::uint64_t seed = 7)
        : trace(make_trace(seed, 200)), plan(make_plan(trace, {}).value()), overhead(around) {}

    VerifyFindings verify(mock::CoreOptions server, TokenizeForm form, Overhead own,
                          std::uint32_t rows_max = 40) {
        server.overhead = {overhead.pre, overhead.post};
        SimDriver driver(11, Weather{}, server);
        Loop loop(driver, 8);
        PromptBuilder prompts(trace, WordTable::built_in(), PromptOptions{.overhead = overhead});
        VerifyPlan verify = plan_with(prompts);
        verify.form = form;
        verify.own = own;
        verify.overhead = overhead;
        verify.rows_max = rows_max;
        verify.server.stop_requests = stop;
        Verification verification(loop, verify);
        const bool good = verification.run();
        EXPECT_EQ(good, verification.findings().wrong.empty());
        return verification.findings();
    }

    VerifyPlan plan_with(PromptBuilder& prompts) const {
        return {.server = {.host = "simulated", .run_id = "sim"},
                .model = "mock-model",
                .trace = &trace,
                .plan = &plan,
                .words = &WordTable::built_in(),
                .prompts = &prompts,
                .rows_max = 40};
    }

    /// The words of a row's prompt.
    std::vector<std::string> words_of(const TraceRow& row) {
        PromptBuilder prompts(trace, WordTable::built_in(), PromptOptions{.overhead = overhead});
        std::string text(prompts.room_of(row), '\0');
        PromptCursor cursor = prompts.begin(row);
        while (!prompts.fill(cursor, text.data(), 1 << 20)) {
        }
        std::vector<std::string> words;
        for (std::size_t at = 0; at < cursor.bytes; at += 4) {
            words.push_back(text.substr(at, 3));
        }
        return words;
    }

    Trace trace;
    Plan plan;
    Overhead overhead;
    const std::atomic<int>* stop = nullptr;
};

mock::CoreOptions server_with(mock::TokenizeForm form) {
    return mock::CoreOptions{.tokenize = form};
}

// Counts and shared prefixes are right, whether the endpoint sees the template or not, and for
// templates longer than a block.
TEST(Verification, AcceptsWhatIsRightOfRowsAndPartners) {
    for (const Overhead around :
         {Overhead{0, 0}, Overhead{5, 3}, Overhead{0, 9}, Overhead{600, 40}}) {
        Bench bench(around);
        for (const bool sees : {true, false}) {
            const VerifyFindings found = sees
                                             ? bench.verify(server_with(mock::TokenizeForm::vllm),
                                                            TokenizeForm::messages, around)
                                             : bench.verify(server_with(mock::TokenizeForm::sglang),
                                                            TokenizeForm::prompt, {0, 0});
            EXPECT_EQ(found.wrong, "") << around.pre << '+' << around.post;
            EXPECT_GT(found.pairs, 10u);
            EXPECT_EQ(found.rows, 40 + found.pairs);
            EXPECT_GT(found.shared_tokens, 0u);
        }
    }
    // The same seed draws the same rows; each has a partner that shares a block wherever the trace
    // has one.
    const Bench bench;
    const auto pairs = draw_pairs(bench.trace, bench.plan, 50, 3);
    const auto again = draw_pairs(bench.trace, bench.plan, 50, 3);
    ASSERT_EQ(pairs.size(), 50u);
    std::uint32_t with_partner = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        EXPECT_EQ(pairs[i].first, again[i].first);
        EXPECT_EQ(pairs[i].second, again[i].second);
        EXPECT_TRUE(i == 0 || pairs[i].first > pairs[i - 1].first);
        if (pairs[i].second) {
            ++with_partner;
            EXPECT_NE(*pairs[i].second, pairs[i].first);
            EXPECT_GT(pairs[i].blocks, 0u);
        }
    }
    EXPECT_GT(with_partner, 25u);
    EXPECT_EQ(draw_pairs(bench.trace, bench.plan, 10'000, 3).size(), bench.plan.rows.size());
}

// What two rows share, by hand: whole blocks, the end of a text inside a block, the template's head
// where no block is visible, and all of two equal prompts.
TEST(Verification, SharedTokensByHand) {
    Trace trace{.block_size = 100};
    trace.ids.append(std::vector<std::uint64_t>{1, 2, 3, 1, 2, 4, 1, 2, 1, 2});
    const auto row = [](std::uint64_t begin, std::uint32_t count, std::uint32_t length) {
        return TraceRow{.ids_begin = begin, .ids_count = count, .input_length = length};
    };
    const TraceRow a = row(0, 3, 280);
    const TraceRow b = row(3, 3, 250);
    const TraceRow ends_inside = row(6, 2, 150);
    const TraceRow equal = row(8, 2, 150);
    const Overhead around{5, 3};
    EXPECT_EQ(shared_tokens(trace, a, b, 2, around), 200u);
    EXPECT_EQ(shared_tokens(trace, a, ends_inside, 2, around), 147u);
    EXPECT_EQ(shared_tokens(trace, ends_inside, equal, 2, around), 150u);
    EXPECT_EQ(shared_tokens(trace, a, b, 2, {240, 3}), 240u) << "the template hides both blocks";
    EXPECT_EQ(shared_tokens(trace, a, b, 1, {0, 0}), 100u);
}

// A word that costs two tokens, and a pair across the border of two blocks that joins: the row and
// both counts are named.
TEST(Verification, NamesAWrongCountUntilTheUserStops) {
    Bench bench;
    const std::uint32_t block = bench.trace.block_size;
    const TraceRow* longest = &bench.trace.rows.front();
    for (const TraceRow& row : bench.trace.rows) {
        longest = row.input_length > longest->input_length ? &row : longest;
    }
    const std::vector<std::string> words = bench.words_of(*longest);
    ASSERT_GT(words.size(), block);
    mock::CoreOptions joins = server_with(mock::TokenizeForm::vllm);
    joins.words.join(words[block - 6], words[block - 5]);  // five tokens stand before the text
    const auto all = static_cast<std::uint32_t>(bench.plan.rows.size());
    const std::string said = bench.verify(joins, TokenizeForm::messages, {5, 3}, all).wrong;
    EXPECT_TRUE(says(said, {"row ", "tokens for its prompt, the trace says "}));
    mock::CoreOptions splits = server_with(mock::TokenizeForm::vllm);
    splits.words.split(words[17]);
    EXPECT_NE(bench.verify(splits, TokenizeForm::messages, {5, 3}, all).wrong, "");
    // The user stops it: nothing more is asked.
    Bench other_bench;
    const std::atomic<int> stop{1};
    other_bench.stop = &stop;
    const VerifyFindings found =
        other_bench.verify(server_with(mock::TokenizeForm::vllm), TokenizeForm::messages, {5, 3});
    EXPECT_EQ(std::tuple(found.wrong, found.requests), std::tuple("interrupted", 0U));
}

// Prompts of the right lengths that share nothing, since each block was built from an id of its
// own: the rows and both counts are named. So is an endpoint that answers nothing.
TEST(Verification, NamesAWrongPrefix) {
    Bench bench;
    Trace apart = bench.trace;
    apart.ids.truncate(0);
    while (apart.ids.size() < bench.trace.ids.size()) {
        apart.ids.push_back(1'000'000 + apart.ids.size());
    }
    SimDriver driver(11, Weather{}, server_with(mock::TokenizeForm::vllm));
    Loop loop(driver, 8);
    PromptBuilder prompts(apart, WordTable::built_in(), {});
    VerifyPlan plan = bench.plan_with(prompts);
    Verification wrong(loop, plan);
    EXPECT_FALSE(wrong.run());
    EXPECT_TRUE(says(wrong.findings().wrong, " tokens at the server, the trace says "));
    plan.form = TokenizeForm::content;  // which this server does not have
    Verification silent(loop, plan);
    EXPECT_FALSE(silent.run());
    EXPECT_TRUE(says(silent.findings().wrong, "gave no tokens (status 400)"));
}

// The probe of warm caches against a simulated server. Laws, in every weather: a cache that no run
// has used is never told as warm, one that an equal run has left is never told as cold, and a cache
// is told as emptied only when it was. Each law is shown to catch a planted bug.

constexpr std::uint32_t tokens = 1024;

/// One server, and the runs that come to it.
struct World {
    explicit World(const mock::CoreOptions& server, const Weather& weather = {},
                   std::uint64_t seed = 5)
        : driver(seed, weather, server) {}

    WarmProbe probe(Loop& loop, std::uint64_t trace, const char* salt) {
        PreflightPlan plan = plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in());
        plan.body.model = "mock-model";
        Trace made{.digest = trace};
        PromptOptions options{.cache_salt = salt};
        names += 32;
        return {loop, plan, found, make_tell_tale(made, WordTable::built_in(), options, 0, tokens),
                names};
    }
    CacheProbe look(std::uint64_t trace = 1, const char* salt = "") {
        Loop loop(driver, 8);
        return probe(loop, trace, salt).look();
    }
    /// Why the cache could not be emptied; empty: it was.
    std::string reset(CacheProbe& seen) {
        Loop loop(driver, 8);
        WarmProbe asked = probe(loop, 1, "");
        const bool good = asked.reset(seen);
        EXPECT_EQ(good, asked.failure().empty());
        return asked.failure();
    }

    SimDriver driver;
    PreflightFindings found;
    std::uint32_t names = 1;
};

mock::CoreOptions small_blocks(mock::CachedReported reported = mock::CachedReported::always) {
    return mock::CoreOptions{
        .cache_block_tokens = 16, .overhead = {20, 5}, .cached_reported = reported};
}

// The second run of one seed and salt is told; others are not. So it is where a server says its
// hits only when it has some.
TEST(WarmProbe, TellsTheSecondRunWhereHitsAreReported) {
    for (const auto reported : {mock::CachedReported::always, mock::CachedReported::hits}) {
        World world(small_blocks(reported));
        const CacheProbe first = world.look();
        EXPECT_EQ(first.state, CacheState::cold);
        EXPECT_EQ(first.tokens, tokens + 25);  // the template stands around it
        EXPECT_EQ(first.cached_tokens, 0u);
        const CacheProbe second = world.look();
        EXPECT_EQ(second.state, CacheState::warm);
        EXPECT_GT(second.cached_tokens, tokens - 16);
        EXPECT_EQ(world.look(1, "monday").state, CacheState::cold);
        EXPECT_EQ(world.look(2).state, CacheState::cold);
    }
    // What it cannot know it does not say: no hits are reported, there is no cache, or it is too
    // small to keep the prompt.
    World silent(small_blocks(mock::CachedReported::never));
    EXPECT_EQ(silent.look().state, CacheState::unknown);
    EXPECT_EQ(silent.look().why, "the server reports no cached tokens");
    mock::CoreOptions large = small_blocks();
    large.cache_block_tokens = 2048;
    World without(large);
    without.found.has_cached_tokens = true;
    EXPECT_EQ(without.look().state, CacheState::unknown);
    EXPECT_EQ(without.look().state, CacheState::unknown);
    mock::CoreOptions small = small_blocks();
    small.model.context_tokens = 100;
    World refusing(small);
    const CacheProbe refused = refusing.look();
    EXPECT_EQ(refused.state, CacheState::unknown);
    EXPECT_TRUE(says(refused.why, "was answered 400"));
}

// A cache probe that breaks off is said.
TEST(WarmProbe, NotesWhatItMetAndEmptiesTheCache) {
    mock::CoreOptions server = small_blocks();
    server.faults = {{mock::Fault::reset, 1, {}}};
    World world(server);
    Loop loop(world.driver, 8);
    WarmProbe asked = world.probe(loop, 1, "");
    EXPECT_EQ(asked.look().state, CacheState::unknown);
    ASSERT_EQ(asked.notes().size(), 1u);
    EXPECT_TRUE(says(asked.notes().front(), "a preflight request broke off"));
    // A run that was long ago: its blocks were evicted, and the cache is cold again.
    server = small_blocks();
    server.cache_blocks_max = 66;
    World other_world(server);
    EXPECT_EQ(other_world.look(1).state, CacheState::cold);
    EXPECT_EQ(other_world.look(2).state, CacheState::cold);
    EXPECT_EQ(other_world.look(1).state, CacheState::cold);
    EXPECT_EQ(other_world.look(1).state, CacheState::warm);
    // By vLLM's endpoint or SGLang's; afterwards the prompt is in the cache again, for the next
    // run.
    for (const auto& [whose, path] : {std::pair{mock::CacheReset::both, "/reset_prefix_cache"},
                                      std::pair{mock::CacheReset::vllm, "/reset_prefix_cache"},
                                      std::pair{mock::CacheReset::sglang, "/flush_cache"}}) {
        for (const bool used : {false, true}) {
            mock::CoreOptions other_server = small_blocks();
            other_server.cache_reset = whose;
            World third_world(other_server);
            if (used) {
                (void)third_world.look();
            }
            CacheProbe seen;
            EXPECT_EQ(third_world.reset(seen), "");
            EXPECT_EQ(std::tuple(seen.state, seen.reset), std::tuple(CacheState::cold, path));
            EXPECT_EQ(third_world.look().state, CacheState::warm);
        }
    }
}

// One sentence each, with the remedy: there is no endpoint, it does nothing, nothing proves it.
TEST(WarmProbe, SaysWhyTheCacheIsNotEmpty) {
    const auto why = [](mock::CoreOptions server) {
        World world(server);
        CacheProbe seen;
        const std::string said = world.reset(seen);
        EXPECT_EQ(seen.reset, "");
        return said;
    };
    mock::CoreOptions server = small_blocks();
    server.cache_reset = mock::CacheReset::none;
    EXPECT_TRUE(says(why(server), "VLLM_SERVER_DEV_MODE=1"));
    server.cache_reset = mock::CacheReset::pretended;
    EXPECT_TRUE(says(why(server), "are still cached"));
    server = small_blocks(mock::CachedReported::never);
    EXPECT_TRUE(says(why(server), "--enable-prompt-tokens-details"));
}

/// The laws, in one weather; false where one is broken. `planted` is what the server does wrong
/// behind the probe's back.
struct Laws {
    std::uint32_t warm = 0;
    std::uint32_t cold = 0;
    std::uint32_t emptied = 0;
    bool hold = true;

    void play(std::uint64_t seed, mock::CacheReset whose, bool fresh_is_dirty, bool keeps) {
        Random random(seed);
        mock::CoreOptions server = small_blocks(random.below(2) == 0 ? mock::CachedReported::always
                                                                     : mock::CachedReported::hits);
        server.cache_reset = whose;
        server.seed = seed;
        server.faults = {{mock::Fault::reset, 0.1, {}}, {mock::Fault::http_429, 0.1, {}}};
        Weather weather{.refuse_connect = 0.05, .slow_connect = 0.05, .stall = 0.05, .cut = 0.05};
        World world(server, weather, seed);
        if (fresh_is_dirty) {
            (void)world.look();
        }
        // A first try that breaks off leaves the prompt, too: the second must not be taken in.
        const CacheProbe first = world.look();
        hold = hold && first.state != CacheState::warm;
        if (!keeps) {
            world.driver.core().reset_cache();
        }
        const CacheProbe second = world.look();
        // The first one may have failed before its prompt was there.
        hold = hold && (first.state != CacheState::cold || second.state != CacheState::cold);
        warm += second.state == CacheState::warm ? 1 : 0;
        cold += first.state == CacheState::cold ? 1 : 0;
        CacheProbe reset;
        if (world.reset(reset).empty()) {
            ++emptied;
            hold = hold && whose != mock::CacheReset::pretended;
        }
    }
};

TEST(WarmProbe, LawsHoldInEveryWeatherAndCatchBugs) {
    Laws laws;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        laws.play(seed, seed % 4 == 0 ? mock::CacheReset::pretended : mock::CacheReset::both, false,
                  true);
        ASSERT_TRUE(laws.hold) << "seed " << seed;
    }
    EXPECT_GT(laws.cold, 80u);
    EXPECT_GT(laws.warm, 80u);
    EXPECT_GT(laws.emptied, 40u);
    // Each law catches its bug: a cache that was used before the first run, and one that forgets.
    for (const bool dirty : {true, false}) {
        Laws other_laws;
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            other_laws.play(seed, mock::CacheReset::both, dirty, dirty);
        }
        EXPECT_FALSE(other_laws.hold) << dirty;
    }
}

// The preflight over TLS: what it learns in any weather, and what it says of servers whose TLS is
// none, or breaks off.

Asked ask(std::uint64_t seed, const Weather& weather, const TlsWeather& tls,
          const Script& script = {}) {
    TlsWorld world(seed, tls, 1);
    PreflightPlan plan = chat_plan();
    plan.server.address = world.endpoints()[0].address;
    plan.server.tls = world.endpoints()[0].tls;
    return Asked(mock::CoreOptions{.overhead = {5, 3}}, plan, weather, script, seed, &world);
}

TlsWeather fair(bool old = false) {
    return {.on = true, .old = old};
}

// Bytes in any pieces, sends in parts, tickets and new keys in front of answers: it learns the
// same.
TEST(TlsPreflight, LearnsTheSameOrNamesAHandshakeThatFails) {
    for (std::uint64_t seed = 1; seed <= (in_short() ? 6u : 12u); ++seed) {
        Weather weather{.short_send = seed % 3 == 0 ? 0.7 : 0,
                        .split = 0.1 * static_cast<double>(seed % 10),
                        .bytewise = seed == 5,
                        .no_buffers = seed % 4 == 0 ? 0.2 : 0};
        TlsWeather tls = fair(seed % 2 == 0);
        tls.interrupt = 0.5;
        tls.forget = 0.3;
        tls.tickets = static_cast<std::uint32_t>(seed % 3);
        const Asked asked = ask(seed, weather, tls);
        ASSERT_TRUE(asked.ok) << seed << ": " << asked.failure.text;
        EXPECT_EQ(asked.found.overhead, (Overhead{5, 3}));
        EXPECT_EQ(asked.found.words, WordVerdict::exact);
    }
    // What is wrong with the server's TLS is said in its words.
    struct Failure {
        double TlsWeather::* what;
        ErrorCode code;
        const char* words;
    };
    for (const Failure& failure : {
             Failure{&TlsWeather::no_tls, ErrorCode::denied, "wrong version number"},
             Failure{&TlsWeather::alert, ErrorCode::denied, "handshake failure"},
             Failure{&TlsWeather::hang_up, ErrorCode::denied, "unexpected eof"},
             Failure{&TlsWeather::wrong_name, ErrorCode::denied, "hostname mismatch"},
             Failure{&TlsWeather::deaf, ErrorCode::timed_out, "cannot reach"},
         }) {
        for (const bool old : {false, true}) {
            TlsWeather tls = fair(old);
            tls.*failure.what = 1;
            const Asked asked = ask(3, {}, tls);
            ASSERT_FALSE(asked.ok);
            EXPECT_EQ(asked.failure.error.code, failure.code) << failure.words;
            EXPECT_TRUE(says(asked.failure.text, failure.words));
        }
    }
}

// An answer that only the end of the connection completes is whole where that end is said; one that
// is shorter than it says is not, and what is no HTTP is named.
TEST(TlsPreflight, TakesAnEndThatIsSaidWhereverItBreaksOff) {
    const std::string page = "HTTP/1.1 401 Who\r\n\r\nnobody";
    for (const bool said : {true, false}) {
        TlsWeather tls = fair();
        tls.no_goodbye = said ? 0 : 1;
        const auto answered = [&](const std::string& wire) {
            std::vector<CannedAnswer> answers(1);
            answers[0].wire = wire;
            answers[0].closes = true;
            const Asked asked = ask(1, {}, tls, {&answers, 1.0, 0});
            EXPECT_FALSE(asked.ok);
            return asked.failure;
        };
        EXPECT_EQ(answered(page).status, said ? 401 : 0);
        EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").error.code,
                  ErrorCode::closed);
        EXPECT_EQ(answered("what?\r\n\r\n").error.code, ErrorCode::bad_http);
    }
    // A connection that ends inside a handshake, an answer or a record, and bits that flip there.
    for (const bool old : {false, true}) {
        const std::uint64_t whole = ask(1, {}, fair(old)).bytes;
        std::uint32_t failed = 0;
        for (std::uint64_t bytes = 0; bytes < whole; bytes += 197) {
            Weather weather{.cut_at = Cut{bytes, static_cast<Cut::Kind>(bytes % 3)}};
            failed += ask(bytes + 1, weather, fair(old)).ok ? 0 : 1;
        }
        EXPECT_GT(failed, 0u);
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            TlsWeather tls = fair(old);
            tls.corrupt = 1;
            Weather weather{.short_send = 0.5, .block_send = 0.1, .cut = 0.2};
            failed += ask(seed, weather, tls).ok ? 0 : 1;
        }
        EXPECT_GT(failed, 10u);
    }
}

}  // namespace
}  // namespace driftless::sim
