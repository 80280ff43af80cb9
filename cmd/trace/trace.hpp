/// The commands about traces and what each was asked: `driftless convert`, another format, cropped,
/// sampled, scaled or overlaid; `inspect`, what is in a trace; `synth`, a trace without a
/// recording.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/base/program.hpp"
#include "cmd/reading/trace_figures.hpp"
#include "engine/plan/load.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/trace_file.hpp"
#include "proto/trace/row.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

/// `driftless convert`: a trace in, the same or another format out; crop, sample, scale, overlay.
/// Returns the exit code. `argv[0]` is the command's name.
int run_convert(int argc, char** argv);

/// `--from-logs`: what is read are logs of requests, not a trace.
struct LogOptions {
    bool wanted = false;
    std::string format;     ///< `--log-format`; empty: detected
    std::string tokenizer;  ///< a file
    std::string salt_file;  ///< one of these two is given
    std::string salt_env;
};

/// What the user asked of `driftless convert`, as plain values. Parsing touches no file.
struct ConvertOptions {
    TraceFiles files;
    LogOptions logs;
    LoadOptions load;
    PlanOptions plan;
    std::string speed_text;
    const TraceTarget* target = nullptr;  ///< never nullptr after parsing
    std::string out;                      ///< a file that must not be there, or "-"
};

struct ConvertCommandLine : CommandLine {
    ConvertOptions options;
};

/// Parses everything after the command's name.
ConvertCommandLine parse_convert_options(const std::vector<std::string>& arguments);

/// Fewest bytes of the secret salt of `--from-logs`: a guess among 2^64 or more, with room for
/// letters and digits.
inline constexpr std::size_t salt_bytes_min = 16;
inline constexpr std::size_t salt_bytes_max = 4096;

/// Reads the salt from `file`, or, if that is empty, from the environment variable `variable`,
/// never from the command line, where others could see it; blanks and newlines at its end do not
/// count. Returns the empty text, or one line that says why there is no salt and what to do.
std::string read_salt(const std::string& file, const std::string& variable, std::string& salt);

/// `driftless inspect`: what is in a trace, what is wrong with it, what a cache of it could hit.
/// Returns the exit code. `argv[0]` is the command's name.
int run_inspect(int argc, char** argv);

/// What the user asked of `driftless inspect`, as plain values. Parsing touches no file.
struct InspectCommand {
    TraceFiles files;
    InspectOptions inspect;
    bool each = false;              ///< every file is a trace of its own
    bool plot = false;              ///< plots on the screen
    bool json = false;              ///< JSON on standard output instead of the screen
    std::uint64_t token_bytes = 0;  ///< of a token in the KV cache; 0: sizes in tokens only
    std::string hash_block_report;  ///< a file that must not be there, or "-"; empty: none
};

struct InspectCommandLine : CommandLine {
    InspectCommand command;
};

/// What the screen shows of a trace, and in the place of one that is refused.
std::string inspect_table(const Trace& trace, const InspectFigures& figures,
                          const InspectCommand& command);
std::string refused_line(const std::string& name, const InputErrors& errors);

/// Parses everything after the command's name.
InspectCommandLine parse_inspect_options(const std::vector<std::string>& arguments);

/// `driftless synth`: a workload without a recording, as a trace. `argv[0]` is the command's name.
/// Returns the exit code.
int run_synth(int argc, char** argv);

/// What the user asked of `driftless synth like TRACE`: whole trees of a real trace, and how well
/// they keep what it is.
struct LikeCommand {
    TraceFiles files;
    LikeOptions like;
    const TraceTarget* target = nullptr;  ///< never nullptr after parsing
    std::string out;                      ///< a file that must not be there, or "-"
};

struct LikeCommandLine : CommandLine {
    LikeCommand command;
};

/// Parses everything after "synth like". Touches no file.
LikeCommandLine parse_like_options(const std::vector<std::string>& arguments);

}  // namespace driftless
