// Whole families stay or go: by their longest row first, then by their number in file order.
#include "engine/plan/load.hpp"

#include <gtest/gtest.h>

#include "tests/unit/made.hpp"

namespace driftless {
namespace {

/// Sessions of two rows each, which come in turn; `lengths` are of the later rows.
Trace sessions_of(const std::vector<std::uint32_t>& lengths) {
    Trace trace;
    const auto count = static_cast<std::uint32_t>(lengths.size());
    for (std::uint32_t i = 0; i < 2 * count; ++i) {
        TraceRow row;
        row.index = i;
        row.at_ns = i;
        row.input_length = i < count ? 10 : lengths[i - count];
        row.output_length = 5;
        row.session = i % count;
        trace.rows.push_back(row);
        if (i >= count) {
            trace.dependencies.push_back({.row = i, .on = i - count});
        } else {
            trace.sessions.push_back("s" + std::to_string(i));
        }
    }
    return trace;
}

std::vector<std::uint32_t> kept_rows(const Trace& trace) {
    return members_of(trace.rows, &TraceRow::index);
}

TEST(Admission, LeavesOutWholeTreesThatDoNotFit) {
    Trace trace = sessions_of({95, 96, 50});
    const AdmissionFigures figures = admit({.context_max = 100, .trees_max = {}}, trace);
    EXPECT_EQ(kept_rows(trace), (std::vector<std::uint32_t>{0, 2, 3, 5}));
    EXPECT_EQ(trace.dependencies.size(), 2U);
    EXPECT_EQ(figures.families, 3U);
    EXPECT_EQ(figures.too_long, 1U);
    EXPECT_EQ(figures.kept, 2U);
}

// Filter, then cap.
TEST(Admission, CountsTreesAfterThoseThatDoNotFit) {
    Trace trace = sessions_of({200, 50, 50});
    admit({.context_max = 100, .trees_max = 1}, trace);
    EXPECT_EQ(kept_rows(trace), (std::vector<std::uint32_t>{1, 4}));
}

TEST(Admission, ChangesNothingUnasked) {
    Trace trace = sessions_of({200, 50});
    EXPECT_EQ(admit({}, trace).families, 0U);
    EXPECT_EQ(trace.rows.size(), 4U);
    admit({.context_max = 1000, .trees_max = 9}, trace);
    EXPECT_EQ(trace.rows.size(), 4U);
}

TEST(Admission, RefusesToLeaveNothing) {
    LoadOptions options;
    options.admission.context_max = 9;
    const Result<LoadedTrace> loaded = apply_load(options, sessions_of({50}));
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace driftless
