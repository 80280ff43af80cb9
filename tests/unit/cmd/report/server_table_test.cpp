// From a server's pages, by way of server.jsonl as it is written, to what the page of a run draws.
#include "cmd/report/server_table.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "engine/scrape/series_log.hpp"
#include "engine/scrape/server_figure.hpp"
#include "proto/metrics/exposition_reader.hpp"
#include "tests/unit/cmd/report/read_back.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

class ServerTable : public testing::Test {
  protected:
    // A page of vLLM with so many requests running, tokens made so far, and a series that no table
    // has.
    static std::string page_of(int running, int made) {
        return "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running " +
               std::to_string(running) + "\n# TYPE vllm:generation_tokens_total counter\n" +
               "vllm:generation_tokens_total " + std::to_string(made) +
               "\n# TYPE vllm:unheard_of gauge\nvllm:unheard_of 5\n";
    }
    void scrape(SeriesLog& log, std::size_t url, std::int64_t t_ns, const std::string& page) {
        ExpositionReader reader;
        ASSERT_TRUE(reader.read(page)) << reader.problem();
        log.add(url, t_ns, 7, reader.page(), lines_);
    }
    // The columns of the file that has these lines.
    std::vector<PageColumn> read() {
        const std::string path = folder_ / "server.jsonl";
        std::ofstream(path) << lines_;
        Result<std::vector<PageColumn>> table = read_server_table(path, why_);
        EXPECT_TRUE(table) << why_;
        return table ? std::move(table).value() : std::vector<PageColumn>();
    }

    ScratchFolder folder_;
    std::string lines_;
    std::string why_;
};

TEST_F(ServerTable, AddsUpServersAndCountsFromTheFirstPage) {
    SeriesLog log(0);
    const std::size_t a = log.add_url("http://a/metrics");
    const std::size_t b = log.add_url("http://b/metrics");
    scrape(log, a, -1'000, page_of(1, 100));
    scrape(log, b, -900, page_of(2, 50));
    log.add_failure(b, 500, 7, "refused", lines_);
    scrape(log, a, 1'000, page_of(3, 160));
    SeriesLog resumed(1);  // its counters begin anew
    scrape(resumed, resumed.add_url("http://a/metrics"), 5'000, page_of(4, 400));
    lines_ += "{\"segment\":1,\"t_ns\":60";  // cut off by a kill
    ReadBack table(read(), 4);
    EXPECT_EQ(table["t_ns"], (Texts{"-1000", "-900", "1000", "5000"}));
    EXPECT_EQ(table["segment"], (Texts{"0", "0", "0", "1"}));
    EXPECT_EQ(table["running"], (Texts{"1", "3", "5", "4"}));
    EXPECT_EQ(table["generated_tokens"], (Texts{"0", "0", "60", "0"}));
    EXPECT_EQ(table["watts"], (Texts{"", "", "", ""}));
}

TEST_F(ServerTable, KeepsAsManyInstantsAsAChartHas) {
    SeriesLog log(0);
    const std::size_t url = log.add_url("http://a/metrics");
    for (std::int64_t i = 0; i < 9'000; ++i) {
        scrape(log, url, i, page_of(static_cast<int>(i), 0));
    }
    const std::vector<PageColumn> columns = read();
    EXPECT_EQ(columns.front().rows(), 3'000U);
    ReadBack table(columns, 3'000);
    EXPECT_EQ(table["running"][2'999], "8997");
}

TEST_F(ServerTable, IsEmptyWithoutAFile) {
    const Result<std::vector<PageColumn>> none = read_server_table(folder_ / "none", why_);
    ASSERT_TRUE(none);
    EXPECT_EQ(none.value().size(), 2 + server_figures);
    EXPECT_EQ(none.value().front().rows(), 0U);
}

TEST_F(ServerTable, SaysWhichLineIsWrong) {
    const std::string path = folder_ / "server.jsonl";
    std::ofstream(path) << "{}\n";
    EXPECT_FALSE(read_server_table(path, why_));
    EXPECT_NE(why_.find("server.jsonl:1: "), why_.npos) << why_;
}

}  // namespace
}  // namespace driftless
