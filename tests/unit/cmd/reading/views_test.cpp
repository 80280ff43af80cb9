// Other tools' figures.

#include <fmt/format.h>

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
    EXPECT_EQ(list.nearest_even(500, 1), 198);
    EXPECT_EQ(list.nearest_even(900, 1), std::nullopt) << "it is the infinite one";
    EXPECT_EQ(std::tuple(list.linear(1000), list.floor_rank(1000)), std::tuple(200, 200));
    EXPECT_EQ(list.nearest_above(1), 100);
    // numpy.percentile([10, 20, 30, 40], 50, method="nearest") is 30: place 1.5 rounds to the
    // even 2.
    EXPECT_EQ(list_of({10, 20, 30, 40}).nearest_even(500, 0), 30);
    EXPECT_EQ(list_of({10, 20}).nearest_even(500, 0), 10);
    const ValueList other_list = list_of({});
    EXPECT_EQ(
        other_list.mean() + other_list.std() + other_list.linear(500) + other_list.floor_rank(500),
        0);
    EXPECT_EQ(other_list.nearest_even(500, 0), std::nullopt);
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
    void expect(const char* view, const char* tool, const std::vector<Pair>& pairs,
                std::uint32_t rows = 5) {
        const ViewResult result = find_view(view)->make(vector_run(root_.find("vector"), rows));
        const JsonText ours(result.json);
        const JsonValue theirs = at(root_, std::string("results/") + tool);
        ASSERT_TRUE(theirs.present()) << tool;
        for (const Pair& several : pairs) {
            for (const Pair& pair : each_of(several)) {
                const std::optional<double> found = at(ours.root, pair.ours).as_double();
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
    const JsonText vector_{vector_text()};
    const JsonValue root_ = vector_.root;
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
    run = vector_run(vector.root.find("vector"), 5, keep_no_chunks);
    run.has_events = false;
    EXPECT_TRUE(notes_say(find_view("vllm")->make(run), "not computable: gaps between events"));
    EXPECT_TRUE(notes_say(find_view("vllm")->make(run), "without stamps of roles"));
    EXPECT_FALSE(notes_say(find_view("loadgen")->make(run), "gaps"));
    for (const View& view : all_views()) {
        const ViewResult nothing = view.make(ViewedRun());
        EXPECT_TRUE(JsonDocument().parse(nothing.json)) << view.name << "\n" << nothing.json;
        EXPECT_FALSE(nothing.screen.empty()) << view.name;
    }
}

// What the records of `--chunks none` and `--no-stream` cannot say is null, left out, or "-"; what
// they say is as it was with all stamps.

ViewResult view_of(const char* name, void (*change)(Record& record), std::uint32_t rows = 5) {
    const JsonText vector(vector_text());
    return find_view(name)->make(vector_run(vector.root.find("vector"), rows, change));
}

/// Each number of `found` is that of `wanted`; what is null there is counted.
void expect_no_other(JsonValue found, JsonValue wanted, const std::string& path, int& nulls) {
    if (found.is(JsonType::null)) {
        nulls += wanted.is(JsonType::null) ? 0 : 1;
    } else if (const std::optional<double> number = found.as_double()) {
        const double other = wanted.as_double().value_or(NAN);
        EXPECT_NEAR(*number, other, 1e-9 * std::fabs(other)) << path;
    }
    JsonValue other = wanted.first();
    for (JsonValue one = found.first(); one.present(); one = one.next()) {
        const bool is_element = one.key().empty();
        expect_no_other(one, is_element ? other : wanted.find(one.key()),
                        path + "/" + std::string(one.key()), nulls);
        other = is_element ? other.next() : other;
    }
}

TEST_F(Views, WithoutChunksHaveNoOtherFigures) {
    std::map<std::string, int> nulls;
    for (const View& view : all_views()) {
        const JsonText found(view_of(view.name, keep_no_chunks).json);
        const JsonText wanted(view_of(view.name, drop_chunk_tokens).json);
        expect_no_other(found.root, wanted.root, view.name, nulls[view.name]);
        if (nulls[view.name] == 0) {
            nulls.erase(view.name);
        }
    }
    // One of each gap between events, 7 or 6 statistics, and the peak; or a whole member. GuideLLM
    // knows how many tokens came, not when.
    EXPECT_EQ(nulls, (std::map<std::string, int>{{"vllm", 8},
                                                 {"sglang", 7},
                                                 {"inference-perf", 1},
                                                 {"inferencex-fixed", 6},
                                                 {"guidellm", 102}}));
    const JsonText vllm(view_of("vllm", keep_no_chunks).json);
    EXPECT_EQ(values_of(vllm.root, "mean_itl_ms, p99_itl_ms, max_output_tokens_per_s"),
              "null, null, null");
    for (const char* const name : {"aiperf", "genai-perf"}) {
        const JsonText left(view_of(name, keep_no_chunks).json);
        EXPECT_FALSE(left.root.find("time_to_second_token").present()) << name;
        EXPECT_FALSE(left.root.find("inter_chunk_latency").present()) << name;
        EXPECT_TRUE(left.root.find("inter_token_latency").present()) << name;
    }
}

/// The text of a line after its label.
std::string screen_word(const ViewResult& result, const std::string& label) {
    const std::size_t at = result.screen.find(label);
    std::istringstream rest(at == result.screen.npos ? ""
                                                     : result.screen.substr(at + label.size()));
    std::string word;
    rest >> word;
    return word;
}

TEST_F(Views, WithoutChunksShowNoGapsOnTheScreen) {
    EXPECT_EQ(screen_word(view_of("vllm", keep_no_chunks), "Mean ITL (ms):"), "-");
    EXPECT_EQ(screen_word(view_of("vllm", keep_no_chunks), "Peak output token throughput (tok/s):"),
              "-");
    EXPECT_EQ(screen_word(view_of("sglang", keep_no_chunks), "Max ITL (ms):"), "-");
    EXPECT_EQ(screen_word(view_of("inference-perf", keep_no_chunks), "ITL"), "-");
    EXPECT_EQ(screen_word(view_of("inferencex-fixed", keep_no_chunks), "itl (ms)"), "-");
    EXPECT_EQ(screen_word(view_of("aiperf", keep_no_chunks), "Time to Second Token (ms)"), "N/A");
}

/// What stands there, numbers with four digits.
std::string rounded_values(const std::string& json, const std::vector<std::string>& paths) {
    const JsonText text(json);
    std::string values;
    for (const std::string& path : paths) {
        const JsonValue value = at(text.root, path);
        const std::optional<double> number = value.as_double();
        values += " " + (!value.present() ? "none"
                         : number         ? fmt::format("{:.4g}", *number)
                                          : std::string(value.raw()));
    }
    return values;
}

// R1 and R2 are ok; their answers end 273 and 408 ms after they were fired.
TEST_F(Views, UnstreamedAnswersAreSuccessesWithALatency) {
    const std::string guide = "benchmarks/0/metrics/";
    const std::string bench = "aggregated_metrics/";
    const std::string perf = "successes/latency/";
    const std::string agentic = "request_metrics/latency/";
    const std::string llmd = "results/request_performance/aggregate/";
    const struct {
        const char* view;
        std::vector<std::string> paths;
        const char* values;
    } all[] = {
        {"vllm",
         {"completed", "failed", "mean_e2el_ms", "mean_ttft_ms", "mean_tpot_ms", "p99_itl_ms",
          "max_output_tokens_per_s", "request_goodput", "total_output_tokens"},
         " 2 0 340.5 null null null null null 14"},
        {"sglang",
         {"completed", "mean_e2e_latency_ms", "mean_ttft_ms", "mean_tpot_ms", "mean_itl_ms",
          "concurrency", "slo_attainment"},
         " 2 340.5 340.5 null null 0.2127 none"},
        {"aiperf",
         {"request_count/avg", "request_error_rate/avg", "request_latency/avg",
          "output_sequence_length/avg", "time_to_first_token", "inter_token_latency",
          "prefill_throughput_per_user", "stream_setup_latency", "goodput"},
         " 2 0 340.5 7 none none none none none"},
        {"genai-perf",
         {"request_count/avg", "request_latency/avg", "time_to_first_token", "inter_token_latency",
          "request_goodput"},
         " 2 340.5 none none none"},
        {"guidellm",
         {guide + "request_totals/errored", guide + "request_latency/successful/mean",
          guide + "time_to_first_token_ms/successful/mean",
          guide + "inter_token_latency_ms/total/percentiles/p95",
          guide + "time_per_output_token_ms/successful/mean"},
         " 0 0.3405 null null 48.64"},
        {"genai-bench",
         {bench + "num_error_requests", bench + "stats/e2e_latency/mean", bench + "stats/ttft/mean",
          bench + "stats/output_latency/max", bench + "stats/input_throughput/p50"},
         " 0 0.3405 null null null"},
        {"inference-perf",
         {"successes/count", "failures/count", perf + "request_latency/mean",
          perf + "normalized_time_per_output_token/min", perf + "time_to_first_token",
          perf + "time_per_output_token", perf + "inter_token_latency"},
         " 2 0 0.3405 0.0408 null null null"},
        {"trace-replayer",
         {"requests_success", "e2e_mean_ms", "ttft_mean_ms", "tpot_p90_ms"},
         " 2 340.5 null null"},
        {"loadgen",  // from the due instants on
         {"result_mean_latency_ns", "result_first_token_mean_latency_ns",
          "result_time_per_output_token_90.00_percentile_ns"},
         " 3.715e+08 null null"},
        {"inferencex",
         {"request_accounting/records_profiled", agentic + "e2el/mean", agentic + "ttft",
          agentic + "intvty"},
         " 2 0.3405 {} {}"},
        {"inferencex-fixed",
         {"completed", "mean_e2el", "mean_ttft", "mean_tpot", "std_intvty", "p99_itl"},
         " 2 0.3405 null null null null"},
        {"llm-d",
         {llmd + "requests/failures", llmd + "latency/request_latency/mean",
          llmd + "latency/time_to_first_token", llmd + "latency/inter_token_latency",
          llmd + "throughput/request_rate/mean"},
         " 0 340.5 none none 0.6246"},
    };
    EXPECT_EQ(std::size(all), all_views().size());
    for (const auto& [view, paths, values] : all) {
        const ViewResult result = view_of(view, answer_at_once, 2);
        EXPECT_EQ(rounded_values(result.json, paths), values) << view;
        EXPECT_TRUE(notes_say(result, "because of --no-stream")) << view;
    }
    const auto without_usage = [](Record& record) {
        answer_at_once(record);
        record.output_tokens.reset();
        record.tokens_source.reset();
    };
    const ViewResult untold = view_of("vllm", without_usage, 2);
    EXPECT_TRUE(notes_say(untold, "the output tokens of 2 answers without usage"));
    EXPECT_FALSE(notes_say(untold, "one token for each chunk"));
    // R4 and R5 fail there, too.
    EXPECT_EQ(rounded_values(view_of("vllm", answer_at_once).json, {"completed", "failed"}),
              " 3 2");
    EXPECT_EQ(rounded_values(view_of("aiperf", answer_at_once).json,
                             {"adj_request_latency/min", "adj_request_latency/max",
                              "adj_time_to_first_token"}),
              " 112 null none");
    EXPECT_EQ(screen_word(view_of("vllm", answer_at_once), "Mean TTFT (ms):"), "-");
    EXPECT_EQ(screen_word(view_of("vllm", answer_at_once), "Mean E2EL (ms):"), "264.33");
    EXPECT_EQ(screen_word(view_of("loadgen", answer_at_once),
                          "Max First Token latency (ns)                    :"),
              "-");
    EXPECT_EQ(screen_word(view_of("trace-replayer", answer_at_once), "ttft_p50_ms"), "-");
    EXPECT_EQ(screen_word(view_of("guidellm", answer_at_once), "TTFT (ms)"), "-");
}

// Where a tool's file has nothing, its screen has no 0.
TEST_F(Views, ShowNoZeroWhereTheFileHasNothing) {
    EXPECT_EQ(screen_word(view_of("inferencex", nullptr, 1), "qps"), "-");
    EXPECT_EQ(screen_word(view_of("inference-perf", nullptr, 0), "TTFT"), "-");
}

}  // namespace
}  // namespace driftless
