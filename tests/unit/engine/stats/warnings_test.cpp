// A cache that was warm before the run is told, with the remedy; what an empty one explains is not.
#include "engine/stats/warnings.hpp"

#include <gtest/gtest.h>

#include "engine/stats/summary.hpp"

namespace driftless {
namespace {

SummaryFigures cache(std::uint64_t expected, std::uint64_t observed, std::uint64_t rows_above) {
    SummaryFigures f;
    f.rows = 100;
    f.cache_rows_reported = 100;
    f.expected_cached_tokens = expected;
    f.expected_cached_tokens_reported = expected;
    f.cached_tokens = observed;
    f.cache_rows_above = rows_above;
    return f;
}

std::vector<std::string> warnings_of(const SummaryFigures& f) {
    return warnings_of(f, SummaryInfo());
}

bool says(const SummaryFigures& f, const char* part) {
    const std::vector<std::string> warnings = warnings_of(f);
    return warnings.size() == 1 && warnings[0].find(part) != std::string::npos;
}

// As many hits as an empty cache can have, and 16 words that are alike by accident in each row
// above its forecast, at -1, 0 and +1.
TEST(Warnings, BeginAboveWhatAnEmptyCacheCanHit) {
    EXPECT_TRUE(warnings_of(cache(51200, 51200, 0)).empty());
    EXPECT_TRUE(warnings_of(cache(51200, 51215, 1)).empty());
    EXPECT_TRUE(warnings_of(cache(51200, 51216, 1)).empty());
    EXPECT_FALSE(warnings_of(cache(51200, 51217, 1)).empty());
    EXPECT_TRUE(warnings_of(SummaryFigures()).empty());
}

// The second of two identical runs: every row hits all of its blocks.
TEST(Warnings, NameAWarmCacheAndTheRemedy) {
    const SummaryFigures f = cache(51200, 996'659, 98);
    EXPECT_TRUE(says(f, "the prefix cache was warm from an earlier run, so TTFT is too low"));
    EXPECT_TRUE(says(f, "1946.6 % of what an empty cache can hit"));
    EXPECT_TRUE(says(f, "--cache-salt random"));
    EXPECT_TRUE(says(cache(0, 99'000, 90), "an empty cache can hit none"));
}

// Evictions hide in the sum what the first rows hit; the stretch shows it.
TEST(Warnings, NameAWarmCacheThatTheSumHides) {
    SummaryFigures f = cache(51200, 51200, 20);
    f.cache_excess = 30'720;
    EXPECT_TRUE(
        says(f, "warm from an earlier run, so TTFT is too low: rows hit 30720 tokens that"));
    EXPECT_TRUE(says(f, "--cache-salt random"));
}

// A server with blocks of 16 shares up to a block of the trace more: it may be that.
TEST(Warnings, SmallExcessMayBeSmallerBlocks) {
    EXPECT_TRUE(says(cache(51200, 51200 + 100 * 256, 100), "its blocks are smaller"));
    EXPECT_TRUE(says(cache(51200, 51200 + 100 * 511, 100), "its blocks are smaller"));
    EXPECT_TRUE(says(cache(51200, 51200 + 100 * 512, 100), "was warm from an earlier run, so"));
}

// Where the server's blocks are known, hits in them are no sign of a warm cache, and one more is.
TEST(Warnings, HitsInTheServersBlocksAreExpected) {
    SummaryFigures f = cache(51200, 51200 + 100 * 256, 100);
    f.server_cache_rows = 100;
    f.server_cache_expected = f.cached_tokens - 1600;
    EXPECT_TRUE(warnings_of(f).empty());
    --f.server_cache_expected;
    EXPECT_TRUE(says(f, "was warm from an earlier run, so"));
}

// Every row shares the template's first tokens.
TEST(Warnings, TemplateTokensAreShared) {
    SummaryFigures f = cache(51200, 51200 + 100 * 19, 100);
    f.template_pre = 19;
    f.cached_tokens += 1600;
    EXPECT_TRUE(warnings_of(f).empty());
    ++f.cached_tokens;
    EXPECT_FALSE(warnings_of(f).empty());
}

/// A row with a prompt of 100 tokens and 10 to come.
Record sent_row(Outcome outcome) {
    Record record;
    record.outcome = outcome;
    record.fired_ns = 0;
    record.input_length = 100;
    record.output_length = 10;
    if (is_whole(outcome)) {
        record.prompt_tokens = 100;
        record.output_tokens = 10;
        record.tokens_source = TokensSource::usage;
    }
    return record;
}

/// A run of 1,000 requests at one server, and what that counted of them.
struct Counted {
    explicit Counted(double requests, std::size_t whole = 1000) {
        add(Outcome::ok, whole);
        add(Outcome::timeout_total, 1000 - whole);
        f.timeline.spans = {{0, 0, 1}};
        info.run.urls = {"http://a:1/v1/chat/completions"};
        ServerTotals& server = info.server.emplace();
        server.urls = {{"http://a:1/metrics", "vllm", 9}};
        count(ServerFigure::requests, requests);
    }
    void add(Outcome outcome, std::size_t rows) {
        for (std::size_t i = 0; i < rows; ++i) {
            f.sent.add(sent_row(outcome));
        }
    }
    void count(ServerFigure figure, std::optional<double> value) {
        info.server->counters[static_cast<std::size_t>(figure)] = value;
    }
    void tokens(double prompt, double generated) {
        count(ServerFigure::prompt_tokens, prompt);
        count(ServerFigure::generated_tokens, generated);
    }
    std::string warning() const {
        const std::vector<std::string> all = driftless::warnings_of(f, info);
        return all.empty() ? "" : all.front();
    }
    bool says(const char* part) const { return warning().find(part) != std::string::npos; }
    SummaryFigures f;
    SummaryInfo info;
};

// 5 requests and 2 % are what counters may be early or late.
TEST(Warnings, OthersUsedTheServer) {
    EXPECT_EQ(Counted(1000).warning(), "");
    EXPECT_EQ(Counted(1025).warning(), "");
    EXPECT_TRUE(
        Counted(1026).says("grew by 1026 requests and this run sent 1000 requests: others"));
    Counted more(1200);
    more.add(Outcome::ok, 200);
    EXPECT_EQ(more.warning(), "");
}

TEST(Warnings, ThePageIsNotOfAllServers) {
    EXPECT_EQ(Counted(975).warning(), "");
    EXPECT_TRUE(Counted(974).says("--metrics URL"));
    EXPECT_EQ(Counted(700, 700).warning(), "");
}

// Tokens have the same slack: of 1,000 requests, 2 % and those of 5.
TEST(Warnings, TokensAreHeldAgainstTheRecords) {
    Counted fits(1000);
    fits.tokens(102'500, 10'250);
    EXPECT_EQ(fits.warning(), "");
    fits.tokens(97'500, 9'750);
    EXPECT_EQ(fits.warning(), "");
    Counted others(1500);
    others.tokens(150'000, 15'000);
    EXPECT_TRUE(
        others.says("grew by 1500 requests, 150000 prompt tokens and 15000 generated "
                    "tokens and this run sent 1000 requests, 100000 prompt tokens and "
                    "10000 generated tokens: others used them"));
    Counted no_requests(0);
    no_requests.count(ServerFigure::requests, std::nullopt);
    no_requests.tokens(102'501, 10'000);
    EXPECT_TRUE(no_requests.says("102501 prompt tokens and this run sent 100000 prompt tokens: "));
    no_requests.tokens(97'499, 10'000);
    EXPECT_TRUE(no_requests.says("grew by 97499 prompt tokens and this run had answers of 100000"));
    Counted otherwise(1000);
    otherwise.tokens(100'000, 12'000);
    EXPECT_TRUE(
        otherwise.says("12000 generated tokens and this run sent 10000 generated tokens: "
                       "the servers count tokens differently"));
}

// What failed may have been counted whole, in part, or not at all.
TEST(Warnings, TokensOfFailedRowsMayBeCounted) {
    Counted part(1000, 500);
    for (const double share : {0.5, 0.75, 1.0}) {
        part.tokens(100'000 * share, 10'000 * share);
        part.count(ServerFigure::requests, 1000 * share);
        EXPECT_EQ(part.warning(), "") << share;
    }
    part.tokens(102'501, 10'000);
    EXPECT_NE(part.warning(), "");
}

// Twice as much of everything: the page of a gateway beside those of its servers.
TEST(Warnings, AGatewayCountsTwice) {
    Counted twice(2000);
    twice.tokens(200'000, 20'000);
    EXPECT_TRUE(
        twice.says("others sent as much at the same time, or the page counts each request"));
    twice.info.server->urls.push_back({"http://worker:1/metrics", "vllm", 9});
    EXPECT_TRUE(twice.says("count the same requests twice, like a gateway's page"));
    twice.tokens(200'000, 23'000);
    EXPECT_TRUE(twice.says("others used them at the same time"));
}

// A server whose usage is missing: nobody can tell.
TEST(Warnings, TokensThatNobodyKnowsAreNotHeldAgainstAnything) {
    Counted silent(1000);
    Record row = sent_row(Outcome::ok);
    row.prompt_tokens.reset();
    row.tokens_source = TokensSource::chunks;
    silent.f.sent.add(row);
    silent.tokens(1e9, 1e9);
    EXPECT_EQ(silent.warning(), "");
}

// Where it cannot be said soundly, nothing is said.
TEST(Warnings, NothingIsSaidOfCountsThatMayBeParts) {
    Counted elsewhere(500);
    elsewhere.info.server->urls[0].url = "http://b:1/metrics";
    EXPECT_EQ(elsewhere.warning(), "");
    Counted gap(2000);
    gap.info.server->failures = 1;
    EXPECT_EQ(gap.warning(), "");
    Counted resumed(2000);
    resumed.f.timeline.spans.push_back({1, 1, 2});
    EXPECT_EQ(resumed.warning(), "");
    Counted killed(10);
    killed.info.unfinished = Unfinished{3, 1};
    EXPECT_EQ(killed.warning(), "");
    Counted one_of_two(500);
    one_of_two.info.run.urls.push_back("http://b:1/v1/chat/completions");
    EXPECT_EQ(one_of_two.warning(), "");
}

// Pages of several servers in turn look like restarts: what is counted is held against what was
// sent all the same, and where it is sure, nothing but that is said.
TEST(Warnings, ServersThatAnswerInTurnAreTold) {
    Counted restarted(2000);
    restarted.info.server->urls[0].restarts = 1;
    EXPECT_TRUE(restarted.says("give --metrics the page of each (URL,URL)"));
    Counted few(1000);
    few.info.server->urls[0].restarts = 1;
    EXPECT_EQ(few.warning(), "");
    few.info.server->urls[0].several = true;
    EXPECT_TRUE(few.says("was answered by several servers in turn"));
}

// Probes of the other shards behind one shard's first page are no strangers.
TEST(Warnings, ProbesOfOtherShardsAreExplained) {
    Counted merged(1100);
    merged.tokens(100'000, 10'000);
    EXPECT_NE(merged.warning(), "");
    merged.f.sent.add_probes(100);
    EXPECT_EQ(merged.warning(), "");
}

}  // namespace
}  // namespace driftless
