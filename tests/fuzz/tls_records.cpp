// What a server's TLS says behind a good handshake, in any order and pieces: plain bytes, tickets,
// new keys, a goodbye. The client hears a prefix of what was said and never another byte; all of it
// where nothing was changed on the way, and nothing more behind a failure.
// An input is a version of TLS, then steps of two bytes: what is done, and how much of it.
#include <openssl/ssl.h>

#include <string>

#include "engine/io/tls.hpp"
#include "proto/core/hash.hpp"
#include "tests/fuzz/shared/target.hpp"
#include "tests/tls/certificates.hpp"

namespace driftless {
namespace {

using State = TlsStream::State;

/// Both sides of one version, for all inputs.
struct World {
    explicit World(int version)
        : authority(make_certificate({"authority", {}}, nullptr)),
          server_files(make_certificate({"server", {"DNS:host.example"}}, &authority)),
          client(TlsContext::client({true, authority.cert, "", ""}, why).value()),
          server(TlsContext::server({server_files.cert, server_files.key}, why).value()) {
        (void)SSL_CTX_set_max_proto_version(server.raw(), version);
    }
    std::string why;
    PemFiles authority;
    PemFiles server_files;
    TlsContext client;
    TlsContext server;
};

const World& world_of(bool newer) {
    static const World old_one(TLS1_2_VERSION);
    static const World new_one(TLS1_3_VERSION);
    return newer ? new_one : old_one;
}

class Talk {
  public:
    explicit Talk(bool newer) : newer_(newer), peer_(world_of(newer).client, "host.example") {
        client_.connect(peer_);
        server_.accept(world_of(newer).server);
        client_.step();
        for (bool more = true; more;) {  // ends: a handshake has few messages
            const bool asked = carry(client_, server_);
            more = carry(server_, client_) || asked;
        }
        CHECK(client_.state() == State::open && server_.state() == State::open);
        hear({});
    }

    void step(unsigned what, std::size_t amount) {
        switch (what % 8) {
            case 0:
                return say(amount * 80);  // up to more than one record
            case 1:
                return murmur(newer_ ? SSL_key_update(server_.raw(), SSL_KEY_UPDATE_REQUESTED) : 0);
            case 2:
                return murmur(newer_ ? SSL_new_session_ticket(server_.raw()) : 0);
            case 3:
                return deliver(amount * 32 + 1);
            case 4:
                return spoil(amount);
            case 5:
                wire_ += std::string(amount + 1, static_cast<char>(amount));
                spoilt_ = true;
                return;
            case 6:
                return end();
            case 7:
                return answer(amount * 80 + 1);
        }
    }

    void finish() {
        deliver(wire_.size());
        CHECK(spoilt_ || heard_ == said_);
        CHECK(spoilt_ || client_.state() == (ended_ ? State::ended : State::open));
        CHECK((client_.failure() != 0) == (client_.state() == State::failed));
        char room[128];
        CHECK(client_.state() != State::failed || client_.seal("x", room, sizeof room) == 0);
    }

  private:
    static bool carry(TlsStream& from, TlsStream& to) {
        const std::string bytes = from.take_output();
        to.take(bytes);
        if (to.state() == State::handshake) {
            to.step();
        }
        return !bytes.empty();
    }

    void say(std::size_t bytes) {
        for (; bytes > 0 && !ended_; bytes -= std::min(bytes, record_bytes_max)) {
            const std::string plain = text(std::min(bytes, record_bytes_max));
            std::string record = server_.take_output();
            const std::size_t before = record.size();
            record.resize(before + plain.size() + seal_room(plain.size()) + own_bytes);
            const std::size_t size =
                server_.seal(plain, record.data() + before, record.size() - before);
            CHECK(size > 0);
            record.resize(before + size);
            wire_ += record;
            said_ += plain;
        }
    }

    /// What TLS says for itself leaves with the next plain bytes, or at once.
    void murmur(int asked) {
        if (asked == 1 && !ended_) {
            CHECK(SSL_do_handshake(server_.raw()) == 1);
            wire_ += server_.take_output();
        }
    }

    void end() {
        if (!ended_) {
            server_.say_goodbye();
            wire_ += server_.take_output();
            ended_ = true;
        }
    }

    void spoil(std::size_t where) {
        if (!wire_.empty()) {
            wire_[where * 97 % wire_.size()] ^= static_cast<char>(1u << where % 8);
            spoilt_ = true;
        }
    }

    void deliver(std::size_t bytes) {
        const std::string piece = wire_.substr(0, bytes);
        wire_.erase(0, piece.size());
        hear(piece);
    }

    void hear(const std::string& piece) {
        client_.feed(piece);
        for (std::string_view plain = read(); !plain.empty(); plain = read()) {
            CHECK(said_.compare(heard_.size(), plain.size(), plain) == 0);
            heard_ += plain;
        }
    }
    std::string_view read() { return client_.read(room_, sizeof room_); }

    /// The client speaks meanwhile, and is understood where it still may speak.
    void answer(std::size_t bytes) {
        if (client_.state() != State::open) {
            return;
        }
        const std::string plain = text(std::min(bytes, record_bytes_max));
        std::string record = client_.take_output();
        const std::size_t before = record.size();
        record.resize(before + plain.size() + seal_room(plain.size()));
        record.resize(before + client_.seal(plain, record.data() + before, record.size() - before));
        CHECK(record.size() > before + plain.size());
        server_.feed(record);
        CHECK(server_.read(room_, sizeof room_) == plain);
        CHECK(server_.read(room_, sizeof room_).empty());
    }

    std::string text(std::size_t bytes) {
        std::string plain(bytes, '\0');
        for (char& byte : plain) {
            byte = static_cast<char>(mix64(texts_++));
        }
        return plain;
    }

    static constexpr std::size_t own_bytes = 4096;  // tickets go in front

    bool newer_;
    TlsPeer peer_;
    TlsStream client_;
    TlsStream server_;
    std::string wire_;  ///< on its way to the client
    std::string said_;
    std::string heard_;
    std::uint64_t texts_ = 0;
    bool ended_ = false;
    bool spoilt_ = false;
    char room_[record_bytes_max] = {};
};

void fuzz_tls_records(std::string_view bytes) {
    constexpr std::size_t steps_max = 64;
    if (bytes.empty()) {
        return;
    }
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); };
    Talk talk(byte(0) % 2 != 0);
    for (std::size_t at = 1; at + 1 < bytes.size() && at < 2 * steps_max; at += 2) {
        talk.step(byte(at), byte(at + 1));
    }
    talk.finish();
}

const FuzzTargets tls_records_target = {{"tls_records", fuzz_tls_records}};

}  // namespace
}  // namespace driftless
