/// InspectFigures: what is in a trace, as plain numbers. The screen and the JSON are made of them.
///
/// Pure: a trace in, figures out. Beyond the trace it takes memory for the distinct blocks, not for
/// how often they come: about 8 bytes each where ids are chained, measured on 12 M blocks; 13 where
/// they name contents alone, and up to 68 for each row then (prefix_tree.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/inspect/arrivals.hpp"
#include "engine/inspect/block_ids.hpp"
#include "engine/inspect/capacity.hpp"
#include "engine/plan/plan.hpp"
#include "engine/stats/distribution.hpp"
#include "proto/core/result.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct InspectOptions {
    PlanOptions plan;  ///< which rows; the seed of the figures under `--spread`; speed 1
    /// Block sizes of the capacity curve beside the trace's own, each a multiple of that; empty:
    /// `standard_block_sizes`, as far as they are.
    std::vector<std::uint32_t> block_sizes;
    std::uint64_t max_model_len = 0;  ///< 0: not asked
};

inline constexpr std::array<std::uint32_t, 9> standard_block_sizes = {16,  32,   64,   128, 256,
                                                                      512, 1024, 2048, 4096};

struct LengthFigures {
    Distribution distribution;
    std::uint64_t sum = 0;
    /// [k] how many are at least 2^k and less than 2^(k+1).
    std::array<std::uint64_t, 32> by_power{};
};

/// Rows that do not fit a model's context.
struct ContextFigures {
    std::uint64_t limit = 0;       ///< tokens
    std::uint64_t rows_over = 0;   ///< input + output above it
    std::uint64_t input_over = 0;  ///< input alone at or above it: no room for an answer
};

/// Sessions as far as rows of them are selected.
struct SessionFigures {
    std::uint64_t sessions = 0;
    std::uint64_t rows = 0;  ///< rows that belong to one
    Distribution rows_each;
    Distribution length_ns;          ///< from the first row to the last
    std::uint64_t dependencies = 0;  ///< rows wait for so many others
    std::uint64_t overlaps = 0;      ///< of those, began before the other had its answer
    Distribution delay_ns;           ///< from an answer to the row that waited for it
};

/// One file of the trace. Hits are those of an infinite cache that has seen the earlier rows of all
/// files.
struct FileFigures {
    std::string name;
    std::uint64_t rows = 0;
    std::int64_t span_ns = 0;
    std::uint64_t input_tokens = 0;
    std::uint64_t output_tokens = 0;
    std::uint64_t references = 0;
    std::uint64_t hit_blocks = 0;
    std::uint64_t hit_tokens = 0;
};

struct InspectFigures {
    std::uint64_t rows = 0;
    std::uint64_t rows_outside = 0;  ///< of the trace, but not selected
    ArrivalFigures arrivals;
    Timeline timeline;
    LengthFigures input;
    LengthFigures output;
    std::optional<ContextFigures> context;
    SessionFigures sessions;
    std::vector<FileFigures> files;

    // Where the trace has block ids.
    bool has_blocks = false;
    BlockFigures blocks;
    /// By block size, ascending from the trace's own.
    std::vector<CapacityFigures> capacity;
    /// What replay expects a server to report under an infinite cache: full blocks only, and never
    /// a prompt's last token.
    ForetoldHits foretold;
};

/// Errors: invalid, where nothing is selected or a block size is no multiple of the trace's.
Result<InspectFigures> inspect_trace(const Trace& trace, const InspectOptions& options);

/// Appends the figures as one JSON object, without a newline. Keys: inspect.schema.json.
void append_json(std::string& out, const Trace& trace, const InspectFigures& figures);
/// The same for a trace that is refused.
void append_json(std::string& out, const Trace& trace, const InputErrors& errors);

/// Version of the keys.
inline constexpr int inspect_schema = 1;

}  // namespace driftless
