// The distance of two samples is SciPy's (tests/data/statistics/make.py).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cmd/reading/inspect.hpp"
#include "cmd/report/readings.hpp"
#include "proto/json/document.hpp"

namespace driftless {
namespace {

std::vector<double> numbers_in(JsonValue list) {
    std::vector<double> values;
    for (JsonValue one = list.first(); one.present(); one = one.next()) {
        values.push_back(*one.as_double());
    }
    return values;
}

TEST(Fidelity, DistanceIsThatOfKolmogorovAndSmirnov) {
    std::ifstream file(TEST_DATA "/statistics/golden.json");
    std::stringstream text;
    text << file.rdbuf();
    const std::string json = text.str();
    JsonDocument document;
    const JsonValue cases = document.parse(json).value().find("distance");
    ASSERT_EQ(cases.size(), 4U);
    for (JsonValue one = cases.first(); one.present(); one = one.next()) {
        const double found =
            greatest_distance(numbers_in(one.find("a")), numbers_in(one.find("b")));
        EXPECT_NEAR(found, *one.find("distance").as_double(), 1e-12) << one.raw();
    }
}

}  // namespace
}  // namespace driftless
