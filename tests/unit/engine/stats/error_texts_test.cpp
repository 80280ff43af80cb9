// Reasons of failed rows are counted; numbers in them do not tell them apart, and there are no more
// of them than the bound.
#include "engine/stats/error_texts.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

Record failed(std::uint32_t row, Outcome outcome, int status, const char* error) {
    Record record;
    record.row = row;
    record.outcome = outcome;
    if (status > 0) {
        record.status = status;
    }
    if (error != nullptr) {
        record.error = error;
    }
    return record;
}

TEST(ErrorTexts, CountReasonsAndNotNumbers) {
    ErrorTexts texts;
    texts.add(failed(0, Outcome::ok, 200, nullptr));
    texts.add(failed(1, Outcome::short_output, 200, nullptr));
    texts.add(failed(2, Outcome::long_output, 200, nullptr));
    texts.add(failed(3, Outcome::not_sent, 0, nullptr));
    texts.add(failed(4, Outcome::timeout_idle, 0, nullptr));
    texts.add(failed(5, Outcome::http_4xx, 400, "asked 40000 tokens of 32768"));
    texts.add(failed(6, Outcome::http_4xx, 400, "asked 9 tokens of 32768"));
    texts.add(failed(7, Outcome::http_4xx, 400, "asked many tokens of 32768"));
    texts.add(failed(8, Outcome::http_4xx, 404, "asked 9 tokens of 32768"));
    const std::vector<ErrorText> found = texts.by_rows();
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(found[0].text, "asked 40000 tokens of 32768");
    EXPECT_EQ(found[0].rows, 2u);
    EXPECT_EQ(found[0].first_row, 5u);
    EXPECT_EQ(found[1].outcome, Outcome::timeout_idle);
    EXPECT_EQ(found[1].text, "");
    EXPECT_EQ(found[2].first_row, 7u);
    EXPECT_EQ(found[3].status, 404);
    EXPECT_EQ(texts.others(), 0u);
}

// Bytes that are no UTF-8 are one character in the file: so texts that differ in them are one.
TEST(ErrorTexts, AreThoseOfTheFile) {
    ErrorTexts texts;
    texts.add(failed(0, Outcome::bad_event, 200, "half \xC3."));
    texts.add(failed(1, Outcome::bad_event, 200, "half \xE4."));
    texts.add(failed(2, Outcome::bad_event, 200, "half \xEF\xBF\xBD."));
    const std::vector<ErrorText> found = texts.by_rows();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].text, "half \xEF\xBF\xBD.");
    EXPECT_EQ(found[0].rows, 3u);
}

TEST(ErrorTexts, AreBounded) {
    ErrorTexts texts;
    for (std::uint32_t row = 0; row < ErrorTexts::texts_max + 1; ++row) {
        texts.add(failed(row, Outcome::http_5xx, 500, std::string(row + 1, 'x').c_str()));
    }
    EXPECT_EQ(texts.by_rows().size(), ErrorTexts::texts_max);
    EXPECT_EQ(texts.others(), 1u);
    texts.add(failed(99, Outcome::http_5xx, 500, "x"));
    EXPECT_EQ(texts.others(), 1u);
    EXPECT_EQ(texts.by_rows().front().rows, 2u);
}

}  // namespace
}  // namespace driftless
