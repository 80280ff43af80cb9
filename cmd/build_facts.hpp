/// What the program was built from, written by CMake on each build (cmd/build_facts.cmake). Only
/// the program itself is linked with it, so that a new commit rebuilds no library and no test.
#pragma once

namespace driftless {

struct BuildFacts {
    const char* commit;    ///< "b349bd9d41c2", "-dirty" behind it; empty: not built from git
    const char* date;      ///< of the commit, or of the build: "2026-11-25"
    const char* compiler;  ///< "GNU 12.2.0"
    const char* mode;      ///< MODE, "release"
};

const BuildFacts& build_facts();

}  // namespace driftless
