/// Which files a TRACE argument names, in which order, and what the trace is called.
///
/// It looks at names and at what folders hold; it opens no file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/core/result.hpp"

namespace driftless {

/// Less-than of names in which runs of digits compare as numbers: trace_2 before trace_10.
bool numeric_less(std::string_view a, std::string_view b);

/// The name ends as traces do: .jsonl, .json, .ndjson, .csv, also with .gz, .bz2, .xz, .zst behind.
bool has_trace_ending(std::string_view name);

/// The files of a folder that end as traces do, in numeric order, with the folder's path in front;
/// a path that is no folder (and "-") is itself. Hidden files and subfolders are left out. Errors:
/// not_found, denied, missing (a folder without traces), io_failed.
Result<std::vector<std::string>> expand_path(const std::string& path);

/// File name without folder and endings; "stdin" for "-".
std::string trace_name(std::string_view path);

}  // namespace driftless
