// Any bytes give the same answers from the mock, however they arrive, and no slot is ever lost.

#include "cmd/mock/core.hpp"
#include "tests/fuzz/shared/pieces.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless::mock {
namespace {

constexpr std::size_t produces_max = 100'000;

/// Every fault by a row of its own: "X-Request-Id: r-1" is refused, and so on.
CoreOptions make_options() {
    CoreOptions options;
    options.model.context_tokens = 64;  // answers stay short, whatever is asked for
    options.pace.first = options.pace.between = {0};
    options.pace.tokens_per_chunk = 3;
    options.cache_block_tokens = 2;
    options.cache_blocks_max = 5;
    options.overhead = {1, 2};
    options.words.split("the");
    options.words.join("a", "b");
    options.reasoning_tokens = 2;
    options.slots = 1;
    options.keep_log = true;
    for (std::uint64_t row = 1; row <= static_cast<std::uint64_t>(Fault::slow); ++row) {
        options.faults.push_back({static_cast<Fault>(row), 0, row});
    }
    return options;
}

std::string answer(const std::vector<std::vector<char>>& pieces) {
    MockCore core(make_options());
    const Instant now{1};
    MockConnection& connection = core.open(now);
    std::string out;
    std::size_t produced = 0;
    for (const std::vector<char>& piece : pieces) {
        connection.receive({piece.data(), piece.size()}, now);
        for (; connection.next_deadline() < never; ++produced) {
            CHECK(connection.next_deadline() <= now);
            CHECK(produced < produces_max);
            connection.produce(now, out);
        }
        if (connection.next_action() != MockConnection::Action::keep) {
            break;
        }
    }
    core.close(connection, now);
    CHECK(core.next_woken() == nullptr);
    CHECK(core.metrics().running == 0);
    std::uint64_t logged = 0;
    for (RequestLog entry; core.take_finished(entry); ++logged) {
        append_log_line(out, entry);
    }
    CHECK(logged == core.ended());
    return out;
}

void fuzz_mock(std::string_view input) {
    const auto ways = ways_to_feed(read_input(input));
    const std::string whole = mock::answer(ways[0]);
    CHECK(mock::answer(ways[1]) == whole);
    CHECK(mock::answer(ways[2]) == whole);
}

const FuzzTargets mock_target = {{"mock", fuzz_mock}};

}  // namespace
}  // namespace driftless::mock
