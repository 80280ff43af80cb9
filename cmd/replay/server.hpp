/// The server side of a replay before time 0: preflight, and what follows from it for prompts and
/// bodies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/flags/replay_options.hpp"
#include "cmd/replay/invocation.hpp"
#include "cmd/replay/workload.hpp"
#include "engine/io/tls.hpp"
#include "engine/prompt/word_table.hpp"
#include "engine/replay/settings.hpp"
#include "engine/server/preflight.hpp"

namespace driftless {

/// ResolvedTargets: where the connections of each `--url` go to, with the certificates that TLS
/// needs. Made once, before the first connection. Owns what the endpoints point to; may be moved.
struct ResolvedTargets {
    std::unique_ptr<TlsContext> tls;  ///< where a target is https; else null
    std::vector<std::unique_ptr<TlsPeer>> peers;
    std::vector<Endpoint> endpoints;  ///< [targets]
};

/// What all https targets share. Prints what is wrong with a file of --ca, --cert or --key, `where`
/// before it ("--metrics: ", or empty).
OrExit<std::unique_ptr<TlsContext>> client_context(const TlsClientOptions& options,
                                                   const std::string& where);

/// The same places with peers of their own, for another thread. `targets` outlives them.
ResolvedTargets for_another_thread(const ResolvedTargets& targets);

/// Where connections to a place may go to; at least one. Prints why there is no such place; `flag`
/// names it there, and `shown` is a host and port as a person typed them.
OrExit<std::vector<Address>> addresses_of(const std::string& flag, const Url& place,
                                          const std::string& shown);

/// Resolves the names of all targets, trying a connection for so long where a name has several
/// addresses, and reads certificates. Prints what fails.
OrExit<ResolvedTargets> resolve_targets(const ServerFlags& flags, Duration connect_timeout);

/// Where rows go, and how they speak: what the flags say of it, and then what the servers
/// themselves said.
struct Server {
    ResolvedTargets targets;  ///< none under `--dry-run`
    ChosenWords words;
    PreflightFindings findings;
    bool sends_recorded_text = false;      ///< Trace::is_recorded_text
    PromptKind prompt = PromptKind::text;  ///< ids where the probe refused the words
    BodySpec body;
    std::optional<WordTable> kept;  ///< the words without those that the server does not know
    /// `--against`: the second server of dual fire, its model among them as rows name it. Its
    /// bodies are those of the first, but for the model and the tokens that its own overhead
    /// displaces.
    std::optional<PreflightFindings> against;
};

/// What was found of the server of a side; of none, of the first.
const PreflightFindings& findings_of(const Server& server, Side side);
/// Tokens around prompts; with two servers, those of the one that puts more in front.
Overhead largest_overhead(const Server& server);
/// How rows to it speak.
BodySpec body_of(const Server& server, Side side);
/// The side of a target.
Side side_of(const Server& server, std::size_t index);

/// The server adds tokens around a prompt, and how many of them are in front is not known.
bool split_unknown(const PreflightFindings& found);

/// A target, as the preflight asks it.
AskedServer asked_server(const Invocation& invocation, const Server& server, std::size_t index = 0);

/// What a preflight of that target asks, of rows with this body and these words, which outlive it.
PreflightPlan preflight_plan(const Invocation& invocation, const Server& server,
                             const BodySpec& body, const WordTable& words, std::size_t index);

/// The words, or ids, that prompts are made of. `storage` holds a table that is made here.
const WordTable& words_for(const Server& server, std::uint32_t ids_from,
                           std::optional<WordTable>& storage);

// What a person reads of the servers that were asked.

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

// What `run.json` says of the TLS of a run, one entry per https target. Plain values.

struct TlsFacts {
    std::string name;     ///< that the certificate must have
    std::string trust;    ///< "system", "file" or "none" (`--insecure`)
    std::string version;  ///< of the latest handshake: "TLSv1.3"; empty: there was none
    std::string cipher;
    std::uint64_t handshakes = 0;  ///< of the preflight, too
    std::uint64_t resumed = 0;     ///< those that took up an earlier session
};

std::vector<TlsFacts> tls_facts(const TlsClientOptions& options, const ResolvedTargets& targets);

/// Adds what another engine's peers have met, of the same targets.
void add_tls_facts(std::vector<TlsFacts>& sum, const std::vector<TlsFacts>& other);

}  // namespace driftless
