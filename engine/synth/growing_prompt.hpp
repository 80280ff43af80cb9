/// GrowingPrompt: the block ids of a prompt that grows.
///
/// Full blocks have ids, the partial one at the end has none. A prompt begins with blocks that
/// others have, too, and gets fresh ids for what it adds. Ids are kept as ranges: memory follows
/// the number of times that it grew. Copyable: a copy goes on with fresh ids of its own.
#pragma once

#include <cstdint>
#include <vector>

namespace driftless {

/// Hands out block ids, each once.
struct FreshIds {
    std::uint64_t next = 0;
    std::uint64_t take(std::uint64_t count) {
        next += count;
        return next - count;
    }
};

class GrowingPrompt {
  public:
    explicit GrowingPrompt(std::uint32_t block_size) : block_size_(block_size) {}

    /// Begins anew with the full blocks of the first `tokens` tokens, whose ids go from `first` on.
    void begin(std::uint64_t first, std::uint64_t tokens);
    /// Fresh ids for all further full blocks of a prompt of `tokens` tokens.
    void grow(std::uint64_t tokens, FreshIds& fresh);
    /// Appends all ids.
    void write(std::vector<std::uint64_t>& ids) const;

    std::uint64_t blocks() const { return blocks_; }

  private:
    struct Range {
        std::uint64_t first = 0;
        std::uint64_t count = 0;
    };
    std::uint32_t block_size_;
    std::uint64_t blocks_ = 0;
    std::vector<Range> ranges_;
};

}  // namespace driftless
