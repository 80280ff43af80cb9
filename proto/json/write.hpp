/// JsonWriter: appends JSON to a string. It never builds a tree and never fails.
///
/// The caller owns the string; commas and colons are placed by the writer. UTF-8 passes through;
/// control characters, quotes and backslashes are escaped; bytes that are no UTF-8 become U+FFFD.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace driftless {

class JsonWriter {
  public:
    explicit JsonWriter(std::string& out) : out_(out) {}

    JsonWriter& begin_object() { return open('{'); }
    JsonWriter& end_object() { return close('}'); }
    JsonWriter& begin_array() { return open('['); }
    JsonWriter& end_array() { return close(']'); }
    JsonWriter& key(std::string_view name);

    JsonWriter& string(std::string_view text);
    JsonWriter& integer(std::int64_t value);
    JsonWriter& unsigned_integer(std::uint64_t value);
    /// Shortest text that reads back to the same double; null for NaN and infinities.
    JsonWriter& number(double value);
    JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
    JsonWriter& null() { return raw("null"); }
    /// Text that is JSON already, copied as it stands.
    JsonWriter& raw(std::string_view json);

    /// A value that may be unknown: null then.
    template <typename T>
    JsonWriter& optional(const std::optional<T>& value) {
        if (!value) {
            return null();
        }
        if constexpr (std::is_same_v<T, bool>) {
            return boolean(*value);
        } else if constexpr (std::is_floating_point_v<T>) {
            return number(*value);
        } else if constexpr (std::is_unsigned_v<T>) {
            return unsigned_integer(*value);
        } else if constexpr (std::is_integral_v<T>) {
            return integer(*value);
        } else {
            return string(*value);
        }
    }

  private:
    void separate();
    JsonWriter& open(char bracket);
    JsonWriter& close(char bracket);

    std::string& out_;
    bool needs_comma_ = false;
};

/// A member of an object: a list of texts.
void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts);
/// A member of an object: null where the text is empty.
void write_optional_text(JsonWriter& json, std::string_view key, const std::string& text);

/// Appends `text` escaped, without quotes, as it may stand inside a JSON string.
void append_json_escaped(std::string& out, std::string_view text);

}  // namespace driftless
