// Any bytes in the place of a server's handshake leave a client waiting or failed with words, never
// open, however they arrive.
#include "engine/io/tls.hpp"

#include "tests/fuzz/shared/pieces.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

TlsPeer& peer() {
    static std::string why;
    static const TlsContext context = TlsContext::client({}, why).value();
    static TlsPeer made(context, "host.example");
    return made;
}

TlsStream::State shake_hands(const std::vector<std::vector<char>>& pieces) {
    TlsStream stream;
    stream.connect(peer());
    stream.step();
    CHECK(stream.has_output());
    for (const std::vector<char>& piece : pieces) {
        stream.take({piece.data(), piece.size()});
        stream.step();
    }
    CHECK(stream.state() == TlsStream::State::handshake ||
          stream.state() == TlsStream::State::failed);
    CHECK(describe(stream.failure()).empty() == (stream.failure() == 0));
    return stream.state();
}

void fuzz_tls(std::string_view input) {
    const auto ways = ways_to_feed(read_input(input));
    const TlsStream::State whole = shake_hands(ways[0]);
    CHECK(shake_hands(ways[1]) == whole);
    CHECK(shake_hands(ways[2]) == whole);
}

const FuzzTargets tls_target = {{"tls", fuzz_tls}};

}  // namespace
}  // namespace driftless
