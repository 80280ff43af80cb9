/// SynthOptions: what the user asked of `driftless synth`, as plain values.
///
/// Made once by `parse_synth_options`. Parsing touches no file: laws that name one have no bins
/// yet.
#pragma once

#include <string>
#include <vector>

#include "engine/synth/spec.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

struct SynthOptions {
    std::string name;  ///< of the kind, with its pattern: "stress-reuse"
    SynthSpec spec;
    const TraceTarget* target = nullptr;  ///< never nullptr after parsing
    std::string out;                      ///< a file that must not be there, or "-"
};

/// What came of a command line.
struct SynthCommandLine {
    enum class Kind : std::uint8_t {
        run,      ///< `options` is complete
        help,     ///< `text` is the help, for standard output; exit 0
        refused,  ///< `text` is one line for standard error; exit 2
    };
    Kind kind = Kind::run;
    std::string text;
    SynthOptions options;
};

/// The words that may follow "synth", each with flags of its own: "random", "stress reuse".
std::vector<std::string> synth_kinds();

/// Parses everything after the command's name.
SynthCommandLine parse_synth_options(const std::vector<std::string>& arguments);

}  // namespace driftless
