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

    /// One of them has standard output for itself.
    bool take_stdout() const { return json == "-" || markdown == "-" || junit == "-"; }
};

/// `exit_done` where no file is there yet that would be written; prints which one is.
int check_exports(const CompareExports& exports);

/// Writes what was asked for; of a refused comparison all but the page. Returns the exit code; what
/// failed is printed.
int write_exports(const CompareExports& exports, const Comparison& comparison, bool unsure_fails);

}  // namespace driftless
