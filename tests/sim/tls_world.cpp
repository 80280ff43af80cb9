#include "tests/sim/tls_world.hpp"

// A method of one's own for randomness is an old interface; a provider would be 200 lines.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include "tests/tls/certificates.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint64_t dice_stream = 0x715;
constexpr std::uint64_t bytes_stream = 0x7158;
constexpr const char* host = "simulated";
constexpr std::size_t ticket_key_bytes = 80;
constexpr std::string_view no_tls_words = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
constexpr std::string_view alert_words{"\x15\x03\x03\x00\x02\x02\x28", 7};  // handshake_failure

/// Null: OpenSSL's own.
Random* randomness = nullptr;

int random_bytes(unsigned char* out, int size) {
    std::generate_n(out, size, [] { return static_cast<unsigned char>(randomness->next()); });
    return 1;
}

int always() {
    return 1;
}

/// OpenSSL draws from the seed from here on: random integers in tickets have lengths of their own.
void seed_openssl(std::uint64_t seed) {
    static const RAND_METHOD method{nullptr, random_bytes, nullptr, nullptr, random_bytes, always};
    static Random source(0);
    CHECK(randomness == nullptr);
    source = Random(seed);
    randomness = &source;
    CHECK(RAND_set_rand_method(&method) == 1);
}

void unseed_openssl() {
    CHECK(RAND_set_rand_method(nullptr) == 1);
    randomness = nullptr;
}

/// Made once: signatures are all of one length, so that what they say does not matter.
struct Papers {
    PemFiles authority = make_certificate({"authority", {}, -1, 30, true}, nullptr);
    PemFiles right =
        make_certificate({"right", {std::string("DNS:") + host}, -1, 30, true}, &authority);
    PemFiles wrong = make_certificate({"wrong", {"DNS:elsewhere"}, -1, 30, true}, &authority);
};

const Papers& papers() {
    static const Papers made;
    return made;
}

TlsContext made(Result<TlsContext> context) {
    CHECK(static_cast<bool>(context));
    return std::move(context).value();
}

TlsContext client_of(std::uint64_t seed) {
    const std::string& authority = papers().authority.cert;  // made before the seed is taken
    seed_openssl(seed);
    std::string why;
    return made(TlsContext::client({true, authority, "", ""}, why));
}

TlsContext server_of(const PemFiles& files, const TlsWeather& weather) {
    std::string why;
    TlsContext context = made(TlsContext::server({files.cert, files.key}, why));
    if (weather.old) {
        (void)SSL_CTX_set_max_proto_version(context.raw(), TLS1_2_VERSION);
    }
    (void)SSL_CTX_set_num_tickets(context.raw(), weather.tickets);
    return context;
}

/// Of the client: messages of a handshake as they come and go, headers of records as they go.
void on_message(int is_write, int, int type, const void*, std::size_t, SSL*, void* of) {
    auto& world = *static_cast<TlsWorld*>(of);
    if (type == SSL3_RT_HANDSHAKE) {
        world.let_pass(world.weather().step_max);
    } else if (type == SSL3_RT_HEADER && is_write == 1) {
        world.let_pass(world.weather().record_max);
    }
}

}  // namespace

TlsWorld::TlsWorld(std::uint64_t seed, const TlsWeather& weather, std::uint32_t targets)
    : weather_(weather),
      targets_(targets),
      dice_(mix64(seed ^ dice_stream)),
      client_(client_of(mix64(seed ^ bytes_stream))),
      right_(server_of(papers().right, weather)),
      wrong_(server_of(papers().wrong, weather)) {
    SSL_CTX_set_msg_callback(client_.raw(), on_message);
    SSL_CTX_set_msg_callback_arg(client_.raw(), this);
    for (std::uint32_t target = 0; target < targets; ++target) {
        const bool plain = weather.only_first && target > 0;
        peers_.push_back(plain ? nullptr : std::make_unique<TlsPeer>(client_, host));
    }
}

TlsWorld::~TlsWorld() {
    unseed_openssl();
}

std::vector<Endpoint> TlsWorld::endpoints() {
    const Result<Address> secure = unix_address("@tls");
    CHECK(static_cast<bool>(secure));
    std::vector<Endpoint> endpoints(targets_);
    for (std::uint32_t target = 0; target < targets_; ++target) {
        endpoints[target].tls = peers_[target].get();
        endpoints[target].address = peers_[target] == nullptr ? Address{} : secure.value();
    }
    return endpoints;
}

void TlsWorld::let_pass(Duration most) {
    if (clock_ != nullptr && most.ns > 0) {
        *clock_ = *clock_ +
                  Duration{static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most.ns)))};
    }
}

void TlsWorld::forget_tickets() {
    std::array<unsigned char, ticket_key_bytes> keys{};
    (void)random_bytes(keys.data(), static_cast<int>(keys.size()));
    CHECK(SSL_CTX_set_tlsext_ticket_keys(right_.raw(), keys.data(), keys.size()) == 1);
}

std::uint64_t TlsWorld::handshakes() const {
    std::uint64_t all = 0;
    for (const auto& peer : peers_) {
        all += peer != nullptr ? peer->handshakes : 0;
    }
    return all;
}

std::uint64_t TlsWorld::resumed() const {
    std::uint64_t all = 0;
    for (const auto& peer : peers_) {
        all += peer != nullptr ? peer->resumed : 0;
    }
    return all;
}

TlsServer::Manner TlsServer::manner_of(TlsWorld& world) {
    const TlsWeather& weather = world.weather();
    return world.chance(weather.no_tls)    ? Manner::no_tls
           : world.chance(weather.alert)   ? Manner::alert
           : world.chance(weather.hang_up) ? Manner::hang_up
           : world.chance(weather.deaf)    ? Manner::deaf
                                           : Manner::proper;
}

TlsServer::TlsServer(TlsWorld& world) : world_(world), manner_(manner_of(world)) {
    if (world.chance(world.weather().forget)) {
        world.forget_tickets();
    }
    stream_.accept(world.chance(world.weather().wrong_name) ? world.wrong() : world.right());
}

std::string TlsServer::receive(std::string_view bytes) {
    if (manner_ != Manner::proper) {
        words_ += over_                       ? std::string_view()
                  : manner_ == Manner::no_tls ? no_tls_words
                  : manner_ == Manner::alert  ? alert_words
                                              : std::string_view();
        over_ = manner_ != Manner::deaf;
        return {};
    }
    if (stream_.state() == TlsStream::State::handshake) {
        stream_.take(bytes);
        stream_.step();
    } else {
        stream_.feed(bytes);
    }
    std::string text;
    std::string_view plain;
    do {  // ends: each round takes a record out of the bytes
        plain = stream_.read(plain_.data(), plain_.size());
        text += plain;
    } while (!plain.empty());
    return text;
}

std::string TlsServer::take_output() {
    return manner_ == Manner::proper ? stream_.take_output() : std::exchange(words_, {});
}

std::string TlsServer::seal(std::string_view plain) {
    std::string records;
    if (!plain.empty() && stands() && world_.chance(world_.weather().interrupt)) {
        records = murmur();
    }
    while (!plain.empty() && stands()) {  // ends: every record takes some
        const std::string_view some = plain.substr(0, record_bytes_max);
        const std::size_t at = records.size();
        records.resize(at + seal_room(some.size()) + some.size());
        records.resize(at + stream_.seal(some, records.data() + at, records.size() - at));
        plain.remove_prefix(some.size());
    }
    return records;
}

std::string TlsServer::murmur() {
    if (!stands() || world_.weather().old) {
        return {};
    }
    ERR_clear_error();
    switch (world_.below(3)) {
        case 0:
            (void)SSL_new_session_ticket(stream_.raw());
            break;
        case 1:
            (void)SSL_key_update(stream_.raw(), SSL_KEY_UPDATE_REQUESTED);
            break;
        default:
            (void)SSL_key_update(stream_.raw(), SSL_KEY_UPDATE_NOT_REQUESTED);
    }
    (void)SSL_do_handshake(stream_.raw());
    ERR_clear_error();
    return stream_.take_output();
}

std::string TlsServer::say_goodbye() {
    if (!stands()) {
        return {};
    }
    stream_.say_goodbye();
    return stream_.take_output();
}

bool TlsServer::over() const {
    const TlsStream::State state = stream_.state();
    return over_ || state == TlsStream::State::ended || state == TlsStream::State::failed;
}

bool TlsServer::misread() const {
    constexpr int from_an_alert = SSL_AD_REASON_OFFSET;
    return stream_.state() == TlsStream::State::failed &&
           ERR_GET_REASON(stream_.failure()) < from_an_alert;
}

}  // namespace driftless::sim
