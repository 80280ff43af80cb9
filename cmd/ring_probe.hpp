/// What the kernel grants a ring of ours, asked by making one. For `--version` and `doctor`; a
/// replay notes the same of its own ring in run.json.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace driftless {

struct RingProbe {
    /// Name and value, as in run.json; empty where there is no ring.
    std::vector<std::pair<std::string, std::string>> features;
    std::string refusal;  ///< why there is none, and the remedy; empty: there is one

    /// The empty text where there is no such feature.
    std::string_view feature(std::string_view name) const;
    /// "registered ring, absolute wait; kernel stamps: io_uring, receive": what is granted.
    std::string text() const;
};

/// Makes a small ring, and ends it.
RingProbe probe_ring();

}  // namespace driftless
