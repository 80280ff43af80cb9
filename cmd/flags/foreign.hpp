/// Foreign: flags of other replay tools that mean something here, but are more than another name.
///
/// The example commands of trace-replayer, of the trace replay of UCM (built on vllm bench), of
/// AIPerf and of GuideLLM run as they stand: each flag becomes ours, or is ignored with a line that
/// says why. What would change the load and has no counterpart is refused. Pure; opens no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/flags/spelling.hpp"

namespace driftless {

/// ForeignRates: what the command lines of other tools say of rates and of requests that are open
/// at once. One flag rarely says all of it: `finish` puts them together.
///
/// vllm bench and SGLang: a rate and a cap, or with an infinite rate a closed loop. GuideLLM: the
/// profile says what its rate is. Pure; opens no file.
class ForeignRates {
  public:
    explicit ForeignRates(ForeignTool tool) : tool_(tool) {}

    /// As Foreign::take.
    std::optional<std::size_t> take(std::string_view typed, const std::string* next, Spelled& out);
    /// GuideLLM's `--profile`, or `--rate-type`.
    void take_profile(const std::string& flag, std::string_view value, Spelled& out);
    /// After the last argument.
    void finish(Spelled& out);

    ForeignTool tool() const { return tool_; }
    /// Rows arrive at a rate, or one behind another: recorded times say nothing. After `finish`.
    bool arrive() const { return arrive_; }
    /// How far GuideLLM's replay profile stretches its trace; empty: not at all. After `finish`.
    const std::string& stretch() const { return stretch_; }

  private:
    std::string get(std::string_view name) const;
    bool has(std::string_view name) const { return said_.contains(name); }
    void refuse_unknown(const std::string& flag, Spelled& out) const;
    void finish_rate(Spelled& out);
    void finish_ramp(Spelled& out);
    void finish_profile(Spelled& out);
    void finish_arrivals(Spelled& out, const std::string& rate);
    void finish_loop(Spelled& out, const std::string& rate);
    void add_cap(Spelled& out, const std::string& cap, const char* why);
    void add_rate(Spelled& out, const std::string& rate, const std::string& law);
    void add_loop(Spelled& out, const std::string& open);
    std::string drawn_law(bool scales) const;

    ForeignTool tool_;
    std::map<std::string_view, std::string> said_;  ///< names are those of the table
    std::string profile_flag_;                      ///< as typed
    std::string profile_;                           ///< its kind; empty: none was given
    std::string stretch_;
    bool arrive_ = false;
};

/// Collects what foreign flags say; knows nothing of CLI11 and its rules.
class Foreign {
  public:
    Foreign(const std::vector<std::string>& arguments, ForeignTool tool);

    /// Takes a flag that is foreign here. `next` is what stands behind it, or nullptr. Returns how
    /// many arguments behind the flag were its value (0 or 1); nothing where it is no such flag.
    std::optional<std::size_t> take(std::string_view typed, const std::string* next, Spelled& out);

    /// After the last argument: what several flags said together.
    void finish(Spelled& out);

  private:
    using Translation = void (Foreign::*)(std::string_view value, Spelled& out);
    struct Translated {
        std::string_view typed;
        Translation translate;
    };
    static const Translated translations[];

    bool is_ours(std::string_view typed, const std::string* next) const;
    void take_dataset_type(std::string_view value, Spelled& out);
    void take_api(std::string_view value, Spelled& out);
    void take_start_offset(std::string_view value, Spelled& out);
    void take_end_offset(std::string_view value, Spelled& out);
    void take_route(std::string_view value, Spelled& out);
    void take_trace_mode(std::string_view value, Spelled& out);
    void take_profile(std::string_view value, Spelled& out);
    void take_rate_type(std::string_view value, Spelled& out);
    void take_backend(std::string_view value, Spelled& out);
    void take_data(std::string_view value, Spelled& out);
    void take_data_arguments(std::string_view value, Spelled& out);
    void take_constraint(std::string_view value, Spelled& out);
    void take_dataset_name(std::string_view value, Spelled& out);
    void take_ready_check(std::string_view value, Spelled& out);
    void take_slowdown(std::string_view value, Spelled& out);
    void take_rounds(std::string_view value, Spelled& out);

    static void note_questions(Spelled& out);
    void note_column(std::string_view name, std::string_view value, Spelled& out);
    void add_columns(Spelled& out) const;
    void add_times(Spelled& out) const;

    ForeignRates rates_;
    bool has_dataset_path_ = false;
    // GuideLLM's data, said by several flags.
    std::string data_;   ///< as typed
    std::string kind_;   ///< "trace_synthetic", "mooncake", "weka"; empty: not said
    std::string scale_;  ///< seconds of due time per unit of trace time
    std::string time_column_ = "timestamp";
    std::string input_column_ = "input_length";
    std::string output_column_ = "output_length";
    std::string ids_column_ = "hash_ids";
};

// How many rows a synthetic data set needs, where its tool makes prompts for as long as its run
// lasts. Pure.

/// Rows of one pass of a closed loop that ends with a time: behind them the next pass begins, whose
/// prompts are others.
inline constexpr const char* pass_rows = "10000";
/// More rows than these are not made for a rate and a time: they would not fit into memory.
inline constexpr double timed_rows_max = 1e8;

/// The number of rows: what `--limit` says; else those that a rate has due within `--duration`,
/// with some to spare, as the time cuts them; else, where a closed loop ends with `--for`,
/// `pass_rows`, and `--recycle`; else `standard`, which may be empty. Looks at arguments in our
/// spelling, after all that say a rate or a time.
std::string made_rows(Spelled& out, const std::string& standard);

/// SyntheticFlags: the synthetic data sets that command lines of other tools ask for.
///
/// `vllm bench serve`, SGLang's bench_serving, AIPerf and GuideLLM make prompts of random lengths.
/// Their flags become one argument, "synth:KIND FLAGS" (cmd/flags/synth.hpp), and a note says
/// which `driftless synth` line writes the same trace. Names mean what the tool that the line names
/// means by them: agentic-rules.md 5.3. Pure.
class SyntheticFlags {
  public:
    explicit SyntheticFlags(ForeignTool tool) : tool_(tool) {}

    /// Takes a flag of a data set. `value`: what stands behind its '='; `behind`: the arguments
    /// that follow. Returns how many of those were its value; nothing where it is no such flag.
    std::optional<std::size_t> take(std::string_view typed, const std::string* value,
                                    std::span<const std::string> behind);
    /// After the last argument, and before all other translations: whether rows are made.
    /// `names_data`: the line has a trace, or names a data set that is none of these.
    void prepare(bool names_data, Spelled& out);
    /// After all other translations.
    void finish(Spelled& out);

  private:
    struct Given {
        std::string value;
        std::string typed;
        bool read = false;  ///< the data set goes by it
    };
    bool has(std::string_view name);
    std::string get(std::string_view name, std::string_view standard);
    std::string vllm(Spelled& out);
    std::string sglang(Spelled& out);
    std::string shared_prefix(Spelled& out);
    std::string aiperf(Spelled& out);
    std::string aiperf_rows(Spelled& out);
    std::string guidellm(Spelled& out);
    void note_unread(Spelled& out) const;

    ForeignTool tool_;
    std::map<std::string, Given, std::less<>> given_;  ///< by the first of a flag's names
};

}  // namespace driftless
