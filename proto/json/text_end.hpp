/// JsonTextEnd: finds where a JSON text ends that comes line by line.
///
/// It counts brackets outside strings and checks nothing else: whether the text is JSON is for the
/// parser to say. It holds no text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace driftless {

class JsonTextEnd {
  public:
    /// Offset just behind the bracket that closes the text, and the next text begins there; npos
    /// where `line` does not hold it. A string that is open at the end of a line ends the text,
    /// too: JSON has no line end in a string (RFC 8259, section 7), so the text is broken.
    std::size_t find(std::string_view line);

  private:
    std::uint64_t depth_ = 0;
};

}  // namespace driftless
