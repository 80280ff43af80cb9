// Agents that were recorded in one line get their chains back: rule by rule, and on random threads
// as a plain reading of the rules finds them.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "proto/core/hash.hpp"
#include "proto/trace/agents.hpp"
#include "tests/unit/proto/trace/plain_agents.hpp"

namespace driftless {
namespace {

constexpr std::int64_t s = 1'000'000'000;
using Chains = std::vector<std::uint32_t>;

struct Threads {
    Trace trace;
    std::vector<ThreadRequest> thread;

    // A request that starts and ends at these seconds.
    Threads& add(std::int64_t at, std::int64_t end, const std::vector<std::uint64_t>& ids,
                 std::uint32_t model = 0, std::uint32_t output = 500) {
        TraceRow row;
        row.index = static_cast<std::uint32_t>(trace.rows.size());
        row.at_ns = at * s;
        row.ids_begin = trace.ids.size();
        row.ids_count = static_cast<std::uint32_t>(ids.size());
        row.output_length = output;
        trace.ids.append(ids);
        trace.rows.push_back(row);
        thread.push_back({row.index, model, at * s, end * s, end * s});
        return *this;
    }
    AgentChains find() const { return find_agent_chains(trace, thread); }
};

TEST(FlatAgents, AreToldByTheirPrompts) {
    // The example of AIPerf's documentation: a main agent and two workers beside it.
    Threads flat;
    flat.add(0, 1, {1, 2, 3}).add(2, 8, {1, 2, 50, 51}).add(3, 4, {1, 2, 60, 61});
    flat.add(9, 10, {1, 2, 3, 4, 5}).add(11, 12, {1, 2, 50, 51, 52});
    EXPECT_EQ(flat.find().of_request, (Chains{0, 1, 2, 0, 1}));
    EXPECT_EQ(flat.find().count, 3U);
    EXPECT_EQ(flat.find().seams, 0U);
}

// At its recorded end a request may be gone on with, not before; and on the same model only.
TEST(FlatAgents, NeverOverlap) {
    EXPECT_EQ(Threads().add(0, 5, {1, 2}).add(5, 6, {1, 2, 3}).find().of_request, (Chains{0, 0}));
    EXPECT_EQ(Threads().add(0, 5, {1, 2}).add(4, 6, {1, 2, 3}).find().of_request, (Chains{0, 1}));
    EXPECT_EQ(Threads().add(0, 5, {1, 2}).add(6, 7, {1, 2, 3}, 1).find().of_request,
              (Chains{0, 1}));
}

// A shorter prompt is its agent's after a compaction, unless the longer one is gone on with.
TEST(FlatAgents, GoOnAfterACompaction) {
    Threads seam;
    seam.add(0, 1, {1, 2, 3, 4}).add(2, 3, {1, 2, 9}).add(4, 5, {1, 2, 9, 10});
    EXPECT_EQ(seam.find().of_request, (Chains{0, 0, 0}));
    EXPECT_EQ(seam.find().seams, 1U);
    seam.add(6, 7, {1, 2, 3, 4, 5});
    EXPECT_EQ(seam.find().of_request, (Chains{0, 1, 1, 0}));
    EXPECT_EQ(seam.find().seams, 0U);
}

// One compaction behind the other: each is held against where the agent stands by then.
TEST(FlatAgents, GoOnAfterSeveralCompactions) {
    Threads seams;
    seams.add(0, 1, {1, 2, 3, 4, 5, 6}).add(2, 3, {1, 2, 7}).add(4, 5, {1, 2, 8}).add(6, 7, {1, 9});
    EXPECT_EQ(seams.find().of_request, (Chains{0, 0, 0, 0}));
    EXPECT_EQ(seams.find().seams, 3U);
}

// More than an hour later and with less than half of the ids it is another session.
TEST(FlatAgents, DoNotGoOnHoursLater) {
    const auto chains = [](std::int64_t at, const std::vector<std::uint64_t>& ids) {
        return Threads().add(0, 10, {1, 2, 3, 4}).add(at, at + 1, ids).find().of_request;
    };
    EXPECT_EQ(chains(3610, {1, 9}), (Chains{0, 0}));
    EXPECT_EQ(chains(3611, {1, 9}), (Chains{0, 1}));
    EXPECT_EQ(chains(3611, {1, 2, 9}), (Chains{0, 0}));
}

// A title, or a prompt of which nothing comes again, does not found the main chain.
TEST(FlatAgents, LeaveAPreambleWithTheMainChain) {
    const auto chains = [](std::uint32_t output, std::uint64_t id) {
        Threads flat;
        flat.add(0, 1, {90, 91}, 0, output).add(2, 3, {1, 2}).add(4, 5, {1, 2, id});
        return flat.find().of_request;
    };
    EXPECT_EQ(chains(64, 91), (Chains{0, 0, 0}));
    EXPECT_EQ(chains(65, 91), (Chains{0, 1, 1}));
    EXPECT_EQ(chains(65, 3), (Chains{0, 0, 0}));
}

TEST(FlatAgents, NeedIds) {
    EXPECT_EQ(find_agent_chains(Trace(), {}).count, 0U);
    EXPECT_EQ(Threads().add(0, 1, {}).find().of_request, Chains{0});
    EXPECT_EQ(Threads().add(0, 1, {}).add(0, 1, {1}).add(0, 1, {}).find().of_request,
              (Chains{0, 0, 0}));
}

// A fan-out with growing, forking, shrinking and equal prompts, pauses and empty lists.
Threads random_thread(std::uint64_t seed) {
    Random random(seed);
    const auto draw = [&](std::uint64_t least, std::uint64_t most) {
        return least + random.below(most - least + 1);
    };
    Threads flat;
    std::vector<std::vector<std::uint64_t>> prompts;
    const std::uint64_t reach = draw(1, 12);
    std::uint64_t fresh = 100;
    std::int64_t at = 0;
    for (std::uint64_t rows = draw(1, 30); rows > 0; --rows) {
        std::vector<std::uint64_t> ids;
        if (!prompts.empty() && draw(0, 9) > 0) {
            const std::uint64_t back = draw(1, std::min<std::uint64_t>(reach, prompts.size()));
            ids = prompts[prompts.size() - back];
            ids.resize(draw(0, 2) == 0 ? draw(0, ids.size()) : ids.size());
        }
        for (std::uint64_t more = draw(0, 3); more > 0; --more) {
            ids.push_back(draw(0, 3) == 0 ? draw(1, 4) : fresh++);
        }
        ids.resize(draw(0, 20) == 0 ? 0 : ids.size());
        prompts.push_back(ids);
        at += static_cast<std::int64_t>(draw(0, 5) == 0 ? draw(0, 4'000) : draw(0, 9));
        flat.add(at, at + static_cast<std::int64_t>(draw(0, 12)), ids, draw(0, 9) == 0 ? 1 : 0,
                 static_cast<std::uint32_t>(draw(1, 128)));
    }
    return flat;
}

TEST(FlatAgents, AreThoseOfThePlainRules) {
    std::uint32_t split = 0;
    std::uint32_t seams = 0;
    for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
        const Threads flat = random_thread(seed);
        const AgentChains found = flat.find();
        const AgentChains plain = PlainAgents(flat.trace, flat.thread).find();
        ASSERT_EQ(found.of_request, plain.of_request) << seed;
        ASSERT_EQ(found.count, plain.count) << seed;
        ASSERT_EQ(found.seams, plain.seams) << seed;
        split += found.count > 1 ? 1 : 0;
        seams += found.seams;
    }
    EXPECT_GT(split, 1'000U);
    EXPECT_GT(seams, 1'000U);
}

// Whatever was recorded: two requests of one chain never overlap, but where there are no ids to go
// by; and chains are numbered by their first requests.
TEST(FlatAgents, HoldTheirLaws) {
    for (std::uint64_t seed = 3'000; seed < 6'000; ++seed) {
        const Threads flat = random_thread(seed);
        const AgentChains found = flat.find();
        std::vector<std::int64_t> ends(found.count, 0);
        std::uint32_t next = 1;
        for (std::size_t i = 1; i < flat.thread.size(); ++i) {
            const std::uint32_t chain = found.of_request[i];
            ASSERT_LE(chain, next) << seed;
            next += chain == next ? 1 : 0;
            if (chain > 0) {
                EXPECT_GE(flat.thread[i].at_ns, ends[chain]) << seed;
                ends[chain] = flat.thread[i].end_ns;
            }
        }
        EXPECT_EQ(next, found.count) << seed;
    }
}

}  // namespace
}  // namespace driftless
