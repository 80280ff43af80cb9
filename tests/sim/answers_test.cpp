// Whatever a server says has its one named outcome: every golden case, and answers without end,
// through the whole replay; in one piece, in many, byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <ostream>
#include <string>
#include <vector>

#include "tests/sim/canned_answers.hpp"
#include "tests/sim/laws.hpp"

namespace driftless::sim {

/// Names the case in a test's report.
void PrintTo(const CannedAnswer& answer, std::ostream* out) {
    *out << answer.name;
}

namespace {

// One row of two tokens.
Trace one_row() {
    Trace trace{.block_size = 512, .name_spaces = 1};
    TraceRow row;
    row.input_length = 5000;  // more than the first slice of a request
    row.output_length = canned_tokens;
    row.ids_count = 10;
    trace.ids.append(std::vector<std::uint64_t>(10, 7));
    trace.rows.push_back(row);
    return trace;
}

SimResult answered_with(const CannedAnswer& answer, const Weather& weather,
                        const TlsWeather& tls = {}) {
    const std::vector<CannedAnswer> answers{answer};
    const Trace trace = one_row();
    SimOptions options{.seed = 21, .weather = weather, .tls = tls, .script = {&answers, 1.0, 0}};
    return run(trace, options);
}

/// Its length is said, or it comes in chunks: the end of the connection completes nothing.
bool is_framed(const std::string& wire) {
    std::string head = wire.substr(0, wire.find("\r\n\r\n"));
    std::transform(head.begin(), head.end(), head.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return head.find("content-length:") != std::string::npos ||
           head.find("transfer-encoding:") != std::string::npos;
}

class Answers : public testing::TestWithParam<CannedAnswer> {};

TEST_P(Answers, HaveTheirOutcomeHoweverTheyAreCut) {
    const CannedAnswer& answer = GetParam();
    Weather in_one_piece;
    in_one_piece.split = 0;
    Weather in_many{.split = 0.9, .no_buffers = 0.2, .overflow = 0.2};
    std::vector<Weather> weathers{in_one_piece, in_many};
    if (answer.wire.size() + answer.again.size() < 16'000) {
        weathers.emplace_back().bytewise = true;
    }
    for (const Weather& weather : weathers) {
        const SimResult result = answered_with(answer, weather);
        EXPECT_EQ(broken_laws(result), "");
        ASSERT_EQ(result.records.size(), 1u);
        const Record& record = result.records[0];
        EXPECT_TRUE(record.outcome == answer.outcome || record.outcome == answer.or_else)
            << name_of(record.outcome) << " instead of " << name_of(answer.outcome) << ": "
            << record.error.value_or("");
        const std::string error = record.error.value_or("");
        EXPECT_TRUE(record.outcome != Outcome::limit_exceeded ||
                    error.find("limit of ") != std::string::npos ||
                    error.find("more than ") != std::string::npos)
            << error;
    }
}

// The same over TLS, where the end of the connection is said. One that is not said may be
// anybody's: what only the end would have completed is truncated then.
TEST_P(Answers, HaveTheirOutcomeOverTls) {
    const CannedAnswer& answer = GetParam();
    TlsWeather tls{.on = true, .interrupt = 0.1};
    for (const bool silent_end : {false, true}) {
        tls.no_goodbye = silent_end ? 1 : 0;
        const SimResult result = answered_with(answer, {}, tls);
        EXPECT_EQ(broken_laws(result), "");
        ASSERT_EQ(result.records.size(), 1u);
        const Outcome outcome = result.records[0].outcome;
        EXPECT_TRUE(outcome == answer.outcome || outcome == answer.or_else ||
                    (silent_end && answer.closes && outcome == Outcome::truncated))
            << name_of(outcome) << " instead of " << name_of(answer.outcome) << ": "
            << result.records[0].error.value_or("");
        const bool by_its_end = answer.closes && !is_framed(answer.wire);
        EXPECT_TRUE(!silent_end || !by_its_end || outcome != Outcome::ok) << name_of(outcome);
    }
}

INSTANTIATE_TEST_SUITE_P(, Answers, testing::ValuesIn(canned_answers()), [](const auto& test) {
    std::string name = test.param.name;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !isalnum(static_cast<unsigned char>(c)); },
        '_');
    return name;
});

}  // namespace
}  // namespace driftless::sim
