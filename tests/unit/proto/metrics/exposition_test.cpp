// What the two text formats and TensorRT-LLM's JSON say, and how a page that is none is refused.
#include "proto/metrics/exposition.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/unit/scratch_folder.hpp"

namespace driftless {
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
    EXPECT_EQ(out.families[0].type, MetricType::counter);
    EXPECT_EQ(out.families[0].help, "The total number of HTTP requests.");
    EXPECT_EQ(out.samples[0].value, 1027);
    EXPECT_EQ(out.samples[0].time_ns, 1395066363000000000);
    EXPECT_EQ(label_value(out.labels_of(out.samples[1]), "code"), "400");
    EXPECT_EQ(label_value(out.labels_of(out.samples[2]), "path"), "C:\\DIR\\FILE.TXT");
    EXPECT_EQ(label_value(out.labels_of(out.samples[2]), "error"),
              "Cannot find file:\n\"FILE.TXT\"");
    EXPECT_EQ(out.samples[3].value, 12.47);
    EXPECT_TRUE(std::isinf(out.samples[4].value));
    EXPECT_EQ(out.samples[4].time_ns, -3982045000000);
    EXPECT_FALSE(out.is_counter(out.samples[3]));
    EXPECT_TRUE(out.is_counter(out.samples[5]));
    EXPECT_EQ(out.families[out.samples[8].family].name, "http_request_duration_seconds");
    EXPECT_FALSE(out.is_counter(out.samples[9]));
    EXPECT_TRUE(out.is_counter(out.samples[10]));
}

TEST(ExpositionReader, ReadsOpenMetricsWithRenamedSamples) {
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
    EXPECT_EQ(out.samples[0].time_ns, 1520879607789000000);
    ASSERT_EQ(out.exemplars.size(), 1U);
    ASSERT_EQ(out.samples[0].exemplar, 0U);
    EXPECT_EQ(out.exemplars[0].value, 0.67);
    EXPECT_EQ(out.exemplars[0].time_ns, 1520879606500000000);
    EXPECT_EQ(out.labels[out.exemplars[0].labels_begin].value, "KOO");
    EXPECT_TRUE(std::isnan(out.samples[2].value));
}

// Names of vLLM, SGLang and llama.cpp that look like what they are not.
TEST(ExpositionReader, GoesByTypesAndNotByNames) {
    constexpr std::string_view page =
        "# TYPE vllm:iteration_tokens_total histogram\nvllm:iteration_tokens_total_sum 5\n"
        "# TYPE k_req histogram\n# TYPE k_req_count gauge\nk_req_count{le=\"1\"} 2\nk_req_sum 1\n"
        "# TYPE vllm:hits counter\nvllm:hits 3\nvllm:hits_created 1\n# TYPE vllm:hits gauge\n";
    ExpositionReader reader;
    ASSERT_TRUE(reader.read(page)) << reader.problem();
    const Exposition& out = reader.page();
    EXPECT_TRUE(out.is_counter(out.samples[0]));
    EXPECT_EQ(out.families[out.samples[1].family].type, MetricType::gauge);
    EXPECT_TRUE(out.is_counter(out.samples[3]));
    EXPECT_FALSE(out.is_counter(out.samples[4]));
}

TEST(ExpositionReader, ColonsAndUnderlinesAreEqualInNames) {
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
    EXPECT_TRUE(reader.read("[]"));
    EXPECT_TRUE(reader.page().samples.empty());
    EXPECT_EQ(problem_of("{\"detail\":1}"),
              "the JSON is not a list of iterations (TensorRT-LLM): \"{\"detail\":1}\"");
    EXPECT_EQ(problem_of("[{]"), "the page is not complete JSON");
}

TEST(ExpositionReader, SaysLineAndReason) {
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
}

TEST(ExpositionReader, HoldsItsLimits) {
    ExpositionLimits limits{.bytes_max = 40, .series_max = 2, .families_max = 2, .line = {}};
    limits.line = {.name_bytes_max = 3, .label_bytes_max = 4, .labels_max = 2, .all_labels_max = 3};
    ExpositionReader reader(limits);
    EXPECT_TRUE(reader.read("abc{a=\"1234\",b=\"\"} 1\nb{a=\"1\"} 2\n")) << reader.problem();
    EXPECT_EQ(problem_of(std::string(41, ' '), "", limits), "the page of metrics is too long");
    EXPECT_TRUE(reader.read(std::string(40, ' ')));
    EXPECT_EQ(problem_of("a 1\na 2\na 3\n", "", limits), "line 3: the page has too many series");
    EXPECT_EQ(problem_of("# TYPE a x\n# TYPE b x\nc 1\n", "", limits),
              "line 3: the page has too many families");
    EXPECT_EQ(problem_of("abcd 1\n", "", limits),
              "line 1: the name of the metric is too long: \"abcd\"");
    EXPECT_EQ(problem_of("a{b=\"12345\"} 1\n", "", limits),
              "line 1: a label's value is too long: \"12345\"} 1\"");
    EXPECT_EQ(problem_of("a{b=\"\",c=\"\",d=\"\"} 1\n", "", limits),
              "line 1: there are too many labels");
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

}  // namespace
}  // namespace driftless
