/// JSON as it comes in pieces: lines into texts that may span several, an array into its elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace driftless {

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
