/// Foreign: flags of other replay tools that mean something here, but are more than another name.
///
/// The example commands of trace-replayer, of the trace replay of UCM (built on vllm bench), of
/// AIPerf and of GuideLLM run as they stand: each flag becomes ours, or is ignored with a line that
/// says why. What would change the load and has no counterpart is refused. Pure; opens no file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/replay/flags/foreign_rates.hpp"
#include "cmd/replay/flags/program_words.hpp"
#include "cmd/replay/flags/spelling.hpp"

namespace driftless {

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

}  // namespace driftless
