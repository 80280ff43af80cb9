/// JsonPointer: the way to one value of a JSON text (RFC 6901), cut into its steps once.
///
/// A value, owned by the code that looks things up with it. It never changes a text, and does not
/// know "-": the element after an array's last one cannot be read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/json/document.hpp"

namespace driftless {

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

}  // namespace driftless
