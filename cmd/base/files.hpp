/// Files and folders of commands: how they are made, written whole, and refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/compressed_files.hpp"
#include "proto/core/errors.hpp"
#include "proto/trace/row.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

/// What may help against a refusal of the host, with "; " before it; empty: nothing is known.
const char* host_remedy(int sys_errno);

/// Prints `what` and the error, with what the system says of it; returns `exit_host`.
int fail_host(const char* what, const Error& error);

/// `exit_done` where nothing is at that path, where it is "-", or where `force` may replace the
/// file that is there: an empty one, or an earlier export, which begins as it does (without
/// `begins`, any regular file); else prints that a new file must be named, and returns
/// `exit_usage`.
int refuse_existing_file(const char* flag, const std::string& path, bool force = false,
                         std::string_view begins = "");

/// Makes such a file by `write`, which gets the place for it, prints what it cannot do and returns
/// the exit code. One that `force` replaces stays whole until then. Returns the exit code.
int write_export(const char* flag, const std::string& path, bool force,
                 const std::function<int(const std::string& place)>& write);

/// Prints why the file that a flag names cannot be made. Returns `exit_usage` if it exists already,
/// else `exit_host`.
int fail_new_file(const char* flag, const std::string& path, const Error& error);

/// The same with this text; "-": standard output.
int write_new_file(const char* flag, const std::string& path, const std::string& text,
                   bool force = false);

/// A new file that a flag names, written in pieces. It remembers its first error and writes nothing
/// more then.
class ExportFile {
  public:
    /// Makes the file.
    ExportFile(const char* flag, std::string path);
    /// Writes `text`, once it is long enough.
    void drain() { text.size() >= write_bytes ? flush() : void(); }
    /// Writes the rest. The exit code; what failed has been printed.
    int finish();
    int code() const { return code_; }

    std::string text;  ///< that is not in the file yet; the caller appends to it

  private:
    static constexpr std::size_t write_bytes = std::size_t{256} << 10;
    void flush();
    void keep(const Result<void>& done);

    const char* flag_;
    std::string path_;
    std::optional<OutputSink> sink_;
    int code_;
};

/// A file that a command makes when it has its result.
struct NewText {
    const char* flag;
    const std::string& path;  ///< as typed; empty: not asked for; "-": standard output
    /// Its text; where it cannot be made, that is printed, and the argument is the exit code.
    std::function<std::string(int& code)> make;
};
/// As refuse_existing_file, of all of them.
int refuse_existing_files(std::span<const NewText> files, bool force);
/// As write_new_file, up to the first that fails.
int write_new_files(std::span<const NewText> files, bool force);
/// How many of them go to standard output.
std::ptrdiff_t files_on_stdout(std::span<const NewText> files);

/// What a command with a result writes for a CI system, as typed; empty: not asked for.
struct CiFiles {
    std::string markdown;
    std::string junit;
    bool force = false;  ///< a file that is there is replaced, of other flags, too
};
/// How they begin.
inline constexpr const char* markdown_begins = "## driftless";
inline constexpr const char* junit_begins = "<?xml version";

/// Prints that another run has the folder; returns `exit_usage`.
int refuse_folder(const std::string& folder);

/// Prints that the folder is there or another run has it (`exit_usage`), or why it cannot be made
/// (`exit_host`).
int fail_folder(const std::string& folder, const Error& error);

/// Whether files and folders can be made at that path: makes an empty folder in the deepest one
/// above it that is there, and removes it again. Errors: those of mkdir.
Result<void> try_place(const std::string& path);

/// A path as it was typed, without slashes at its end.
std::string without_slashes(std::string path);

/// Makes the folders above a path that are missing. errno says why not.
bool make_folders_above(const std::string& path);

/// A new folder, with those above it. errno says why not.
bool make_folder(const std::string& path);

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

/// Writes all rows of a trace to a new file or to standard output, then says on `say` what the
/// format could not hold and what was written. `path` is what `--out` names. Returns the exit code;
/// what failed is printed.
int write_trace(const Trace& trace, const TraceTarget& target, std::vector<WrittenRow> rows,
                const std::string& path, std::FILE* say);

/// Why a trace is refused, on standard error: a line for each error that is listed, and then how
/// many more there are.
void print_errors(const InputErrors& errors);

/// Why no row is selected, with the length of the trace; further flags of the command may follow:
/// "no row of the trace is selected: its last row comes at 11.750 s; widen --start, --end".
std::string nothing_selected(const Trace& trace);

}  // namespace driftless
