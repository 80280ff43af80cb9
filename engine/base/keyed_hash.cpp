#include "engine/base/keyed_hash.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <utility>

namespace driftless {

struct KeyedHash::State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        EVP_MAC_CTX_free(context);
        EVP_MAC_free(mac);
    }

    EVP_MAC* mac = nullptr;
    EVP_MAC_CTX* context = nullptr;
};

KeyedHash::KeyedHash(std::unique_ptr<State> state) : state_(std::move(state)) {}
KeyedHash::KeyedHash(KeyedHash&&) noexcept = default;
KeyedHash::~KeyedHash() = default;

Result<KeyedHash> KeyedHash::create(std::string_view secret) {
    auto state = std::make_unique<State>();
    state->mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
    state->context = state->mac == nullptr ? nullptr : EVP_MAC_CTX_new(state->mac);
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    const auto* const key = reinterpret_cast<const unsigned char*>(secret.data());
    if (state->context == nullptr ||
        EVP_MAC_init(state->context, key, secret.size(), params) != 1) {
        return Error{ErrorCode::unsupported, 0, "prepare HMAC-SHA-256"};
    }
    return KeyedHash(std::move(state));
}

KeyedHash::Value KeyedHash::of(std::span<const unsigned char> bytes) {
    Value value{};
    std::size_t size = 0;
    // Without a key, init starts anew under the key that the context has.
    const bool done = EVP_MAC_init(state_->context, nullptr, 0, nullptr) == 1 &&
                      EVP_MAC_update(state_->context, bytes.data(), bytes.size()) == 1 &&
                      EVP_MAC_final(state_->context, value.data(), &size, value.size()) == 1;
    CHECK(done && size == value.size());
    return value;
}

void wipe(std::string& secret) {
    OPENSSL_cleanse(secret.data(), secret.size());
    secret.clear();
}

}  // namespace driftless
