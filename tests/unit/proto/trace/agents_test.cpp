// The agents of a trace.

#include "proto/trace/agents.hpp"

#include "proto/core/hash.hpp"
#include "tests/unit/made.hpp"

namespace driftless {

// The rules of agents.hpp as they are said, without a tree and without haste: what tests hold
// `find_agent_chains` against.

class PlainAgents {
  public:
    PlainAgents(const Trace& trace, const std::vector<ThreadRequest>& thread)
        : trace_(trace), thread_(thread) {}

    AgentChains find() {
        for (std::uint32_t request = is_preamble() ? 1 : 0; request < thread_.size(); ++request) {
            add(request);
        }
        for (std::uint32_t end = 0; end < thread_.size(); ++end) {
            join_behind(end);
        }
        return numbered();
    }

  private:
    struct Chain {
        std::vector<std::uint32_t> requests;
        bool joined = false;  ///< to another one
        std::optional<std::uint32_t> from;
        std::uint32_t depth = 0;
    };

    std::uint32_t size_of(std::uint32_t request) const {
        return trace_.rows[thread_[request].row].ids_count;
    }
    std::uint32_t shared(std::uint32_t a, std::uint32_t b) const {
        const auto left = trace_.ids_of(trace_.rows[thread_[a].row]);
        const auto right = trace_.ids_of(trace_.rows[thread_[b].row]);
        std::uint32_t count = 0;
        while (count < left.size() && count < right.size() && left[count] == right[count]) {
            ++count;
        }
        return count;
    }
    bool follows(std::uint32_t before, std::uint32_t request) const {
        return thread_[before].model == thread_[request].model &&
               thread_[before].end_ns <= thread_[request].at_ns + 1'000;
    }

    bool is_preamble() const {
        const auto first = trace_.ids_of(trace_.rows[thread_.front().row]);
        bool comes_again = false;
        for (std::uint32_t request = 1; request < thread_.size(); ++request) {
            if (shared(0, request) > 0) {
                return false;
            }
            const auto other = trace_.ids_of(trace_.rows[thread_[request].row]);
            comes_again =
                comes_again || std::find_first_of(other.begin(), other.end(), first.begin(),
                                                  first.end()) != other.end();
        }
        const bool short_answer = trace_.rows[thread_.front().row].output_length <= 64;
        return thread_.size() > 1 && !first.empty() && (short_answer || !comes_again);
    }

    void add(std::uint32_t request) {
        if (size_of(request) == 0) {
            return;  // stays with the main chain
        }
        Chain* longest = nullptr;
        Chain* nearest = nullptr;
        std::pair<std::uint32_t, std::uint32_t> most;  // ids in common, ids of the tail
        for (Chain& chain : chains_) {
            const std::uint32_t tail = chain.requests.back();
            const std::uint32_t size = size_of(tail);
            const std::uint32_t common = shared(tail, request);
            if (common == size && follows(tail, request) &&
                (longest == nullptr || size > size_of(longest->requests.back()))) {
                longest = &chain;
            }
            if (common > 0 && std::pair(common, size) > most) {
                nearest = &chain;
                most = {common, size};
            }
        }
        if (longest != nullptr) {
            longest->requests.push_back(request);
            return;
        }
        Chain chain{.requests = {request}};
        if (nearest != nullptr) {
            chain.from = nearest->requests.back();
            chain.depth = most.first;
        }
        chains_.push_back(chain);
    }

    void join_behind(std::uint32_t end) {
        const auto owner = std::find_if(chains_.begin(), chains_.end(), [&](const Chain& chain) {
            return !chain.joined && chain.requests.back() == end;
        });
        if (owner == chains_.end()) {
            return;
        }
        Chain* best = nullptr;
        for (Chain& chain : chains_) {
            const std::uint32_t first = chain.requests.front();
            if (chain.joined || chain.from != end || !follows(end, first)) {
                continue;
            }
            const bool late = thread_[first].at_ns - thread_[end].end_ns > 3'600'000'000'000;
            if (late && chain.depth * 2 < size_of(end)) {
                continue;
            }
            best = best == nullptr || chain.depth > best->depth ? &chain : best;
        }
        if (best == nullptr) {
            return;
        }
        owner->requests.insert(owner->requests.end(), best->requests.begin(), best->requests.end());
        best->joined = true;
        ++seams_;
        const std::uint32_t tail = owner->requests.back();
        for (Chain& chain : chains_) {
            if (!chain.joined && chain.from == end) {
                chain.from = tail;
                chain.depth = shared(tail, chain.requests.front());
            }
        }
    }

    AgentChains numbered() const {
        AgentChains found;
        found.of_request.assign(thread_.size(), 0);
        found.seams = seams_;
        for (const Chain& chain : chains_) {  // by their first requests
            if (chain.joined) {
                continue;
            }
            for (const std::uint32_t request : chain.requests) {
                found.of_request[request] = found.count;
            }
            ++found.count;
        }
        found.count = std::max(found.count, 1U);
        return found;
    }

    const Trace& trace_;
    const std::vector<ThreadRequest>& thread_;
    std::vector<Chain> chains_;
    std::uint32_t seams_ = 0;
};

// Forks and joins: what comes next on a branch waits for what came before, and for nothing else.

namespace {

using Waits = std::vector<std::pair<std::uint32_t, std::int64_t>>;

struct Work {
    Trace trace;
    TraceDraft draft{trace};
    Branches branches;

    /// A request on that branch: what it waits for.
    Waits ask(const BranchPath& path, std::int64_t answer_ns = 0) {
        const std::size_t before = trace.dependencies.size();
        TraceRow row;
        branches.find(path)->pass(draft, row, answer_ns);
        draft.ids().begin();
        at_ns = draft.add(row).at_ns;
        Waits waits;
        for (std::size_t i = before; i < trace.dependencies.size(); ++i) {
            waits.emplace_back(trace.dependencies[i].on, trace.dependencies[i].delay_ns);
        }
        return waits;
    }

    std::int64_t at_ns = 0;  ///< of the request before
};

TEST(Branches, FollowForkAndJoinWithPauses) {
    Work work;
    work.branches.find({})->pause(5);
    EXPECT_EQ(work.ask({}), Waits());
    EXPECT_EQ(work.at_ns, 5) << "a pause before the first request";
    work.branches.find({})->pause(7);
    work.branches.find({})->pause(1);
    EXPECT_EQ(work.ask({}, 100), (Waits{{0, 8}}));
    EXPECT_EQ(work.ask({}), (Waits{{1, 0}}));
    EXPECT_EQ(work.at_ns, 113) << "answers take as long as is recorded";
    Work forked;
    forked.ask({});
    ASSERT_TRUE(forked.branches.fork({}, 3));
    EXPECT_EQ(forked.ask({0}), (Waits{{0, 0}}));
    forked.branches.find({1})->pause(9);
    EXPECT_EQ(forked.ask({1}), (Waits{{0, 9}}));
    EXPECT_EQ(forked.ask({1}), (Waits{{2, 0}}));
    ASSERT_TRUE(forked.branches.join({}));
    EXPECT_EQ(forked.ask({}), (Waits{{1, 0}, {3, 0}})) << "not for row 0, which both waited for";
    // Tools side by side: the longest counts. Branches that did nothing count for nothing.
    Work other_work;
    other_work.ask({});
    ASSERT_TRUE(other_work.branches.fork({}, 2));
    other_work.branches.find({0})->pause(4);
    other_work.branches.find({1})->pause(6);
    ASSERT_TRUE(other_work.branches.join({}));
    EXPECT_EQ(other_work.ask({}), (Waits{{0, 6}}));
    ASSERT_TRUE(other_work.branches.fork({}, 2));
    ASSERT_TRUE(other_work.branches.join({}));
    EXPECT_EQ(other_work.ask({}), (Waits{{1, 0}}));
    ASSERT_TRUE(other_work.branches.fork({}, 0));
    other_work.ask({});  // the parent goes on beside its children
    other_work.ask({7});
    ASSERT_TRUE(other_work.branches.join({}));
    EXPECT_EQ(other_work.ask({}), (Waits{{4, 0}, {3, 0}}));
}

TEST(Branches, NestAndAreOpenedByForks) {
    Work work;
    work.ask({});
    ASSERT_TRUE(work.branches.fork({}, 2));
    ASSERT_TRUE(work.branches.fork({1}, 2));
    EXPECT_EQ(work.ask({1, 0}), (Waits{{0, 0}}));
    EXPECT_EQ(work.ask({0}), (Waits{{0, 0}}));
    ASSERT_TRUE(work.branches.fork({0}, 1)) << "forks of two branches are open at once";
    EXPECT_EQ(work.ask({0, 0}), (Waits{{2, 0}}));
    ASSERT_TRUE(work.branches.join({1}));
    EXPECT_EQ(work.ask({1}), (Waits{{1, 0}}));
    ASSERT_TRUE(work.branches.join({})) << "which ends the fork inside, too";
    EXPECT_EQ(work.ask({}), (Waits{{2, 0}, {3, 0}, {4, 0}}));
    EXPECT_FALSE(work.branches.join({0}));
    Branches branches;
    EXPECT_EQ(branches.find({0}), nullptr);
    EXPECT_FALSE(branches.fork({0}, 1) || branches.join({}));
    ASSERT_TRUE(branches.fork({}, 2));
    EXPECT_FALSE(branches.fork({}, 2)) << "already forked";
    EXPECT_NE(branches.find({1}), nullptr);
    EXPECT_EQ(branches.find({2}), nullptr) << "it has two";
    EXPECT_EQ(branches.find({0, 0}), nullptr);
    ASSERT_TRUE(branches.join({}));
    EXPECT_EQ(branches.find({1}), nullptr) << "it has ended";
}

// Agents that were recorded in one line get their chains back: rule by rule, and on random threads
// as a plain reading of the rules finds them.

constexpr std::int64_t s = 1'000'000'000;
using Chains = std::vector<std::uint32_t>;

struct Threads {
    Trace trace;
    std::vector<ThreadRequest> thread;

    // A request that starts and ends at these seconds.
    Threads& add(std::int64_t at, std::int64_t end, const std::vector<std::uint64_t>& ids,
                 std::uint32_t model = 0, std::uint32_t output = 500) {
        const TraceRow& row = append_row(trace, {.at_ns = at * s, .output_length = output}, ids);
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
    EXPECT_EQ(std::tuple(flat.find().count, flat.find().seams), std::tuple(3U, 0U));
    // At its recorded end a request may be gone on with, not before; and on the same model only.
    EXPECT_EQ(Threads().add(0, 5, {1, 2}).add(5, 6, {1, 2, 3}).find().of_request, (Chains{0, 0}));
    EXPECT_EQ(Threads().add(0, 5, {1, 2}).add(4, 6, {1, 2, 3}).find().of_request, (Chains{0, 1}));
    EXPECT_EQ(Threads().add(0, 5, {1, 2}).add(6, 7, {1, 2, 3}, 1).find().of_request,
              (Chains{0, 1}));
    // A shorter prompt is its agent's after a compaction, unless the longer one is gone on with.
    Threads seam;
    seam.add(0, 1, {1, 2, 3, 4}).add(2, 3, {1, 2, 9}).add(4, 5, {1, 2, 9, 10});
    EXPECT_EQ(seam.find().of_request, (Chains{0, 0, 0}));
    EXPECT_EQ(seam.find().seams, 1U);
    seam.add(6, 7, {1, 2, 3, 4, 5});
    EXPECT_EQ(seam.find().of_request, (Chains{0, 1, 1, 0}));
    EXPECT_EQ(seam.find().seams, 0U);
    // One compaction behind the other: each is held against where the agent stands by then.
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
    // A title, or a prompt of which nothing comes again, does not found the main chain.
    const auto behind = [](std::uint32_t output, std::uint64_t id) {
        Threads flat;
        flat.add(0, 1, {90, 91}, 0, output).add(2, 3, {1, 2}).add(4, 5, {1, 2, id});
        return flat.find().of_request;
    };
    EXPECT_EQ(behind(64, 91), (Chains{0, 0, 0}));
    EXPECT_EQ(behind(65, 91), (Chains{0, 1, 1}));
    EXPECT_EQ(behind(65, 3), (Chains{0, 0, 0}));
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

TEST(FlatAgents, AreThoseOfThePlainRulesAndHoldTheirLaws) {
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
    // Whatever was recorded: two requests of one chain never overlap, but where there are no ids to
    // go by; and chains are numbered by their first requests.
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
