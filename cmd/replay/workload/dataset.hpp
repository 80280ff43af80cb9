/// `--dataset`: the text that prompts are cut from, before time 0.
#pragma once

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/server/server.hpp"
#include "cmd/replay/workload/workload.hpp"

namespace driftless {

class JsonWriter;

/// Reads and counts the dataset's text. Prints what it is, or what is wrong with it; returns an
/// exit code.
int choose_text(const ReplayOptions& options, Tokenizer& tokenizer, Server& server);

/// Rows that ask for more text than there is, or for what text cannot give, are refused before
/// anything is sent. Prints what is wrong; returns an exit code.
int check_text(const ReplayOptions& options, const Workload& workload, const Server& server);

/// Writes member "dataset" of an object: what the text is; null where there is none.
void write_text(JsonWriter& json, const ReplayOptions& options, const LoadedCorpus* text);

}  // namespace driftless
