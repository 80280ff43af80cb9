// Other tools' figures.

#include "cmd/reading/view.hpp"
#include "tests/unit/cmd/reading/vector_run.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// The four percentiles of the tools, on small samples, where they differ.

namespace {

ValueList list_of(std::initializer_list<double> values) {
    ValueList list;
    for (const double value : values) {
        list.add(value);
    }
    return list;
}

TEST(ValueList, PercentilesDifferAndHalvesRoundToEven) {
    const ValueList list = list_of({200, 100, 198, 100});
    EXPECT_DOUBLE_EQ(list.linear(500), 149);
    EXPECT_EQ(std::tuple(list.nearest_above(500), list.floor_rank(500)), std::tuple(100, 198));
    double nearest = 0;
    EXPECT_TRUE(list.nearest_even(500, 1, nearest));
    EXPECT_EQ(nearest, 198);
    EXPECT_FALSE(list.nearest_even(900, 1, nearest)) << "it is the infinite one";
    EXPECT_EQ(std::tuple(list.linear(1000), list.floor_rank(1000)), std::tuple(200, 200));
    EXPECT_EQ(list.nearest_above(1), 100);
    // numpy.percentile([10, 20, 30, 40], 50, method="nearest") is 30: place 1.5 rounds to the
    // even 2.
    nearest = 0;
    EXPECT_TRUE(list_of({10, 20, 30, 40}).nearest_even(500, 0, nearest));
    EXPECT_EQ(nearest, 30);
    EXPECT_TRUE(list_of({10, 20}).nearest_even(500, 0, nearest));
    EXPECT_EQ(nearest, 10);
    const ValueList other_list = list_of({});
    double unset = 7;
    EXPECT_EQ(
        other_list.mean() + other_list.std() + other_list.linear(500) + other_list.floor_rank(500),
        0);
    EXPECT_FALSE(other_list.nearest_even(500, 0, unset));
}

TEST(WeightedFigures, CountByTheirWeights) {
    const WeightedFigures figures = weighted_figures({{20, 4}, {40, 10}, {100, 1}, {7, 0}});
    EXPECT_EQ(figures.count, 15);
    EXPECT_NEAR(figures.mean, 580.0 / 15, 1e-12);
    EXPECT_EQ(std::tuple(figures.median, figures.mode), std::tuple(40, 40));
    EXPECT_EQ(figures.min, 20) << "what weighs nothing is not there";
    EXPECT_EQ(figures.max, 100);
    // Without any weight all count the same.
    EXPECT_EQ(weighted_figures({{1, 0}, {3, 0}}).mean, 2);
    EXPECT_EQ(weighted_figures({}).count, 0);
}

// What each view makes of five requests is what that tool's own functions made of them
// (tests/data/views/README.md), figure by figure.

constexpr double ms = 1e6;

struct Pair {
    std::string ours;
    std::string theirs;
    double theirs_times = 1;  ///< their unit in ours
};

class Views : public testing::Test {
  protected:
    void SetUp() override {
        text_ = vector_text();
        const Result<JsonValue> root = document_.parse(text_);
        ASSERT_TRUE(root);
        root_ = root.value();
    }

    void expect(const char* view, const char* tool, const std::vector<Pair>& pairs,
                std::uint32_t rows = 5) {
        const ViewResult result = find_view(view)->make(vector_run(root_.find("vector"), rows));
        JsonDocument document;
        const Result<JsonValue> ours = document.parse(result.json);
        ASSERT_TRUE(ours) << result.json;
        const JsonValue theirs = at(root_, std::string("results/") + tool);
        ASSERT_TRUE(theirs.present()) << tool;
        for (const Pair& pair : pairs) {
            const std::optional<double> found = at(ours.value(), pair.ours).as_double();
            const std::optional<double> wanted = at(theirs, pair.theirs).as_double();
            ASSERT_TRUE(found) << view << ": " << pair.ours << "\n" << result.json;
            ASSERT_TRUE(wanted) << tool << ": " << pair.theirs;
            const double scaled = *wanted * pair.theirs_times;
            // Their figures are given to six digits behind the point.
            EXPECT_NEAR(*found, scaled, 1e-6 * pair.theirs_times + 1e-7 * std::fabs(scaled))
                << view << ": " << pair.ours;
        }
    }

  private:
    std::string text_;
    JsonDocument document_;
    JsonValue root_;
};

TEST_F(Views, Vllm) {
    std::vector<Pair> pairs = {
        {"completed", "summary/completed"},
        {"failed", "summary/failed"},
        {"total_input_tokens", "summary/total_input"},
        {"total_output_tokens", "summary/total_output"},
        {"request_throughput", "summary/request_throughput"},
        {"request_goodput", "summary/request_goodput"},
        {"output_throughput", "summary/output_throughput"},
        {"total_token_throughput", "summary/total_token_throughput"},
        {"max_output_tokens_per_s", "summary/max_output_tokens_per_s"},
        {"max_concurrent_requests", "summary/max_concurrent_requests"},
    };
    for (const std::string name : {"ttft", "tpot", "itl", "e2el"}) {
        for (const std::string what : {"mean", "median", "std"}) {
            pairs.push_back({what + "_" + name + "_ms", "summary/" + what + "_" + name + "_ms"});
        }
        for (int i = 0; i < 3; ++i) {
            const char* const percentiles[] = {"p50", "p90", "p99"};
            pairs.push_back({percentiles[i] + ("_" + name) + "_ms",
                             "summary/percentiles_" + name + "_ms/" + std::to_string(i) + "/1"});
        }
    }
    expect("vllm", "vllm bench serve", pairs);
}

TEST_F(Views, Sglang) {
    std::vector<Pair> pairs = {
        {"completed", "summary/completed"},
        {"total_input_tokens", "summary/total_input"},
        {"total_output_tokens", "summary/total_output"},
        {"total_output_tokens_retokenized", "summary/total_output_retokenized"},
        {"concurrency", "summary/concurrency"},
        {"max_output_tokens_per_s", "summary/max_output_tokens_per_s"},
        {"max_concurrent_requests", "summary/max_concurrent_requests"},
        {"request_goodput", "goodput/request_goodput"},
        {"slo_attainment", "goodput/slo_attainment"},
        {"slo_attainment_by_metric/ttft", "goodput/by/ttft"},
        {"slo_attainment_by_metric/tpot", "goodput/by/tpot"},
    };
    for (const std::string name :
         {"request_throughput", "input_throughput", "output_throughput", "total_throughput"}) {
        pairs.push_back({name, "summary/" + name});
    }
    for (const std::string name : {"ttft", "tpot", "itl", "e2e_latency"}) {
        for (const std::string what : {"mean", "median", "std", "p90", "p95", "p99"}) {
            pairs.push_back({what + "_" + name + "_ms", "summary/" + what + "_" + name + "_ms"});
        }
    }
    expect("sglang", "sglang.bench_serving", pairs);
}

/// "NAME/STATISTIC" on both sides, below `prefix` in theirs.
void expect_statistics(std::vector<Pair>& pairs, const std::string& prefix,
                       const std::vector<std::string>& metrics,
                       const std::vector<std::string>& statistics) {
    for (const std::string& metric : metrics) {
        for (const std::string& statistic : statistics) {
            pairs.push_back({metric + "/" + statistic, prefix + metric + "/" + statistic});
        }
    }
}

TEST_F(Views, Aiperf) {
    std::vector<Pair> pairs;
    expect_statistics(
        pairs, "summary/",
        {"time_to_first_token", "time_to_second_token", "time_to_first_output_token",
         "request_latency", "inter_token_latency", "inter_chunk_latency", "output_token_count",
         "reasoning_token_count", "output_token_throughput_per_user", "e2e_output_token_throughput",
         "prefill_throughput_per_user", "decode_duration", "stream_setup_latency",
         "stream_prefill_latency", "output_sequence_length", "input_sequence_length"},
        {"avg", "min", "max", "p50", "p90", "p99", "std", "count"});
    expect_statistics(pairs, "summary/",
                      {"benchmark_duration", "request_throughput", "output_token_throughput",
                       "total_token_throughput", "goodput", "good_request_fraction"},
                      {"avg"});
    expect_statistics(pairs, "adjusted/",
                      {"adj_time_to_first_token", "adj_request_latency", "adj_inter_token_latency"},
                      {"p50"});
    expect("aiperf", "aiperf", pairs);
}

// What is infinite there cannot be written as a number.
TEST_F(Views, AiperfWritesInfinityAsNull) {
    JsonDocument vector;
    const std::string text = vector_text();
    const JsonValue root = vector.parse(text).value();
    const ViewResult result = find_view("aiperf")->make(vector_run(root.find("vector")));
    JsonDocument document;
    const JsonValue ours = document.parse(result.json).value();
    EXPECT_TRUE(at(ours, "adj_time_to_first_token/p90").is(JsonType::null));
    EXPECT_TRUE(at(ours, "adj_time_to_first_token/max").is(JsonType::null));
}

TEST_F(Views, Guidellm) {
    std::vector<Pair> pairs;
    const std::vector<std::string> metrics = {
        "request_latency",          "time_to_first_token_ms",   "time_to_first_output_token_ms",
        "time_per_output_token_ms", "inter_token_latency_ms",   "requests_per_second",
        "output_tokens_per_second", "prompt_tokens_per_second", "tokens_per_second",
        "request_concurrency",      "output_token_count",       "request_dispatch_delay",
        "request_scheduled_latency"};
    for (const std::string& metric : metrics) {
        for (const std::string column : {"successful", "errored", "total"}) {
            for (const std::string what :
                 {"count", "mean", "median", "std_dev", "min", "max", "total_sum"}) {
                pairs.push_back({"benchmarks/0/metrics/" + metric + "/" + column + "/" + what,
                                 "summary/" + metric + "/" + column + "/" + what});
            }
            for (const std::string what : {"p90", "p95", "p99"}) {
                pairs.push_back(
                    {"benchmarks/0/metrics/" + metric + "/" + column + "/percentiles/" + what,
                     "summary/" + metric + "/" + column + "/" + what});
            }
        }
    }
    expect("guidellm", "guidellm", pairs);
}

TEST_F(Views, GenaiPerf) {
    for (const std::uint32_t rows : {5U, 4U}) {
        const std::string prefix = rows == 5 ? "all five/" : "without R5/";
        std::vector<Pair> pairs;
        std::vector<std::string> metrics = {"time_to_first_token",
                                            "time_to_second_token",
                                            "request_latency",
                                            "inter_token_latency",
                                            "output_token_throughput_per_user",
                                            "output_sequence_length",
                                            "input_sequence_length"};
        expect_statistics(pairs, prefix, metrics,
                          {"avg", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99",
                           "min", "max", "std"});
        expect_statistics(
            pairs, prefix,
            {"output_token_throughput", "request_goodput", "request_count", "request_throughput"},
            {"avg"});
        expect("genai-perf", "genai-perf", pairs, rows);
    }
}

TEST_F(Views, GenaiBench) {
    std::vector<Pair> pairs;
    for (const std::string& name :
         words_of("run_duration mean_output_throughput_tokens_per_s "
                  "mean_input_throughput_tokens_per_s mean_total_tokens_throughput_tokens_per_s "
                  "requests_per_second error_codes_frequency/503 error_codes_frequency/500 "
                  "error_rate num_error_requests num_completed_requests num_requests")) {
        pairs.push_back({"aggregated_metrics/" + name, "aggregated/" + name});
    }
    for (const std::string& metric :
         words_of("ttft tpot e2e_latency output_latency output_inference_speed num_input_tokens "
                  "num_output_tokens total_tokens input_throughput output_throughput")) {
        for (const std::string what :
             {"min", "max", "mean", "stddev", "sum", "p25", "p50", "p75", "p90", "p95", "p99"}) {
            pairs.push_back({"aggregated_metrics/stats/" + metric + "/" + what,
                             "aggregated/stats/" + metric + "/" + what});
        }
    }
    expect("genai-bench", "genai-bench", pairs);
}

TEST_F(Views, InferencePerf) {
    std::vector<Pair> pairs;
    const std::string prefix = "use_server_output_tokens=False/";
    const std::vector<std::string> statistics = {"mean", "min", "max", "median", "p90", "p99"};
    expect_statistics(
        pairs, prefix,
        {"load_summary/schedule_delay", "successes/latency/request_latency",
         "successes/latency/normalized_time_per_output_token",
         "successes/latency/time_per_output_token", "successes/latency/time_to_first_token",
         "successes/latency/inter_token_latency", "successes/output_len",
         "failures/request_latency"},
        statistics);
    expect_statistics(pairs, prefix, {"successes/throughput"},
                      {"input_tokens_per_sec", "output_tokens_per_sec", "total_tokens_per_sec",
                       "requests_per_sec"});
    expect_statistics(pairs, prefix, {"successes/goodput_metrics"},
                      {"goodput_percentage", "request_goodput", "good_requests", "total_requests",
                       "ttft_attainment_percentage", "tpot_attainment_percentage"});
    expect_statistics(pairs, prefix, {"successes", "failures", "load_summary"}, {"count"});
    pairs.push_back({"benchmark_time_seconds", prefix + "benchmark_time_seconds"});
    expect("inference-perf", "inference-perf", pairs);
}

TEST_F(Views, Inferencex) {
    std::vector<Pair> pairs;
    const std::vector<std::string> statistics = {"mean", "p50", "p75", "p90", "p95", "std"};
    expect_statistics(pairs, "",
                      {"request_metrics/latency/ttft", "request_metrics/latency/e2el",
                       "request_metrics/latency/itl", "request_metrics/latency/tpot",
                       "request_metrics/latency/intvty", "request_metrics/latency/e2e_norm_intvty",
                       "request_metrics/qps", "request_metrics/tokens/input",
                       "request_metrics/tokens/output_actual"},
                      statistics);
    expect_statistics(pairs, "",
                      {"request_metrics/throughput/input", "request_metrics/throughput/output",
                       "request_metrics/throughput/total"},
                      {"tokens_per_second"});
    for (const std::string name :
         {"request_metrics/throughput/duration_seconds", "request_metrics/qps/samples"}) {
        pairs.push_back({name, name});
    }
    for (const std::string name :
         {"records_total", "records_profiled", "records_dropped_total", "records_error_dropped"}) {
        pairs.push_back({"request_accounting/" + name, "accounting/" + name});
    }
    expect("inferencex", "inferencex agentic aggregate", pairs);
}

TEST_F(Views, InferencexFixedLength) {
    std::vector<Pair> pairs = {
        {"completed", "summary/completed"},
        {"total_input_tokens", "summary/total_input"},
        {"total_output_tokens", "summary/total_output"},
        {"request_throughput", "summary/request_throughput"},
        {"output_throughput", "summary/output_throughput"},
        {"total_token_throughput", "summary/total_token_throughput"},
        {"mean_intvty", "intvty/mean"},
        {"median_intvty", "intvty/median"},
        {"std_intvty", "intvty/std_as_written"},
    };
    for (const std::string name : {"ttft", "tpot", "itl", "e2el"}) {
        for (const std::string what : {"mean", "median", "std"}) {
            pairs.push_back({what + "_" + name, "summary/" + what + "_" + name + "_ms", 1e-3});
        }
        const std::string percentiles = "summary/percentiles_" + name + "_ms/";
        pairs.push_back({"p90_" + name, percentiles + "0/1", 1e-3});
        pairs.push_back({"p99_" + name, percentiles + "1/1", 1e-3});
    }
    expect("inferencex-fixed", "inferencex fixed-length (vendored vLLM client)", pairs);
}

TEST_F(Views, TraceReplayer) {
    std::vector<Pair> pairs;
    for (const std::string& name : words_of(
             "requests_total requests_success output_tokens_total duration_ms throughput_rps "
             "throughput_tps ttft_p50_ms ttft_p90_ms ttft_p99_ms ttft_mean_ms tpot_p50_ms "
             "tpot_p90_ms tpot_p99_ms tpot_mean_ms e2e_p50_ms e2e_p90_ms e2e_p99_ms e2e_mean_ms")) {
        pairs.push_back({name, "summary/" + name});
    }
    expect("trace-replayer", "trace-replayer", pairs);
}

TEST_F(Views, Loadgen) {
    expect("loadgen", "loadgen",
           {{"result_completed_samples_per_sec", "summary/completed_samples_per_sec"},
            {"result_scheduled_samples_per_sec", "summary/scheduled_samples_per_sec"},
            {"result_completed_tokens_per_second", "summary/completed_tokens_per_second"},
            {"result_mean_latency_ns", "summary/sample_latency_ms/mean", ms},
            {"result_50.00_percentile_latency_ns", "summary/sample_latency_ms/p50", ms},
            {"result_90.00_percentile_latency_ns", "summary/sample_latency_ms/p90", ms},
            {"result_99.00_percentile_latency_ns", "summary/sample_latency_ms/p99", ms},
            {"result_first_token_mean_latency_ns", "summary/first_token_ms/mean", ms},
            {"result_first_token_50.00_percentile_latency_ns", "summary/first_token_ms/p50", ms},
            {"result_first_token_90.00_percentile_latency_ns", "summary/first_token_ms/p90", ms},
            {"result_time_per_output_token_mean_ns", "summary/tpot_ms/mean", ms},
            {"result_time_per_output_token_50.00_percentile_ns", "summary/tpot_ms/p50", ms},
            {"result_time_per_output_token_90.00_percentile_ns", "summary/tpot_ms/p90", ms}});
}

TEST_F(Views, Llmd) {
    const std::string requests = "results/request_performance/aggregate/requests/";
    expect("llm-d", "llm-d report",
           {{requests + "total", "result/total"},
            {requests + "failures", "result/failures"},
            {requests + "input_length/mean", "result/input_length_mean"},
            {requests + "output_length/mean", "result/output_length_mean"},
            {"results/request_performance/aggregate/latency/time_to_first_token/mean",
             "result/time_to_first_token_ms_mean"}});
}

bool notes_say(const ViewResult& result, std::string_view words) {
    return std::any_of(result.notes.begin(), result.notes.end(),
                       [words](const std::string& note) { return note.find(words) != note.npos; });
}

// Where a tool is wrong, or a figure of it cannot be computed, the view says so; of nothing, no
// view fails.
TEST_F(Views, SayWhatIsWrongAndMissing) {
    const std::string text = vector_text();
    JsonDocument document;
    const JsonValue root = document.parse(text).value();
    ViewedRun run = vector_run(root.find("vector"));
    EXPECT_TRUE(notes_say(find_view("loadgen")->make(run), "the one token of 1 answers"));
    EXPECT_TRUE(notes_say(find_view("genai-perf")->make(run), "goodput pairs lists"));
    EXPECT_TRUE(notes_say(find_view("genai-bench")->make(run), "2 of 5 requests failed"));
    EXPECT_TRUE(notes_say(find_view("llm-d")->make(run), "10.25 would be right"));
    run.has_chunks = false;
    run.has_events = false;
    EXPECT_TRUE(notes_say(find_view("vllm")->make(run), "not computable: gaps between events"));
    EXPECT_TRUE(notes_say(find_view("vllm")->make(run), "without stamps of roles"));
    EXPECT_FALSE(notes_say(find_view("loadgen")->make(run), "gaps"));
    for (const View& view : all_views()) {
        const ViewResult nothing = view.make(ViewedRun());
        JsonDocument empty;
        EXPECT_TRUE(empty.parse(nothing.json)) << view.name << "\n" << nothing.json;
        EXPECT_FALSE(nothing.screen.empty()) << view.name;
    }
}

}  // namespace
}  // namespace driftless
