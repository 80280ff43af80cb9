/// EarlierRun: the run that `--resume` continues or `--from` repeats, once its folder is opened.
#pragma once

#include <optional>

#include "cmd/or_exit.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/resume/resume.hpp"
#include "cmd/replay/resume/same_run.hpp"
#include "cmd/replay/run/parts.hpp"
#include "engine/history/run_facts.hpp"

namespace driftless {

struct EarlierRun {
    RunFacts facts;
    std::optional<Resumption> resumption;  ///< `--resume`
};

/// Locks the folder of a run that is resumed. Empty if there is no earlier run.
OrExit<std::optional<EarlierRun>> open_earlier(const AgainFlags& again,
                                               const std::optional<RunFacts>& facts);

/// Checks that the prompts are those of the run that is resumed or repeated. Returns sums over all
/// prompts of a resumed run; otherwise zeros.
OrExit<PromptSums> compare(const std::optional<EarlierRun>& earlier, ReplayParts& parts);

}  // namespace driftless
