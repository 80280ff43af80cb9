/// The workload of a replay: the trace, read and validated, the plan made from it, and the words
/// that its prompts are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/load.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/wait_graph.hpp"
#include "engine/prompt/corpus.hpp"
#include "engine/prompt/recorded_bodies.hpp"
#include "engine/prompt/row_fields.hpp"
#include "engine/prompt/word_table.hpp"
#include "engine/server/preflight.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Rows wait for others: it is not known before the run when they are due.
struct Waiting {
    WaitFigures figures;
    GapFigures gaps;
    Plan answered;            ///< `plan_to_estimate`
    std::uint32_t trees = 0;  ///< RowTrees of the plan; 0: no users play them
};

/// Of several processes (`--shard`): which part of the plan this one sends.
struct WorkloadShare {
    ShardPlace place;
    DealRule rule = DealRule::rows;
    std::size_t plan_rows = 0;            ///< of the whole plan
    Plan estimated;                       ///< `plan_to_estimate`
    std::int64_t first_due_ns = 0;        ///< of the whole plan's first row, from time 0
    std::optional<double> planned_rate;   ///< of the whole plan: ArrivalFacts
    std::int64_t longest_row_tokens = 0;  ///< .. its longest row
    /// Where its rows are in the whole plan; empty until it is dealt (`deal_share`).
    std::vector<std::uint32_t> positions;
};

/// Made by `load_workload`, before any server is asked; then the stages that know the server add
/// what it gets of it.
struct Workload {
    Trace trace;
    LoadFigures load;
    Plan plan;
    std::optional<Waiting> waiting;  ///< `--sessions closed`; else nothing waits
    UserRules users;                 ///< of this process; `users.users` 0: there are none
    RowModels models;                ///< `--model` with a column; else of no row
    std::vector<std::string> notes;  ///< what was chosen and found, as printed
    /// [row index] first blocks that all passes share (`--recycle-share system`); empty: none.
    std::vector<std::uint32_t> shared_blocks;
    std::optional<WorkloadShare> share;  ///< nothing: this process sends all of it

    std::optional<RecordedFigures> recorded;    ///< the trace holds recorded requests
    std::optional<LiveTurns> live;              ///< `--assistant live`
    std::optional<std::uint32_t> server_block;  ///< tokens: hits are forecast in such blocks, too
};

/// ChosenWords: what prompts are made of before any server is asked: the words of `--tokenizer` and
/// the text of `--dataset`. A plain value, made once.
struct ChosenWords {
    std::optional<SelectedWords> selected;       ///< of `--tokenizer`; else the built-in ones
    std::vector<TemplateSplit> template_splits;  ///< of the chat template beside `--tokenizer`
    std::optional<LoadedCorpus> text;            ///< of `--dataset`
};

}  // namespace driftless
