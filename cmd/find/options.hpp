/// FindOptions: what the user asked of `driftless find`, as plain values.
///
/// Made once by `parse_find_options`. Parsing touches no file and no server: flags behind `--` are
/// replay's to check.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/find/slo.hpp"
#include "engine/knee/search.hpp"

namespace driftless {

/// Loads that can be typed. A search that is given no --low goes 1,024 times as far down.
inline constexpr double load_min = 1e-9;
inline constexpr double load_max = 1e6;

/// What a load is made of. The flag of replay has the same name.
struct LoadAxis {
    std::string_view name;
    bool whole = true;
    const char* unit = "";  ///< behind a value on the screen
};

struct FindOptions {
    const LoadAxis* over = nullptr;  ///< never nullptr after parsing
    Slos slos;
    SearchRules rules;
    std::uint64_t seed = 0;
    std::string out;     ///< empty: a folder of its own below runs/
    std::string resume;  ///< folder of a search that was cut off; then nothing else is set
    std::vector<std::string> traces;  ///< as they were typed
    std::vector<std::string> urls;
    std::vector<std::string> replay_flags;  ///< what stands behind `--`
    bool salted = false;                    ///< replay_flags have a --cache-salt
};

struct FindCommandLine {
    enum class Kind : std::uint8_t {
        run,      ///< `options` is complete
        help,     ///< `text` is the help, for standard output; exit 0
        refused,  ///< `text` is one line for standard error; exit 2
    };
    Kind kind = Kind::run;
    std::string text;
    FindOptions options;
};

/// Parses everything after the command's name.
FindCommandLine parse_find_options(const std::vector<std::string>& arguments);

/// Whether `--name` or `--name=value` is among the words of a command line.
bool has_flag(const std::vector<std::string>& flags, std::string_view name);

/// A load as it stands in a flag, in a file and on the screen: "12", "3.25".
std::string load_text(double value);

}  // namespace driftless
