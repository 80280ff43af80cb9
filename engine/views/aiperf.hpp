/// AIPerf's record of a request, which InferenceX's aggregate is made of, too. Internal to the
/// room.
#pragma once

#include <optional>
#include <vector>

#include "engine/views/view_text.hpp"

namespace driftless {

/// Of a request that AIPerf counts as a success. ns, from the fire where nothing else is said.
struct AiperfRecord {
    std::int64_t start_ns = 0;  ///< from time 0
    std::int64_t input_tokens = 0;
    std::int64_t output_tokens = 0;
    std::int64_t reasoning_tokens = 0;
    std::int64_t ttft_ns = 0;
    OptionalNs second_ns;        ///< second chunk after the first
    OptionalNs first_output_ns;  ///< first chunk that is no reasoning
    std::int64_t latency_ns = 0;
    std::int64_t last_response_ns = 0;  ///< of any kind: usage, end marker
    std::optional<double> itl_ns;
    OptionalNs headers_ns;
    std::vector<std::int64_t> gaps_ns;
};

struct AiperfRecords {
    std::vector<AiperfRecord> ok;
    std::int64_t failed = 0;
};
AiperfRecords aiperf_records(const ViewedRun& run);

}  // namespace driftless
