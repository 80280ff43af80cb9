/// PrefixTree: every distinct prefix of block ids that rows have had, numbered by its first use.
///
/// A prefix stands for a cached block: the block whose content is at the end of it, which a prefix
/// cache can use for no other beginning. A row's prefixes that are there already are those that an
/// infinite cache would hit. Grows with the number of distinct prefixes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/inspect/numbering.hpp"
#include "engine/plan/prefix_set.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class PrefixTree {
  public:
    /// The prefixes of one row, shortest first.
    struct Path {
        std::span<const std::uint32_t> nodes;  ///< valid until the next `enter`
        std::uint32_t known = 0;               ///< so many of the first were there before
    };

    Path enter(const Trace& trace, const TraceRow& row) {
        nodes_.clear();
        std::uint32_t known = 0;
        std::uint64_t prefix = PrefixSet::start(row.name_space);
        for (const std::uint64_t id : trace.ids_of(row)) {
            prefix = PrefixSet::extend(prefix, id);
            const Numbering::Given given = numbers_.number_of(prefix);
            nodes_.push_back(given.number);
            known += given.is_new ? 0 : 1;
        }
        return {nodes_, known};
    }

    std::uint32_t size() const { return numbers_.size(); }

  private:
    Numbering numbers_;
    std::vector<std::uint32_t> nodes_;
};

}  // namespace driftless
