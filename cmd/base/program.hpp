/// The program: its version, what it was built from, and the files that it brings along.
#pragma once

#include <span>
#include <string_view>

namespace driftless {

// The version of the program, as `--version` and `run.json` give it.

/// "0.1.0"; from CMakeLists.txt. Static storage.
const char* version();

// What the program was built from, written by CMake on each build (cmd/build_facts.cmake). Only
// the program itself is linked with it, so that a new commit rebuilds no library and no test.

struct BuildFacts {
    const char* commit;    ///< "b349bd9d41c2", "-dirty" behind it; empty: not built from git
    const char* date;      ///< of the commit, or of the build: "2026-11-25"
    const char* compiler;  ///< "GNU 12.2.0"
    const char* mode;      ///< MODE, "release"
};

const BuildFacts& build_facts();

// The files that a user needs beside the program: profiles for containers, manifests, schemas,
// rule sets, pages. They are put into the program when it is built (cmd/help/files.cmake lists
// them), so that they are there for someone who has nothing but the program.

/// Its texts live as long as the program.
struct ShippedFile {
    std::string_view name;     ///< "seccomp.json"
    std::string_view summary;  ///< one line
    std::string_view text;     ///< the whole file, byte by byte
};
/// In the order in which the help lists them.
std::span<const ShippedFile> shipped_files();

/// nullptr: there is no such file.
const ShippedFile* find_shipped_file(std::string_view name);

}  // namespace driftless
