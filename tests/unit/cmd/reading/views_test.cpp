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

/// Keys of ours and of theirs. "{a,b}" stands for each of its words, and $1 in theirs for that of
/// the first braces; $0 for all of ours.
struct Pair {
    std::string ours;
    std::string theirs = "summary/$0";
    double theirs_times = 1;  ///< their unit in ours
};

std::string with_all(std::string text, const std::string& what, const std::string& with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size()) {
        text.replace(at, what.size(), with);
    }
    return text;
}

/// One for each combination of words; `place`: of the first braces.
std::vector<Pair> each_of(const Pair& pair, int place = 1) {
    const std::size_t open = pair.ours.find('{');
    if (open == pair.ours.npos) {
        return {{pair.ours, with_all(pair.theirs, "$0", pair.ours), pair.theirs_times}};
    }
    const std::size_t close = pair.ours.find('}', open);
    std::istringstream words(pair.ours.substr(open + 1, close - open - 1));
    std::vector<Pair> all;
    for (std::string word; std::getline(words, word, ',');) {
        const std::vector<Pair> more =
            each_of({pair.ours.substr(0, open) + word + pair.ours.substr(close + 1),
                     with_all(pair.theirs, "$" + std::to_string(place), word), pair.theirs_times},
                    place + 1);
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

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
        for (const Pair& several : pairs) {
            for (const Pair& pair : each_of(several)) {
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
    }

  private:
    std::string text_;
    JsonDocument document_;
    JsonValue root_;
};

TEST_F(Views, Vllm) {
    expect("vllm", "vllm bench serve",
           {{"{completed,failed,request_throughput,request_goodput,output_throughput,"
             "total_token_throughput,max_output_tokens_per_s,max_concurrent_requests}"},
            {"total_{input,output}_tokens", "summary/total_$1"},
            {"{mean,median,std}_{ttft,tpot,itl,e2el}_ms"},
            {"p50_{ttft,tpot,itl,e2el}_ms", "summary/percentiles_$1_ms/0/1"},
            {"p90_{ttft,tpot,itl,e2el}_ms", "summary/percentiles_$1_ms/1/1"},
            {"p99_{ttft,tpot,itl,e2el}_ms", "summary/percentiles_$1_ms/2/1"}});
}

TEST_F(Views, Sglang) {
    expect("sglang", "sglang.bench_serving",
           {{"{completed,concurrency,max_output_tokens_per_s,max_concurrent_requests}"},
            {"total_{input,output}_tokens", "summary/total_$1"},
            {"total_output_tokens_retokenized", "summary/total_output_retokenized"},
            {"{request_goodput,slo_attainment}", "goodput/$0"},
            {"slo_attainment_by_metric/{ttft,tpot}", "goodput/by/$1"},
            {"{request,input,output,total}_throughput"},
            {"{mean,median,std,p90,p95,p99}_{ttft,tpot,itl,e2e_latency}_ms"}});
}

TEST_F(Views, Aiperf) {
    expect("aiperf", "aiperf",
           {{"{time_to_first_token,time_to_second_token,time_to_first_output_token,request_latency,"
             "inter_token_latency,inter_chunk_latency,output_token_count,reasoning_token_count,"
             "output_token_throughput_per_user,e2e_output_token_throughput,"
             "prefill_throughput_per_user,decode_duration,stream_setup_latency,"
             "stream_prefill_latency,output_sequence_length,input_sequence_length}/"
             "{avg,min,max,p50,p90,p99,std,count}"},
            {"{benchmark_duration,request_throughput,output_token_throughput,"
             "total_token_throughput,goodput,good_request_fraction}/avg"},
            {"adj_{time_to_first_token,request_latency,inter_token_latency}/p50", "adjusted/$0"}});
}

// What is infinite there cannot be written as a number.
TEST_F(Views, AiperfWritesInfinityAsNull) {
    const JsonText vector(vector_text());
    const JsonText ours(find_view("aiperf")->make(vector_run(vector.root.find("vector"))).json);
    EXPECT_EQ(values_of(ours.root.find("adj_time_to_first_token"), "p90, max"), "null, null");
}

TEST_F(Views, Guidellm) {
    const std::string columns =
        "benchmarks/0/metrics/{request_latency,time_to_first_token_ms,"
        "time_to_first_output_token_ms,time_per_output_token_ms,inter_token_latency_ms,"
        "requests_per_second,output_tokens_per_second,prompt_tokens_per_second,tokens_per_second,"
        "request_concurrency,output_token_count,request_dispatch_delay,request_scheduled_latency}/"
        "{successful,errored,total}/";
    expect("guidellm", "guidellm",
           {{columns + "{count,mean,median,std_dev,min,max,total_sum}", "summary/$1/$2/$3"},
            {columns + "percentiles/{p90,p95,p99}", "summary/$1/$2/$3"}});
}

TEST_F(Views, GenaiPerf) {
    for (const std::uint32_t rows : {5U, 4U}) {
        const std::string theirs = rows == 5 ? "all five/$0" : "without R5/$0";
        expect("genai-perf", "genai-perf",
               {{"{time_to_first_token,time_to_second_token,request_latency,inter_token_latency,"
                 "output_token_throughput_per_user,output_sequence_length,input_sequence_length}/"
                 "{avg,p1,p5,p10,p25,p50,p75,p90,p95,p99,min,max,std}",
                 theirs},
                {"{output_token_throughput,request_goodput,request_count,request_throughput}/avg",
                 theirs}},
               rows);
    }
}

TEST_F(Views, GenaiBench) {
    expect("genai-bench", "genai-bench",
           {{"aggregated_metrics/{run_duration,mean_output_throughput_tokens_per_s,"
             "mean_input_throughput_tokens_per_s,mean_total_tokens_throughput_tokens_per_s,"
             "requests_per_second,error_codes_frequency/503,error_codes_frequency/500,error_rate,"
             "num_error_requests,num_completed_requests,num_requests}",
             "aggregated/$1"},
            {"aggregated_metrics/stats/{ttft,tpot,e2e_latency,output_latency,"
             "output_inference_speed,num_input_tokens,num_output_tokens,total_tokens,"
             "input_throughput,output_throughput}/"
             "{min,max,mean,stddev,sum,p25,p50,p75,p90,p95,p99}",
             "aggregated/stats/$1/$2"}});
}

TEST_F(Views, InferencePerf) {
    const std::string theirs = "use_server_output_tokens=False/$0";
    expect("inference-perf", "inference-perf",
           {{"{load_summary/schedule_delay,successes/latency/request_latency,"
             "successes/latency/normalized_time_per_output_token,"
             "successes/latency/time_per_output_token,successes/latency/time_to_first_token,"
             "successes/latency/inter_token_latency,successes/output_len,"
             "failures/request_latency}/{mean,min,max,median,p90,p99}",
             theirs},
            {"successes/throughput/{input_tokens,output_tokens,total_tokens,requests}_per_sec",
             theirs},
            {"successes/goodput_metrics/{goodput_percentage,request_goodput,good_requests,"
             "total_requests,ttft_attainment_percentage,tpot_attainment_percentage}",
             theirs},
            {"{successes,failures,load_summary}/count", theirs},
            {"benchmark_time_seconds", theirs}});
}

TEST_F(Views, Inferencex) {
    expect("inferencex", "inferencex agentic aggregate",
           {{"request_metrics/{latency/ttft,latency/e2el,latency/itl,latency/tpot,latency/intvty,"
             "latency/e2e_norm_intvty,qps,tokens/input,tokens/output_actual}/"
             "{mean,p50,p75,p90,p95,std}",
             "$0"},
            {"request_metrics/throughput/{input,output,total}/tokens_per_second", "$0"},
            {"request_metrics/{throughput/duration_seconds,qps/samples}", "$0"},
            {"request_accounting/records_{total,profiled,dropped_total,error_dropped}",
             "accounting/records_$1"}});
}

TEST_F(Views, InferencexFixedLength) {
    expect("inferencex-fixed", "inferencex fixed-length (vendored vLLM client)",
           {{"{completed,request_throughput,output_throughput,total_token_throughput}"},
            {"total_{input,output}_tokens", "summary/total_$1"},
            {"{mean,median}_intvty", "intvty/$1"},
            {"std_intvty", "intvty/std_as_written"},
            {"{mean,median,std}_{ttft,tpot,itl,e2el}", "summary/$0_ms", 1e-3},
            {"p90_{ttft,tpot,itl,e2el}", "summary/percentiles_$1_ms/0/1", 1e-3},
            {"p99_{ttft,tpot,itl,e2el}", "summary/percentiles_$1_ms/1/1", 1e-3}});
}

TEST_F(Views, TraceReplayer) {
    expect("trace-replayer", "trace-replayer",
           {{"{requests_total,requests_success,output_tokens_total,duration_ms,throughput_rps,"
             "throughput_tps}"},
            {"{ttft,tpot,e2e}_{p50,p90,p99,mean}_ms"}});
}

TEST_F(Views, Loadgen) {
    expect(
        "loadgen", "loadgen",
        {{"result_{completed,scheduled}_samples_per_sec", "summary/$1_samples_per_sec"},
         {"result_completed_tokens_per_second", "summary/completed_tokens_per_second"},
         {"result_mean_latency_ns", "summary/sample_latency_ms/mean", ms},
         {"result_{50,90,99}.00_percentile_latency_ns", "summary/sample_latency_ms/p$1", ms},
         {"result_first_token_mean_latency_ns", "summary/first_token_ms/mean", ms},
         {"result_first_token_{50,90}.00_percentile_latency_ns", "summary/first_token_ms/p$1", ms},
         {"result_time_per_output_token_mean_ns", "summary/tpot_ms/mean", ms},
         {"result_time_per_output_token_{50,90}.00_percentile_ns", "summary/tpot_ms/p$1", ms}});
}

TEST_F(Views, Llmd) {
    const std::string aggregate = "results/request_performance/aggregate/";
    expect(
        "llm-d", "llm-d report",
        {{aggregate + "requests/{total,failures}", "result/$1"},
         {aggregate + "requests/{input,output}_length/mean", "result/$1_length_mean"},
         {aggregate + "latency/time_to_first_token/mean", "result/time_to_first_token_ms_mean"}});
}

bool notes_say(const ViewResult& result, std::string_view words) {
    return std::any_of(result.notes.begin(), result.notes.end(),
                       [words](const std::string& note) { return note.find(words) != note.npos; });
}

// Where a tool is wrong, or a figure of it cannot be computed, the view says so; of nothing, no
// view fails.
TEST_F(Views, SayWhatIsWrongAndMissing) {
    const JsonText vector(vector_text());
    ViewedRun run = vector_run(vector.root.find("vector"));
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
