// Whatever a server says has its one named outcome: every golden case, and answers without end,
// through the whole replay; in one piece, in many, byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/canned_answers.hpp"
#include "tests/sim/laws.hpp"

namespace driftless::sim {
namespace {

// One row of two tokens.
Trace one_row() {
    Trace trace;
    trace.block_size = 512;
    trace.name_spaces = 1;
    TraceRow row;
    row.input_length = 5000;  // more than the first slice of a request
    row.output_length = canned_tokens;
    row.ids_count = 10;
    trace.ids.assign(10, 7);
    trace.rows.push_back(row);
    return trace;
}

SimResult answered_with(const CannedAnswer& answer, const Weather& weather) {
    const std::vector<CannedAnswer> answers{answer};
    const Trace trace = one_row();
    SimOptions options;
    options.seed = 21;
    options.weather = weather;
    options.script = {&answers, 1.0, 0};
    return run(trace, options);
}

class Answers : public testing::TestWithParam<CannedAnswer> {};

TEST_P(Answers, HaveTheirOutcomeHoweverTheyAreCut) {
    const CannedAnswer& answer = GetParam();
    Weather in_one_piece;
    in_one_piece.split = 0;
    Weather in_many;
    in_many.split = 0.9;
    in_many.no_buffers = 0.2;
    in_many.overflow = 0.2;
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
    }
}

void PrintTo(const CannedAnswer& answer, std::ostream* out) {
    *out << answer.name;
}

INSTANTIATE_TEST_SUITE_P(, Answers, testing::ValuesIn(canned_answers()), [](const auto& info) {
    std::string name = info.param.name;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !isalnum(static_cast<unsigned char>(c)); },
        '_');
    return name;
});

}  // namespace
}  // namespace driftless::sim
