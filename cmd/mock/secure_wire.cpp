#include "cmd/mock/secure_wire.hpp"

#include "engine/tls/records.hpp"

namespace driftless::mock {

SecureWire::SecureWire(const TlsContext& context) : plain_(record_bytes_max, '\0') {
    stream_.accept(context);
}

void SecureWire::receive(std::string_view records) {
    if (stream_.state() == TlsStream::State::handshake) {
        stream_.take(records);
        stream_.step();
    } else {
        stream_.feed(records);
    }
}

std::string_view SecureWire::next_plain() {
    return stream_.read(plain_.data(), plain_.size());
}

bool SecureWire::over() const {
    return stream_.state() == TlsStream::State::ended ||
           stream_.state() == TlsStream::State::failed;
}

void SecureWire::seal(std::string& answer) {
    records_.resize(answer.size() + seal_room(answer.size()));
    std::size_t used = 0;
    std::string_view rest = answer;
    while (!rest.empty()) {  // ends: every record takes some
        const std::string_view plain = rest.substr(0, record_bytes_max);
        used += stream_.seal(plain, records_.data() + used, records_.size() - used);
        rest.remove_prefix(plain.size());
    }
    answer.assign(records_, 0, used);
}

}  // namespace driftless::mock
