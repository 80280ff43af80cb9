/// JsonMembers: members of a JSON object by their keys, into fields of any type, and the first
/// error: missing, bad_json (a value of another type) or out_of_range (a number that its field
/// cannot hold); `doing` is the key. After an error fields may hold anything; null leaves an
/// optional field as it is. Owns nothing.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "proto/core/errors.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// 16 hex digits; nothing where the text is not that.
inline std::optional<std::uint64_t> digest_from_text(std::string_view text) {
    constexpr std::size_t digits = 16;
    std::uint64_t digest = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, digest, 16);
    const bool is_digest = text.size() == digits && error == std::errc() && stop == end;
    return is_digest ? std::optional(digest) : std::nullopt;
}

class JsonMembers {
  public:
    explicit JsonMembers(JsonValue object = {}) : object_(object) {}

    /// The object that the calls below read from.
    void enter(JsonValue object) { object_ = object; }

    void fail(ErrorCode code, const char* key) {
        if (!error_) {
            error_ = Error{code, 0, key};
        }
    }
    const std::optional<Error>& error() const { return error_; }

    JsonValue get(const char* key) {
        const JsonValue value = object_.find(key);
        if (!value.present()) {
            fail(ErrorCode::missing, key);
        }
        return value;
    }
    /// Whether it is not null.
    bool known(const char* key) {
        const JsonValue value = get(key);
        return value.present() && !value.is(JsonType::null);
    }
    template <typename T>
    void read(const char* key, T& out) {
        take(key, get(key), out);
    }
    template <typename T>
    void read_up_to(const char* key, std::type_identity_t<T> most, T& out) {
        T value{};
        read(key, value);
        value <= most ? void(out = value) : fail(ErrorCode::out_of_range, key);
    }
    void digest(const char* key, std::uint64_t& out) {
        std::string_view text;
        read(key, text);
        keep(key, ErrorCode::out_of_range, digest_from_text(text), out);
    }

  protected:
    template <typename T>
    void take(const char* key, JsonValue value, std::optional<T>& out) {
        if (value.present() && !value.is(JsonType::null)) {
            take(key, value, out.emplace());
        }
    }
    template <typename T>
    void take(const char* key, JsonValue value, T& out) {
        if constexpr (std::is_constructible_v<T, std::string_view>) {
            keep(key, ErrorCode::bad_json, value.as_string(), out);
        } else if constexpr (std::is_same_v<T, bool>) {
            keep(key, ErrorCode::bad_json, value.as_bool(), out);
        } else if constexpr (std::is_same_v<T, double>) {
            keep(key, ErrorCode::bad_json, value.as_double(), out);
        } else if constexpr (std::is_same_v<T, std::uint64_t>) {
            keep_number(key, value, value.as_u64(), out);
        } else {
            keep_number(key, value, value.as_i64(), out);
        }
    }
    template <typename From, typename T>
    void keep(const char* key, ErrorCode otherwise, const std::optional<From>& from, T& out) {
        if (from.has_value()) {
            out = T(*from);
        } else {
            fail(otherwise, key);
        }
    }

  private:
    template <typename From, typename T>
    void keep_number(const char* key, JsonValue value, const std::optional<From>& from, T& out) {
        if (from.has_value() && std::in_range<T>(*from)) {
            out = static_cast<T>(*from);
        } else {
            fail(value.is(JsonType::number) ? ErrorCode::out_of_range : ErrorCode::bad_json, key);
        }
    }

    JsonValue object_;
    std::optional<Error> error_;
};

}  // namespace driftless
