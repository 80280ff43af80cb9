/// What most tests expect of a whole run: that it keeps the laws, and that all of its rows are ok.
#pragma once

#include "tests/sim/laws.hpp"
#include "tests/test.hpp"

namespace driftless::sim {

/// The result, whose laws hold.
template <typename Result>
Result lawful(Result result) {
    EXPECT_EQ(broken_laws(result), "");
    return result;
}

/// The same; and no row has failed.
template <typename Result>
Result all_ok(Result result) {
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok) << "row " << record.row;
    }
    return lawful(std::move(result));
}

}  // namespace driftless::sim
