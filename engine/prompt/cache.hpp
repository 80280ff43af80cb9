/// BlockCache: the bytes of full blocks, so that a block that recurs soon is copied, not computed.
///
/// All memory is taken at the start and never grows. Keys are content keys, and equal keys mean
/// equal bytes whatever the namespace: what it holds changes speed, never bytes. Eight ways to a
/// set, the victim by second chance. Owned by a PromptBuilder; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/prompt/block.hpp"

namespace driftless {

class BlockCache {
  public:
    /// `bytes_max` bounds everything it holds, keys too; 0, or too little for one set: no cache.
    BlockCache(std::size_t bytes_max, std::size_t block_bytes_max);

    /// The block's bytes, valid until the next `store`; empty where it is not held.
    std::string_view find(ContentKey key);

    /// Keeps a copy of a block that `find` did not have. CHECKs its size.
    void store(ContentKey key, std::string_view bytes);

    std::size_t bytes() const;
    std::uint64_t hits() const { return hits_; }
    std::uint64_t misses() const { return misses_; }

  private:
    static constexpr std::size_t ways = 8;
    struct Way {
        ContentKey key;
        std::uint32_t bytes = 0;  ///< 0: empty
        bool used = false;        ///< since the hand last passed
    };
    struct Set {
        Way way[ways];
        std::uint32_t hand = 0;
    };

    Set& set_of(ContentKey key);
    char* place(const Set& set, std::size_t way);

    std::size_t slot_bytes_;
    std::vector<Set> sets_;
    std::vector<char> pool_;  ///< [sets][ways][slot_bytes]
    std::uint64_t hits_ = 0;
    std::uint64_t misses_ = 0;
};

}  // namespace driftless
