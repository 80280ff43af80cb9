/// Members of JSON objects, by walks over the fields of a value: a walk names each key once, and
/// by it objects are written (MemberWriter) and read (JsonMembers).
///
/// A walk is a function `walk(auto& fields, IsOf<Type> auto& value)` beside the type; each of its
/// rows is a key, the schema that it came with, and the field. `fields` has: `value` (bools,
/// numbers, texts, closed lists; an optional, null where it has none; vectors; what has a walk
/// itself), `text`, `texts` and `object` (empty is null; an object is JSON text), `digest` (16 hex
/// digits), `by_name` (pairs as an object), and `if_known`, whose key is not there where nothing is
/// known.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// `T` is `Of`, const or not: for the second argument of a walk.
template <typename T, typename Of>
concept IsOf = std::is_same_v<std::remove_const_t<T>, Of>;

/// 16 hex digits; nothing where the text is not that.
inline std::optional<std::uint64_t> digest_from_text(std::string_view text) {
    constexpr std::size_t digits = 16;
    std::uint64_t digest = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, digest, 16);
    const bool is_digest = text.size() == digits && error == std::errc() && stop == end;
    return is_digest ? std::optional(digest) : std::nullopt;
}

/// JsonMembers: reads members by their keys, into fields of any type, and keeps the first error:
/// missing, bad_json (a value of another type) or out_of_range (a number that its field cannot
/// hold, a name that is not of its list); `doing` is the key. After an error fields may hold
/// anything; null empties an optional field. In a walk, keys that came with a schema after
/// the first may be missing, and leave the field as it is. Owns nothing.
///
/// Members mostly have the order in which they are read, so that each key is behind the one
/// before; one that does not is looked for among all of them.
class JsonMembers {
  public:
    static constexpr int later = 2;  ///< the first schema whose keys may be missing

    explicit JsonMembers(JsonValue object = {}) : object_(object), next_(object.first()) {}

    /// The object that the calls below read from.
    void enter(JsonValue object) {
        object_ = object;
        next_ = object.first();
    }

    void fail(ErrorCode code, const char* key) {
        if (!error_) {
            error_ = Error{code, 0, key};
        }
    }
    void fail_unless(bool holds, ErrorCode code, const char* key) {
        if (!holds) {
            fail(code, key);
        }
    }
    const std::optional<Error>& error() const { return error_; }

    JsonValue get(const char* key, int since = 1) {
        const JsonValue found = next_.key() == key ? next_ : object_.find(key);
        next_ = found.present() ? found.next() : next_;
        fail_unless(found.present() || since >= later, ErrorCode::missing, key);
        return found;
    }
    template <typename T>
    void read(const char* key, T& out) {
        take(key, get(key), out);
    }
    void digest(const char* key, std::uint64_t& out) {
        std::string_view text;
        read(key, text);
        keep(key, ErrorCode::out_of_range, digest_from_text(text), out);
    }

    template <typename T>
    void value(const char* key, int since, T& out) {
        const JsonValue value = get(key, since);
        if (value.present()) {
            take(key, value, out);
        }
    }
    template <typename T>
    void if_known(const char* key, int since, std::optional<T>& out) {
        value(key, since < later ? later : since, out);
    }
    void text(const char* key, int since, std::string& out) {
        std::optional<std::string> text;
        value(key, since, text);
        out = std::move(text).value_or("");
    }
    void texts(const char* key, int since, std::vector<std::string>& out) {
        const JsonValue list = get(key, since);
        if (list.present() && !list.is(JsonType::null)) {
            take(key, list, out);
        }
    }
    void digest(const char* key, int since, std::optional<std::uint64_t>& out) {
        std::optional<std::string_view> text;
        value(key, since, text);
        if (text) {
            keep(key, ErrorCode::out_of_range, digest_from_text(*text), out);
        }
    }
    void object(const char* key, int since, std::string& out) {
        const JsonValue value = get(key, since);
        if (value.is(JsonType::object)) {
            out = value.raw();
        } else {
            fail_unless(!value.present() || value.is(JsonType::null), ErrorCode::bad_json, key);
        }
    }
    template <typename Pair>
    void by_name(const char* key, int since, std::vector<Pair>& out) {
        const JsonValue object = get(key, since);
        fail_unless(!object.present() || object.is(JsonType::object), ErrorCode::bad_json, key);
        for (JsonValue one = object.first(); one.present(); one = one.next()) {
            auto& [name, value] = out.emplace_back();
            name = one.key();
            take(key, one, value);
        }
    }

  protected:
    template <typename T>
    void take(const char* key, const JsonValue& value, std::optional<T>& out) {
        if (value.is(JsonType::null)) {
            out.reset();
        } else if (value.present()) {
            take(key, value, out.emplace());
        }
    }
    template <typename T>
    void take(const char* key, const JsonValue& value, std::vector<T>& out) {
        fail_unless(value.is(JsonType::array), ErrorCode::bad_json, key);
        out.reserve(value.size());
        for (JsonValue item = value.first(); item.present(); item = item.next()) {
            take(key, item, out.emplace_back());
        }
    }
    template <typename T>
    void take(const char* key, const JsonValue& value, T& out) {
        if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
            keep(key, ErrorCode::bad_json, value.as_string(), out);
        } else if constexpr (std::is_same_v<T, bool>) {
            keep(key, ErrorCode::bad_json, value.as_bool(), out);
        } else if constexpr (std::is_same_v<T, double>) {
            keep(key, ErrorCode::bad_json, value.as_double(), out);
        } else if constexpr (std::is_same_v<T, std::uint64_t>) {
            keep_number(key, value, value.as_u64(), out);
        } else if constexpr (std::is_enum_v<T>) {
            take_name(key, value, out);
        } else if constexpr (std::is_class_v<T>) {
            fail_unless(value.is(JsonType::object), ErrorCode::bad_json, key);
            const JsonValue object = std::exchange(object_, value);
            const JsonValue next = std::exchange(next_, value.first());
            walk(*this, out);
            object_ = object;
            next_ = next;
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
    template <typename Enum>
    void take_name(const char* key, const JsonValue& value, Enum& out) {
        if (first_is_null<Enum> && value.is(JsonType::null)) {
            return;
        }
        const std::optional<std::string_view> name = value.as_string();
        keep(key, name ? ErrorCode::out_of_range : ErrorCode::bad_json,
             from_name<Enum>(name.value_or("")), out);
    }
    template <typename From, typename T>
    void keep_number(const char* key, const JsonValue& value, const std::optional<From>& from,
                     T& out) {
        if (from.has_value() && std::in_range<T>(*from)) {
            out = static_cast<T>(*from);
        } else {
            fail(value.is(JsonType::number) ? ErrorCode::out_of_range : ErrorCode::bad_json, key);
        }
    }

    JsonValue object_;
    JsonValue next_;  ///< the member behind the last one that was found
    std::optional<Error> error_;
};

/// MemberWriter: writes what a walk names into the object that is open.
class MemberWriter {
  public:
    explicit MemberWriter(JsonWriter& json) : json_(json) {}

    template <typename T>
    void value(std::string_view key, int, const T& value) {
        json_.key(key);
        write(value);
    }
    template <typename T>
    void if_known(std::string_view key, int, const std::optional<T>& value) {
        if (value) {
            this->value(key, 0, *value);
        }
    }
    void text(std::string_view key, int, const std::string& text) {
        write_optional_text(json_, key, text);
    }
    void texts(std::string_view key, int, const std::vector<std::string>& texts) {
        json_.key(key);
        texts.empty() ? write_null() : write(texts);
    }
    void object(std::string_view key, int, const std::string& text) {
        json_.key(key).raw(text.empty() ? std::string_view("null") : text);
    }
    void digest(std::string_view key, int, std::optional<std::uint64_t> digest) {
        constexpr unsigned digits = 16;
        char text[digits];
        for (unsigned i = 0; i < digits; ++i) {
            text[i] = "0123456789abcdef"[(digest.value_or(0) >> (60 - 4 * i)) & 15];
        }
        json_.key(key);
        digest ? json_.string({text, digits}) : json_.null();
    }
    template <typename Pair>
    void by_name(std::string_view key, int, const std::vector<Pair>& pairs) {
        json_.key(key).begin_object();
        for (const auto& [name, value] : pairs) {
            this->value(name, 0, value);
        }
        json_.end_object();
    }

    /// A value alone.
    template <typename T>
    void write(const T& value) {
        if constexpr (std::is_same_v<T, std::string>) {
            json_.string(value);
        } else if constexpr (std::is_same_v<T, bool>) {
            json_.boolean(value);
        } else if constexpr (std::is_same_v<T, double>) {
            json_.number(value);
        } else if constexpr (std::is_enum_v<T>) {
            value == T() && first_is_null<T> ? write_null() : void(json_.string(name_of(value)));
        } else if constexpr (std::is_class_v<T>) {
            json_.begin_object();
            walk(*this, value);
            json_.end_object();
        } else if constexpr (std::is_signed_v<T>) {
            json_.integer(value);
        } else {
            json_.unsigned_integer(value);
        }
    }
    template <typename T>
    void write(const std::optional<T>& value) {
        value ? write(*value) : write_null();
    }
    template <typename T>
    void write(const std::vector<T>& values) {
        json_.begin_array();
        for (const T& value : values) {
            write(value);
        }
        json_.end_array();
    }
    void write_null() { json_.null(); }

  protected:
    JsonWriter& json_;
};

/// Appends a value that has a walk as a line of a file, newline included. `Writer`: MemberWriter,
/// or what knows more kinds of fields.
template <typename Writer = MemberWriter, typename T>
void append_json_line(std::string& out, const T& value) {
    const std::size_t begin = out.size();
    JsonWriter json(out);
    Writer fields(json);
    json.begin_object();
    walk(fields, value);
    json.end_object();
    escape_unprintable_json(out, begin);
    out += '\n';
}

/// Reads such a line back. Errors: those of `Members`; bad_json, with `doing`, where it is no
/// object.
template <typename T, typename Members = JsonMembers>
Result<T> read_members(const Result<JsonValue>& root, const char* doing) {
    if (!root || !root.value().is(JsonType::object)) {
        return Error{ErrorCode::bad_json, 0, doing};
    }
    T out{};
    Members fields(root.value());
    walk(fields, out);
    return fields.error() ? Result<T>(*fields.error()) : Result<T>(std::move(out));
}
template <typename T, typename Members = JsonMembers>
Result<T> read_json_line(JsonDocument& document, std::string_view line, const char* doing) {
    return read_members<T, Members>(document.parse(line), doing);
}

}  // namespace driftless
