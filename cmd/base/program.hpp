/// The program and its process: version, what it was built from, the files that it brings along;
/// its descriptors and environment, how it is stopped, what guards the terminal; and what came of
/// a command line.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/fd.hpp"

namespace driftless {

/// "0.1.0", as `--version` and run.json give it; from CMakeLists.txt. Static storage.
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

/// What every command needs before it begins, and an error message for each way to end early.
/// Called by main, once; reads no flag and opens no file of the user's.
///
/// Opens standard descriptors that are closed (`>&-`): otherwise the next file that is opened gets
/// the number, and text for the screen goes into it. Input and errors become /dev/null; output
/// becomes /dev/full, so that what cannot be printed is an error of the command. A file at its
/// limit (`ulimit -f`) becomes an error of the write that meets it, not a signal. Without memory
/// the process ends with `exit_host` and says so. A small stack (`ulimit -s`) is enlarged up to the
/// hard limit, also for threads that are made later. Returns false if the descriptors cannot be
/// opened; prints why if the stack stays too small.
bool settle_process();

/// Whether standard output was closed when the process began.
bool stdout_was_closed();

/// Stack that is enough for every command: about four times the deepest use that was measured.
inline constexpr unsigned long stack_bytes_min = 1 << 20;

/// Overwrites the value of every `name` in the environment, which /proc/PID/environ and core dumps
/// show, and takes the name away: neither we nor processes that we start find it later. A copy that
/// a caller made stays, and so does the environment of the shell that started us. Only for the
/// beginning of a process, while it has one thread.
void wipe_variable(const std::string& name);

// How often the user has asked to stop: SIGINT, SIGTERM and SIGHUP, counted. The one thing in the
// program that a signal handler touches.

/// From here on SIGINT, SIGTERM and SIGHUP end the process with exit code 130, at once; and SIGPIPE
/// and SIGXFSZ are ignored.
void catch_stop_signals();

/// From here on the first two are counted instead, for those who look at the count: handlers
/// interrupt system calls, so a sleeping loop wakes. Only the third ends the process.
void count_stop_requests();

/// The count. Lock-free; lives as long as the program.
const std::atomic<int>& stop_requests();

/// Quiet: standard output leads nowhere until the result is there.
///
/// All commands that run something print alike: standard output has what was chosen, then the
/// result; standard error has progress, warnings and errors. `--quiet` keeps only the result of the
/// former, and only warnings and errors of the latter. Notes are printed in many places; holding
/// back the stream covers all of them.
class Quiet {
  public:
    /// Holds standard output back from here on, if `quiet`.
    explicit Quiet(bool quiet);
    ~Quiet() { end(); }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

    /// What is printed from here on is seen again. Harmless where nothing is held back.
    void end();

  private:
    Fd kept_;  ///< standard output as it was; not open: nothing is held back
};

// Guard: filters our messages on their way to a terminal. They contain names of files and flags,
// and words of traces and servers, which must not move the cursor, reverse the text or hide it.
//
// Called by main, once, before anything is printed. It owns the streams `stdout` and `stderr` from
// then on; what is written to descriptors (the progress line, files) bypasses it.

/// From here on `stderr`, and `stdout` if it is a terminal, show text as `printable_lines` gives
/// it. `stdout` to files and pipes may be data and stays unchanged. A stream that cannot be
/// replaced is left alone.
void guard_screens();

/// Prints one line to `stdout`. What is unprintable, line breaks too, is escaped: a name cannot
/// begin a line of its own.
void print_line(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// The same to `stderr`.
void complain(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// The last line that was printed so and is no warning, without its end; empty: none was.
std::string last_complaint();

/// Writes all of a text to a descriptor. False where that fails; errno says why.
bool write_all(int fd, std::string_view text);

/// Whether it is a terminal that can write over a line, and in colour.
bool can_redraw(int fd);

/// The last lines of what a command of the user printed, each behind "  | ".
std::string last_lines(std::string text);

/// What came of a command line. Each command adds the values that were asked for.
struct CommandLine {
    enum class Kind : std::uint8_t {
        run,      ///< the values are complete
        help,     ///< `text` is the help, for standard output; exit 0
        refused,  ///< `text` is one line for standard error; exit 2
    };
    Kind kind = Kind::run;
    std::string text;

    /// `command`: the words behind the program's name whose help lists the flags, "synth like".
    void refuse(const std::string& command, const std::string& why);

    /// Prints the text. Returns the exit code; nothing where the command is to run.
    std::optional<int> finish() const;
};

}  // namespace driftless
