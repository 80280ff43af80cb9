/// The workload of a replay: the trace, read and validated, the plan made from it, and the words
/// that its prompts are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/flags/options.hpp"
#include "engine/plan/load.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/row_values.hpp"
#include "engine/plan/schedule.hpp"
#include "engine/plan/waits.hpp"
#include "engine/prompt/builder.hpp"
#include "engine/prompt/corpus.hpp"
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
    /// Where its rows stand in the whole plan; empty until it is dealt (`deal_share`).
    std::vector<std::uint32_t> positions;
};

/// Made whole by `load_workload`, before any server is asked.
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
};

/// Reads and plans; prints notes on standard output and refusals on standard error.
OrExit<Workload> load_workload(const ReplayOptions& options);

/// Refuses rows whose values cannot be in the headers and bodies that `--header`, `--extra-body`
/// and the trace make of them, and lists all of them.
int check_row_templates(const RequestFlags& request, const Workload& workload);

// `--dataset`: the text that prompts are cut from, before time 0.

class JsonWriter;

/// Reads and counts the dataset's text. Prints what it is, or what is wrong with it.
OrExit<LoadedCorpus> choose_text(const PromptFlags& prompts, Tokenizer& tokenizer,
                                 const WordTable& words);

/// Refuses, before anything is sent, rows that ask for more text than there is, or for something
/// that text cannot give. Prints what is wrong; returns an exit code.
int check_text(const std::string& dataset, const Workload& workload,
               const std::optional<LoadedCorpus>& text);

/// Writes member "dataset" of an object: what the text is; null where there is none.
void write_text(JsonWriter& json, const std::string& dataset,
                const std::optional<LoadedCorpus>& text);

/// ChosenWords: what prompts are made of before any server is asked: the words of `--tokenizer` and
/// the text of `--dataset`. A plain value, made once.
struct ChosenWords {
    std::optional<SelectedWords> selected;       ///< of `--tokenizer`; else the built-in ones
    std::vector<TemplateSplit> template_splits;  ///< of the chat template beside `--tokenizer`
    std::optional<LoadedCorpus> text;            ///< of `--dataset`
};

/// Takes the words from the vocabulary of `--tokenizer`, where there is one, and counts the text of
/// `--dataset` with it. Prints what was chosen, or why none can be.
OrExit<ChosenWords> choose_words(const PromptFlags& prompts);

}  // namespace driftless
