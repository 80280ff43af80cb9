// TLS between a simulated server and the network: bytes of the client become plain ones, a bit
// flips, and the server's TLS says something of its own.

#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {

namespace {
constexpr std::uint64_t corrupt_bytes_max = 8192;  // a handshake and some answers
constexpr std::uint64_t murmur_ns_max = 300'000'000;
}  // namespace

void SimDriver::open_tls(Connection& connection) {
    connection.tls = std::make_unique<TlsServer>(*tls_);
    if (tls_->chance(tls_->weather().corrupt)) {
        connection.corrupt_at = tls_->below(corrupt_bytes_max);
    }
}

void SimDriver::tls_receives(int number, std::string_view bytes) {
    Connection& connection = connection_of(number);
    TlsServer& tls = *connection.tls;
    const bool stood = tls.stands();
    const bool was_over = tls.over();
    const std::string plain = tls.receive(bytes);
    misread_ += !was_over && tls.misread() && !connection.harmed ? 1 : 0;
    const bool over = tls.over();
    if (!stood && tls.stands()) {
        murmur_later(number);
    }
    deliver_to_client(number, tls.take_output(), End::none, true);
    if (!plain.empty()) {
        plain_receives(number, plain);  // it may end the connection
    }
    if (over && connection.served()) {
        say(number, {}, End::close);
        wake_servers();
    }
}

/// The bytes with one bit another, where that one is among them; else empty.
std::string SimDriver::corrupted(Connection& connection, std::string_view bytes) {
    const std::uint64_t from = connection.bytes_said;
    if (!connection.corrupt_at || *connection.corrupt_at < from ||
        *connection.corrupt_at >= from + bytes.size()) {
        return {};
    }
    connection.harmed = true;
    std::string harmed(bytes);
    char& byte = harmed[*connection.corrupt_at - from];
    byte = static_cast<char>(byte ^ (1 << tls_->below(8)));
    return harmed;
}

void SimDriver::murmur_later(int number) {
    if (tls_->chance(tls_->weather().murmur)) {
        at(now_ + Duration{static_cast<std::int64_t>(tls_->below(murmur_ns_max))},
           {Happening::Kind::murmur, number, 0, 0, 0, {}});
    }
}

void SimDriver::murmur(int number) {
    TlsServer* tls = connection_of(number).tls.get();
    if (tls != nullptr && !connection_of(number).shut) {
        deliver_to_client(number, tls->murmur(), End::none, true);
        murmur_later(number);
    }
}

}  // namespace driftless::sim
