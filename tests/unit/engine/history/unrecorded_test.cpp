// How many rows left and have no record: by the files, the books of the run, or nobody.
#include "engine/history/unrecorded.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
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

/// Users send a row once in each pass, and again where it has failed.
class LostOfUsers : public testing::Test {
  protected:
    LostOfUsers() {
        facts_.rows = 2;
        facts_.has_users = true;
        facts_.segments.resize(1);
    }
    void record(std::uint32_t row, std::uint32_t pass, std::uint32_t attempt, std::int64_t at_ns) {
        Record record;
        record.row = row;
        record.pass = pass;
        record.attempt = attempt;
        record.outcome = Outcome::http_5xx;
        record.user = 0;
        record.fired_ns = at_ns;
        std::string line;
        append_jsonl(line, record);
        ASSERT_TRUE(static_cast<bool>(past().add_record(line)));
    }
    void leave(std::uint32_t row, std::uint32_t pass, std::int64_t at_ns) {
        ASSERT_TRUE(static_cast<bool>(past().add_fired(
            R"({"row":)" + std::to_string(row) + R"(,"pass":)" + std::to_string(pass) +
            R"(,"fired_ns":)" + std::to_string(at_ns) + "}")));
    }
    Past& past() {
        if (!past_) {
            past_.emplace(facts_);
        }
        return *past_;
    }

    RunFacts facts_;
    std::optional<Past> past_;
};

// More records than rows, and still one that has none: the second try of a row in a later pass.
TEST_F(LostOfUsers, TriesAndPassesAreRequestsOfTheirOwn) {
    record(0, 0, 0, 1);
    record(1, 0, 0, 2);
    record(0, 1, 0, 3);
    for (const std::int64_t at_ns : {1, 3, 7}) {
        leave(0, at_ns == 1 ? 0 : 1, at_ns);
    }
    leave(1, 0, 2);
    EXPECT_EQ(past().left_open(), 1u);
    const Unrecorded lost = unrecorded_rows(facts_, past(), std::nullopt);
    EXPECT_EQ(lost.rows, 1u);
    EXPECT_FALSE(lost.all_known);
    EXPECT_EQ(unrecorded_rows(facts_, past(), 9).rows, 6u);
    EXPECT_TRUE(unrecorded_rows(facts_, past(), 9).all_known);
}

// Marks count requests, of which there are more than rows; the books of a run that ended say so.
TEST_F(LostOfUsers, MarksCountRequests) {
    const std::string name = "test-" + std::to_string(::getpid()) + "-unrecorded";
    Result<FiredMarks> marks = FiredMarks::create(name, 2);
    ASSERT_TRUE(marks);
    FiredMarks::remove(name);
    for (int request = 0; request < 5; ++request) {
        marks.value().mark(0);
        marks.value().count_request();
    }
    EXPECT_EQ(fired_in_all(facts_, past(), &marks.value()), 5u);
    EXPECT_EQ(fired_in_all(facts_, past(), nullptr), std::nullopt);
    facts_.has_users = false;
    EXPECT_EQ(fired_in_all(facts_, past(), &marks.value()), 1u);
    facts_.ended = true;
    facts_.rows_fired = 8;
    EXPECT_EQ(fired_in_all(facts_, past(), nullptr), 8u);
}

}  // namespace
}  // namespace driftless
