/// ParsedFields: the fields of a record out of a parsed line, whatever the order of its keys. It
/// keeps the first error. Internal to proto/record; owns nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/json/document.hpp"
#include "proto/record/record_keys.hpp"

namespace driftless {

/// Lines mostly have the order in which they are read, so that each key stands behind the one
/// before; one that does not is looked for among all of them.
class ParsedFields {
  public:
    explicit ParsedFields(JsonValue root) : root_(root), next_(root.first()) {}

    bool failed() const { return failed_; }
    const Error& error() const { return error_; }

    template <typename T>
    void read(const char* key, T& out) {
        const JsonValue value = get(key);
        if (value.present()) {
            take(key, value, out);
        }
    }
    template <typename T>
    void read(const char* key, std::optional<T>& out) {
        take_unless_null(key, get(key), out);
    }
    template <typename T>
    void read_later(const char* key, std::optional<T>& out) {
        take_unless_null(key, get_later(key), out);
    }
    template <typename T>
    void read_later(const char* key, T& out) {
        const JsonValue value = get_later(key);
        if (value.present()) {
            take(key, value, out);
        }
    }
    /// `driftless merge` adds it.
    void read_of_merged_run(const char* key, std::optional<std::uint32_t>& out) {
        read_later(key, out);
    }
    /// Null is the empty text.
    void read_text_or_empty(const char* key, std::string& out) {
        std::optional<std::string> text;
        read(key, text);
        out = std::move(text).value_or("");
    }
    void read_text_or_empty_later(const char* key, std::string& out) {
        std::optional<std::string> text;
        read_later(key, text);
        out = std::move(text).value_or("");
    }
    /// False where the array is null.
    template <typename T>
    bool read_array(const char* key, std::vector<T>& out) {
        const JsonValue value = get(key);
        if (!value.present() || value.is(JsonType::null)) {
            return false;
        }
        if (!value.is(JsonType::array)) {
            fail(ErrorCode::bad_json, key);
        }
        out.reserve(value.size());
        for (JsonValue item = value.first(); item.present(); item = item.next()) {
            take(key, item, out.emplace_back());
        }
        return true;
    }
    template <typename Enum>
    void read_name(const char* key, std::optional<Enum> (*from)(std::string_view), Enum& out) {
        std::string name;
        read(key, name);
        keep_name(key, from(name), out);
    }
    template <typename Enum>
    void read_name(const char* key, std::optional<Enum> (*from)(std::string_view),
                   std::optional<Enum>& out) {
        std::optional<std::string> name;
        read(key, name);
        if (name) {
            keep_name(key, from(*name), out);
        }
    }
    template <typename Enum>
    void read_name_later(const char* key, std::optional<Enum> (*from)(std::string_view),
                         Enum& out) {
        const JsonValue value = get_later(key);
        if (value.present()) {
            keep_name(key, from(value.as_string().value_or("")), out);
        }
    }
    template <typename Enum>
    void read_name_later(const char* key, std::optional<Enum> (*from)(std::string_view),
                         std::optional<Enum>& out) {
        const JsonValue value = get_later(key);
        if (value.present() && !value.is(JsonType::null)) {
            keep_name(key, from(value.as_string().value_or("")), out);
        }
    }
    /// It came with schema 14; null is none.
    void read_side(const char* key, Side& out) {
        const JsonValue value = get_later(key);
        if (value.present() && !value.is(JsonType::null)) {
            keep_name(key, side_from_name(value.as_string().value_or("")), out);
        }
    }
    void read_digest(const char* key, std::optional<std::uint64_t>& out) {
        std::optional<std::string> text;
        read(key, text);
        if (text) {
            keep_name(key, digest_from_text(*text), out);
        }
    }
    /// An object is kept as its text; null is the empty text.
    void read_object(const char* key, std::string& out) { take_object(key, get(key), out); }
    void read_object_later(const char* key, std::string& out) {
        take_object(key, get_later(key), out);
    }
    /// They came with schema 5: none where a line does not have them.
    void read_headers(const char* key, std::vector<RecordedHeader>& out) {
        const JsonValue headers = get_later(key);
        if (headers.present() && !headers.is(JsonType::object)) {
            fail(ErrorCode::bad_json, key);
            return;
        }
        for (JsonValue field = headers.first(); field.present(); field = field.next()) {
            RecordedHeader& header = out.emplace_back();
            header.name = field.key();
            header.value = field.as_string();
            if (!header.value && !field.is(JsonType::null)) {
                fail(ErrorCode::bad_json, key);
            }
        }
    }

  private:
    JsonValue get(const char* key) {
        const JsonValue value = get_later(key);
        if (!value.present()) {
            fail(ErrorCode::missing, key);
        }
        return value;
    }
    JsonValue get_later(std::string_view key) {
        const JsonValue found = next_.key() == key ? next_ : root_.find(key);
        next_ = found.present() ? found.next() : next_;
        return found;
    }
    void fail(ErrorCode code, const char* key) {
        if (!failed_) {
            failed_ = true;
            error_ = {code, 0, key};
        }
    }
    template <typename T>
    void take_unless_null(const char* key, JsonValue value, std::optional<T>& out) {
        if (value.present() && !value.is(JsonType::null)) {
            take(key, value, out.emplace());
        }
    }
    template <typename T>
    void take(const char* key, JsonValue value, T& out) {
        if constexpr (std::is_same_v<T, std::string>) {
            keep(key, value.as_string(), out);
        } else if constexpr (std::is_same_v<T, bool>) {
            keep(key, value.as_bool(), out);
        } else if constexpr (std::is_same_v<T, double>) {
            keep(key, value.as_double(), out);
        } else if constexpr (std::is_same_v<T, std::uint64_t>) {
            keep_number(key, value, value.as_u64(), out);
        } else {
            keep_number(key, value, value.as_i64(), out);
        }
    }
    void take_object(const char* key, JsonValue value, std::string& out) {
        if (value.is(JsonType::object)) {
            out = value.raw();
        } else if (value.present() && !value.is(JsonType::null)) {
            fail(ErrorCode::bad_json, key);
        }
    }
    template <typename From, typename T>
    void keep(const char* key, const std::optional<From>& from, T& out) {
        if (from.has_value()) {
            out = T(*from);
        } else {
            fail(ErrorCode::bad_json, key);
        }
    }
    template <typename From, typename T>
    void keep_number(const char* key, JsonValue value, const std::optional<From>& from, T& out) {
        const bool fits = from.has_value() && std::in_range<T>(*from);
        if (fits) {
            out = static_cast<T>(*from);
        } else {
            fail(value.is(JsonType::number) ? ErrorCode::out_of_range : ErrorCode::bad_json, key);
        }
    }
    template <typename From, typename T>
    void keep_name(const char* key, const std::optional<From>& from, T& out) {
        if (from.has_value()) {
            out = *from;
        } else {
            fail(ErrorCode::out_of_range, key);
        }
    }

    JsonValue root_;
    JsonValue next_;  ///< the member behind the last one that was found
    Error error_;
    bool failed_ = false;
};

}  // namespace driftless
