// Pages of metrics: what is read, and the figures made of them.

#include "proto/metrics/exposition.hpp"

#include "cmd/base/server_metrics.hpp"
#include "proto/metrics/endpoint_figures.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {

// What the two text formats and TensorRT-LLM's JSON say, and how a page that is none is refused.

namespace {

std::string problem_of(std::string_view page, std::string_view type = "",
                       ExpositionLimits limits = {}) {
    ExpositionReader reader(limits);
    EXPECT_FALSE(reader.read(page, type));
    EXPECT_TRUE(reader.page().samples.empty());
    return reader.problem();
}

// The example of the specification of text 0.0.4.
TEST(ExpositionReader, ReadsTheExampleOfTheTextFormat) {
    constexpr std::string_view page =
        R"(# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000

# Escaping in label values:
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1.458255915e9

# Minimalistic line:
metric_without_timestamp_and_labels 12.47

# A weird metric from before the epoch:
something_weird{problem="division by zero"} +Inf -3982045

# TYPE http_request_duration_seconds histogram
http_request_duration_seconds_bucket{le="0.05"} 24054
http_request_duration_seconds_bucket{le="+Inf"} 144320
http_request_duration_seconds_sum 53423
http_request_duration_seconds_count 144320
# TYPE rpc_duration_seconds summary
rpc_duration_seconds{quantile="0.01"} 3102
rpc_duration_seconds_sum 1.7560473e+07
)";
    ExpositionReader reader;
    ASSERT_TRUE(reader.read(page)) << reader.problem();
    const Exposition& out = reader.page();
    ASSERT_EQ(out.samples.size(), 11U);
    ASSERT_EQ(out.families.size(), 6U);
    EXPECT_EQ(std::tuple(out.families[0].type, out.families[0].help, out.samples[0].value),
              std::tuple(MetricType::counter, "The total number of HTTP requests.", 1027));
    EXPECT_EQ(label_value(out.labels_of(out.samples[1]), "code"), "400");
    EXPECT_EQ(label_value(out.labels_of(out.samples[2]), "path"), "C:\\DIR\\FILE.TXT");
    EXPECT_EQ(label_value(out.labels_of(out.samples[2]), "error"),
              "Cannot find file:\n\"FILE.TXT\"");
    EXPECT_EQ(out.samples[3].value, 12.47);
    EXPECT_TRUE(std::isinf(out.samples[4].value));
    EXPECT_FALSE(out.is_counter(out.samples[3]));
    EXPECT_TRUE(out.is_counter(out.samples[5]));
    EXPECT_EQ(out.families[out.samples[8].family].name, "http_request_duration_seconds");
    EXPECT_FALSE(out.is_counter(out.samples[9]));
    EXPECT_TRUE(out.is_counter(out.samples[10]));
}

TEST(ExpositionReader, ReadsOpenMetricsByTypes) {
    constexpr std::string_view page =
        "# TYPE sglang:hits counter\n# UNIT sglang:hits tokens\n"
        "sglang_hits_total{a=\"b\"} 17.0 1520879607.789 # {trace=\"KOO\"} 0.67 1520879606.5\n"
        "sglang_hits_created{a=\"b\"} 1.5e+09\n# TYPE x gauge\nx nan\n# EOF\n";
    ExpositionReader reader;
    ASSERT_TRUE(reader.read(page)) << reader.problem();
    const Exposition& out = reader.page();
    ASSERT_EQ(out.samples.size(), 3U);
    EXPECT_EQ(out.families.size(), 2U);
    EXPECT_TRUE(out.is_counter(out.samples[0]));
    EXPECT_FALSE(out.is_counter(out.samples[1]));
    EXPECT_EQ(label_value(out.labels_of(out.samples[0]), "a"), "b");
    EXPECT_TRUE(std::isnan(out.samples[2].value));
    // Names of vLLM, SGLang and llama.cpp that look like what they are not.
    constexpr std::string_view other_page =
        "# TYPE vllm:iteration_tokens_total histogram\nvllm:iteration_tokens_total_sum 5\n"
        "# TYPE k_req histogram\n# TYPE k_req_count gauge\nk_req_count{le=\"1\"} 2\nk_req_sum 1\n"
        "# TYPE vllm:hits counter\nvllm:hits 3\nvllm:hits_created 1\n# TYPE vllm:hits gauge\n";
    ExpositionReader other_reader;
    ASSERT_TRUE(other_reader.read(other_page)) << other_reader.problem();
    const Exposition& other_out = other_reader.page();
    EXPECT_TRUE(other_out.is_counter(other_out.samples[0]));
    EXPECT_EQ(other_out.families[other_out.samples[1].family].type, MetricType::gauge);
    EXPECT_TRUE(other_out.is_counter(other_out.samples[3]));
    EXPECT_FALSE(other_out.is_counter(other_out.samples[4]));
    EXPECT_TRUE(same_metric_name("vllm:a_b", "vllm_a:b"));
    EXPECT_FALSE(same_metric_name("vllm:a", "vllm:ab"));
    EXPECT_TRUE(has_metric_prefix("vllm_hits", "vllm:"));
    EXPECT_EQ(MetricNameHash{}("vllm:a_b"), MetricNameHash{}("vllm_a:b"));
}

TEST(ExpositionReader, ReadsTheLatestIterationOfTensorRtLlm) {
    ExpositionReader reader;
    ASSERT_TRUE(reader.read(R"([{"iter":1,"numActiveRequests":9},
        {"iter":2,"numActiveRequests":3,"timestamp":"x","kvCacheStats":{"usedNumBlocks":7}}])",
                            "application/json"))
        << reader.problem();
    std::map<std::string, double> got;
    for (const MetricSample& one : reader.page().samples) {
        got[std::string(one.name)] = one.value;
    }
    EXPECT_EQ(got,
              (std::map<std::string, double>{{"trtllm_iteration_iter", 2},
                                             {"trtllm_iteration_numActiveRequests", 3},
                                             {"trtllm_iteration_kvCacheStats_usedNumBlocks", 7}}));
    EXPECT_TRUE(reader.read("[]") && reader.page().samples.empty());
    EXPECT_EQ(problem_of("{\"detail\":1}"),
              "the JSON is not a list of iterations (TensorRT-LLM): \"{\"detail\":1}\"");
    EXPECT_EQ(problem_of("[{]"), "the page is not complete JSON");
}

TEST(ExpositionReader, SaysLineAndReasonWithinItsLimits) {
    EXPECT_EQ(problem_of("a 1\nb 1.2.3\n"), "line 2: the value is not a number: \"1.2.3\"");
    EXPECT_EQ(problem_of("a 0x10\n"), "line 1: the value is not a number: \"0x10\"");
    EXPECT_EQ(problem_of("a{b=\"c} 1\n"), "line 1: a label's value has no closing quote: \"c} 1\"");
    EXPECT_EQ(problem_of("a{b=c} 1\n"), "line 1: a label's value has no opening quote: \"b=c} 1\"");
    EXPECT_EQ(problem_of("a{b=\"c\" 1\n"), "line 1: the labels have no closing bracket: \"1\"");
    EXPECT_EQ(problem_of("\na\n"), "line 2: the sample has no value: \"a\"");
    EXPECT_EQ(problem_of("1a 2\n"),
              "line 1: it does not begin with the name of a metric: \"1a 2\"");
    EXPECT_EQ(problem_of("a 1 soon\n"), "line 1: the time is not a number in range: \"soon\"");
    EXPECT_EQ(problem_of("a 1 2 3\n"), "line 1: there is text after the sample: \"3\"");
    EXPECT_EQ(problem_of("# TYPE 9 gauge\n"),
              "line 1: HELP and TYPE need the name of a metric: \"9\"");
    EXPECT_EQ(problem_of("a 1\n# EOF\nb 1\n", "application/openmetrics-text"),
              "line 3: there is text after # EOF: \"b 1\"");
    EXPECT_EQ(problem_of("a 1\n", "application/openmetrics-text; version=1.0.0"),
              "the page was cut off: OpenMetrics ends with # EOF");
    EXPECT_TRUE(problem_of("\n<!DOCTYPE html><html>")
                    .starts_with("the answer is an HTML page, not metrics: \"<!DOCTYPE"));
    EXPECT_EQ(problem_of("Not Found", "text/html; charset=utf-8"),
              "the answer is an HTML page, not metrics: \"Not Found\"");
    ExpositionLimits limits{.bytes_max = 40, .series_max = 2, .families_max = 2, .line = {}};
    limits.line = {.name_bytes_max = 3, .label_bytes_max = 4, .labels_max = 2, .all_labels_max = 3};
    ExpositionReader reader(limits);
    EXPECT_TRUE(reader.read("abc{a=\"1234\",b=\"\"} 1\nb{a=\"1\"} 2\n")) << reader.problem();
    EXPECT_EQ(problem_of(std::string(41, ' '), "", limits), "the page of metrics is too long");
    EXPECT_TRUE(reader.read(std::string(40, ' ')));
    expect_each([&](auto in) { return problem_of(in, "", limits); },
                gives("a 1\na 2\na 3\n", "line 3: the page has too many series"),
                gives("# TYPE a x\n# TYPE b x\nc 1\n", "line 3: the page has too many families"),
                gives("abcd 1\n", "line 1: the name of the metric is too long: \"abcd\""),
                gives("a{b=\"12345\"} 1\n", "line 1: a label's value is too long: \"12345\"} 1\""),
                gives("a{b=\"\",c=\"\",d=\"\"} 1\n", "line 1: there are too many labels"));
}

/// As many samples as lines that are neither blank nor a comment.
void expect_every_line(const std::string& page, const std::string& name) {
    std::size_t lines = 0;
    for (std::size_t at = 0; at < page.size(); at = page.find('\n', at) + 1) {
        lines += page[at] != '#' && page[at] != '\n' ? 1 : 0;
    }
    ExpositionReader reader;
    ASSERT_TRUE(reader.read(page)) << name << ": " << reader.problem();
    EXPECT_EQ(reader.page().samples.size(), lines) << name;
}

TEST(ExpositionReader, ReadsEveryPageOfRealServers) {
    int pages = 0;
    for (const char* folder : {TEST_DATA "/metrics", SHARED_DATA "/metrics"}) {
        if (!std::filesystem::exists(folder)) {
            continue;
        }
        for (const auto& one : std::filesystem::directory_iterator(folder)) {
            const std::string name = one.path().filename().string();
            const bool is_page = name.ends_with(".txt") && name.find("endpoints") == name.npos &&
                                 name.find("headers") == name.npos;
            if (is_page) {
                expect_every_line(read_bytes(one.path()), name);
                ++pages;
            }
        }
    }
    EXPECT_GE(pages, 5);
    if (!std::filesystem::exists(SHARED_DATA "/metrics")) {
        GTEST_SKIP() << "read those of tests/data/metrics; no others in " << SHARED_DATA;
    }
}

// The figures of real servers' pages are the client's own sums of the same runs; resets, late
// series, ranks and several addresses count as they should.

using enum ServerFigure;

struct Scraped {
    std::vector<EngineMapping> mappings = known_mappings();
    EndpointFigures figures{mappings};

    explicit Scraped(std::initializer_list<std::string_view> pages = {}) {
        for (const std::string_view text : pages) {
            page(text);
        }
    }
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
        EXPECT_EQ(std::tuple(got.of(requests), got.of(prompt_tokens), got.of(generated_tokens)),
                  std::tuple(run.requests, run.prompt, run.output));
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

TEST(EndpointFigures, OfBusyServersAndOtherForms) {
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
    // Two pages with families twice; a page of OpenMetrics whose samples say `_` for `:`.
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
    Scraped got{"# TYPE vllm:request_success_total counter\n", "vllm:num_requests_running 0\n"};
    got.file(TEST_DATA "/metrics/llmdsim-restart-1.txt");
    EXPECT_EQ(got.of(requests), 40);
    got.file(TEST_DATA "/metrics/llmdsim-restart-2.txt");
    EXPECT_EQ(std::tuple(got.of(requests), got.figures.restarts()), std::tuple(40, 0U));
    got.page("vllm:request_success_total{finish_reason=\"length\",model_name=\"tiny\"} 2\n");
    EXPECT_EQ(std::tuple(got.of(requests), got.figures.restarts()), std::tuple(42, 1U));
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
TEST(EndpointFigures, CountersAndSumsOfNothingAreUnknown) {
    for (const char* odd : {"+Inf", "-Inf", "NaN"}) {
        for (const bool first : {true, false}) {
            const std::string bad =
                std::string("# TYPE vllm:prompt_tokens_total counter\nvllm:prompt_tokens_total ") +
                odd + "\n";
            const Scraped got{first ? bad : page_of(5), first ? page_of(5) : bad, page_of(9)};
            EXPECT_EQ(got.figures.value(prompt_tokens), std::nullopt) << odd << first;
        }
    }
    // A histogram without one observation has a sum of 0, which is no measurement.
    const auto hits = [](int count, int sum) {
        return "# TYPE dynamo_frontend_cached_tokens histogram\n"
               "dynamo_frontend_cached_tokens_sum " +
               std::to_string(sum) + "\ndynamo_frontend_cached_tokens_count " +
               std::to_string(count) + "\n";
    };
    Scraped silent{hits(4, 70), hits(4, 70)};
    EXPECT_EQ(silent.figures.value(prefix_hit_tokens), std::nullopt);
    silent.page(hits(6, 70));
    EXPECT_EQ(silent.of(prefix_hit_tokens), 0);
}

// Of a series that a page has twice the higher value holds, in whatever order they stand.
TEST(EndpointFigures, OfRepeatedSeriesRanksAndAddresses) {
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
        EXPECT_EQ(std::tuple(got.of(requests), got.figures.restarts()), std::tuple(2000, 0U));
    }
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
    EXPECT_EQ(std::tuple(got.of(prefix_hit_tokens), got.of(kv_usage)), std::tuple(10, 0.15));
    const Scraped a{"vllm:kv_cache_usage_perc 0.25\nvllm:num_requests_running 3\n"};
    const Scraped b{"vllm:kv_cache_usage_perc 0.5\nvllm:num_requests_running 4\n"};
    const std::vector<EndpointFigures> both{a.figures, b.figures};
    EXPECT_EQ(figure_of_all(both, kv_usage), 0.5);
    EXPECT_EQ(figure_of_all(both, running), 7);
    EXPECT_EQ(figure_of_all(both, watts), std::nullopt);
    const Scraped gauge{"# TYPE sglang:evicted_bytes gauge\nsglang:evicted_bytes 5\n"};
    EXPECT_EQ(gauge.of(offload_bytes), -1);
    EXPECT_EQ(gauge.figures.engine(), "sglang");
    const Scraped other{"litellm_requests_total 5\n"};
    EXPECT_EQ(std::tuple(other.figures.engine(), other.of(requests)), std::tuple("", -1));
}

// By the documentation; no page of a real server is at hand.
TEST(EndpointFigures, OfTensorRtLlmTgiAtomAndPower) {
    const Scraped json{R"([{"numActiveRequests":3,"numQueuedRequests":1,
                            "kvCacheStats":{"usedNumBlocks":25,"maxNumBlocks":100}}])"};
    EXPECT_EQ(std::tuple(json.figures.engine(), json.of(kv_usage)), std::tuple("trtllm", 0.25));
    EXPECT_EQ(std::tuple(json.of(running), json.of(waiting)), std::tuple(3, 1));
    const Scraped tgi{
        "tgi_queue_size 2\n",
        "# TYPE tgi_request_input_length histogram\ntgi_request_input_length_sum 70\n"};
    EXPECT_EQ(tgi.of(prompt_tokens), 70);
    const Scraped atom{
        "atom:requests_running 1\n",
        "atom_prefix_cache_cached_tokens_total 7\natom_prefix_cache_full_tokens_total 20\n"};
    EXPECT_EQ(atom.of(prefix_hit_tokens), 7);
    EXPECT_EQ(atom.of(prefix_query_tokens), 20);
    const Scraped power{
        "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 300\nDCGM_FI_DEV_POWER_USAGE{gpu=\"1\"} 250\n"};
    EXPECT_EQ(power.of(watts), 550);
}

}  // namespace
}  // namespace driftless
