/// RecordedPace: how long recorded answers took for their tokens, where that is known. Other
/// answers are assumed to have had the same pace.
#pragma once

#include <cstdint>

namespace driftless {

class RecordedPace {
  public:
    /// An answer of so many tokens, at least one, took so long (ns).
    void add(std::int64_t length_ns, std::uint64_t tokens);

    /// What an answer of so many tokens takes, in ns; 0 where none was added.
    std::int64_t of(std::uint32_t answer_tokens) const;

  private:
    std::int64_t answers_ns_ = 0;
    std::uint64_t tokens_ = 0;
};

}  // namespace driftless
