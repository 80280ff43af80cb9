/// The server side of a replay before time 0: addresses, preflight, and what follows from it for
/// prompts and bodies.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/replay/flags/options.hpp"
#include "engine/io/driver.hpp"
#include "engine/preflight/preflight.hpp"
#include "engine/prompt/dataset/load_corpus.hpp"
#include "engine/prompt/vocab.hpp"
#include "engine/prompt/word_selection.hpp"
#include "engine/replay/settings.hpp"
#include "engine/tls/context.hpp"

namespace driftless {

/// Where rows go, and how they speak.
struct Server {
    std::optional<TlsContext> tls;  ///< where a target is https
    std::vector<std::unique_ptr<TlsPeer>> peers;
    std::vector<Endpoint> endpoints;  ///< [targets]
    PreflightFindings findings;
    bool preflight_done = false;
    PromptKind prompt = PromptKind::text;  ///< ids where the probe refused the words
    BodySpec body;
    std::string first_model;             ///< of the first row, where rows have models of their own
    std::optional<SelectedWords> words;  ///< of `--tokenizer`; else the built-in ones
    std::vector<TemplateSplit> template_splits;  ///< of the chat template beside `--tokenizer`
    std::optional<LoadedCorpus> text;            ///< of `--dataset`
    std::optional<WordTable> kept;  ///< those without the words that the server does not know
};

/// Takes the words from the vocabulary of `--tokenizer`, where there is one, and counts the text of
/// `--dataset` with it. Prints what was chosen, or why none can be; returns an exit code.
int choose_words(const ReplayOptions& options, Server& server);

/// Resolves the names of all targets, and reads the certificates that TLS needs. Prints what fails;
/// returns an exit code.
int resolve_targets(const ReplayOptions& options, Server& server);

/// What the flags alone say of the server: `--no-preflight`, or a dry run.
void describe_server(const ReplayOptions& options, Server& server);

/// Asks all targets (or takes what the flags say, under `--no-preflight`), prints what was
/// found, and decides model, prompt kind and overhead. Returns an exit code.
int meet_server(const ReplayOptions& options, Driver& driver, const std::string& run_id,
                Server& server);

/// The server adds tokens around a prompt, and how many of them stand in front is not known.
bool split_unknown(const PreflightFindings& found);

/// A target, as the preflight asks it.
AskedServer asked_server(const ReplayOptions& options, const Server& server,
                         const std::string& run_id, std::size_t index = 0);

/// What a preflight of that target asks; the words are missing.
PreflightPlan preflight_plan(const ReplayOptions& options, const Server& server,
                             const std::string& run_id, std::size_t index = 0);

/// What a preflight learned of one target.
struct AskedTarget {
    PreflightFindings findings;
    std::string model;  ///< as rows name it
};

/// Asks one target; its requests are numbered from those that were sent before. Prints what fails,
/// `where` before it ("--url URL: ", or empty); returns an exit code.
int ask_target(Driver& driver, const PreflightPlan& plan, const std::string& where, Server& server,
               AskedTarget& asked);

/// The words, or ids, that prompts are made of. `storage` holds a table that is made here.
const WordTable& words_for(const Server& server, std::uint32_t ids_from,
                           std::optional<WordTable>& storage);

}  // namespace driftless
