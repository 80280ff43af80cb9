/// ConvertOptions: what the user asked of `driftless convert`, as plain values.
///
/// Made once by `parse_convert_options`. Parsing touches no file.
#pragma once

#include <string>
#include <vector>

#include "engine/input/trace_file.hpp"
#include "engine/plan/load.hpp"
#include "engine/plan/plan.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

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

}  // namespace driftless
