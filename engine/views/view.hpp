/// Views: the figures of a run as another tool defines them, in that tool's layout and file. Each
/// is a function over the requests of a run; the table names them. They read nothing and own only
/// what they return. Definitions with their sources stand in README.md.
///
/// A view prints what its tool would print, also where the tool is wrong: `notes` say so beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/views/viewed_request.hpp"

namespace driftless {

/// Limits of `--goodput`, ns.
struct ViewLimits {
    OptionalNs ttft_ns;
    OptionalNs tpot_ns;
    OptionalNs e2e_ns;
    bool set() const { return ttft_ns || tpot_ns || e2e_ns; }
};

/// A run, as a view is given it.
struct ViewedRun {
    std::vector<ViewedRequest>
        requests;                  ///< that left and ended, of the measurement, in file order
    std::uint64_t unsent = 0;      ///< rows that never left, or whose end is lost
    std::int64_t duration_ns = 0;  ///< from the start to the last end
    bool has_chunks = true;        ///< false: `--chunks none`
    bool has_events = true;  ///< false: its records do not know when answers began and finished
    ViewLimits limits;
    std::int64_t zero_utc_ns = 0;  ///< time 0 on the wall clock
    std::string run_id;
    std::string date;
    std::string backend;
    std::string model;
    std::string tokenizer;  ///< empty: none
    std::optional<std::uint64_t> max_concurrency;
    std::optional<double> hit_rate_ceiling;  ///< of prompt tokens, by an infinite cache
    std::optional<std::string> url;          ///< where there is one alone
};

struct ViewResult {
    std::string screen;              ///< in the tool's layout, newline at the end
    std::string json;                ///< the tool's file, newline at the end
    std::vector<std::string> notes;  ///< sentences: what is missing, what the tool gets wrong
};

struct View {
    const char* name = "";
    const char* tool = "";  ///< with its version
    const char* help = "";  ///< a clause
    ViewResult (*make)(const ViewedRun& run) = nullptr;
};

std::span<const View> all_views();
/// nullptr: there is none of that name.
const View* find_view(std::string_view name);

ViewResult vllm_view(const ViewedRun& run);
ViewResult sglang_view(const ViewedRun& run);
ViewResult aiperf_view(const ViewedRun& run);
ViewResult guidellm_view(const ViewedRun& run);
ViewResult genai_perf_view(const ViewedRun& run);
ViewResult genai_bench_view(const ViewedRun& run);
ViewResult inference_perf_view(const ViewedRun& run);
ViewResult trace_replayer_view(const ViewedRun& run);
ViewResult loadgen_view(const ViewedRun& run);
ViewResult inferencex_view(const ViewedRun& run);
ViewResult inferencex_fixed_view(const ViewedRun& run);
ViewResult llmd_view(const ViewedRun& run);

}  // namespace driftless
