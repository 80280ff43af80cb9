/// WrittenFields: the fields of a record out of a line just as `append_jsonl` writes it: every key,
/// in its order, without blanks. Anything else is `failed`, and the line is JsonDocument's to read:
/// so this never has to say what is wrong, and what it takes, JsonDocument would take for the same
/// record. It finds no structure: each key and each digit is looked at once. Texts with escapes or
/// beyond ASCII, and objects, are given to a JsonDocument as pieces. Internal to proto/record; owns
/// nothing, and reuses the memory of the fields that it fills.
///
/// perf/baselines/2026-11-26-merge.md has what it saves.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "proto/core/text.hpp"
#include "proto/json/document.hpp"
#include "proto/record/record_keys.hpp"

namespace driftless {

class WrittenFields {
  public:
    /// `pieces` reads what is not read here; both must stay.
    WrittenFields(JsonDocument& pieces, std::string_view line)
        : pieces_(pieces), at_(line.data()), end_(at_ + line.size()) {
        // Numbers and names end there at the latest, so that their loops need no other bound.
        if (!line.ends_with('}')) {
            fail();
        }
    }

    /// Whether another field stands behind the last one, which so is whole.
    bool goes_on() const { return !failed_ && *at_ == ','; }
    /// Whether the line ends where the last field did.
    bool ends() const { return !failed_ && end_ - at_ == 1; }

    template <std::size_t size, typename T>
    void read(const char (&key)[size], T& out) {
        if (take_key(key)) {
            take(out);
        }
    }
    template <std::size_t size, typename T>
    void read_later(const char (&key)[size], T& out) {
        read(key, out);
    }
    template <std::size_t size>
    void read_of_merged_run(const char (&key)[size], std::optional<std::uint32_t>& out) {
        out.reset();
        if (!failed_ && *at_ == ',') {
            read(key, out.emplace());
        }
    }
    template <std::size_t size>
    void read_text_or_empty(const char (&key)[size], std::string& out) {
        if (!take_key(key)) {
            return;
        }
        if (*at_ == 'n') {
            out.clear();
            take_word("null");
        } else {
            take(out);
        }
    }
    template <std::size_t size>
    void read_text_or_empty_later(const char (&key)[size], std::string& out) {
        read_text_or_empty(key, out);
    }
    template <std::size_t size, typename T>
    bool read_array(const char (&key)[size], std::vector<T>& out) {
        out.clear();
        if (!take_key(key)) {
            return false;
        }
        if (*at_ == 'n') {
            take_word("null");
            return false;
        }
        for (bool more = open('[', ']'); more; more = follows(']')) {
            take(out.emplace_back());
        }
        return true;
    }
    template <std::size_t size, typename Enum, typename Out>
    void read_name(const char (&key)[size], std::optional<Enum> (*from)(std::string_view),
                   Out& out) {
        if (!take_key(key)) {
            return;
        }
        if constexpr (!std::is_same_v<Out, Enum>) {
            if (*at_ == 'n') {
                out.reset();
                take_word("null");
                return;
            }
        }
        keep(from(plain_text()), out);
    }
    template <std::size_t size, typename Enum, typename Out>
    void read_name_later(const char (&key)[size], std::optional<Enum> (*from)(std::string_view),
                         Out& out) {
        read_name(key, from, out);
    }
    template <std::size_t size>
    void read_side(const char (&key)[size], Side& out) {
        out = Side::none;
        if (take_key(key)) {
            *at_ == 'n' ? take_word("null") : keep(side_from_name(plain_text()), out);
        }
    }
    template <std::size_t size>
    void read_digest(const char (&key)[size], std::optional<std::uint64_t>& out) {
        out.reset();
        if (take_key(key)) {
            *at_ == 'n' ? take_word("null") : keep(digest_from_text(plain_text()), out);
        }
    }
    template <std::size_t size>
    void read_object(const char (&key)[size], std::string& out) {
        out.clear();
        if (take_key(key)) {
            *at_ == 'n' ? take_word("null") : take_object(out);
        }
    }
    template <std::size_t size>
    void read_object_later(const char (&key)[size], std::string& out) {
        read_object(key, out);
    }
    template <std::size_t size>
    void read_headers(const char (&key)[size], std::vector<RecordedHeader>& out) {
        out.clear();
        if (!take_key(key)) {
            return;
        }
        for (bool more = open('{', '}'); more; more = follows('}')) {
            RecordedHeader& header = out.emplace_back();
            take(header.name);
            if (!failed_ && *at_ == ':') {
                ++at_;
                take(header.value);
            } else {
                fail();
            }
        }
    }

  private:
    void fail() {
        failed_ = true;
        at_ = end_;
    }
    /// `"key":` behind what is between it and the one before. Where it fails, nothing can follow.
    template <std::size_t size>
    bool take_key(const char (&key)[size]) {
        constexpr std::size_t bytes = size - 1;
        if (end_ - at_ <= static_cast<std::ptrdiff_t>(bytes + 4) || at_[0] != before_ ||
            at_[1] != '"' || std::memcmp(at_ + 2, key, bytes) != 0 || at_[bytes + 2] != '"' ||
            at_[bytes + 3] != ':') {
            fail();
            return false;
        }
        at_ += bytes + 4;
        before_ = ',';
        return true;
    }
    void take_word(std::string_view word) {
        if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word)) {
            fail();
            return;
        }
        at_ += word.size();
    }
    /// Whether the first element of an array or object follows.
    bool open(char bracket, char closing) {
        if (failed_ || *at_ != bracket) {
            fail();
            return false;
        }
        ++at_;
        const bool is_empty = at_ < end_ && *at_ == closing;
        at_ += is_empty ? 1 : 0;
        return !is_empty;
    }
    /// Whether another element follows the one that was taken.
    bool follows(char closing) {
        const bool more = !failed_ && *at_ == ',';
        if (!more && (failed_ || *at_ != closing)) {
            fail();
            return false;
        }
        ++at_;
        return more;
    }

    template <typename T>
    void take(std::optional<T>& out) {
        if (!failed_ && at_ < end_ && *at_ == 'n') {
            out.reset();
            take_word("null");
        } else {
            take(out ? *out : out.emplace());
        }
    }
    template <typename T>
    void take(T& out) {
        if (at_ == end_) {
            fail();
        } else if constexpr (std::is_same_v<T, std::string>) {
            take_text(out);
        } else if constexpr (std::is_same_v<T, bool>) {
            out = *at_ == 't';
            take_word(out ? "true" : "false");
        } else if constexpr (std::is_same_v<T, double>) {
            take_fraction(out);
        } else {
            take_integer(out);
        }
    }
    template <typename From, typename T>
    void keep(const std::optional<From>& from, T& out) {
        if (from && !failed_) {
            out = *from;
        } else {
            fail();
        }
    }
    /// As many digits as 64 bits surely hold, without leading zeros: nobody writes others.
    template <typename T>
    void take_integer(T& out) {
        constexpr std::ptrdiff_t digits_max = std::numeric_limits<std::int64_t>::digits10;
        const bool is_negative = *at_ == '-';
        at_ += is_negative ? 1 : 0;
        const char* const from = at_;
        std::uint64_t value = 0;
        for (; is_digit(*at_); ++at_) {
            value = value * 10 + static_cast<std::uint64_t>(*at_ - '0');
        }
        const std::ptrdiff_t digits = at_ - from;
        const auto number = static_cast<std::int64_t>(is_negative ? 0 - value : value);
        if (digits == 0 || digits > digits_max || (*from == '0' && (digits > 1 || is_negative)) ||
            !std::in_range<T>(number)) {
            fail();
            return;
        }
        out = static_cast<T>(number);
    }
    void take_fraction(double& out);
    void take_text(std::string& out);
    void take_object(std::string& out);
    std::string_view plain_text();

    JsonDocument& pieces_;
    const char* at_;
    const char* end_;
    char before_ = '{';
    bool failed_ = false;
};

}  // namespace driftless
