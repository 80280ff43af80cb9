// Whatever pages a server gives, the lines read back are those pages; and an hour stays small.
#include "engine/scrape/series_log.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "proto/metrics/exposition_reader.hpp"
#include "tests/unit/schema_check.hpp"

namespace driftless {
namespace {

/// What a reader of the file knows after each line.
struct Followed {
    std::map<std::uint32_t, ServerSeries> series;
    std::map<std::uint32_t, double> values;
    ServerScrape latest;
    JsonDocument document;

    void follow(std::string_view text) {
        while (!text.empty()) {
            const std::size_t end = text.find('\n');
            ASSERT_NE(end, text.npos);
            Result<ServerLine> line = read_server_line(document, text.substr(0, end));
            ASSERT_TRUE(line) << line.error().doing;
            if (auto* one = std::get_if<ServerSeries>(&line.value()); one != nullptr) {
                EXPECT_TRUE(series.emplace(one->series, *one).second);
            } else {
                latest = std::get<ServerScrape>(line.value());
                for (const ServerValue& value : latest.changed) {
                    ASSERT_TRUE(series.contains(value.series));
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
            all.emplace(key, std::to_string(value));
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
        all.emplace(key, std::to_string(one.value));
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
        R"("left_out":0,"series":[0,1],"values":[5,2]})"
        "\n");
    got.page("# TYPE a_total counter\na_total{x=\"1\"} 6\nb 2\n");
    ASSERT_EQ(got.followed.latest.changed.size(), 1U);
    EXPECT_EQ(got.followed.latest.changed[0].value, 6);
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
    EXPECT_EQ(lines.find("sk-abcdefgh"), std::string::npos);
    EXPECT_NE(lines.find("***"), std::string::npos);
}

TEST(SeriesLog, KeepsItsBounds) {
    Logged few(2);
    few.page("a 1\nb 1\nc 1\nd 1\n");
    EXPECT_EQ(few.followed.latest.left_out, 2U);
    EXPECT_EQ(few.followed.values.size(), 2U);
    Logged same;
    same.page("a 1\na 2\na 3\na 4\na 5\n");
    EXPECT_EQ(same.followed.latest.left_out, 1U);
    EXPECT_EQ(same.followed.values.size(), 4U);
}

TEST(SeriesLog, TellsFailures) {
    Logged got;
    std::string lines;
    got.log.add_failure(got.url, 1, 2, "connect failed (refused)", lines);
    got.followed.follow(lines);
    EXPECT_EQ(got.followed.latest.error, "connect failed (refused)");
    EXPECT_EQ(got.followed.latest.t_ns, 1);
}

TEST(SeriesLog, RefusesLinesThatAreNone) {
    JsonDocument document;
    EXPECT_EQ(read_server_line(document, "{").error().code, ErrorCode::bad_json);
    EXPECT_EQ(read_server_line(document, "[]").error().code, ErrorCode::bad_json);
    EXPECT_STREQ(read_server_line(document, "{\"name\":\"a\"}").error().doing, "segment");
    const std::string head = R"({"segment":0,"t_ns":1,"took_ns":1,"url":"u","error":null,)";
    for (const char* rest :
         {R"("left_out":0,"series":[1],"values":[]})", R"("left_out":0,"series":[],"values":[1]})",
          R"("left_out":0,"series":[1],"values":["x"]})", R"("left_out":0,"series":[1]})",
          R"("left_out":0,"series":[-1],"values":[2]})"}) {
        EXPECT_EQ(read_server_line(document, head + rest).error().code, ErrorCode::invalid) << rest;
    }
}

TEST(SeriesLog, LinesKeepToTheSchemas) {
    Logged got;
    got.page("# TYPE a_total counter\na_total{x=\"1\"} 5\nb NaN\n");
    std::string text = got.lines;
    got.page("c 1.5\n");
    text += got.lines;
    got.log.add_failure(got.url, 1, 2, "no", text);
    JsonDocument schemas[2];
    const std::string texts[2] = {source_file("proto/record/server_series.schema.json"),
                                  source_file("proto/record/server_scrape.schema.json")};
    const JsonValue schema[2] = {schemas[0].parse(texts[0]).value(),
                                 schemas[1].parse(texts[1]).value()};
    JsonDocument document;
    int lines = 0;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1, ++lines) {
        const std::string line = text.substr(at, text.find('\n', at) - at);
        const JsonValue value = document.parse(line).value();
        const auto errors = schema_errors(schema[value.find("name").present() ? 0 : 1], value);
        EXPECT_TRUE(errors.empty()) << errors[0];
    }
    EXPECT_EQ(lines, 6);
}

TEST(SeriesLog, RealPagesReadBackWhole) {
    const std::string folder = SHARED_DATA "/metrics/";
    const bool all = std::filesystem::exists(folder);
    const auto file = [](const std::string& path) {
        std::ifstream stream(path, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(stream), {});
    };
    Logged small;
    for (const char* name : {"1", "2", "1"}) {
        small.page(file(TEST_DATA "/metrics/llmdsim-restart-" + std::string(name) + ".txt"));
        EXPECT_TRUE(small.followed.shown() == shown(small.reader.page())) << name;
    }
    for (const char* name : {"vllm-dp2", "sglang", "dynamo", "litellm", "router"}) {
        Logged got;
        for (const char* when : {"-before.txt", "-during.txt", "-after.txt", "-before.txt"}) {
            if (all) {
                got.page(file(folder + name + when));
                EXPECT_TRUE(got.followed.shown() == shown(got.reader.page())) << name << when;
            }
        }
    }
    if (!all) {
        GTEST_SKIP() << "read those of tests/data/metrics; no others in " << SHARED_DATA;
    }
}

// 1,000 series each second for an hour, all of which change each second: none of a real server's
// pages changes so much. Every tenth second is written, and counts for ten.
TEST(SeriesLog, AnHourOfAThousandSeriesStaysBelow50Megabytes) {
    Logged got;
    std::size_t bytes = 0;
    for (int second = 0; second < 3600; second += 10) {
        std::string page = "# TYPE load_bucket counter\n";
        for (int i = 0; i < 1000; ++i) {
            page += "load_bucket{model_name=\"a-model\",engine=\"0\",le=\"" + std::to_string(i) +
                    "\"} " + std::to_string(second * 250 + i) + "\n";
        }
        ASSERT_TRUE(got.reader.read(page)) << got.reader.problem();
        got.lines.clear();
        got.log.add(got.url, second * std::int64_t{1'000'000'000}, 5'000'000, got.reader.page(),
                    got.lines);
        bytes += 10 * got.lines.size();
    }
    EXPECT_LT(bytes, 50'000'000U);
    RecordProperty("bytes", static_cast<int>(bytes));
}

}  // namespace
}  // namespace driftless
