/// JsonTexts: splits lines into JSON texts that may span several of them.
///
/// It counts brackets outside strings and checks nothing else: the parser decides whether a text is
/// JSON. Holds one text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace driftless {

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

}  // namespace driftless
