/// The files that `compare` writes beside its screen: which were asked for, and writing them.
#pragma once

#include <string>

#include "cmd/compare/comparison.hpp"

namespace driftless {

/// Paths as typed; empty: not asked for. "-" is standard output.
struct CompareExports {
    std::string json;
    std::string markdown;
    std::string junit;
    std::string html;  ///< a file, never "-"

    /// One of them goes to standard output, which then carries nothing else.
    bool take_stdout() const { return json == "-" || markdown == "-" || junit == "-"; }
};

/// `exit_done` if none of the files exists yet; otherwise prints which one does, and returns
/// `exit_usage`.
int check_exports(const CompareExports& exports);

/// Writes what was asked for; of a refused comparison all but the page. Returns the exit code; what
/// failed is printed.
int write_exports(const CompareExports& exports, const Comparison& comparison, bool unsure_fails);

}  // namespace driftless
