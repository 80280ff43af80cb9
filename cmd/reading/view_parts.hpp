/// What several views are made of: the figures of serving benchmarks, of vLLM's and of AIPerf.
/// Internal to the views.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/reading/view.hpp"

namespace driftless {

// What the serving benchmarks of vLLM, SGLang and InferenceX's fork of it have in common: their
// peaks by bins of one second, and their screens. Internal to the room.

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

// vLLM's figures, which llm-d's report is made of, too. Internal to the room.

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

// AIPerf's record of a request, which InferenceX's aggregate is made of, too. Internal to the
// room.

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
