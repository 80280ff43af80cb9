/// What a person reads of the servers that were asked: the findings, notes and warnings, and what
/// became of the words.
#pragma once

#include <string>

#include "engine/preflight/preflight.hpp"
#include "engine/prompt/vocab.hpp"

namespace driftless {

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

}  // namespace driftless
