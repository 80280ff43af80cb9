/// What `run.json` says of the TLS of a run, one entry per https target. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/replay/server/resolved_targets.hpp"
#include "engine/tls/context.hpp"

namespace driftless {

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
