// Trees are counted from the records as `report --trees` counts them: whole in the end, or not.
#include "engine/history/run_lines.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "proto/run/record.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

std::string line_of(std::uint32_t row, const char* session, Outcome outcome) {
    Record record;
    record.row = row;
    record.api = "openai-chat";
    record.outcome = outcome;
    record.fired_ns = 0;
    record.ended_ns = 5;
    if (session != nullptr) {
        record.session = session;
    }
    return jsonl_of(record);
}

TEST(FinishedTrees, AreWholeInTheEnd) {
    const ScratchFolder folder;
    const std::string path = folder / "requests.jsonl";
    std::ofstream(path) << line_of(0, "a", Outcome::ok) << line_of(1, "a", Outcome::ok)
                        << line_of(2, "b", Outcome::ok) << line_of(3, "b", Outcome::http_5xx)
                        << line_of(4, "c", Outcome::http_5xx) << line_of(4, "c", Outcome::ok)
                        << line_of(5, nullptr, Outcome::ok) << "{\"row\":6";  // torn by a kill
    EXPECT_EQ(count_finished_trees(path), 2U);
}

TEST(FinishedTrees, AreUnknownWhereARecordIsNone) {
    const ScratchFolder folder;
    const std::string path = folder / "requests.jsonl";
    EXPECT_EQ(count_finished_trees(path), 0U);
    std::ofstream(path) << "{}\n";
    EXPECT_EQ(count_finished_trees(path), std::nullopt);
}

}  // namespace
}  // namespace driftless
