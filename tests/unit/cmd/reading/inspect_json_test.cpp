// The report equals that of the published simulator on its own traces.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cmd/reading/trace_figures.hpp"
#include "proto/json/document.hpp"
#include "tests/unit/cmd/reading/make_trace.hpp"

namespace driftless {
namespace {

struct Report {
    std::string text;
    JsonDocument document;
    JsonValue root;

    Report(const Trace& trace, const std::string& origin) {
        append_hash_block_report(text, trace, origin);
        root = document.parse(text).value();
    }
};

std::uint64_t number(const JsonValue& object, const char* key) {
    return object.find(key).as_u64().value();
}

struct Golden {
    const char* file;
    std::uint64_t requests;
    std::uint64_t partial;
    std::uint64_t hit_tokens;
    std::uint64_t in_tokens;
    const char* rate;
    std::uint64_t set_hits;
    std::uint64_t set_total;
    const char* set_rate;
};

// What simulate_hash_block_mode.py of InferenceX (pull request 993) counts. 0291 has sub-agents.
constexpr Golden golden[] = {
    {"trace_0001", 41, 40, 4'544'512, 4'873'373, "0.9325", 71'008, 76'127, "0.9328"},
    {"trace_0103", 3, 2, 30'912, 49'384, "0.626", 483, 771, "0.6265"},
    {"trace_0187", 3, 2, 21'632, 35'830, "0.6037", 338, 558, "0.6057"},
    {"trace_0291", 20, 19, 1'474'560, 1'576'322, "0.9354", 23'040, 24'623, "0.9357"},
};

TEST(HashBlockReport, EqualsThePublishedSimulator) {
    for (const Golden& expected : golden) {
        const std::string path = shared_trace(std::string("weka/") + expected.file + ".json");
        if (path.empty()) {
            GTEST_SKIP() << "no real traces in " << SHARED_DATA;
        }
        SCOPED_TRACE(expected.file);
        const Report report(read_or_die(path), path);
        EXPECT_EQ(report.root.find("trace").as_string(), path);
        EXPECT_EQ(report.root.find("mode").as_string(), "hash-block");
        EXPECT_EQ(number(report.root, "total_requests"), expected.requests);
        const JsonValue summary = report.root.find("summary");
        EXPECT_EQ(number(summary, "first"), 1U);
        EXPECT_EQ(number(summary, "hit"), 0U);
        EXPECT_EQ(number(summary, "partial_hit"), expected.partial);
        EXPECT_EQ(number(summary, "miss"), 0U);
        EXPECT_EQ(number(summary, "no_hash_ids"), 0U);
        EXPECT_EQ(number(summary, "hash_block_hit_tokens"), expected.hit_tokens);
        EXPECT_EQ(number(summary, "hash_block_input_tokens"), expected.in_tokens);
        EXPECT_EQ(summary.find("hash_block_cache_hit_rate").raw(), expected.rate);
        EXPECT_EQ(number(summary, "set_cache_hit_blocks"), expected.set_hits);
        EXPECT_EQ(number(summary, "set_cache_total_blocks"), expected.set_total);
        EXPECT_EQ(summary.find("set_cache_hit_rate").raw(), expected.set_rate);
    }
}

struct Counted {
    std::map<std::string, std::uint64_t> actions;
    std::uint64_t hit_tokens = 0;
    std::uint64_t set_hits = 0;
};

// The published simulator, line by line: each request against all before it. Those of sub-agents
// are left out.
Counted simulated(const Trace& trace) {
    std::vector<std::vector<std::uint64_t>> prior;
    std::set<std::uint64_t> seen;
    Counted counted;
    for (const TraceRow& row : trace.rows) {
        if (trace.sessions[row.session].find('/') != std::string::npos) {
            continue;
        }
        std::vector<std::uint64_t> ids;
        for (std::uint64_t at = 0; at < row.ids_count; ++at) {
            ids.push_back(trace.ids[row.ids_begin + at]);
        }
        std::size_t most = 0;
        for (const std::vector<std::uint64_t>& one : prior) {
            std::size_t shared = 0;
            while (shared < std::min(one.size(), ids.size()) && one[shared] == ids[shared]) {
                ++shared;
            }
            most = std::max(most, shared);
        }
        ++counted.actions[prior.empty()        ? "first"
                          : ids.empty()        ? "no_hash_ids"
                          : most == 0          ? "miss"
                          : most == ids.size() ? "hit"
                                               : "partial_hit"];
        counted.hit_tokens += std::min<std::uint64_t>(most * 64, row.input_length);
        for (const std::uint64_t id : ids) {
            counted.set_hits += seen.contains(id) ? 1 : 0;
        }
        seen.insert(ids.begin(), ids.end());
        prior.push_back(std::move(ids));
    }
    return counted;
}

// On every conversation that is there, what it would count request by request.
TEST(HashBlockReport, EqualsTheSimulatorLineByLine) {
    for (const char* const file :
         {"trace_0001", "trace_0026", "trace_0091", "trace_0103", "trace_0174", "trace_0187",
          "trace_0242", "trace_0277", "trace_0279", "trace_0291", "trace_0295", "trace_0504"}) {
        const std::string path = shared_trace(std::string("weka/") + file + ".json");
        if (path.empty()) {
            GTEST_SKIP() << "no real traces in " << SHARED_DATA;
        }
        SCOPED_TRACE(file);
        const Trace trace = read_or_die(path);
        const Counted expected = simulated(trace);
        const Report report(trace, path);
        const JsonValue summary = report.root.find("summary");
        for (const char* const action : {"first", "hit", "partial_hit", "miss", "no_hash_ids"}) {
            const auto found = expected.actions.find(action);
            EXPECT_EQ(number(summary, action), found == expected.actions.end() ? 0 : found->second)
                << action;
        }
        EXPECT_EQ(number(summary, "hash_block_hit_tokens"), expected.hit_tokens);
        EXPECT_EQ(number(summary, "set_cache_hit_blocks"), expected.set_hits);
    }
}

// Every action, in one file; a sub-agent is left out and has a place, whatever chains were found in
// it. Chains of the conversation itself stay.
TEST(HashBlockReport, TellsWhatEachRequestShares) {
    Trace trace = make_trace(4, TailRule::floor,
                             {{0, 13, {1, 2, 3}, 0},
                              {1, 8, {7, 8}, 1},
                              {2, 8, {9, 9}, 2},
                              {3, 17, {1, 2, 4, 5}, 3},
                              {4, 8, {1, 2}, 0},
                              {5, 3, {}, 0},
                              {6, 5, {6}, 0}});
    trace.sessions = {"t", "t/agent", "t/agent::fa:000", "t::fa:000"};
    const Report report(trace, "t.json");
    struct Expected {
        std::uint64_t req;
        const char* action;
        std::uint64_t before, kept, removed, fresh, shared, hit_tokens;
        bool full_reset;
    };
    const Expected expected[] = {
        {0, "FIRST", 0, 0, 0, 3, 0, 0, false}, {2, "PARTIAL_HIT", 3, 2, 1, 2, 2, 8, false},
        {3, "HIT", 4, 2, 2, 0, 2, 8, false},   {4, "NO_HASH_IDS", 2, 0, 2, 0, 0, 0, true},
        {5, "MISS", 0, 0, 0, 1, 0, 0, false},
    };
    JsonValue request = report.root.find("requests").first();
    for (const Expected& one : expected) {
        ASSERT_TRUE(request.present());
        SCOPED_TRACE(one.action);
        EXPECT_EQ(number(request, "req"), one.req);
        EXPECT_EQ(request.find("action").as_string(), one.action);
        EXPECT_EQ(number(request, "prev_hash_id_count"), one.before);
        EXPECT_EQ(number(request, "kept"), one.kept);
        EXPECT_EQ(number(request, "kept_tokens"), 4 * one.kept);
        EXPECT_EQ(number(request, "removed"), one.removed);
        EXPECT_EQ(number(request, "new"), one.fresh);
        EXPECT_EQ(number(request, "shared_prefix_with_any_prior"), one.shared);
        EXPECT_EQ(number(request, "hash_block_hit_tokens"), one.hit_tokens);
        EXPECT_EQ(
            number(request, "hash_block_hit_tokens") + number(request, "hash_block_miss_tokens"),
            number(request, "in_tokens"));
        EXPECT_EQ(request.find("full_reset").as_bool(), one.full_reset);
        request = request.next();
    }
    EXPECT_FALSE(request.present());
}

// Files are caches of their own, whatever their ids.
TEST(HashBlockReport, SumsFiles) {
    Trace trace = make_trace(4, TailRule::floor, {{0, 8, {1, 2}}, {1, 8, {1, 2}}, {2, 8, {1, 2}}});
    trace.files = {{"folder/a.json", 0}, {"folder/b.json", 2}};
    const Report report(trace, "folder");
    EXPECT_EQ(report.root.find("trace_dir").as_string(), "folder");
    EXPECT_EQ(number(report.root, "num_traces"), 2U);
    const JsonValue sums = report.root.find("aggregate");
    EXPECT_EQ(number(sums, "total_requests"), 3U);
    EXPECT_EQ(number(sums, "first"), 2U);
    EXPECT_EQ(number(sums, "hit"), 1U);
    EXPECT_EQ(sums.find("hash_block_cache_hit_rate").raw(), "0.3333");
    const JsonValue second = report.root.find("per_trace").first().next();
    EXPECT_EQ(second.find("trace").as_string(), "b.json");
    EXPECT_EQ(number(second, "total_requests"), 1U);
    EXPECT_EQ(number(second.find("summary"), "first"), 1U);
}

}  // namespace
}  // namespace driftless
