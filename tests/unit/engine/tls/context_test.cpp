// Contexts of both sides: keys that cannot be opened are named, and nobody is asked for a pass
// phrase; what a client offers beside http/1.1 is not agreed to.
#include "engine/tls/context.hpp"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <cstdio>

#include "engine/tls/stream.hpp"
#include "tests/tls/certificates.hpp"

namespace driftless {
namespace {

PemFiles own_papers() {
    return make_certificate({"own", {"DNS:host"}}, nullptr);
}

/// The same key behind a pass phrase.
std::string locked(const std::string& key_file) {
    const std::string path =
        testing::TempDir() + "driftless-locked-" + std::to_string(::getpid()) + ".pem";
    FILE* in = std::fopen(key_file.c_str(), "re");
    EVP_PKEY* key = PEM_read_PrivateKey(in, nullptr, nullptr, nullptr);
    FILE* out = std::fopen(path.c_str(), "we");
    const unsigned char phrase[] = {'p', 'w'};
    EXPECT_EQ(PEM_write_PrivateKey(out, key, EVP_aes_128_cbc(), phrase, 2, nullptr, nullptr), 1);
    EVP_PKEY_free(key);
    std::fclose(in);
    std::fclose(out);
    return path;
}

TEST(TlsContext, AsksNobodyForAPassPhrase) {
    const PemFiles own = own_papers();
    const std::string key = locked(own.key);
    std::string why;
    EXPECT_FALSE(TlsContext::client({true, "", own.cert, key}, why));
    EXPECT_TRUE(why.starts_with("--key " + key + ": ")) << why;
    EXPECT_FALSE(TlsContext::server({own.cert, key}, why));
    EXPECT_TRUE(why.starts_with("--tls-key " + key + ": ")) << why;
    EXPECT_FALSE(TlsContext::server({"/no/such.pem", key}, why));
    EXPECT_TRUE(why.starts_with("--tls-cert /no/such.pem: ")) << why;
    std::remove(key.c_str());
}

// RFC 7301, 3.2: a server may go on without a protocol where it knows none of those offered.
TEST(TlsContext, AgreesToNoOtherProtocol) {
    const PemFiles own = own_papers();
    std::string why;
    const Result<TlsContext> server_context = TlsContext::server({own.cert, own.key}, why);
    const Result<TlsContext> client_context = TlsContext::client({false, "", "", ""}, why);
    ASSERT_TRUE(server_context && client_context) << why;
    for (const bool other : {false, true}) {
        const unsigned char h2[] = {2, 'h', '2'};
        if (other) {
            ASSERT_EQ(SSL_CTX_set_alpn_protos(client_context.value().raw(), h2, sizeof h2), 0);
        }
        TlsPeer peer(client_context.value(), "host");
        TlsStream client;
        TlsStream server;
        client.connect(peer);
        server.accept(server_context.value());
        client.step();
        for (int rounds = 0; rounds < 8 && client.state() == TlsStream::State::handshake;
             ++rounds) {
            server.take(client.take_output());
            server.step();
            client.take(server.take_output());
            client.step();
        }
        EXPECT_EQ(client.state(), TlsStream::State::open);
        const unsigned char* chosen = nullptr;
        unsigned size = 0;
        SSL_get0_alpn_selected(client.raw(), &chosen, &size);
        EXPECT_EQ(size, other ? 0U : 8U) << "http/1.1, or none";
    }
}

}  // namespace
}  // namespace driftless
