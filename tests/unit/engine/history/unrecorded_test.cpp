// How many rows left and have no record: by the files, the books of the run, or nobody.
#include "engine/history/unrecorded.hpp"

#include <gtest/gtest.h>

#include <string>

namespace driftless {
namespace {

class Lost : public testing::Test {
  protected:
    Lost() {
        facts_.rows = 100;
        facts_.segments.resize(2);
    }
    void record(std::uint32_t row, std::uint32_t segment, bool left = true) {
        Record record;
        record.row = row;
        record.segment = segment;
        record.outcome = left ? Outcome::ok : Outcome::not_sent;
        if (left) {
            record.fired_ns = 1;
        }
        std::string line;
        append_jsonl(line, record);
        ASSERT_TRUE(static_cast<bool>(past_.add_record(line)));
    }
    void leave(std::uint32_t row) {
        ASSERT_TRUE(static_cast<bool>(
            past_.add_fired(R"({"row":)" + std::to_string(row) + R"(,"fired_ns":1})")));
    }

    RunFacts facts_;
    Past past_{facts_};
};

// The last half second was not written: neither a record nor a line of fired.jsonl tells of it.
TEST_F(Lost, WhatNoFileTellsOfIsLost) {
    record(0, 0);
    record(1, 1);
    record(2, 1, false);
    leave(3);
    EXPECT_EQ(past_.left(), 2u);
    EXPECT_EQ(past_.left_before(1), 1u);
    const Unrecorded lost = unrecorded_rows(facts_, past_, 17);
    EXPECT_EQ(lost.rows, 15u);
    EXPECT_TRUE(lost.all_known);
}

// By the files alone it is a lower bound.
TEST_F(Lost, WithoutBooksOrMarksMoreMayBeLost) {
    record(0, 0);
    leave(3);
    const Unrecorded lost = unrecorded_rows(facts_, past_, std::nullopt);
    EXPECT_EQ(lost.rows, 1u);
    EXPECT_FALSE(lost.all_known);
}

// A row may be marked that did not leave: no more are lost than have no record.
TEST_F(Lost, NoMoreThanHaveNoRecord) {
    facts_.rows = 2;
    record(0, 0);
    EXPECT_EQ(unrecorded_rows(facts_, past_, 50).rows, 1u);
    record(1, 0);
    EXPECT_EQ(unrecorded_rows(facts_, past_, 50).rows, 0u);
    EXPECT_TRUE(unrecorded_rows(facts_, past_, std::nullopt).all_known);
}

}  // namespace
}  // namespace driftless
