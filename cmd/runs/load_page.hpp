/// The page of a search or a sweep: load against each figure, what must hold of it, the knee, and a
/// link to the page of each run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/runs/find.hpp"
#include "cmd/runs/sweep.hpp"

namespace driftless {

/// A figure of one run: ms, a share from 0 to 1, or a number; the client may have moved it so far.
struct LoadValue {
    std::optional<double> value;
    std::optional<ErrorBar> bar;
};

struct LoadPoint {
    double load = 0;
    std::string name;                ///< "rate 12.5 seed 1"
    std::string group;               ///< what else differs; empty: nothing
    std::string outcome;             ///< "meets", "fails"; anything else: it says nothing
    std::string why;                 ///< of an outcome that the figures do not show
    std::string run;                 ///< its folder, below that of the page
    std::vector<LoadValue> figures;  ///< [limits]
};

/// What one chart shows.
struct LoadLimit {
    std::string condition;        ///< "ttft:p99<2s", or a figure alone
    std::optional<double> bound;  ///< in the unit of its values
};

struct LoadPage {
    std::string command;  ///< "find"
    std::string title;
    std::string over;                                        ///< "rate"
    std::string unit;                                        ///< "a second"; may be empty
    std::vector<std::pair<std::string, std::string>> facts;  ///< a label and what is said of it
    std::vector<LoadLimit> limits;
    Knee knee;
    std::vector<LoadPoint> points;
};

LoadPage page_of_search(const SearchReport& report);

/// Over the first axis all of whose values are numbers; nothing where there is none. Limits are the
/// --fail-if of its runs, else some latencies. Reads their summaries from `folder`.
std::optional<LoadPage> page_of_sweep(const Ledger& ledger, const std::string& folder);

/// Writes `folder`/NAME, says so, and that it could not.
void write_load_page(const LoadPage& page, const std::string& folder, std::string_view name);

}  // namespace driftless
