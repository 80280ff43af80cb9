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
#include "cmd/flags/options.hpp"
#include "cmd/replay/invocation.hpp"
#include "cmd/replay/workload.hpp"
#include "engine/io/driver.hpp"
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

/// The same places with peers of their own, for another thread. `targets` outlives them.
ResolvedTargets for_another_thread(const ResolvedTargets& targets);

/// Resolves the names of all targets, trying a connection for so long where a name has several
/// addresses, and reads certificates. Prints what fails.
OrExit<ResolvedTargets> resolve_targets(const ServerFlags& flags, Duration connect_timeout);

/// The second server of dual fire: what differs from the first. Its bodies are those of the first,
/// but for the model and the tokens that its own overhead displaces.
struct AgainstServer {
    PreflightFindings findings;  ///< its model among them, as rows name it
};

/// Where rows go, and how they speak. Made whole by `describe_server`; `meet_server` takes that
/// description and returns what the servers themselves said.
struct Server {
    ResolvedTargets targets;  ///< none under `--dry-run`
    ChosenWords words;
    PreflightFindings findings;
    bool preflight_done = false;
    bool sends_recorded_text = false;      ///< Trace::is_recorded_text
    PromptKind prompt = PromptKind::text;  ///< ids where the probe refused the words
    BodySpec body;
    std::optional<WordTable> kept;  ///< the words without those that the server does not know
    std::optional<AgainstServer> against;  ///< `--against`
};

/// What was found of the server of a side; of none, of the first.
const PreflightFindings& findings_of(const Server& server, Side side);
/// Tokens around prompts; with two servers, those of the one that puts more in front.
Overhead largest_overhead(const Server& server);
/// How rows to it speak.
BodySpec body_of(const Server& server, Side side);
/// The side of a target.
Side side_of(const Server& server, std::size_t index);

/// What the flags alone say of the server. `first_model`: of the first row, where rows have models
/// of their own; else empty.
Server describe_server(const ReplayOptions& options, const std::string& first_model,
                       ChosenWords words, ResolvedTargets targets);

/// Asks all targets (or keeps to what the flags say, under `--no-preflight`), prints what was
/// found, and decides model, prompt kind and overhead.
OrExit<Server> meet_server(const Invocation& invocation, Driver& driver, Server described);

/// The server adds tokens around a prompt, and how many of them stand in front is not known.
bool split_unknown(const PreflightFindings& found);

/// A target, as the preflight asks it.
AskedServer asked_server(const Invocation& invocation, const Server& server, std::size_t index = 0);

/// What a preflight of that target asks, of rows with this body and these words, which outlive it.
PreflightPlan preflight_plan(const Invocation& invocation, const Server& server,
                             const BodySpec& body, const WordTable& words, std::size_t index);

/// What a preflight learned of one target.
struct AskedTarget {
    PreflightFindings findings;
    std::string model;  ///< as rows name it
};

/// Asks one target; its requests are numbered from `first_request`. Prints what fails, `where`
/// before it ("--url URL: ", or empty).
OrExit<AskedTarget> ask_target(Driver& driver, const PreflightPlan& plan, const std::string& where,
                               std::uint32_t first_request);

/// The words, or ids, that prompts are made of. `storage` holds a table that is made here.
const WordTable& words_for(const Server& server, std::uint32_t ids_from,
                           std::optional<WordTable>& storage);

// What `run.json` says of the TLS of a run, one entry per https target. Plain values.

struct TlsFacts {
    std::string name;     ///< that the certificate must have
    std::string trust;    ///< "system", "file" or "none" (`--insecure`)
    std::string version;  ///< of the latest handshake: "TLSv1.3"; empty: there was none
    std::string cipher;
    std::uint64_t handshakes = 0;  ///< of the preflight, too
    std::uint64_t resumed = 0;     ///< those that took up an earlier session
};

class JsonWriter;

std::vector<TlsFacts> tls_facts(const TlsClientOptions& options, const ResolvedTargets& targets);

/// Adds what another engine's peers have met, of the same targets.
void add_tls_facts(std::vector<TlsFacts>& sum, const std::vector<TlsFacts>& other);

/// Writes them as the member "tls", an array.
void write_tls(JsonWriter& json, const std::vector<TlsFacts>& peers);

}  // namespace driftless
