#include "cmd/replay/run_json/tls_facts.hpp"

#include "proto/core/check.hpp"
#include "proto/json/write.hpp"

namespace driftless {

std::vector<TlsFacts> tls_facts(const TlsClientOptions& options, const ResolvedTargets& targets) {
    std::vector<TlsFacts> facts;
    for (const std::unique_ptr<TlsPeer>& peer : targets.peers) {
        const char* trust = !options.verify ? "none" : options.ca_file.empty() ? "system" : "file";
        facts.push_back(
            {peer->name(), trust, peer->version, peer->cipher, peer->handshakes, peer->resumed});
    }
    return facts;
}

void add_tls_facts(std::vector<TlsFacts>& sum, const std::vector<TlsFacts>& other) {
    CHECK(sum.size() == other.size());
    for (std::size_t peer = 0; peer < sum.size(); ++peer) {
        sum[peer].handshakes += other[peer].handshakes;
        sum[peer].resumed += other[peer].resumed;
        if (sum[peer].version.empty()) {
            sum[peer].version = other[peer].version;
            sum[peer].cipher = other[peer].cipher;
        }
    }
}

void write_tls(JsonWriter& json, const std::vector<TlsFacts>& peers) {
    json.key("tls").begin_array();
    for (const TlsFacts& peer : peers) {
        json.begin_object();
        json.key("name").string(peer.name);
        json.key("trust").string(peer.trust);
        json.key("version").string(peer.version);
        json.key("cipher").string(peer.cipher);
        json.key("handshakes").unsigned_integer(peer.handshakes);
        json.key("resumed").unsigned_integer(peer.resumed);
        json.end_object();
    }
    json.end_array();
}

}  // namespace driftless
