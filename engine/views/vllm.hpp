/// vLLM's figures, which llm-d's report is made of, too. Internal to the room.
#pragma once

#include "engine/views/serving.hpp"

namespace driftless {

struct VllmFigures {
    std::int64_t duration_ns = 0;
    std::int64_t completed = 0;
    std::int64_t failed = 0;
    std::int64_t good = 0;
    std::int64_t prompt_all = 0;  ///< recorded prompts of all, the failed ones too
    ServingSums sums;
    ServingPeaks peaks;

    double per_second(std::int64_t count) const {
        return ratio(as_double(count), in_s(duration_ns));
    }
};

VllmFigures vllm_figures(const ViewedRun& run);

}  // namespace driftless
