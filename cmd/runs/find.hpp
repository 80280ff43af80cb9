/// `driftless find`: the highest load at which a server meets an SLO.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/reading/knee.hpp"
#include "proto/core/result.hpp"
#include "proto/figures/thresholds.hpp"

namespace driftless {

/// `argv[0]` is the command's name. Returns the exit code.
int run_find(int argc, char** argv);

// SLOs as people type them: "ttft:p99<2s tpot:p95<50ms errors<0.1%". Each says what a run must
// keep; a run fails where its opposite holds, which is a `--fail-if` of the replay. Pure.

struct Slo {
    std::string text;         ///< as it was typed, without blanks: "ttft:p99<2s"
    std::string fail_if;      ///< its opposite: "ttft:p99>=2s"
    Threshold threshold;      ///< of `fail_if`
    std::uint64_t floor = 1;  ///< independent values that its percentile needs (distribution.hpp)
};

struct Slos {
    std::vector<Slo> list;
    std::uint64_t rows_min = 1;  ///< the highest floor
};

/// Failed requests are in no percentile, so that a server that refuses everything would be fast:
/// where the SLO says nothing of errors, this is a part of it.
inline constexpr std::string_view errors_slo = "errors<1%";

/// Conditions with blanks or commas between them. Errors: invalid; the `doing` is a clause with the
/// remedy.
Result<Slos> parse_slos(std::string_view text);

// FindOptions: what the user asked of `driftless find`, as plain values.
//
// Made once by `parse_find_options`. Parsing touches no file and no server: flags behind `--` are
// replay's to check.

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

// The window of a search: the flag of its replays that says how long one lasts, and by how much it
// is lengthened. Pure.

class Window {
  public:
    /// Looks for `--for` or `--duration` among the flags of a replay; the last one counts.
    explicit Window(std::vector<std::string> replay_flags);

    /// Whether there is a time that can still be lengthened: it is below `longest` times what was
    /// typed.
    bool can_grow() const;
    /// Lengthens it so that a run that had `rows` would have `wanted`, with a fifth to spare.
    void grow(std::uint64_t rows, std::uint64_t wanted);

    /// The flags with the window as it is now.
    std::vector<std::string> flags() const;
    /// "20s"; empty where there is none.
    std::string text() const;

    static constexpr double longest = 64;  ///< times what was typed

  private:
    std::vector<std::string> flags_;
    std::size_t at_ = 0;         ///< index of the word that holds the time
    std::string before_;         ///< of that word: "--for=", or nothing
    std::int64_t typed_ns_ = 0;  ///< 0: there is none
    double times_ = 1;
};

}  // namespace driftless
