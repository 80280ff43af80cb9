/// put: members of a JSON object from a list of keys and values:
/// `put_object(json, {{"rows", 12}, {"rate", unknown_rate}, {"sums", JsonPairs{{"all", 3}}}})`.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "proto/json/write.hpp"

namespace driftless {

class JsonPair;
/// As a value: an object of them.
using JsonPairs = std::initializer_list<JsonPair>;

void put_object(JsonWriter& json, JsonPairs pairs);

/// A number, a bool or a text; what may be unknown, null then; a vector of them; `JsonPairs`; or a
/// function that writes it.
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
        json.optional(std::optional(value));
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

}  // namespace driftless
