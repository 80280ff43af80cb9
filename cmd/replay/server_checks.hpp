/// What is asked of the servers before the first row, and what a person reads of it: their
/// findings, prompts held against their tokens, caches that are warm.
#pragma once

#include <optional>
#include <string>

#include "cmd/base/exit_codes.hpp"
#include "cmd/replay/parts.hpp"
#include "engine/io/driver.hpp"
#include "engine/prompt/word_table.hpp"
#include "engine/server/checks.hpp"
#include "engine/server/preflight.hpp"
#include "proto/figures/warm_cache.hpp"

namespace driftless {

// What a person reads of the servers that were asked: the findings, notes and warnings, and what
// became of the words.

/// All that the first server said.
void print_findings(const PreflightFindings& found, PromptKind prompt);

/// A note of the findings: to the screen, or where it is a warning to the error output. `where` is
/// "URL: ", or empty for the first server.
void print_note(const std::string& where, const std::string& note);

/// Which words a server made us leave out.
void print_kept_words(const std::string& where, const PreflightFindings& found,
                      const WordTable& kept);

/// What the server does to the words, as a clause.
std::string describe_words(const PreflightFindings& found, PromptKind prompt);

// `--verify-prompts`: some of the run's own prompts, held against the tokens that the server makes
// of them, before time 0.

/// Prints and returns what was found; empty if the flag was not given.
OrExit<std::optional<VerifyFindings>> verify_prompts(ReplayParts& parts, Driver& driver);

// Before the first row: whether the servers' caches are warm from an earlier run, and
// `--reset-cache`.

/// Asks each server, empties its cache if that was asked for, and prints what was found. Refuses to
/// go on if a cache cannot be emptied, or cannot be shown to be empty. Requests are numbered from
/// `first_request`.
OrExit<CacheProbe> probe_caches(const ReplayParts& parts, Driver& driver,
                                std::uint32_t first_request);

}  // namespace driftless
