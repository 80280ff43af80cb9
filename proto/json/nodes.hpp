/// The flat index that a JsonDocument keeps of its text, and how it is made. Internal to
/// proto/json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "proto/json/document.hpp"

namespace driftless {

// Escapes inside JSON strings, read. Internal to proto/json.

/// Writes the unescaped text of `escaped` (without quotes) at `out`, which has room for as many
/// bytes as `escaped` has: unescaping never grows. Returns the end, or nullptr for an escape that
/// JSON does not know. A surrogate without its partner becomes U+FFFD.
char* unescape_json(std::string_view escaped, char* out);

// A list of whole numbers, read in one tight loop: eight digits at a time, no node a number.
//
// Lists of block ids are nine tenths of a trace. Pure; it trusts no text, but reads up to 8 bytes
// behind a number, so the text must be padded. Whether the list ends inside the text is the
// caller's to check: it knows where the closing bracket is.

struct IntegerList {
    std::size_t count = 0;      ///< 0: it is no such list
    const char* end = nullptr;  ///< the closing bracket
};

/// Reads "1, 2, 3]" from behind the opening bracket into `out`, which has room for `room` numbers.
/// Nothing where the list is empty, longer, or holds anything but integers from 0 to 2^64 - 1 as
/// JSON writes them.
IntegerList read_integer_list(const char* text, std::uint64_t* out, std::size_t room);

// The flat index that a JsonDocument keeps of its text. Internal to proto/json.
//
// Nodes are in document order: a container, then what it holds. In an object each value is
// preceded by the node of its name (always a string). So the first element of an array at node n
// is n + 1, and the value of an object's first member is n + 2.

struct JsonNode {
    std::uint32_t begin;  ///< in the text
    std::uint32_t end;
    union {
        std::uint32_t after;      ///< container: the first node that is not part of it
        std::uint32_t integers;   ///< packed array: offset of its first number
        std::uint32_t unescaped;  ///< string with `has_escapes`: offset in the unescaped text
    };
    union {
        std::uint32_t size;             ///< container: elements or members
        std::uint32_t unescaped_bytes;  ///< string with `has_escapes`
    };
    JsonType type;
    union {
        bool has_escapes;  ///< string
        bool is_packed;    ///< array: its elements are numbers in `integers` and have no nodes
    };
    bool is_member;  ///< the node before this one is its name
    bool is_last;    ///< no sibling follows
};
static_assert(sizeof(JsonNode) == 20);

/// A text, cut into nodes. Reused from parse to parse: grows to the largest text seen.
struct JsonNodes {
    std::string text;  ///< our copy, followed by spaces up to a multiple of a vector register
    std::size_t text_bytes = 0;
    bool last_wins = false;  ///< of members with equal names; else the first
    std::unique_ptr<JsonNode[]> nodes;
    std::size_t nodes_max = 0;
    std::unique_ptr<char[]> unescaped;
    std::size_t unescaped_max = 0;
    std::unique_ptr<std::uint64_t[]> integers;
    std::size_t integers_max = 0;

    /// Room for that many nodes, unescaped bytes and packed integers. What was there is lost.
    void reserve(std::size_t nodes_wanted, std::size_t unescaped_wanted,
                 std::size_t integers_wanted);

    std::string_view raw(const JsonNode& node) const {
        return {text.data() + node.begin, node.end - node.begin};
    }
    std::string_view string(const JsonNode& node) const {
        return node.has_escapes
                   ? std::string_view{unescaped.get() + node.unescaped, node.unescaped_bytes}
                   : std::string_view{text.data() + node.begin + 1, node.end - node.begin - 2};
    }
};

/// Why a walk failed, and where.
struct JsonFailure {
    bool failed = false;
    bool too_deep = false;
    std::size_t offset = 0;
};

/// Builds the nodes of `out.text` from the offsets of its structural characters (brackets, colons,
/// commas, first bytes of scalars; nothing inside strings), as simdjson's first stage finds them.
/// It checks the whole grammar of RFC 8259. `out` has room for `structurals` nodes and, where the
/// text has a backslash at all (`has_escapes`), for as many unescaped bytes as text. `packs` makes
/// arrays of integers packed ones, for which there is room for half as many as `structurals`.
JsonFailure build_nodes(JsonNodes& out, const std::uint32_t* structural, std::size_t structurals,
                        bool has_escapes, bool packs);

}  // namespace driftless
