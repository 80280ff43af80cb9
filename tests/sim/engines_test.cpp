// Several engines: every law holds whatever the faults; rows, dues and prompts are those of one
// engine; the rows of a burst wait for fewer others.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "tests/sim/effort.hpp"
#include "tests/sim/laws.hpp"
#include "tests/sim/planted_runs.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

constexpr std::uint32_t rows = 200;

TEST(Engines, KeepEveryLawWhateverTheFaults) {
    std::uint64_t records = 0;
    for (std::uint64_t seed = 1; seed <= seeds(300); ++seed) {
        const SimResult result = run_engines_swarm(seed, rows);
        ASSERT_EQ(broken_laws(result), "") << "seed " << seed;
        records += result.engines > 1 ? result.records.size() : 0;
    }
    EXPECT_GT(records, seeds(300) * rows / 2) << "they were several";
}

TEST(Engines, GiveTheSameBytesForTheSameSeed) {
    for (std::uint64_t seed = 1; seed <= repeats(10); ++seed) {
        EXPECT_EQ(run_engines_swarm(seed, rows).jsonl, run_engines_swarm(seed, rows).jsonl);
    }
}

/// What must not depend on their number.
using Sending = std::tuple<std::int64_t, std::uint64_t, std::string, std::int64_t, std::string>;

std::map<std::uint32_t, Sending> sendings_of(const SimResult& result) {
    std::map<std::uint32_t, Sending> sendings;
    for (const Record& record : result.records) {
        sendings[record.row] = {record.due_ns, record.bytes_sent, record.url,
                                record.prompt_tokens.value_or(-1), record.trace_id.value_or("")};
    }
    return sendings;
}

TEST(Engines, SendTheSameWhateverTheirNumber) {
    SimOptions options;
    options.seed = 5;
    options.server.overhead = {5, 3};
    options.own_fields = true;
    options.targets = 3;
    const Trace trace = make_trace(5, rows);
    const std::map<std::uint32_t, Sending> one = sendings_of(run(trace, options));
    EXPECT_EQ(one.size(), rows);
    for (const std::uint32_t engines : {2U, 3U, 8U}) {
        options.engines = engines;
        const SimResult result = run(trace, options);
        EXPECT_EQ(result.engines, engines);
        EXPECT_EQ(broken_laws(result), "");
        EXPECT_TRUE(sendings_of(result) == one) << engines;
    }
}

std::int64_t worst_drift_ns(const SimResult& result) {
    std::int64_t worst = 0;
    for (const Record& record : result.records) {
        worst = std::max(worst, record.drift_ns.value_or(0));
    }
    return worst;
}

TEST(Engines, DivideABurst) {
    SimOptions options;
    options.seed = 7;
    Trace burst = make_trace(7, rows);
    for (TraceRow& row : burst.rows) {
        row.at_ns = 0;
    }
    options.inflight_max = rows;
    const std::int64_t alone_ns = worst_drift_ns(run(burst, options));
    options.engines = 4;
    const std::int64_t shared_ns = worst_drift_ns(run(burst, options));
    EXPECT_GT(alone_ns, 3 * shared_ns);
}

}  // namespace
}  // namespace driftless::sim
