// A line that its own keys contradict was not written by a run, and is refused by the key.
#include <gtest/gtest.h>

#include "proto/record/record.hpp"

namespace driftless {
namespace {

/// The key for which the record is refused; empty: it is taken.
std::string refused(const Record& record) {
    std::string line;
    append_jsonl(line, record);
    JsonDocument document;
    const Result<Record> back = read_record(document, line);
    return back ? std::string() : std::string(back.error().doing);
}

Record answered() {
    Record record;
    record.due_ns = 100;
    record.fired_ns = 107;
    record.drift_ns = 7;
    record.outcome = Outcome::ok;
    record.status = 200;
    return record;
}

TEST(RecordRead, RefusesEndsThatCannotBe) {
    Record record = answered();
    EXPECT_EQ(refused(record), "");
    record.status = 500;
    EXPECT_EQ(refused(record), "status");
    record.outcome = Outcome::http_5xx;
    EXPECT_EQ(refused(record), "");
    record.status = 200;
    EXPECT_EQ(refused(record), "status");
    record.outcome = Outcome::http_3xx;
    EXPECT_EQ(refused(record), "status");
    record.status = 429;
    record.outcome = Outcome::http_429;
    EXPECT_EQ(refused(record), "");
}

TEST(RecordRead, RefusesRowsThatCannotHaveLeft) {
    Record record = answered();
    record.outcome = Outcome::not_sent;
    EXPECT_EQ(refused(record), "fired_ns");
    for (const Outcome whole : {Outcome::ok, Outcome::short_output, Outcome::long_output}) {
        Record unsent = answered();
        unsent.outcome = whole;
        unsent.fired_ns.reset();
        EXPECT_EQ(refused(unsent), "fired_ns");
    }
    Record lacking;  // a connection that never stood
    lacking.outcome = Outcome::connect_failed;
    EXPECT_EQ(refused(lacking), "");
}

TEST(RecordRead, RefusesSpansThatAreNotThoseOfTheStamps) {
    Record record = answered();
    record.drift_ns = 8;
    EXPECT_EQ(refused(record), "drift_ns");
}

}  // namespace
}  // namespace driftless
