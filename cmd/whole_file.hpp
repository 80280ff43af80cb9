/// Small files that are written whole or not at all, and how instants stand in them.
#pragma once

#include <cstdint>
#include <string>

#include "proto/core/result.hpp"

namespace driftless {

/// Synced: the file survives a power failure, and the call waits for the disk. Written: it survives
/// the process.
enum class Lasting : std::uint8_t { synced, written };

/// Writes a whole file or leaves the old one: a new file is renamed over it. Errors: those of the
/// file system.
Result<void> write_whole_file(const std::string& path, const std::string& text,
                              Lasting lasting = Lasting::synced);

/// Reads a file that is at most 64 MiB large. Errors: not_found, denied, too_large, io_failed.
Result<std::string> read_whole_file(const std::string& path);

/// The same for a file of a run: refuses what is not a regular file (`invalid`), because reading a
/// FIFO would wait for a writer.
Result<std::string> read_regular_file(const std::string& path);
/// Why it could not be read: "is not a regular file", "cannot be read: Permission denied".
std::string why_unreadable(const Error& error);

/// "2026-11-21T03:45:12.123456789Z".
std::string utc_text(std::int64_t utc_ns);

}  // namespace driftless
