// What is added to the old value gives the new one, bit for bit, and is as short as can be.

#include "proto/run/server_log.hpp"

#include <charconv>

#include "cmd/base/server_metrics.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

TEST(Growth, IsExactAndShort) {
    EXPECT_EQ(std::tuple(growth(5, 6), growth(-3, 4), growth(1'000'000'000'000, 1'000'000'123'456)),
              std::tuple(1, 7, 123'456));
    // 0.3 - 0.1 is 0.19999999999999998; decimals that a server adds come back as it added them.
    EXPECT_EQ(growth(0.1, 0.1 + 0.2), 0.2);
    EXPECT_EQ(growth(1234.5678, 1234.5678 + 0.0017), 0.0017);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double nan = std::nan("");
    EXPECT_EQ(growth(5, 5), std::nullopt);
    EXPECT_EQ(growth(6, 5), std::nullopt);
    EXPECT_EQ(growth(5, infinity), std::nullopt);
    EXPECT_EQ(growth(-infinity, 5), std::nullopt);
    EXPECT_EQ(growth(nan, 5), std::nullopt);
    EXPECT_EQ(growth(5, nan), std::nullopt);
    EXPECT_EQ(growth(-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()),
              std::nullopt);
    std::mt19937_64 random(7);
    std::lognormal_distribution<double> size(3, 8);
    std::size_t told = 0;
    for (int i = 0; i < 20'000; ++i) {
        const double from = size(random);
        const double to = from + size(random);
        if (const std::optional<double> by = growth(from, to)) {
            EXPECT_EQ(from + *by, to);
            ++told;
        }
    }
    EXPECT_GT(told, 9'000U);
}

// Whatever pages a server gives, the lines read back are those pages; and an hour stays small.

/// Values are equal where these are.
std::string bits_of(double value) {
    return std::isnan(value) ? "NaN" : std::to_string(std::bit_cast<std::uint64_t>(value));
}

/// What a reader of the file knows after each line.
struct Followed {
    std::map<std::uint32_t, ServerSeries> series;
    std::map<std::uint32_t, double> values;
    ServerScrape latest;

    void follow(std::string_view text) {
        while (!text.empty()) {
            const std::size_t end = text.find('\n');
            ASSERT_NE(end, text.npos);
            ServerLine line = read_alone(read_server_line, text.substr(0, end)).value();
            if (auto* begun = std::get_if<ServerSeries>(&line); begun != nullptr) {
                EXPECT_TRUE(series.emplace(begun->series, *begun).second);
            } else {
                latest = std::get<ServerScrape>(line);
                std::set<std::uint32_t> listed;
                for (const ServerGrowth& one : latest.grown) {
                    ASSERT_TRUE(values.contains(one.series));
                    EXPECT_TRUE(listed.insert(one.series).second) << one.series;
                    values[one.series] += one.by;
                }
                for (const ServerValue& value : latest.changed) {
                    ASSERT_TRUE(series.contains(value.series));
                    EXPECT_TRUE(listed.insert(value.series).second) << value.series;
                    value.value ? values[value.series] = *value.value
                                : static_cast<double>(values.erase(value.series));
                }
            }
            text.remove_prefix(end + 1);
        }
    }
    /// As a page has it: name, labels, value.
    std::multimap<std::string, std::string> shown() const {
        std::multimap<std::string, std::string> all;
        for (const auto& [number, value] : values) {
            const ServerSeries& one = series.at(number);
            std::string key = one.name;
            for (const auto& [name, text] : one.labels) {
                key += "," + name + "=" + text;
            }
            all.emplace(key, bits_of(value));
        }
        return all;
    }
};

std::multimap<std::string, std::string> shown(const Exposition& page) {
    std::multimap<std::string, std::string> all;
    for (const MetricSample& one : page.samples) {
        std::string key(one.name);
        for (const MetricLabel& label : page.labels_of(one)) {
            key += "," + std::string(label.name) + "=" + std::string(label.value);
        }
        all.emplace(key, bits_of(one.value));
    }
    return all;
}

struct Logged {
    SeriesLog log;
    std::size_t url = log.add_url("http://a/metrics");
    ExpositionReader reader;
    Followed followed;
    std::string text;   ///< the latest page
    std::string lines;  ///< .. and what is written of it

    explicit Logged(std::size_t most = SeriesLog::series_max) : log(0, most) {}
    void page(std::string served) {
        text = std::move(served);
        ASSERT_TRUE(reader.read(text)) << reader.problem();
        lines.clear();
        log.add(url, -5, 7, reader.page(), lines);
        followed.follow(lines);
    }
};

TEST(SeriesLog, WritesNewSeriesOnceAndWhatChanges) {
    Logged got;
    got.page("# TYPE a_total counter\na_total{x=\"1\"} 5\nb 2\n");
    EXPECT_EQ(
        got.lines,
        R"({"segment":0,"series":0,"url":"http://a/metrics","name":"a_total","type":"counter",)"
        R"("counter":true,"labels":{"x":"1"}})"
        "\n"
        R"({"segment":0,"series":1,"url":"http://a/metrics","name":"b","type":"unknown",)"
        R"("counter":false,"labels":{}})"
        "\n"
        R"({"segment":0,"t_ns":-5,"took_ns":7,"url":"http://a/metrics","error":null,)"
        R"("left_out":0,"series":[0,1],"values":[5,2],"grown":[],"grown_by":[]})"
        "\n");
    got.page("# TYPE a_total counter\na_total{x=\"1\"} 6\nb 2\n");
    EXPECT_TRUE(got.followed.latest.changed.empty());
    ASSERT_EQ(got.followed.latest.grown.size(), 1U);
    EXPECT_EQ(got.followed.latest.grown[0].by, 1);
    got.page("b NaN\n");
    EXPECT_EQ(got.followed.latest.changed.size(), 2U);
    EXPECT_FALSE(got.followed.values.contains(0));
    EXPECT_TRUE(std::isnan(got.followed.values[1]));
    got.page("b NaN\n");
    EXPECT_TRUE(got.followed.latest.changed.empty());
    got.page("a_total{x=\"1\"} 6\nb -Inf\nb +Inf\n");
    EXPECT_EQ(got.followed.shown(), shown(got.reader.page()));
    EXPECT_EQ(got.followed.series.size(), 3U);
}

TEST(SeriesLog, HoldsNoSecret) {
    SeriesLog log(0, SeriesLog::series_max, {"sk-abcdefgh"});
    const std::size_t url = log.add_url("a");
    ExpositionReader reader;
    ASSERT_TRUE(reader.read("a{key=\"sk-abcdefgh\"} 1\n"));
    std::string lines;
    log.add(url, 0, 0, reader.page(), lines);
    EXPECT_FALSE(says(lines, "sk-abcdefgh"));
    EXPECT_TRUE(says(lines, "***"));
    Logged few(2);
    few.page("a 1\nb 1\nc 1\nd 1\n");
    EXPECT_EQ(few.followed.latest.left_out, 2U);
    EXPECT_EQ(few.followed.values.size(), 2U);
    Logged same;
    same.page("a 1\na 2\na 3\na 4\na 5\n");
    EXPECT_EQ(same.followed.latest.left_out, 1U);
    EXPECT_EQ(same.followed.values.size(), 4U);
    Logged got;
    std::string failures;
    got.log.add_failure(got.url, 1, 2, "connect failed (refused)", failures);
    got.followed.follow(failures);
    EXPECT_EQ(got.followed.latest.error, "connect failed (refused)");
    EXPECT_EQ(got.followed.latest.t_ns, 1);
}

TEST(SeriesLog, LinesKeepToTheSchemas) {
    EXPECT_EQ(read_alone(read_server_line, "{").error().code, ErrorCode::bad_json);
    EXPECT_EQ(read_alone(read_server_line, "[]").error().code, ErrorCode::bad_json);
    EXPECT_STREQ(read_alone(read_server_line, "{\"name\":\"a\"}").error().doing, "segment");
    const std::string head = R"({"segment":0,"t_ns":1,"took_ns":1,"url":"u","error":null,)";
    for (const char* rest :
         {R"("left_out":0,"series":[1],"values":[]})", R"("left_out":0,"series":[],"values":[1]})",
          R"("left_out":0,"series":[1],"values":["x"]})", R"("left_out":0,"series":[1]})",
          R"("left_out":0,"series":[-1],"values":[2]})",
          R"("left_out":0,"series":[[0,4294967295]],"values":[2]})",
          R"("left_out":0,"series":[[2,1]],"values":[1,2]})",
          R"("left_out":0,"series":[[1]],"values":[1]})",
          R"("left_out":0,"series":[[1,2,3]],"values":[1,2,3]})",
          R"("left_out":0,"series":[],"values":[],"grown":[1],"grown_by":[null]})",
          R"("left_out":0,"series":[],"values":[],"grown":[1]})"}) {
        EXPECT_EQ(read_alone(read_server_line, head + rest).error().code, ErrorCode::invalid)
            << rest;
    }
    Logged got;
    got.page("# TYPE a_total counter\na_total{x=\"1\"} 5\nb NaN\n");
    std::string text = got.lines;
    got.page("c 1.5\n");
    text += got.lines;
    got.log.add_failure(got.url, 1, 2, "no", text);
    const std::vector<std::string> lines = lines_of(text);
    for (const std::string& line : lines) {
        const char* const schema = says(line, R"("name":)") ? "proto/run/server_series.schema.json"
                                                            : "proto/run/server_scrape.schema.json";
        EXPECT_EQ(schema_errors(schema, line), std::vector<std::string>());
    }
    EXPECT_EQ(lines.size(), 6u);
}

TEST(SeriesLog, RealPagesReadBackWhole) {
    const std::string folder = SHARED_DATA "/metrics/";
    const bool all = std::filesystem::exists(folder);
    Logged small;
    for (const char* name : {"1", "2", "1"}) {
        small.page(read_bytes(TEST_DATA "/metrics/llmdsim-restart-" + std::string(name) + ".txt"));
        EXPECT_TRUE(small.followed.shown() == shown(small.reader.page())) << name;
    }
    for (const char* name : {"vllm-dp2", "sglang", "dynamo", "litellm", "router"}) {
        Logged got;
        for (const char* when : {"-before.txt", "-during.txt", "-after.txt", "-before.txt"}) {
            if (all) {
                got.page(read_bytes(folder + name + when));
                EXPECT_TRUE(got.followed.shown() == shown(got.reader.page())) << name << when;
            }
        }
    }
    if (!all) {
        GTEST_SKIP() << "read those of tests/data/metrics; no others in " << SHARED_DATA;
    }
}

/// Pages of 1,000 series, all of which change each second, as those of a busy server do: 40
/// histograms of 22 series, 60 counters, 60 gauges. It has been up for days.
class BusyPages {
  public:
    std::string next() {
        std::string page;
        for (int i = 0; i < 40; ++i) {
            add_histogram(page, i);
        }
        for (int i = 0; i < 60; ++i) {
            const double more = i < 50 ? static_cast<double>(whole(1, 200'000)) : 3 * share();
            add(page, "counter", "tokens_" + std::to_string(i) + "_total", counters_[i] += more);
        }
        for (int i = 0; i < 60; ++i) {
            add(page, "gauge", "gauge_" + std::to_string(i), i < 30 ? share() : 1e5 * share());
        }
        return page;
    }

  private:
    struct Histogram {
        double buckets[20] = {1e6};  // the others are at least as high
        double sum = 123'456.78;
    };
    int whole(int from, int to) { return std::uniform_int_distribution(from, to)(random_); }
    double share() { return std::uniform_real_distribution(0.0, 1.0)(random_); }
    static std::string text_of(double value) {
        char text[32];
        return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
    }
    static void add(std::string& page, const char* type, const std::string& name, double value) {
        page += "# TYPE " + name + " " + type + "\n" + name + "{model_name=\"a-model\"} " +
                text_of(value) + "\n";
    }
    void add_histogram(std::string& page, int i) {
        const std::string name = "seconds_" + std::to_string(i);
        Histogram& one = histograms_[i];
        page += "# TYPE " + name + " histogram\n";
        for (int at = 0; at < 20; ++at) {
            one.buckets[at] = std::max(one.buckets[at] + whole(1, 15 * (at + 1)),
                                       at > 0 ? one.buckets[at - 1] : 0);
            const std::string le = at < 19 ? text_of(0.005 * (at + 1)) : "+Inf";
            page += name + "_bucket{le=\"" + le + "\"} " + text_of(one.buckets[at]) + "\n";
        }
        one.sum += 90 * share();
        page += name + "_sum " + text_of(one.sum) + "\n" + name + "_count " +
                text_of(one.buckets[19]) + "\n";
    }

    std::mt19937_64 random_{1};
    Histogram histograms_[40];
    std::vector<double> counters_ = std::vector<double>(60, 1e10);
};

/// Bytes of the lines of an hour, by 60 pairs of pages, a second apart, of which the second ones
/// count.
template <typename Page>
std::size_t hour_of(Page page) {
    Logged got;
    std::size_t bytes = 0;
    for (int second = 0; second < 3600; second += 60) {
        got.page(page(second));
        got.page(page(second + 1));
        EXPECT_TRUE(got.followed.shown() == shown(got.reader.page())) << second;
        bytes += 60 * got.lines.size();
    }
    return bytes;
}

// All of 1,000 series change each second: none of a real server's pages changes so much.
TEST(SeriesLog, StaysSmallAndReadsOlderVersions) {
    BusyPages busy;
    const std::size_t bytes = hour_of([&busy](int) { return busy.next(); });
    EXPECT_LT(bytes, 50'000'000U);
    RecordProperty("bytes", static_cast<int>(bytes));
    // Counters of 13 digits, written out, would be 51 MB.
    const std::size_t long_bytes = hour_of([](int second) {
        std::string page = "# TYPE load_bucket counter\n";
        for (int i = 0; i < 1000; ++i) {
            page += "load_bucket{le=\"" + std::to_string(i) + "\"} " +
                    std::to_string(1'000'000'000'000 + second * 2'500'000LL + i) + "\n";
        }
        return page;
    });
    EXPECT_LT(long_bytes, 50'000'000U);
    RecordProperty("bytes", static_cast<int>(long_bytes));
    // As they were before counters were written as what they grew by: each number of a series
    // stands by itself, and nothing grows.
    const ServerLine line =
        read_alone(read_server_line,
                   R"({"segment":0,"t_ns":1,"took_ns":1,"url":"u","error":null,"left_out":0,)"
                   R"("series":[0,1,2],"values":[5,null,"NaN"]})")
            .value();
    const auto& scrape = std::get<ServerScrape>(line);
    ASSERT_EQ(scrape.changed.size(), 3U);
    EXPECT_EQ(scrape.changed[1].series, 1U);
    EXPECT_EQ(scrape.changed[1].value, std::nullopt);
    EXPECT_TRUE(scrape.grown.empty());
}

// Counters are added up over segments and servers, gauges are means over the measured time alone.

constexpr std::int64_t second = 1'000'000'000;

/// A server whose page has one counter and one gauge.
struct Told {
    explicit Told(std::vector<MeasuredSpan> spans) : sums(mappings, std::move(spans)) {}

    void series(std::uint32_t segment, std::uint32_t number, const char* url, const char* name,
                bool counter) {
        sums.add(ServerSeries{.segment = segment,
                              .series = number,
                              .url = url,
                              .name = name,
                              .type = counter ? MetricType::counter : MetricType::gauge,
                              .counter = counter});
    }
    void scrape(std::uint32_t segment, double at_s, const char* url,
                std::vector<ServerValue> changed, const char* error = "") {
        sums.add(ServerScrape{.segment = segment,
                              .t_ns = static_cast<std::int64_t>(at_s * second),
                              .url = url,
                              .error = error,
                              .changed = std::move(changed)});
    }
    std::optional<double> counter(ServerFigure figure) { return sums.totals().counter(figure); }

    std::vector<EngineMapping> mappings = known_mappings();
    ServerSums sums;
};

void begin(Told& told, std::uint32_t segment, const char* url, std::uint32_t first) {
    told.series(segment, first, url, "vllm:prompt_tokens_total", true);
    told.series(segment, first + 1, url, "vllm:num_requests_running", false);
}

TEST(ServerSums, CountersGrowOverSegmentsAndServers) {
    Told told({{0, 0, 10 * second}});
    begin(told, 0, "a", 0);
    told.scrape(0, -0.5, "a", {{0, 100}, {1, 0}});
    told.scrape(0, 1, "a", {{0, 150}});
    told.scrape(0, 2, "a", {});
    told.scrape(0, 11, "a", {{0, 175}});
    EXPECT_EQ(told.counter(ServerFigure::prompt_tokens), 75);
    EXPECT_EQ(told.counter(ServerFigure::preemptions), std::nullopt);
    EXPECT_EQ(told.sums.totals().scrapes, 4U);
    EXPECT_EQ(told.sums.totals().urls[0].engine, "vllm");
    // Two servers; one of them was restarted in the second segment.
    Told other_told({{0, 0, second}, {1, 5 * second, 6 * second}});
    begin(other_told, 0, "a", 0);
    other_told.scrape(0, -1, "a", {{0, 10}, {1, 0}});
    begin(other_told, 0, "b", 2);
    other_told.scrape(0, -1, "b", {{2, 0}, {3, 0}});
    other_told.scrape(0, 1, "a", {{0, 15}});
    other_told.scrape(0, 1, "b", {{2, 1}});
    begin(other_told, 1, "a", 0);
    other_told.scrape(1, 4, "a", {{0, 1000}, {1, 0}});
    other_told.scrape(1, 5, "a", {{0, 1100}});
    other_told.scrape(1, 6, "a", {{0, 30}});
    EXPECT_EQ(other_told.counter(ServerFigure::prompt_tokens), 5 + 1 + 100 + 30);
    const ServerTotals totals = other_told.sums.totals();
    ASSERT_EQ(totals.urls.size(), 2U);
    EXPECT_EQ(std::tuple(totals.urls[0].restarts, totals.urls[0].scrapes), std::tuple(1U, 5U));
    EXPECT_EQ(totals.urls[1].restarts, 0U);
}

// 0 until 2 s, from there to 10 at 4 s, 10 until 8 s: of 1 s to 8 s that is 50 / 7 requests.
TEST(ServerSums, GaugesAreMeansOverTheMeasuredTimeWithGaps) {
    Told told({{0, second, 8 * second}});
    begin(told, 0, "a", 0);
    told.scrape(0, -1, "a", {{0, 0}, {1, 0}});
    told.scrape(0, 2, "a", {});
    told.scrape(0, 4, "a", {{1, 10}});
    told.scrape(0, 10, "a", {});
    told.scrape(0, 11, "a", {{1, 99}});
    const ServerTotals totals = told.sums.totals();
    ASSERT_TRUE(totals.gauge(ServerFigure::running));
    EXPECT_NEAR(totals.gauge(ServerFigure::running)->mean, 50.0 / 7, 1e-9);
    EXPECT_EQ(totals.gauge(ServerFigure::running)->max, 10);
    Told other_told({{0, 0, 10 * second}});
    begin(other_told, 0, "a", 0);
    other_told.scrape(0, 0, "a", {{0, 0}, {1, 4}});
    other_told.scrape(0, 1, "a", {});
    other_told.scrape(0, 2, "a", {}, "answered 503");
    other_told.scrape(0, 3, "a", {{1, 100}});
    other_told.scrape(0, 4, "a", {{1, 8}});
    const ServerTotals other_totals = other_told.sums.totals();
    EXPECT_NEAR(other_totals.gauge(ServerFigure::running)->mean, (4 + 54) / 2.0, 1e-9);
    EXPECT_EQ(other_totals.failures, 1U);
    EXPECT_EQ(other_totals.urls[0].first_failure, "answered 503");
}

TEST(ServerSums, UsagesLoadsAndEnergyAreAddedUp) {
    Told told({{0, 0, 10 * second}});
    for (std::uint32_t i = 0; i < 2; ++i) {
        const char* url = i == 0 ? "a" : "b";
        told.series(0, 2 * i, url, "vllm:kv_cache_usage_perc", false);
        told.series(0, 2 * i + 1, url, "vllm:num_requests_running", false);
        told.scrape(0, 0, url, {{2 * i, 0.25 * (i + 1)}, {2 * i + 1, 3}});
    }
    told.scrape(0, 10, "a", {});
    told.scrape(0, 10, "b", {});
    const ServerTotals totals = told.sums.totals();
    EXPECT_NEAR(totals.gauge(ServerFigure::kv_usage)->mean, 0.5, 1e-9);
    EXPECT_NEAR(totals.gauge(ServerFigure::kv_usage)->max, 0.5, 1e-9);
    EXPECT_NEAR(totals.gauge(ServerFigure::running)->mean, 6, 1e-9);
    EXPECT_NEAR(totals.gauge(ServerFigure::running)->max, 6, 1e-9);
    // 300 W for 10 s, but only the 4 s that are measured.
    Told other_told({{0, 3 * second, 7 * second}});
    other_told.series(0, 0, "gpu", "DCGM_FI_DEV_POWER_USAGE", false);
    other_told.scrape(0, 0, "gpu", {{0, 300}});
    other_told.scrape(0, 5, "gpu", {});
    other_told.scrape(0, 10, "gpu", {});
    EXPECT_NEAR(other_told.sums.totals().joules.value_or(0), 1200, 1e-6);
    Told unknown({{0, 0, second}});
    unknown.series(0, 7, "a", "vllm:prompt_tokens_total", true);
    unknown.scrape(0, 0, "a", {{0, 1}, {4'000'000'000U, 1}});
    EXPECT_EQ(unknown.counter(ServerFigure::prompt_tokens), std::nullopt);
    EXPECT_EQ(unknown.sums.totals().scrapes, 1U);
    EXPECT_FALSE(unknown.sums.totals().joules);
}

}  // namespace
}  // namespace driftless
