// Requests of both sides side by side, and where they changed.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "cmd/runs/compare.hpp"
#include "tests/unit/cmd/runs/made_sides.hpp"

namespace driftless {
namespace {

constexpr auto ttft = static_cast<std::size_t>(RowValue::ttft);

void remove_at(PlayedRun& run, std::ptrdiff_t at) {
    run.rows.erase(run.rows.begin() + at);
    run.compared.requests.erase(run.compared.requests.begin() + at);
}

TEST(PairedRequests, AreThoseOfAllRuns) {
    std::vector<PlayedRun> a{made_side(1), made_side(1.2)};
    std::vector<PlayedRun> b{made_side(2)};
    remove_at(a[1], 0);
    remove_at(b[0], 7);
    b[0].compared.requests[2].ok = false;
    const std::vector<PairedRequest> requests = paired_requests(a, b);
    ASSERT_EQ(requests.size(), 198U);
    EXPECT_EQ(requests.front().row, 1U);
    const double first = made_side(1).compared.requests[1].values[ttft];
    EXPECT_DOUBLE_EQ(requests[0].a[ttft], 1.1 * first);  // the mean of its runs
    EXPECT_NEAR(requests[0].ratio(RowValue::ttft), 2 / 1.1, 1e-12);
    EXPECT_TRUE(std::isnan(requests[1].ratio(RowValue::ttft)));  // row 2 has failed in B
    EXPECT_TRUE(std::isnan(requests[0].ratio(RowValue::tpot)));
    for (const PairedRequest& one : requests) {
        EXPECT_NE(one.row, 7U);
    }
}

TEST(PairedRequests, ListsThoseThatChangedMost) {
    const std::vector<PlayedRun> a{made_side(1)};
    std::vector<PlayedRun> b{made_side(1)};
    b[0].compared.requests[30].values[ttft] *= 3;
    b[0].compared.requests[20].values[ttft] /= 4;
    const std::vector<PairedRequest> most = most_changed(paired_requests(a, b), RowValue::ttft, 2);
    ASSERT_EQ(most.size(), 2U);
    EXPECT_EQ(most[0].row, 20U);
    EXPECT_EQ(most[1].row, 30U);
}

TEST(PairedRequests, GroupsHaveTheirOwnMedian) {
    const std::vector<PlayedRun> a{made_side(1)};
    std::vector<PlayedRun> b{made_side(1)};
    for (std::size_t i = 100; i < 200; ++i) {  // the long prompts, the later half
        b[0].compared.requests[i].values[ttft] *= 1.5;
    }
    ComparisonOptions options;
    options.resamples = 200;
    const std::vector<ChangeView> views =
        where_it_changed(paired_requests(a, b), RowValue::ttft, options);
    ASSERT_EQ(views.size(), 2U);  // no turns, no forecast of hits
    EXPECT_EQ(views[0].by, "input tokens");
    ASSERT_EQ(views[0].groups.size(), 2U);
    EXPECT_EQ(views[0].groups[0].name, "to 100");
    EXPECT_EQ(views[0].groups[0].rows, 100U);
    EXPECT_NEAR(views[0].groups[0].ratio, 1, 1e-12);
    EXPECT_EQ(views[0].groups[1].name, "to 1,000");
    EXPECT_NEAR(views[0].groups[1].ratio, 1.5, 1e-12);
    EXPECT_EQ(views[1].by, "due");
    EXPECT_NEAR(views[1].groups.front().ratio, 1, 1e-12);
    EXPECT_NEAR(views[1].groups.back().ratio, 1.5, 1e-12);
}

TEST(PairedRequests, CountsAnswersThatChanged) {
    PlayedRun a = made_side(1);
    PlayedRun b = made_side(1);
    for (std::uint64_t i = 0; i < 10; ++i) {
        a.rows[i].output_digest = i;
        b.rows[i].output_digest = i < 3 ? i + 100 : i;
    }
    b.compared.requests[9].ok = false;
    const OutputChanges changes = output_changes(a, b);
    EXPECT_EQ(changes.known, 9U);
    EXPECT_EQ(changes.changed, 3U);
}

}  // namespace
}  // namespace driftless
