// The distance of two samples is SciPy's (tests/data/statistics/make.py).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cmd/reading/trace_figures.hpp"
#include "cmd/report/report.hpp"
#include "proto/json/document.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

TEST(Fidelity, DistanceIsThatOfKolmogorovAndSmirnov) {
    const JsonText golden(read_bytes(TEST_DATA "/statistics/golden.json"));
    const JsonValue cases = golden.root.find("distance");
    ASSERT_EQ(cases.size(), 4U);
    for (JsonValue one = cases.first(); one.present(); one = one.next()) {
        const double found =
            greatest_distance(numbers_of(one.find("a")), numbers_of(one.find("b")));
        EXPECT_NEAR(found, *one.find("distance").as_double(), 1e-12) << one.raw();
    }
}

}  // namespace
}  // namespace driftless
