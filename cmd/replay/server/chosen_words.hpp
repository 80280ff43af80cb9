/// ChosenWords: what prompts are made of before any server is asked: the words of `--tokenizer` and
/// the text of `--dataset`. A plain value, made once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cmd/or_exit.hpp"
#include "cmd/replay/flags/options.hpp"
#include "engine/preflight/preflight.hpp"
#include "engine/prompt/dataset/load_corpus.hpp"
#include "engine/prompt/vocab.hpp"
#include "engine/prompt/word_selection.hpp"

namespace driftless {

struct ChosenWords {
    std::optional<SelectedWords> selected;       ///< of `--tokenizer`; else the built-in ones
    std::vector<TemplateSplit> template_splits;  ///< of the chat template beside `--tokenizer`
    std::optional<LoadedCorpus> text;            ///< of `--dataset`
};

/// Takes the words from the vocabulary of `--tokenizer`, where there is one, and counts the text of
/// `--dataset` with it. Prints what was chosen, or why none can be.
OrExit<ChosenWords> choose_words(const PromptFlags& prompts);

}  // namespace driftless
