/// Block ids as tests write and compare them: plain vectors.
#pragma once

#include "proto/trace/row.hpp"
#include "tests/std.hpp"

namespace driftless {

inline std::vector<std::uint64_t> plain_ids(const BlockIds& list) {
    std::vector<std::uint64_t> ids;
    for (std::size_t at = 0; at < list.size(); ++at) {
        ids.push_back(list[at]);
    }
    return ids;
}

}  // namespace driftless
