// The figures of real servers' pages are the client's own sums of the same runs; resets, late
// series, ranks and several addresses count as they should.
#include "proto/metrics/endpoint_figures.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cmd/base/server_metrics.hpp"
#include "proto/metrics/exposition.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

using enum ServerFigure;

struct Scraped {
    std::vector<EngineMapping> mappings = known_mappings();
    EndpointFigures figures{mappings};

    void page(std::string_view text) {
        ExpositionReader reader;
        ASSERT_TRUE(reader.read(text)) << reader.problem();
        figures.add(reader.page());
    }
    void file(const std::string& path) { page(read_bytes(path)); }
    double of(ServerFigure figure) const { return figures.value(figure).value_or(-1); }
};

/// Of a run of 60 rows, by its summary; -1: the server does not count it.
struct KnownRun {
    const char* name;
    const char* engine;
    double cached;
    double computed;
    double requests = 60;
    double prompt = 104931;
    double output = 4208;
};
constexpr KnownRun runs[] = {
    {"vllm", "vllm", 54784, 50147},
    {"vllm-dp2", "vllm", 37760, 67171},
    {"vllm-spec", "vllm", 54784, 50147},
    {"sglang", "sglang", 53278, 51653},
    {"sglang-small", "sglang", 44866, 60065},
    {"dynamo", "dynamo", 54784, -1},
    {"dynamo-worker", "dynamo", -1, -1, -1, -1, -1},
    {"llmdsim", "vllm", 54784, -1},
    {"router-engine", "vllm", 54784, 50147},
    {"llamacpp", "llamacpp", 31954, 72977, -1},
    {"mock-vllm", "vllm", 54784, -1},
    {"mock-sglang", "sglang", -1, -1},
};

TEST(EndpointFigures, AreTheClientsSumsOfTheSameRuns) {
    const std::string folder = SHARED_DATA "/metrics/";
    if (!std::filesystem::exists(folder)) {
        GTEST_SKIP() << "no pages in " << folder;
    }
    for (const KnownRun& run : runs) {
        SCOPED_TRACE(run.name);
        Scraped got;
        for (const char* when : {"-before.txt", "-during.txt", "-after.txt"}) {
            got.file(folder + run.name + when);
        }
        EXPECT_EQ(got.figures.engine(), run.engine);
        EXPECT_EQ(got.figures.restarts(), 0U);
        EXPECT_EQ(got.of(requests), run.requests);
        EXPECT_EQ(got.of(prompt_tokens), run.prompt);
        EXPECT_EQ(got.of(generated_tokens), run.output);
        EXPECT_EQ(got.of(prefix_hit_tokens), run.cached);
        EXPECT_EQ(got.of(prefix_query_tokens), run.cached < 0 ? -1 : run.prompt);
        EXPECT_EQ(got.of(computed_prefill_tokens), run.computed);
        const std::string name = run.name;
        EXPECT_EQ(got.of(running), name == "dynamo" ? -1 : 0);
        EXPECT_EQ(got.of(waiting), name == "dynamo" ? -1 : 0);
        EXPECT_EQ(got.of(draft_tokens), name == "vllm-spec" ? 3054 : name == "llamacpp" ? 0 : -1);
        EXPECT_EQ(got.of(preemptions),
                  name == "vllm-dp2" ? 4
                  : name.starts_with("vllm") || name == "dynamo-worker" || name == "router-engine"
                      ? 0
                      : -1);
        EXPECT_EQ(got.of(host_hit_tokens), run.computed >= 0 && name != "llamacpp" ? 0 : -1);
    }
}

TEST(EndpointFigures, TakeUsagesAndQueuesOfABusyServer) {
    const std::string folder = SHARED_DATA "/metrics/";
    if (!std::filesystem::exists(folder)) {
        GTEST_SKIP() << "no pages in " << folder;
    }
    for (const char* name : {"vllm", "vllm-dp2", "sglang", "dynamo-worker", "llmdsim"}) {
        Scraped got;
        got.file(folder + name + "-during.txt");
        EXPECT_GT(got.of(kv_usage), 0) << name;
        EXPECT_LE(got.of(kv_usage), 1) << name;
        EXPECT_GE(got.of(running), 1) << name;
        EXPECT_LE(got.of(running) + got.of(waiting), 60) << name;
    }
}

// Two pages with families twice; a page of OpenMetrics whose samples say `_` for `:`.
TEST(EndpointFigures, OfOtherFormsOfAPageAreTheSame) {
    const std::string folder = SHARED_DATA "/metrics/";
    if (!std::filesystem::exists(folder)) {
        GTEST_SKIP() << "no pages in " << folder;
    }
    const std::pair<const char*, const char*> pairs[] = {
        {"vllm-dp2-after.txt", "vllm-dp2-slash-after.txt"},
        {"vllm-dp2-after.txt", "vllm-dp2-slash-after-openmetrics.txt"},
        {"sglang-after.txt", "sglang-after-openmetrics.txt"}};
    for (const auto& [one, other] : pairs) {
        Scraped a;
        Scraped b;
        for (Scraped* got : {&a, &b}) {
            got->page(std::string(one).starts_with("vllm") ? "vllm:num_requests_running 0\n"
                                                           : "sglang:num_running_reqs 0\n");
        }
        a.file(folder + one);
        b.file(folder + other);
        for (const ServerFigure figure : {prompt_tokens, generated_tokens, prefix_hit_tokens,
                                          computed_prefill_tokens, requests}) {
            EXPECT_EQ(a.of(figure), b.of(figure)) << other << " " << name_of(figure);
            EXPECT_GT(a.of(figure), 0) << name_of(figure);
        }
    }
}

// 40 rows; the same address after a restart, idle; then 2 requests more.
TEST(EndpointFigures, AServerThatWasRestartedCountsOn) {
    Scraped got;
    got.page("# TYPE vllm:request_success_total counter\n");
    got.page("vllm:num_requests_running 0\n");
    got.file(TEST_DATA "/metrics/llmdsim-restart-1.txt");
    EXPECT_EQ(got.of(requests), 40);
    got.file(TEST_DATA "/metrics/llmdsim-restart-2.txt");
    EXPECT_EQ(got.of(requests), 40);
    EXPECT_EQ(got.figures.restarts(), 0U);
    got.page("vllm:request_success_total{finish_reason=\"length\",model_name=\"tiny\"} 2\n");
    EXPECT_EQ(got.of(requests), 42);
    EXPECT_EQ(got.figures.restarts(), 1U);
}

/// A page of vLLM's names: requests and prompt tokens, and the start of its process (0: not said).
std::string page_of(int requests, double started = 0) {
    const std::string number = std::to_string(requests);
    return "# TYPE vllm:request_success_total counter\nvllm:request_success_total " + number +
           "\n# TYPE vllm:prompt_tokens_total counter\nvllm:prompt_tokens_total " + number +
           "00\n" +
           (started > 0 ? "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds " +
                              std::to_string(started) + "\n"
                        : "");
}

// Behind a gateway that passes /metrics to its workers in turn: one was started before the other,
// or its counters fall and rise again. No figure is known, whatever the last page was.
TEST(EndpointFigures, OfServersThatAnswerInTurnNothingIsKnown) {
    Scraped started;
    for (const auto& [count, start] : {std::pair{7, 500.0}, {9, 900.0}, {8, 500.0}}) {
        started.page(page_of(count, start));
    }
    EXPECT_TRUE(started.figures.is_several());
    EXPECT_EQ(started.figures.value(prompt_tokens), std::nullopt);
    const std::vector<std::vector<int>> turns{{100, 5, 101, 6},
                                              {3, 2, 5, 4},
                                              {5, 100, 6, 101, 7},
                                              {100, 5, 80, 101, 6, 81, 102, 7},
                                              {5000, 1, 300, 5003, 4}};
    for (const std::vector<int>& pages : turns) {
        Scraped got;
        for (const int count : pages) {
            got.page(page_of(count));
        }
        EXPECT_TRUE(got.figures.is_several()) << pages.front() << " " << pages.size();
        EXPECT_EQ(got.figures.value(requests), std::nullopt);
    }
    Scraped restarted;  // twice, each time with a later start
    for (const auto& [count, start] :
         {std::pair{100, 500.0}, {5, 560.0}, {60, 560.0}, {110, 560.0}, {3, 700.0}, {9, 700.0}}) {
        restarted.page(page_of(count, start));
    }
    EXPECT_FALSE(restarted.figures.is_several());
    EXPECT_EQ(restarted.figures.restarts(), 2U);
    EXPECT_EQ(restarted.of(requests), 110 + 9);
}

// An infinite counter, or one that is no number, makes its figure unknown and no sum of it.
TEST(EndpointFigures, CountersThatAreNoNumbersAreUnknown) {
    for (const char* odd : {"+Inf", "-Inf", "NaN"}) {
        for (const bool first : {true, false}) {
            Scraped got;
            const std::string bad =
                std::string("# TYPE vllm:prompt_tokens_total counter\nvllm:prompt_tokens_total ") +
                odd + "\n";
            got.page(first ? bad : page_of(5));
            got.page(first ? page_of(5) : bad);
            got.page(page_of(9));
            EXPECT_EQ(got.figures.value(prompt_tokens), std::nullopt) << odd << first;
        }
    }
}

// A histogram without one observation has a sum of 0, which is no measurement.
TEST(EndpointFigures, SumsThatNothingWasAddedToAreUnknown) {
    const auto hits = [](int count, int sum) {
        return "# TYPE dynamo_frontend_cached_tokens histogram\n"
               "dynamo_frontend_cached_tokens_sum " +
               std::to_string(sum) + "\ndynamo_frontend_cached_tokens_count " +
               std::to_string(count) + "\n";
    };
    Scraped silent;
    silent.page(hits(4, 70));
    silent.page(hits(4, 70));
    EXPECT_EQ(silent.figures.value(prefix_hit_tokens), std::nullopt);
    silent.page(hits(6, 70));
    EXPECT_EQ(silent.of(prefix_hit_tokens), 0);
}

// Of a series that a page has twice the higher value holds, in whatever order they stand.
TEST(EndpointFigures, ASeriesThatStandsTwiceIsNoRestart) {
    const std::string type = "# TYPE vllm:request_success_total counter\n";
    const std::string line = "vllm:request_success_total{finish_reason=\"length\"} ";
    for (const bool higher_first : {false, true}) {
        Scraped got;
        for (const int page : {1, 2, 3}) {
            const std::string low = line + std::to_string(10 * page) + "\n";
            const std::string high = line + std::to_string(1000 * page) + "\n";
            got.page(type + (higher_first ? high + low : low + high) +
                     "vllm:num_requests_running 0\n");
        }
        EXPECT_EQ(got.of(requests), 2000);
        EXPECT_EQ(got.figures.restarts(), 0U);
    }
}

TEST(EndpointFigures, RanksSayTheSameAndDataParallelOnesAddUp) {
    Scraped got;
    for (const char* count : {"10", "15"}) {
        std::string page = "# TYPE sglang:realtime_tokens counter\n";
        for (const char* rank : {"0", "1"}) {
            for (const char* part : {"0", "1"}) {
                page += "sglang_realtime_tokens_total{mode=\"prefill_cache\",tp_rank=\"" +
                        std::string(rank) + "\",dp_rank=\"" + part + "\"} " + count + "\n";
            }
            page += "sglang:token_usage{dp_rank=\"" + std::string(rank) + "\"} 0." + rank + "5\n";
        }
        got.page(page);
    }
    EXPECT_EQ(got.of(prefix_hit_tokens), 10);
    EXPECT_EQ(got.of(kv_usage), 0.15);
}

TEST(EndpointFigures, OfSeveralAddresses) {
    Scraped a;
    Scraped b;
    a.page("vllm:kv_cache_usage_perc 0.25\nvllm:num_requests_running 3\n");
    b.page("vllm:kv_cache_usage_perc 0.5\nvllm:num_requests_running 4\n");
    const std::vector<EndpointFigures> both{a.figures, b.figures};
    EXPECT_EQ(figure_of_all(both, kv_usage), 0.5);
    EXPECT_EQ(figure_of_all(both, running), 7);
    EXPECT_EQ(figure_of_all(both, watts), std::nullopt);
}

TEST(EndpointFigures, GaugesAndOtherEnginesSayNothing) {
    Scraped gauge;
    gauge.page("# TYPE sglang:evicted_bytes gauge\nsglang:evicted_bytes 5\n");
    EXPECT_EQ(gauge.of(offload_bytes), -1);
    EXPECT_EQ(gauge.figures.engine(), "sglang");
    Scraped other;
    other.page("litellm_requests_total 5\n");
    EXPECT_EQ(other.figures.engine(), "");
    EXPECT_EQ(other.of(requests), -1);
}

// By the documentation; no page of a real server is at hand.
TEST(EndpointFigures, OfTensorRtLlmTgiAtomAndPower) {
    Scraped json;
    json.page(R"([{"numActiveRequests":3,"numQueuedRequests":1,
                   "kvCacheStats":{"usedNumBlocks":25,"maxNumBlocks":100}}])");
    EXPECT_EQ(json.figures.engine(), "trtllm");
    EXPECT_EQ(json.of(kv_usage), 0.25);
    EXPECT_EQ(json.of(running), 3);
    EXPECT_EQ(json.of(waiting), 1);
    Scraped tgi;
    tgi.page("tgi_queue_size 2\n");
    tgi.page("# TYPE tgi_request_input_length histogram\ntgi_request_input_length_sum 70\n");
    EXPECT_EQ(tgi.of(prompt_tokens), 70);
    Scraped atom;
    atom.page("atom:requests_running 1\n");
    atom.page("atom_prefix_cache_cached_tokens_total 7\natom_prefix_cache_full_tokens_total 20\n");
    EXPECT_EQ(atom.of(prefix_hit_tokens), 7);
    EXPECT_EQ(atom.of(prefix_query_tokens), 20);
    Scraped power;
    power.page("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 300\nDCGM_FI_DEV_POWER_USAGE{gpu=\"1\"} 250\n");
    EXPECT_EQ(power.of(watts), 550);
}

}  // namespace
}  // namespace driftless
