// From real servers' pages, by way of server.jsonl as it is written, to the size of their caches.
// What is expected are the sizes with which those servers were started, or that they print.
#include "cmd/report/server_cache_size.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/scrape/series_log.hpp"
#include "proto/metrics/exposition_reader.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

class CacheSize : public testing::Test {
  protected:
    void scrape(SeriesLog& log, std::size_t url, const std::string& page) {
        ExpositionReader reader;
        ASSERT_TRUE(reader.read(page)) << reader.problem();
        log.add(url, ++t_ns_, 7, reader.page(), lines_);
    }
    /// Of servers with one page each.
    ServerCacheSize size_of(const std::vector<std::string>& pages) {
        lines_.clear();
        SeriesLog log(0);
        for (const std::string& page : pages) {
            scrape(log, log.add_url("http://" + std::to_string(++urls_) + "/metrics"), page);
        }
        return read();
    }
    ServerCacheSize read() {
        const std::string path = folder_ / "server.jsonl";
        std::ofstream(path) << lines_;
        const Result<ServerCacheSize> size = read_server_cache_size(path, why_);
        EXPECT_TRUE(size) << why_;
        return size ? size.value() : ServerCacheSize{};
    }
    void expect(const ServerCacheSize& size, std::uint64_t tokens, std::uint64_t caches,
                const std::string& metric) {
        EXPECT_EQ(size.tokens, tokens);
        EXPECT_EQ(size.caches, caches);
        EXPECT_EQ(size.metric, metric);
    }

    ScratchFolder folder_;
    std::string lines_;
    std::string why_;
    std::int64_t t_ns_ = 0;
    int urls_ = 0;
};

TEST_F(CacheSize, IsBlocksTimesTheirSize) {
    const std::string page = text_of(TEST_DATA "/metrics/llmdsim-restart-1.txt");
    expect(size_of({page}), 4096 * 16, 1, "vllm:cache_config_info");
    expect(size_of({page, page}), 2 * 4096 * 16, 2, "vllm:cache_config_info");
}

TEST_F(CacheSize, IsUnknownWhereNoServerSaysIt) {
    for (const char* name : {"mock-vllm-after", "mock-sglang-during", "llamacpp-after"}) {
        expect(size_of({text_of(std::string(TEST_DATA "/metrics/") + name + ".txt")}), 0, 0, "");
    }
    expect(size_of({}), 0, 0, "");
    expect(size_of({"vllm:cache_config_info{block_size=\"None\",num_gpu_blocks=\"9\"} 1\n"}), 0, 0,
           "");
    expect(size_of({"sglang:max_total_num_tokens NaN\n"}), 0, 0, "");
    const Result<ServerCacheSize> none = read_server_cache_size(folder_ / "none", why_);
    ASSERT_TRUE(none);
    EXPECT_EQ(none.value().tokens, 0U);
}

// The real pages: vLLM with --num-gpu-blocks-override 90 says 180 blocks in both of its two
// engines, and 11,520 tokens in each.
TEST_F(CacheSize, IsThatOfRealServers) {
    const std::string folder = SHARED_DATA "/metrics/";
    if (!std::filesystem::exists(folder)) {
        GTEST_SKIP() << "no pages in " << folder;
    }
    const auto of = [&](const char* name) { return size_of({text_of(folder + name + ".txt")}); };
    expect(of("vllm-after"), 1'048'576, 1, "vllm:cache_config_info");
    expect(of("vllm-dp2-during"), 23'040, 2, "vllm:cache_config_info");
    expect(of("router-engine-after"), 1'048'576, 1, "vllm_cache_config_info");
    expect(of("sglang-after"), 60'000, 1, "sglang:max_total_num_tokens");
    expect(of("sglang-small-during"), 12'000, 1, "sglang:max_total_num_tokens");
    expect(of("sglang-after-openmetrics"), 60'000, 1, "sglang_max_total_num_tokens");
    expect(of("dynamo-after"), 65'536, 0, "dynamo_frontend_model_total_kv_blocks");
}

TEST_F(CacheSize, OfOlderEnginesIsToldOnceByEach) {
    const std::string config = "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"100\"";
    expect(size_of({config + ",engine=\"0\"} 1\n" + config + ",engine=\"1\"} 1\n"}), 1'600, 2,
           "vllm:cache_config_info");
}

TEST_F(CacheSize, OfRanksIsThatOfOneReplica) {
    const std::string name = "sglang:max_total_num_tokens";
    expect(size_of({name + "{dp_rank=\"0\",tp_rank=\"0\"} 900\n" + name +
                    "{dp_rank=\"0\",tp_rank=\"1\"} 1000\n" + name +
                    "{dp_rank=\"1\",tp_rank=\"0\"} 1000\n"}),
           2'000, 2, name);
}

TEST_F(CacheSize, IsThatOfTheLastServerThatSaysIt) {
    const std::string name = "sglang:max_total_num_tokens";
    SeriesLog log(0);
    scrape(log, log.add_url("http://a/metrics"), name + " 1000\n");
    expect(read(), 1'000, 1, name);
    SeriesLog resumed(1);
    const std::size_t url = resumed.add_url("http://a/metrics");
    scrape(resumed, url, "sglang:num_running_reqs 3\n");
    expect(read(), 1'000, 1, name);  // the new one has not said it yet
    scrape(resumed, url, name + " 5000\n");
    scrape(resumed, url, name + " 4000\n");
    expect(read(), 4'000, 1, name);
}

TEST_F(CacheSize, SaysWhichLineIsWrong) {
    const std::string path = folder_ / "server.jsonl";
    std::ofstream(path) << "{}\n";
    EXPECT_FALSE(read_server_cache_size(path, why_));
    EXPECT_NE(why_.find("server.jsonl:1: "), why_.npos) << why_;
}

}  // namespace
}  // namespace driftless
