/// put: members of a JSON object from a list of keys and values:
/// `put_object(json, {{"rows", 12}, {"rate", unknown_rate}, {"sums", JsonPairs{{"all", 3}}}})`.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "proto/json/members.hpp"
#include "proto/json/write.hpp"

namespace driftless {

class JsonPair;
/// As a value: an object of them.
using JsonPairs = std::initializer_list<JsonPair>;

void put_object(JsonWriter& json, JsonPairs pairs);

/// A number, a bool, a text or a name of a closed list; what has a walk (members.hpp); what may be
/// unknown, null then; a vector of them; `JsonPairs`; or a function that writes it. A type may have
/// its own `put_value` beside it.
template <typename Value>
void put_value(JsonWriter& json, const Value& value) {
    if constexpr (std::is_same_v<Value, JsonPairs>) {
        put_object(json, value);
    } else if constexpr (std::is_invocable_v<const Value&, JsonWriter&>) {
        value(json);
    } else if constexpr (std::is_null_pointer_v<Value>) {
        json.null();
    } else if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
        json.string(value);
    } else {
        MemberWriter(json).write(value);
    }
}
template <typename Value>
void put_value(JsonWriter& json, const std::optional<Value>& value) {
    value ? put_value(json, *value) : put_value(json, nullptr);
}
template <typename Value>
void put_value(JsonWriter& json, const std::vector<Value>& values) {
    json.begin_array();
    for (const auto& value : values) {
        put_value(json, value);
    }
    json.end_array();
}

/// As it is in its own text; null where there is none.
inline void put_value(JsonWriter& json, const JsonValue& value) {
    json.raw(value.present() ? value.raw() : "null");
}

/// Empty is null.
inline std::optional<std::string_view> or_null(std::string_view text) {
    return text.empty() ? std::nullopt : std::optional(text);
}
/// Null unless it is known.
template <typename Value>
std::optional<Value> known_if(bool is_known, const Value& value) {
    return is_known ? std::optional(value) : std::nullopt;
}
/// An array of what `write(json, item)` writes of each.
template <typename Items, typename Write>
auto put_each(const Items& items, Write write) {
    return [&items, write](JsonWriter& json) {
        json.begin_array();
        for (const auto& item : items) {
            write(json, item);
        }
        json.end_array();
    };
}
/// An object of names and values.
template <typename Items>
auto put_named(const Items& items) {
    return [&items](JsonWriter& json) {
        json.begin_object();
        for (const auto& [name, value] : items) {
            put_value(json.key(name), value);
        }
        json.end_object();
    };
}

/// Refers to its key and value: for the expression alone in which it is made.
class JsonPair {
  public:
    template <typename Value>
    JsonPair(std::string_view key, const Value& value)
        : key_(key), value_(&value), write_([](JsonWriter& json, const void* of) {
              put_value(json, *static_cast<const Value*>(of));
          }) {}
    void write(JsonWriter& json) const { write_(json.key(key_), value_); }

  private:
    std::string_view key_;
    const void* value_;
    void (*write_)(JsonWriter& json, const void* value);
};

/// Into the object that is open.
inline void put(JsonWriter& json, JsonPairs pairs) {
    for (const JsonPair& pair : pairs) {
        pair.write(json);
    }
}

inline void put_object(JsonWriter& json, JsonPairs pairs) {
    json.begin_object();
    put(json, pairs);
    json.end_object();
}

/// A value alone, as text.
template <typename Value>
std::string json_text(const Value& value) {
    std::string text;
    JsonWriter json(text);
    put_value(json, value);
    return text;
}

/// An object as people can print it: what is unprintable is escaped.
inline std::string printable_json(JsonPairs pairs) {
    std::string text = json_text(pairs);
    escape_unprintable_json(text, 0);
    return text;
}

}  // namespace driftless
