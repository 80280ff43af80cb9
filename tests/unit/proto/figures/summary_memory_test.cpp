// What a summary keeps of each request, whatever the number of passes: exact percentiles need their
// values, and nothing else grows. (summary.hpp says how many bytes, and of what.)
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <string>

#include "proto/figures/summary.hpp"

namespace driftless {
namespace {

constexpr std::uint32_t requests = 200'000;
constexpr double bytes_of_a_request = 136;
constexpr double pieces = 1.07;  // of what the allocator adds

std::uint64_t heap_bytes() {
    const struct mallinfo2 heap = ::mallinfo2();
    return heap.uordblks + heap.hblkhd;
}

/// Users play 50 trees of four turns again and again; each is ok.
Record record_of(std::uint32_t request) {
    constexpr std::uint32_t users = 16;
    constexpr std::uint32_t turns = 4;
    Record record;
    const std::uint32_t played = request / turns;  // the tree that it is of, of all that are played
    record.row = played % 50 * turns + request % turns;
    record.pass = played / 50;
    record.request = request;
    record.user = played % users;
    record.tree = "tree " + std::to_string(played % 50);
    record.outcome = Outcome::ok;
    record.url = "http://h:1";
    record.due_ns = std::int64_t{request} * 1'000'000;
    record.fired_ns = record.due_ns + request % 97;
    record.drift_ns = request % 97;
    record.wire_ns = *record.fired_ns + 20'000;
    record.receive_delay_ns = 1'000 + request % 89;
    record.submit_ns = 900;
    record.first_token_ns = *record.fired_ns + 20'000'000;
    record.last_token_ns = *record.first_token_ns + 30'000'000;
    record.ended_ns = record.done_ns = record.last_token_ns;
    record.ttft_ns = 20'000'000;
    record.ttft_due_ns = 20'000'000 + request % 97;
    record.tpot_ns = 3e6;
    record.e2e_ns = 50'000'000;
    record.input_length = record.prompt_tokens = 100;
    record.output_length = record.output_tokens = 11;
    record.tokens_source = TokensSource::usage;
    record.cached_tokens = record.expected_cached_tokens = 64;
    record.chunk_ns = {20'000'000, 50'000'000};
    record.chunk_tokens = {1, 10};
    record.chunk_tokens_known = record.has_chunks = true;
    return record;
}

TEST(SummaryMemory, IsOfExactPercentilesAlone) {
    if (heap_bytes() == 0) {
        GTEST_SKIP() << "this allocator does not say how much is in use";
    }
    Summary summary;
    constexpr std::uint32_t first = requests / 10;  // until all users and seconds are known
    for (std::uint32_t request = 0; request < first; ++request) {
        summary.add(record_of(request));
    }
    const std::uint64_t before = heap_bytes();
    for (std::uint32_t request = first; request < requests; ++request) {
        summary.add(record_of(request));
    }
    const double grown = static_cast<double>(heap_bytes() - before);
    const double seconds = (requests - first) / 1000.0;
    EXPECT_LE((grown - 2 * 8 * seconds) / (requests - first), bytes_of_a_request * pieces);
    const SummaryFigures figures = summary.figures();
    EXPECT_EQ(figures.completed, requests);
    EXPECT_EQ(figures.phase.first_turns.trees, requests / 4);
}

}  // namespace
}  // namespace driftless
