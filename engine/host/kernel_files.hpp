/// Small files of the kernel: /proc and /sys, a line or a number each. For what is read once and
/// shown; nothing on the hot path. A file that is not there is an answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace driftless {

/// Its first line, at most 4 KiB; empty where it cannot be read.
std::string kernel_line(const std::string& path);

/// The number that its first line begins with, after blanks; nothing where there is none.
std::optional<std::int64_t> kernel_number(const std::string& path);

/// The same for the n-th number of the line, from 0.
std::optional<std::int64_t> kernel_number(const std::string& path, int index);

}  // namespace driftless
