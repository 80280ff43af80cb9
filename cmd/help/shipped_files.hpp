/// The files that a user needs beside the program: profiles for containers, manifests, schemas,
/// rule sets, pages. They are put into the program when it is built (cmd/help/files.cmake lists
/// them), so that they are there for someone who has nothing but the program.
#pragma once

#include <span>
#include <string_view>

namespace driftless {

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
