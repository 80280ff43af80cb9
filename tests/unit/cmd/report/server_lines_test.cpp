// A few lines for people say what the servers said, and nothing of what they did not say.
#include <gtest/gtest.h>

#include "cmd/report/summary_table.hpp"

namespace driftless {
namespace {

using Texts = std::vector<std::string>;

void set(ServerTotals& totals, ServerFigure figure, double value) {
    totals.counters[static_cast<std::size_t>(figure)] = value;
}

TEST(ServerLines, AreNoneWithoutPages) {
    EXPECT_TRUE(server_lines(SummaryFigures(), SummaryInfo()).empty());
}

TEST(ServerLines, SayWhatIsKnown) {
    SummaryFigures figures{.completed = 100, .output_tokens = 2000};
    SummaryInfo info;
    ServerTotals& totals = info.server.emplace();
    totals.urls = {{"http://a/metrics", "vllm", 9}, {"http://b/metrics", "vllm", 9, 2, "", 1}};
    totals.scrapes = 18;
    totals.failures = 2;
    set(totals, ServerFigure::requests, 100);
    set(totals, ServerFigure::prompt_tokens, 104931);
    set(totals, ServerFigure::prefix_query_tokens, 1000);
    set(totals, ServerFigure::prefix_hit_tokens, 250);
    set(totals, ServerFigure::queue_seconds, 0.5);
    totals.gauges[static_cast<std::size_t>(ServerFigure::kv_usage)] = GaugeTotals{0.25, 0.5};
    totals.gauges[static_cast<std::size_t>(ServerFigure::running)] = GaugeTotals{3.25, 8};
    totals.gauges[static_cast<std::size_t>(ServerFigure::watts)] = GaugeTotals{300, 310};
    totals.joules = 3000;
    info.finished_trees = 12;
    EXPECT_EQ(
        server_lines(figures, info),
        (Texts{"18 pages of 2 URLs read, 2 failed (vllm); counters restarted 1 time",
               "100 requests, 104,931 prompt tokens",
               "prefix hits 25.00 %, KV cache 25.0 % full (at most 50.0 %)",
               "running 3.2 (at most 8), queue 5.00 ms",
               "300 W on average, 3000 J, 30.00 J per request, 1.500 J per output token, 250.00 J "
               "per finished tree"}));
}

TEST(ServerLines, SayWherePagesAreOfNoKnownEngine) {
    SummaryInfo info;
    info.server.emplace().urls = {{"http://a/metrics", "", 1}};
    info.server->scrapes = 1;
    EXPECT_EQ(server_lines(SummaryFigures(), info),
              Texts{"1 page of 1 URL read; no known table fits their metrics: server.jsonl has all "
                    "series"});
}

}  // namespace
}  // namespace driftless
