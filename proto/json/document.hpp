/// JSON as it is read: JsonDocument, for all JSON but lines of records as we write them, with the
/// way to one value in it; and JSON in pieces: lines into texts, an array into its elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/core/errors.hpp"

namespace driftless {

// JsonDocument: reads all JSON but lines of records as we write them (run/record_lines.hpp).
// simdjson finds the structure, and checks UTF-8; a flat walk over what it found checks grammar.
//
// A document owns its parser, its padded copy of the text and a flat index of nodes; parsing again
// reuses all three, so that steady-state parsing does not allocate. Values are handles of 16 bytes
// into the document, valid until its next parse. Members may be looked up in any order and any
// number of times. Every value keeps its text as written (`raw`), so that a decimal can be read
// without passing through a double.
//
// Never recursive: depth is bounded by `json_depth_max`, deeper input is refused.

/// Deepest nesting that is accepted. Real events and rows stay below 20.
inline constexpr unsigned json_depth_max = 256;

enum class JsonType : std::uint8_t { null, boolean, number, string, array, object };

class JsonWriter;
struct JsonNodes;  // nodes.hpp, internal

/// A handle to one value of a parsed document. A default-made one is "absent": every read of it
/// gives nothing, so that look-ups can be chained.
class JsonValue {
  public:
    JsonValue() = default;

    bool present() const { return nodes_ != nullptr; }
    bool is(JsonType type) const;
    JsonType type() const;  ///< CHECKs presence

    /// The value's text exactly as written, strings with their quotes and escapes.
    std::string_view raw() const;

    /// Nothing where the value is absent, of another type, negative, fractional or too large.
    std::optional<std::uint64_t> as_u64() const;
    std::optional<std::int64_t> as_i64() const;
    std::optional<double> as_double() const;
    std::optional<bool> as_bool() const;
    /// Unescaped UTF-8; lives as long as the document's current parse. A lone surrogate escape
    /// becomes U+FFFD.
    std::optional<std::string_view> as_string() const;

    /// The member of that name, or absent. Of equal names the first, which is the faster look-up;
    /// the last in a document with packed arrays, which is read as the field's tools read traces.
    JsonValue find(std::string_view key) const;
    /// The member of that name, or the one that a path of names with dots between them leads to.
    JsonValue find_path(std::string_view path) const;
    /// The element at that index, or absent. Linear in the index.
    JsonValue at(std::size_t index) const;
    /// Elements of an array or members of an object; 0 for all else.
    std::size_t size() const;

    /// The elements of a packed array (`JsonArrays::packed`): an array of nothing but integers from
    /// 0 to 2^64 - 1, at least one. Lives as long as the document's current parse.
    std::optional<std::span<const std::uint64_t>> integers() const;

    /// Iteration over an array's elements or an object's members, in document order:
    /// `for (JsonValue v = array.first(); v.present(); v = v.next())`.
    JsonValue first() const;
    JsonValue next() const;
    /// The unescaped name under which an object member stands; empty for elements and the root.
    std::string_view key() const;

  private:
    friend class JsonDocument;
    JsonValue(const JsonNodes* nodes, std::uint32_t node) : nodes_(nodes), node_(node) {}

    const JsonNodes* nodes_ = nullptr;
    std::uint32_t node_ = 0;
};

/// How arrays of only integers are kept: each element as a value, or packed. A packed array is read
/// several times faster; its elements are numbers (`integers`) and not values: `first` and `at`
/// give nothing. Packed is for traces; of members with equal names the last one counts there, too.
enum class JsonArrays : std::uint8_t { values, packed };

/// Parser and storage. Not thread-safe; one per reader. Moving it keeps its values valid.
class JsonDocument {
  public:
    explicit JsonDocument(JsonArrays arrays = JsonArrays::values);
    ~JsonDocument();
    JsonDocument(JsonDocument&&) noexcept;
    JsonDocument& operator=(JsonDocument&&) noexcept;
    JsonDocument(const JsonDocument&) = delete;
    JsonDocument& operator=(const JsonDocument&) = delete;

    /// Parses one whole JSON text (any type at the root; trailing bytes other than white space are
    /// an error). Invalidates all earlier values. Errors: bad_json, too_large (depth or 4 GiB);
    /// `error_offset` says where.
    Result<JsonValue> parse(std::string_view text);

    /// Byte offset of the last parse's error in its text; best effort.
    std::size_t error_offset() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// A text with the values in it; of what is not JSON, or could not be read, the root is absent.
struct ParsedJson {
    ParsedJson() = default;
    explicit ParsedJson(const Result<std::string>& text);

    JsonDocument document;
    JsonValue root;
};

/// A member that is in the place of another one: its key, and its value as JSON; of no text,
/// the other one is left out.
using JsonMember = std::pair<std::string, std::string>;
/// Copies members of `object` into the one that is open: these in the places of theirs, all others
/// as they stand.
void copy_members(JsonWriter& json, JsonValue object, const std::vector<JsonMember>& changed);
/// The text of an object of them.
std::string with_members(JsonValue object, const std::vector<JsonMember>& changed);

/// The texts of an array; of an element that is not a text, the empty one.
std::vector<std::string> texts_of(JsonValue array);
/// Empty where the value is not a text.
std::string kept_text(JsonValue value);

/// JsonPointer: the way to one value of a JSON text (RFC 6901), cut into its steps once.
///
/// A value, owned by the code that looks things up with it. It never changes a text, and does not
/// know "-": the element after an array's last one cannot be read.
class JsonPointer {
  public:
    /// Leads nowhere: `find` gives absent.
    JsonPointer() = default;

    /// "/a/0/b~1c": member "a", element 0 or member "0", member "b/c"; "" is the whole text.
    /// Errors: invalid; `doing` is the rest of a sentence that begins with the pointer.
    static Result<JsonPointer> parse(std::string_view text);

    /// False for a default-made one.
    bool leads() const { return steps_.has_value(); }
    /// The value it leads to, or absent.
    JsonValue find(JsonValue root) const;

  private:
    struct Step {
        std::string name;
        std::optional<std::size_t> index;  ///< the name as an array's index, where it is one
    };
    std::optional<std::vector<Step>> steps_;
};

// JSON as it comes in pieces: lines into texts that may span several, an array into its elements.

/// JsonTexts: splits lines into JSON texts that may span several of them.
///
/// It counts brackets outside strings and checks nothing else: the parser decides whether a text is
/// JSON. Holds one text.
class JsonTexts {
  public:
    /// Longest text that is held: as long as a line may be.
    static constexpr std::size_t bytes_max = std::size_t{64} << 20;

    enum class Found : std::uint8_t { part, whole, too_long };

    /// Takes a part off `line`, whose number is `number`: up to where the text at hand ends, or all
    /// of it. `whole`: `text` is complete, and `clear` makes room for the next one. A string that
    /// is open at the end of a line ends the text, too: JSON has no line end in a string (RFC 8259,
    /// section 7), so the text is broken.
    Found take(std::uint64_t number, std::string_view& line);

    /// So far; empty between two texts.
    std::string_view text() const { return text_; }
    /// Number of the line in which it begins.
    std::uint64_t line() const { return line_; }
    void clear();

  private:
    std::size_t find_end(std::string_view line);

    std::string text_;
    std::uint64_t line_ = 0;
    std::uint64_t depth_ = 0;  ///< brackets that are open
};

// JsonElements: one JSON array in pieces of any size, its elements out, each as its own text.
//
// It only finds where elements begin and end; whether one is valid JSON is checked by
// JsonDocument. So an array of any length is read in the memory of its longest element. An element
// inside one piece is a view into that piece; only one that straddles two is copied. Owned by the
// reader.

/// Longest element that is read; a conversation has some KB.
inline constexpr std::size_t json_element_bytes_max = std::size_t{64} << 20;

class JsonElements {
  public:
    enum class State : std::uint8_t {
        before,    ///< the opening bracket has not come
        inside,    ///< of the array
        behind,    ///< the closing bracket has come
        wrong,     ///< something else than white space stands outside the brackets
        too_long,  ///< an element grew beyond `json_element_bytes_max`
    };

    /// The next piece. The one before must be used up (`next` gave nothing); it must stay until
    /// this one is.
    void feed(std::string_view piece);

    /// The next whole element without the white space around it, valid until the next call of
    /// `next` or `feed`; empty if more bytes are needed, or will not help. Nothing between two
    /// commas is an element without text.
    std::optional<std::string_view> next();

    State state() const { return state_; }
    /// 1-based number of the element that `next` gave last.
    std::uint64_t number() const { return number_; }

  private:
    bool ends_here(char byte);
    void skip_outside();
    std::optional<std::string_view> give(std::string_view text, bool last);

    State state_ = State::before;
    std::string_view piece_;
    std::string carry_;  ///< the beginning of an element whose end has not come
    bool carry_given_ = false;
    bool in_string_ = false;
    bool escaped_ = false;
    std::size_t depth_ = 0;  ///< brackets open inside the element
    std::uint64_t number_ = 0;
};

}  // namespace driftless
