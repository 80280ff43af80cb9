/// `--dataset`: the text that prompts are cut from, before time 0.
#pragma once

#include <optional>
#include <string>

#include "cmd/or_exit.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/workload/workload.hpp"
#include "engine/prompt/dataset/load_corpus.hpp"
#include "engine/prompt/vocab.hpp"

namespace driftless {

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

}  // namespace driftless
