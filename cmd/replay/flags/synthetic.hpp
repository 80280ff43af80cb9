/// SyntheticFlags: the synthetic data sets that command lines of other tools ask for.
///
/// `vllm bench serve`, SGLang's bench_serving, AIPerf and GuideLLM make prompts of random lengths.
/// Their flags become one argument, "synth:KIND FLAGS" (cmd/synth/made_trace.hpp), and a note says
/// which `driftless synth` line writes the same trace. Names mean what the tool that the line names
/// means by them: agentic-rules.md 5.3. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cmd/replay/flags/program_words.hpp"
#include "cmd/replay/flags/spelling.hpp"

namespace driftless {

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
