// Contexts of both sides: keys that cannot be opened are named, and nobody is asked for a pass
// phrase; what a client offers beside http/1.1 is not agreed to.

#include "engine/io/tls.hpp"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include "tests/tls/certificates.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

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
    const PemFiles own = make_certificate({"own", {"DNS:host"}}, nullptr);
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

// A host of each distribution, made in a folder: its own place comes first, an empty one is passed
// over.
TEST(TlsContext, FindsTheAuthoritiesOfOtherDistributions) {
    namespace fs = std::filesystem;
    const std::string root =
        testing::TempDir() + "driftless-authorities-" + std::to_string(::getpid());
    const auto found = [&root] {
        return authorities_elsewhere(root, "/usr/lib/ssl/cert.pem", "/usr/lib/ssl/certs");
    };
    const auto write = [&root](const std::string& path, const char* text) {
        fs::create_directories(fs::path(root + path).parent_path());
        std::ofstream(root + path) << text;
        return root + path;
    };
    EXPECT_EQ(found(), "");
    for (const char* place :
         {"/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
          "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/pki/tls/certs/ca-bundle.crt",
          "/etc/ssl/certs/ca-certificates.crt"}) {
        const std::string file = write(place, "PEM");
        EXPECT_EQ(found(), file);
        fs::remove(root + place);
    }
    write("/etc/ssl/ca-bundle.pem", "");
    const std::string alpine = write("/etc/ssl/cert.pem", "PEM");
    fs::create_directories(root + "/usr/lib/ssl/certs");
    EXPECT_EQ(found(), alpine);  // neither the empty file nor the empty folder
    write("/usr/lib/ssl/certs/0a1b2c3d.0", "PEM");
    EXPECT_EQ(found(), "");
    fs::remove_all(root + "/usr/lib/ssl/certs");
    write("/usr/lib/ssl/cert.pem", "PEM");
    EXPECT_EQ(found(), "");
    fs::remove_all(root);
}

// TLS as bytes in and bytes out: handshakes, records and their ends, in any pieces.

using State = TlsStream::State;

/// One authority and one server's certificate, for all tests.
struct Papers {
    PemFiles authority = make_certificate({"authority", {}}, nullptr);
    PemFiles server =
        make_certificate({"server", {"DNS:host.example", "IP:127.0.0.1"}}, &authority);
};

const Papers& papers() {
    static const Papers made;
    return made;
}

TlsContext client_of(const TlsClientOptions& options) {
    std::string why;
    Result<TlsContext> made = TlsContext::client(options, why);
    EXPECT_TRUE(made) << why;
    return std::move(made).value();
}

TlsContext server_of(const PemFiles& files) {
    std::string why;
    Result<TlsContext> made = TlsContext::server({files.cert, files.key}, why);
    EXPECT_TRUE(made) << why;
    return std::move(made).value();
}

/// A client and a server, face to face.
struct Pair {
    TlsStream client;
    TlsStream server;
    char room[record_bytes_max] = {};

    /// They shake hands, `piece` bytes at a time.
    Pair(TlsPeer& peer, const TlsContext& context, std::size_t piece = 1 << 20) {
        client.connect(peer);
        server.accept(context);
        client.step();
        while (carry(client, server, piece) || carry(server, client, piece)) {
        }
    }

    /// All that `from` has to say reaches `to`, `piece` bytes at a time, while both shake hands.
    static bool carry(TlsStream& from, TlsStream& to, std::size_t piece) {
        const std::string bytes = from.take_output();
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            to.take(std::string_view(bytes).substr(at, piece));
            if (to.state() == State::handshake) {
                to.step();
            }
        }
        return !bytes.empty();
    }

    /// The plain bytes of these records.
    std::string hear(TlsStream& stream, const std::string& records) {
        stream.feed(records);
        return read(stream);
    }

    std::string read(TlsStream& stream) {
        std::string text;
        for (std::string_view plain = stream.read(room, sizeof room); !plain.empty();
             plain = stream.read(room, sizeof room)) {
            text += plain;
        }
        return text;
    }
};

std::string seal(TlsStream& stream, std::string_view plain) {
    constexpr std::size_t ticket_bytes = 1024;  // a server may have one to send in front
    std::string record(plain.size() + seal_room(plain.size()) + ticket_bytes, '\0');
    record.resize(stream.seal(plain, record.data(), record.size()));
    return record;
}

class TlsVersions : public ::testing::TestWithParam<int> {
  protected:
    TlsVersions() { (void)SSL_CTX_set_max_proto_version(server_context_.raw(), GetParam()); }

    TlsContext server_context_ = server_of(papers().server);
    TlsContext client_context_ = client_of({true, papers().authority.cert, "", ""});
    TlsPeer peer_{client_context_, "host.example"};
};

INSTANTIATE_TEST_SUITE_P(Both, TlsVersions, ::testing::Values(TLS1_2_VERSION, TLS1_3_VERSION));

// Chain and name are right: both sides are open, the protocol is agreed on, and what one seals the
// other reads.
TEST_P(TlsVersions, SpeakHttpHoweverTheyShakeHands) {
    Pair pair(peer_, server_context_);
    ASSERT_EQ(pair.client.state(), State::open);
    ASSERT_EQ(pair.server.state(), State::open);
    EXPECT_EQ(std::tuple(peer_.handshakes, peer_.resumed, peer_.version),
              std::tuple(1u, 0u, GetParam() == TLS1_3_VERSION ? "TLSv1.3" : "TLSv1.2"));
    EXPECT_EQ(pair.hear(pair.server, seal(pair.client, "GET / HTTP/1.1\r\n\r\n")),
              "GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(pair.hear(pair.client, seal(pair.server, "HTTP/1.1 200 OK\r\n\r\n")),
              "HTTP/1.1 200 OK\r\n\r\n");
    // A handshake may come in any pieces.
    for (const std::size_t piece : {1u, 2u, 3u, 5u, 17u, 100u, 255u, 1000u}) {
        Pair split(peer_, server_context_, piece);
        EXPECT_EQ(split.client.state(), State::open) << piece;
        EXPECT_EQ(split.server.state(), State::open) << piece;
    }
}

// Two records, whole, byte by byte and cut once at every place, are the same plain bytes.
TEST_P(TlsVersions, ReadRecordsAtEverySplit) {
    Pair pair(peer_, server_context_);
    const std::string first(300, 'a');
    const std::string second(40, 'b');
    std::size_t size = 1;
    for (std::size_t cut = 0; cut <= size; ++cut) {
        std::string records = seal(pair.server, first);
        records += seal(pair.server, second);
        size = records.size();
        std::string text;
        for (const std::string_view piece :
             {std::string_view(records).substr(0, cut), std::string_view(records).substr(cut)}) {
            pair.client.feed(piece);
            text += pair.read(pair.client);
        }
        ASSERT_EQ(text, first + second) << cut;
    }
    std::string records = seal(pair.server, first);
    records += seal(pair.server, second);
    std::string text;
    for (const char byte : records) {
        pair.client.feed({&byte, 1});
        text += pair.read(pair.client);
    }
    EXPECT_EQ(text, first + second);
}

// Records are written over the plain bytes that they hold, from `seal_room` before them on.
TEST_P(TlsVersions, SealInPlace) {
    for (const std::size_t size :
         {std::size_t{1}, first_record_bytes - 1, first_record_bytes, first_record_bytes + 1,
          first_record_bytes + record_bytes_max, first_record_bytes + record_bytes_max + 1,
          std::size_t{500'000}}) {
        Pair pair(peer_, server_context_);
        std::string expected(size, '\0');
        for (std::size_t i = 0; i < size; ++i) {
            expected[i] = static_cast<char>(i * 2654435761u >> 24);
        }
        std::string storage = std::string(seal_room(size), '\0') + expected;
        const char* plain = storage.data() + seal_room(size);
        std::size_t done = 0;
        std::size_t sealed = 0;
        while (done < size) {
            const std::size_t most = done == 0 ? first_record_bytes : record_bytes_max;
            const std::size_t bytes = std::min(most, size - done);
            const std::size_t room = seal_room(size) + done + bytes - sealed;
            sealed += pair.client.seal({plain + done, bytes}, storage.data() + sealed, room);
            done += bytes;
            ASSERT_LE(sealed, seal_room(size) + done);
        }
        pair.server.feed({storage.data(), sealed});
        ASSERT_EQ(pair.read(pair.server), expected) << size;
    }
}

// The session of the first connection is taken up by the second; closing does not spoil it.
TEST_P(TlsVersions, TakeUpASession) {
    for (int connection = 0; connection < 3; ++connection) {
        Pair pair(peer_, server_context_);
        EXPECT_EQ(pair.read(pair.client), "");  // the tickets of 1.3 come behind the handshake
        EXPECT_EQ(pair.client.state(), State::open);
    }
    EXPECT_EQ(std::tuple(peer_.handshakes, peer_.resumed), std::tuple(3u, 2u));
}

// A close_notify is an end; the end of the connection without one is none.
TEST_P(TlsVersions, EndByCloseNotify) {
    Pair pair(peer_, server_context_);
    const std::string last = seal(pair.server, "bye");
    pair.server.say_goodbye();
    const std::string goodbye = pair.server.take_output();
    EXPECT_EQ(pair.hear(pair.client, last), "bye");
    EXPECT_EQ(pair.client.state(), State::open);
    EXPECT_EQ(pair.hear(pair.client, goodbye), "");
    EXPECT_EQ(pair.client.state(), State::ended);
}

// A record that somebody has changed is a failure with OpenSSL's words, and nothing of it is read.
TEST_P(TlsVersions, RefuseAChangedRecord) {
    Pair pair(peer_, server_context_);
    std::string record = seal(pair.server, "true");
    record.back() = static_cast<char>(record.back() ^ 1);
    EXPECT_EQ(pair.hear(pair.client, record), "");
    EXPECT_EQ(pair.client.state(), State::failed);
    EXPECT_TRUE(says(describe(pair.client.failure()), "bad record mac"));
    EXPECT_EQ(seal(pair.client, "more"), "") << "nothing is sealed behind a failure";
    pair.client.step();
    EXPECT_EQ(pair.client.state(), State::failed);
}

// RFC 7301, 3.2: a server may go on without a protocol where it knows none of those offered.
TEST(TlsContext, AgreesToNoOtherProtocol) {
    const TlsContext server_context = server_of(papers().server);
    const TlsContext client_context = client_of({false, "", "", ""});
    for (const bool other : {false, true}) {
        const unsigned char h2[] = {2, 'h', '2'};
        if (other) {
            ASSERT_EQ(SSL_CTX_set_alpn_protos(client_context.raw(), h2, sizeof h2), 0);
        }
        TlsPeer peer(client_context, "host");
        Pair pair(peer, server_context);
        EXPECT_EQ(pair.client.state(), State::open);
        const unsigned char* chosen = nullptr;
        unsigned size = 0;
        SSL_get0_alpn_selected(pair.client.raw(), &chosen, &size);
        EXPECT_EQ(size, other ? 0U : 8U) << "http/1.1, or none";
    }
}

// A ticket in the middle of an answer is taken and is no part of it.
TEST(TlsStream, TakesATicketMidStream) {
    const TlsContext server_context = server_of(papers().server);
    const TlsContext client_context = client_of({true, papers().authority.cert, "", ""});
    (void)SSL_CTX_set_num_tickets(server_context.raw(), 0);
    TlsPeer peer(client_context, "host.example");
    Pair pair(peer, server_context);
    (void)pair.read(pair.client);
    ASSERT_EQ(peer.session(), nullptr);
    const std::string first = seal(pair.server, "half an ");
    ASSERT_EQ(SSL_new_session_ticket(pair.server.raw()), 1);
    const std::string rest = seal(pair.server, "answer");  // the ticket goes in front of it
    EXPECT_EQ(pair.hear(pair.client, first + rest), "half an answer");
    EXPECT_NE(peer.session(), nullptr);
}

// Records that were made before the server asked for new keys are sent after it asked: the server
// reads them, and then those of the new keys (RFC 8446, 4.6.3).
TEST(TlsStream, AnswersAKeyUpdateInOrder) {
    const TlsContext server_context = server_of(papers().server);
    const TlsContext client_context = client_of({true, papers().authority.cert, "", ""});
    TlsPeer peer(client_context, "host.example");
    Pair pair(peer, server_context);
    (void)pair.read(pair.client);
    const std::string armed = seal(pair.client, "armed before");
    ASSERT_EQ(SSL_key_update(pair.server.raw(), SSL_KEY_UPDATE_REQUESTED), 1);
    EXPECT_EQ(pair.hear(pair.client, seal(pair.server, "answer")), "answer");
    EXPECT_FALSE(pair.client.has_output());
    EXPECT_EQ(pair.hear(pair.server, armed), "armed before");
    const std::string plain(first_record_bytes, 'x');
    const std::string next = seal(pair.client, plain);
    EXPECT_LE(next.size(), plain.size() + record_overhead_max + key_update_bytes_max);
    EXPECT_EQ(pair.hear(pair.server, next), plain);
}

/// What the client says of a server that shows these papers under this name.
std::string refusal(const PemFiles& shown, const TlsClientOptions& trust, const std::string& name) {
    const TlsContext server_context = server_of(shown);
    const TlsContext client_context = client_of(trust);
    TlsPeer peer(client_context, name);
    Pair pair(peer, server_context);
    return pair.client.state() == State::open ? "" : describe(pair.client.failure());
}

// Every way in which a certificate can be wrong is refused in OpenSSL's words, with a remedy.
TEST(TlsStream, RefusesWrongCertificates) {
    const Papers& ours = papers();
    const TlsClientOptions trust{true, ours.authority.cert, "", ""};
    const std::vector<std::string> names{"DNS:host.example"};
    const PemFiles expired = make_certificate({"expired", names, -9, -1}, &ours.authority);
    const PemFiles early = make_certificate({"early", names, 1, 9}, &ours.authority);
    const PemFiles alone = make_certificate({"alone", names}, nullptr);
    const PemFiles others = make_certificate({"others", {}}, nullptr);
    const PemFiles foreign = make_certificate({"foreign", names}, &others);

    const auto failed = [](const std::string& why) {
        return "certificate verify failed: " + why + ", or accept it with --insecure";
    };
    expect_each(
        [&](auto name) { return refusal(ours.server, trust, name); }, gives("host.example", ""),
        gives("host.example.", ""), gives("127.0.0.1", ""),
        gives("other.example", failed("hostname mismatch; use the certificate's name in --url")),
        gives("127.0.0.2", failed("IP address mismatch; use the certificate's name in --url")));
    expect_each(
        [&](const PemFiles* shown) { return refusal(*shown, trust, "host.example"); },
        gives(&expired, failed("certificate has expired; renew it, check this host's clock")),
        gives(&early, failed("certificate is not yet valid; renew it, check this host's clock")),
        gives(&alone, failed("self-signed certificate; name its authority with --ca FILE")),
        gives(&foreign,
              failed("unable to get local issuer certificate; name its authority with --ca FILE")));
    EXPECT_NE(refusal(ours.server, {}, "host.example"), "");  // the system's store
    EXPECT_EQ(refusal(foreign, {false, "", "", ""}, "other.example"), "");
}

// A server that asks for a client certificate gets it, and says so where there is none.
TEST(TlsStream, ShowsAClientCertificate) {
    const Papers& ours = papers();
    const PemFiles own = make_certificate({"client", {"DNS:me"}}, &ours.authority);
    const TlsContext server_context = server_of(ours.server);
    SSL_CTX_set_verify(server_context.raw(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                       nullptr);
    ASSERT_EQ(SSL_CTX_load_verify_file(server_context.raw(), ours.authority.cert.c_str()), 1);
    for (const bool shown : {true, false}) {
        const TlsContext client_context =
            client_of({true, ours.authority.cert, shown ? own.cert : "", shown ? own.key : ""});
        TlsPeer peer(client_context, "host.example");
        Pair pair(peer, server_context);
        // In TLS 1.3 the alert comes behind the handshake, perhaps together with the end.
        shown ? (void)pair.read(pair.client) : pair.client.fail_closed();
        EXPECT_EQ(pair.client.state(), shown ? State::open : State::failed);
        EXPECT_EQ(describe(pair.client.failure()),
                  shown ? ""
                        : "tlsv13 alert certificate required; if the server asks for a client "
                          "certificate, give --cert and --key");
    }
}

// What is no TLS, too much of it, or cut off, is a failure that says so.
TEST(TlsStream, RefusesWhatIsNoHandshake) {
    const TlsContext client_context = client_of({false, "", "", ""});
    TlsPeer peer(client_context, "host.example");
    const std::string closed =
        "unexpected eof while reading; the server closed the connection: see its log, or use "
        "http:// in --url if it speaks plain http";
    TlsStream stream;
    stream.connect(peer);
    stream.step();
    stream.take("HTTP/1.1 400 Bad Request\r\n\r\n");
    stream.step();
    EXPECT_EQ(stream.state(), State::failed);
    EXPECT_EQ(describe(stream.failure()),
              "the answer is not TLS (wrong version number); check that the server speaks TLS on "
              "this port, or use http:// "
              "in --url");
    stream.close();
    stream.connect(peer);
    stream.fail_closed();
    EXPECT_EQ(describe(stream.failure()), closed);
    stream.close();
    stream.connect(peer);
    stream.step();
    stream.take(std::string_view("\x15\x03\x03\x00\x02\x02\x28", 7));  // and the end at once
    stream.fail_closed();
    EXPECT_TRUE(says(describe(stream.failure()), "alert handshake failure"));
    stream.close();
    stream.connect(peer);
    stream.step();
    stream.take(std::string_view("\x15\x03\x03\x00\x02\x01\x00", 7));  // close_notify, too early
    stream.step();
    EXPECT_EQ(stream.state(), State::failed);
    EXPECT_EQ(describe(stream.failure()), closed);
    stream.close();
    stream.connect(peer);
    stream.take(std::string(TlsStream::handshake_bytes_max, '\x16'));
    EXPECT_EQ(stream.state(), State::handshake);
    stream.take("x");
    EXPECT_EQ(stream.state(), State::failed);
}

// A file that is missing, or holds something else, is named with its flag.
TEST(TlsContext, NamesTheWrongFile) {
    const Papers& ours = papers();
    const auto why_not = [](const TlsClientOptions& options) {
        std::string why;
        EXPECT_FALSE(TlsContext::client(options, why));
        return why;
    };
    EXPECT_EQ(why_not({true, "/no/such.pem", "", ""}),
              "--ca /no/such.pem: No such file or directory; name a PEM file with certificates");
    EXPECT_EQ(why_not({true, "", ours.server.cert, ""}),
              "--cert " + ours.server.cert +
                  ": has no private key that can be read without a pass phrase; give --key FILE");
    EXPECT_TRUE(why_not({true, ours.server.key, "", ""}).starts_with("--ca " + ours.server.key));
    EXPECT_TRUE(why_not({true, "", "/no/such.pem", ""}).starts_with("--cert /no/such.pem: "));
    EXPECT_TRUE(why_not({true, "", ours.server.cert, ours.authority.key})
                    .starts_with("--key " + ours.authority.key + ": key values mismatch"));
    EXPECT_EQ(describe(0), "");
}

}  // namespace

}  // namespace driftless
