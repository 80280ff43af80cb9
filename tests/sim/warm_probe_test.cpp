// The probe of warm caches against a simulated server. Laws, in every weather: a cache that no run
// has used is never told as warm, one that an equal run has left is never told as cold, and a cache
// is told as emptied only when it was. Each law is shown to catch a planted bug.
#include <gtest/gtest.h>

#include <optional>

#include "engine/server/checks.hpp"
#include "tests/sim/preflight_parts.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::sim {
namespace {

constexpr std::uint32_t tokens = 1024;

/// One server, and the runs that come to it.
struct World {
    explicit World(const mock::CoreOptions& server, const Weather& weather = {},
                   std::uint64_t seed = 5)
        : driver(seed, weather, server) {}

    WarmProbe probe(Loop& loop, std::uint64_t trace, const char* salt) {
        PreflightPlan plan = plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in());
        plan.body.model = "mock-model";
        Trace made;
        made.digest = trace;
        PromptOptions options;
        options.cache_salt = salt;
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
    mock::CoreOptions server;
    server.cache_block_tokens = 16;
    server.cached_reported = reported;
    server.overhead = {20, 5};
    return server;
}

// The second run of one seed and salt is told; others are not. So it is where a server says its
// hits only when it has some.
TEST(WarmProbe, TellsTheSecondRun) {
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
}

// What it cannot know it does not say: no hits are reported, there is no cache, or it is too small
// to keep the prompt.
TEST(WarmProbe, IsUnknownWhereNothingIsReported) {
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

// A run that was long ago: its blocks were evicted, and the cache is cold again.
TEST(WarmProbe, IsColdAfterEviction) {
    mock::CoreOptions server = small_blocks();
    server.cache_blocks_max = 66;
    World world(server);
    EXPECT_EQ(world.look(1).state, CacheState::cold);
    EXPECT_EQ(world.look(2).state, CacheState::cold);
    EXPECT_EQ(world.look(1).state, CacheState::cold);
    EXPECT_EQ(world.look(1).state, CacheState::warm);
}

// By vLLM's endpoint or SGLang's; afterwards the prompt is in the cache again, for the next run.
TEST(WarmProbe, EmptiesTheCacheAndProvesIt) {
    for (const auto& [whose, path] : {std::pair{mock::CacheReset::both, "/reset_prefix_cache"},
                                      std::pair{mock::CacheReset::vllm, "/reset_prefix_cache"},
                                      std::pair{mock::CacheReset::sglang, "/flush_cache"}}) {
        for (const bool used : {false, true}) {
            mock::CoreOptions server = small_blocks();
            server.cache_reset = whose;
            World world(server);
            if (used) {
                (void)world.look();
            }
            CacheProbe seen;
            EXPECT_EQ(world.reset(seen), "");
            EXPECT_EQ(seen.state, CacheState::cold);
            EXPECT_EQ(seen.reset, path);
            EXPECT_EQ(world.look().state, CacheState::warm);
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

TEST(WarmProbe, LawsHoldInEveryWeather) {
    Laws laws;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        laws.play(seed, seed % 4 == 0 ? mock::CacheReset::pretended : mock::CacheReset::both, false,
                  true);
        ASSERT_TRUE(laws.hold) << "seed " << seed;
    }
    EXPECT_GT(laws.cold, 80u);
    EXPECT_GT(laws.warm, 80u);
    EXPECT_GT(laws.emptied, 40u);
}

// Each law catches its bug: a cache that was used before the first run, and one that forgets.
TEST(WarmProbe, LawsCatchPlantedBugs) {
    for (const bool dirty : {true, false}) {
        Laws laws;
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            laws.play(seed, mock::CacheReset::both, dirty, dirty);
        }
        EXPECT_FALSE(laws.hold) << dirty;
    }
}

}  // namespace
}  // namespace driftless::sim
