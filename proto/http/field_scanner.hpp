/// FieldScanner: the values of one field of a response head, from its bytes as they come.
///
/// Owned by the ResponseParser. It keeps the value of that one field, up to `value_bytes_max`, and
/// nothing else; it allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proto/core/letter_case.hpp"

namespace driftless {

class FieldScanner {
  public:
    /// `field_begin`: the name in lower case and the colon; outlives the scanner.
    explicit constexpr FieldScanner(std::string_view field_begin) : field_begin_(field_begin) {}

    /// Ready for the next head.
    void reset() { *this = FieldScanner(field_begin_); }
    /// The next bytes of a head, its status line included. Calls `take(value, cut)` at the end of
    /// each line of that field; `cut`: the value is longer than what is kept of it.
    template <class Take>
    void feed(std::string_view head, Take take) {
        while (!head.empty()) {
            if (place_ == Place::elsewhere) {
                const std::size_t end = head.find('\n');
                if (end == std::string_view::npos) {
                    return;
                }
                head.remove_prefix(end);
            }
            if (head.front() == '\n' && place_ == Place::value) {
                take(std::string_view(value_, value_bytes_), cut_);
            }
            step(head.front());
            head.remove_prefix(1);
        }
    }

    /// The longest that servers send is below 40.
    static constexpr std::size_t value_bytes_max = 96;

  private:
    enum class Place : std::uint8_t { name, value, elsewhere };

    void step(char byte) {
        if (byte == '\n') {
            place_ = Place::name;
            matched_ = value_bytes_ = 0;
            cut_ = false;
        } else if (place_ == Place::name) {
            place_ = lower(byte) == field_begin_[matched_] ? Place::name : Place::elsewhere;
            if (++matched_ == field_begin_.size() && place_ == Place::name) {
                place_ = Place::value;
            }
        } else if (place_ == Place::value && byte != '\r') {
            cut_ = value_bytes_ == value_bytes_max;
            if (!cut_) {
                value_[value_bytes_++] = byte;
            }
        }
    }

    std::string_view field_begin_;
    Place place_ = Place::elsewhere;  ///< the status line is no field
    std::size_t matched_ = 0;         ///< bytes of the name that this line begins with
    std::size_t value_bytes_ = 0;
    bool cut_ = false;
    char value_[value_bytes_max] = {};
};

}  // namespace driftless
