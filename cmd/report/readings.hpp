/// Readings: what `report` makes of the records beside the summary: another tool's view, tables by
/// group, the steady part, why rows are slow. What was asked for, and printing it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cmd/report/groups.hpp"
#include "cmd/report/reported_run.hpp"
#include "engine/stats/goodput.hpp"
#include "engine/stats/why_records.hpp"
#include "engine/views/view.hpp"

namespace driftless {

struct ReportReadings {
    const View* view = nullptr;  ///< nullptr: none
    std::vector<GroupKey> by;
    GoodputRules slos;  ///< before those of the run; of some rows each is a table, too
    bool steady = false;
    std::optional<WhyWish> why;
    bool trees = false;
    bool certificate = false;
    std::string against;  ///< a trace; empty: none

    /// A table by group.
    bool any_groups() const {
        return !by.empty() || std::any_of(slos.begin(), slos.end(), [](const GoodputRule& one) {
            return one.key.has_value();
        });
    }
    /// Any that stands below the summary.
    bool any_below() const {
        return any_groups() || steady || why.has_value() || trees || certificate ||
               !against.empty();
    }
};

/// What readings say.
struct ReadingTexts {
    std::string screen;   ///< below the summary, or instead of it where `own_screen`
    std::string members;  ///< of the JSON object, each with a comma before it
    std::string notes;    ///< lines for standard error
    std::string by_csv;   ///< empty: no groups
    bool own_screen = false;
};

/// Errors: a line for standard error, else the empty text.
std::string take_readings(const ReportReadings& readings, const ReportedRun& run, bool json,
                          ReadingTexts& out);

/// The summary's JSON with further members.
std::string with_members(const std::string& summary, const std::string& members);

/// The names of `--view`, for its help and its error.
std::string view_names();
/// Errors: invalid.
Result<const View*> parse_view(std::string_view text);

}  // namespace driftless
