/// SentTokens: how many requests and tokens the servers of a run can have counted for it. Sums of
/// plain numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "proto/record/record.hpp"

namespace driftless {

/// A server that counts, and serves this run alone, has counted a number within.
struct CountBounds {
    double least = 0;  ///< of answers that came whole
    double most = 0;   ///< of all that was sent: nobody knows what a server counts of the others
};

class SentTokens {
  public:
    /// A record of any phase.
    void add(const Record& record);

    /// Probes that the servers may have counted: what their prompts and answers cost is not known.
    void add_probes(std::uint64_t probes) {
        requests_.most += static_cast<double>(probes);
        prompts_unknown_ += probes;
        outputs_unknown_ += probes;
    }

    CountBounds requests() const { return requests_; }
    /// Nothing where the client does not know the tokens of a request to the last one.
    std::optional<CountBounds> prompt() const {
        return prompts_unknown_ > 0 ? std::nullopt : std::optional(prompt_);
    }
    std::optional<CountBounds> generated() const {
        return outputs_unknown_ > 0 ? std::nullopt : std::optional(generated_);
    }

  private:
    CountBounds requests_;
    CountBounds prompt_;
    CountBounds generated_;
    std::uint64_t prompts_unknown_ = 0;  ///< whole answers whose server did not say
    std::uint64_t outputs_unknown_ = 0;
};

}  // namespace driftless
