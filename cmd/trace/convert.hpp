/// `driftless convert`: a trace in, the same or another format out; crop, sample, scale, overlay.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/load.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/trace_file.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

/// Returns the exit code. `argv[0]` is the command's name.
int run_convert(int argc, char** argv);

// ConvertOptions: what the user asked of `driftless convert`, as plain values.
//
// Made once by `parse_convert_options`. Parsing touches no file.

/// `--from-logs`: what is read are logs of requests, not a trace.
struct LogOptions {
    bool wanted = false;
    std::string format;     ///< `--log-format`; empty: detected
    std::string tokenizer;  ///< a file
    std::string salt_file;  ///< one of these two is given
    std::string salt_env;
};

struct ConvertOptions {
    TraceFiles files;
    LogOptions logs;
    LoadOptions load;
    PlanOptions plan;
    std::string speed_text;
    const TraceTarget* target = nullptr;  ///< never nullptr after parsing
    std::string out;                      ///< a file that must not be there, or "-"
};

/// What came of a command line.
struct ConvertCommandLine {
    enum class Kind : std::uint8_t {
        run,      ///< `options` is complete
        help,     ///< `text` is the help, for standard output; exit 0
        refused,  ///< `text` is one line for standard error; exit 2
    };
    Kind kind = Kind::run;
    std::string text;
    ConvertOptions options;
};

/// Parses everything after the command's name.
ConvertCommandLine parse_convert_options(const std::vector<std::string>& arguments);

// The secret salt of `--from-logs`: read from a file or the environment, never from the command
// line, where others could see it.

/// Fewest bytes of a salt: a guess among 2^64 or more, with room for letters and digits.
inline constexpr std::size_t salt_bytes_min = 16;
inline constexpr std::size_t salt_bytes_max = 4096;

/// Reads the salt from `file`, or, if that is empty, from the environment variable `variable`;
/// blanks and newlines at its end do not count. Returns the empty text, or one line that says why
/// there is no salt and what to do.
std::string read_salt(const std::string& file, const std::string& variable, std::string& salt);

}  // namespace driftless
