/// What the serving benchmarks of vLLM, SGLang and InferenceX's fork of it have in common: their
/// peaks by bins of one second, and their screens. Internal to the room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/views/view_text.hpp"

namespace driftless {

/// One request that a serving benchmark counts as a success.
struct ServedRequest {
    std::int64_t fired_ns = 0;
    std::int64_t ttft_ns = 0;
    std::int64_t e2e_ns = 0;
    std::int64_t prompt_tokens = 0;
    std::int64_t output_tokens = 0;
    std::vector<std::int64_t> events_ns;  ///< that the tool counts as tokens

    /// (E2E - TTFT) / (tokens - 1), ms; 0 for one token or none.
    double tpot_ms() const;
};

/// Both by bins of one second from the first start: each event counts for one token, and a request
/// for every second that it touches, so that two one after the other count as two at once.
struct ServingPeaks {
    std::int64_t tokens_per_s = 0;
    std::int64_t concurrent = 0;
};
ServingPeaks serving_peaks(const std::vector<ServedRequest>& served);

struct ServingSums {
    std::int64_t input = 0;
    std::int64_t output = 0;
    ValueList ttft;  ///< ms, as the others; closed
    ValueList tpot;
    ValueList itl;
    ValueList e2e;
};
ServingSums serving_sums(const std::vector<ServedRequest>& served);

/// Whether it meets the limits; one token or none has a TPOT of 0, which passes.
bool serves_goodput(const ViewLimits& limits, const ServedRequest& request);

/// A title between dashes, and mean, median, percentiles.
void add_metric_block(std::string& screen, std::string_view title, std::string_view name,
                      const ValueList& values, std::initializer_list<std::uint32_t> per_mille);
/// "99" of 990, "99.9" of 999.
std::string percentile_word(std::uint32_t per_mille);

}  // namespace driftless
