/// Records as lines of `requests.jsonl`: their fields, and who reads them out of their lines.
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

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"
#include "proto/json/members.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// Its fields in the order of its line (record.hpp), a walk as members.hpp has it. RecordFields
/// writes a line, WrittenFields reads one just as it is written, ParsedFields any JSON object, keys
/// in any order. They also have `chunks` (null also without `has_chunks`).
void walk(auto& fields, IsOf<Record> auto& record) {
    walk_origin(fields, record);
    walk_times(fields, record);
    walk_tokens(fields, record);
    walk_end(fields, record);
}

/// WrittenFields: the fields of a record out of a line just as `append_jsonl` writes it: every key,
/// in its order, without blanks. Anything else is `failed`, and the line is JsonDocument's to read:
/// so this never has to say what is wrong, and what it takes, JsonDocument would take for the same
/// record. It finds no structure: each key and each digit is looked at once. Texts with escapes or
/// beyond ASCII, and objects, are given to a JsonDocument as pieces. Internal to proto/run; owns
/// nothing, and reuses the memory of the fields that it fills.
///
/// perf/baselines/2026-11-26-merge.md has what it saves.
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

    /// Whether another field is behind the last one, which so is whole.
    bool goes_on() const { return !failed_ && *at_ == ','; }
    /// Whether the line ends where the last field did.
    bool ends() const { return !failed_ && end_ - at_ == 1; }

    template <std::size_t size, typename T>
    void value(const char (&key)[size], int, T& out) {
        if (take_key(key)) {
            take(out);
        }
    }
    template <std::size_t size>
    void if_known(const char (&key)[size], int, std::optional<std::uint32_t>& out) {
        out.reset();
        if (!failed_ && *at_ == ',') {
            value(key, 0, out.emplace());
        }
    }
    template <std::size_t size>
    void text(const char (&key)[size], int, std::string& out) {
        if (take_key(key) && !take_null(out)) {
            take(out);
        }
    }
    template <std::size_t size>
    void texts(const char (&key)[size], int, std::vector<std::string>& out) {
        bool known = false;
        chunks(key, 0, out, known);
    }
    template <std::size_t size, typename T>
    void chunks(const char (&key)[size], int, std::vector<T>& out, bool& known) {
        out.clear();
        known = take_key(key) && !take_null(out);
        for (bool more = known && open('[', ']'); more; more = follows(']')) {
            take(out.emplace_back());
        }
    }
    template <std::size_t size>
    void chunks(const char (&key)[size], int, std::string& kinds) {
        text(key, 0, kinds);
    }
    template <std::size_t size>
    void digest(const char (&key)[size], int, std::optional<std::uint64_t>& out) {
        out.reset();
        if (take_key(key)) {
            *at_ == 'n' ? take_word("null") : keep(digest_from_text(plain_text()), out);
        }
    }
    template <std::size_t size>
    void object(const char (&key)[size], int, std::string& out) {
        if (take_key(key) && !take_null(out)) {
            take_object(out);
        }
    }
    template <std::size_t size>
    void by_name(const char (&key)[size], int, std::vector<RecordedHeader>& out) {
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
    /// Null, as an empty text or list.
    template <typename T>
    bool take_null(T& out) {
        const bool is_null = *at_ == 'n';
        if (is_null) {
            out.clear();
            take_word("null");
        }
        return is_null;
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
        } else if constexpr (std::is_enum_v<T>) {
            take_name(out);
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
    template <typename Enum>
    void take_name(Enum& out) {
        if constexpr (first_is_null<Enum>) {
            if (*at_ == 'n') {
                out = Enum();
                take_word("null");
                return;
            }
        }
        keep(from_name<Enum>(plain_text()), out);
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

// For who reads many lines of records: into one record, whose memory is used again.

/// As `read_record`, and with its errors; after one `out` holds anything. A line just as
/// `append_jsonl` writes it is read several times faster than others, here and there.
Result<void> read_record_into(JsonDocument& document, std::string_view line, Record& out);

/// RecordOrder: what orders the records of a run, and tells them apart. RecordOrders reads it from
/// a line of `requests.jsonl` without what follows it. It owns what it needs for that, and
/// allocates nothing in the long run; for one thread.
struct RecordOrder {
    std::int64_t due_ns = 0;  ///< ns from time 0
    std::uint32_t row = 0;
    std::uint32_t pass = 0;
    std::uint32_t attempt = 0;
    Side side = Side::none;
};

class RecordOrders {
  public:
    /// The line comes without its newline. Of a line as it is written nothing behind `due_ns` is
    /// looked at: whether it is a whole record says `read_record`. Errors: bad_json, missing,
    /// out_of_range; `doing` is the key.
    Result<RecordOrder> read(std::string_view line);

  private:
    JsonDocument document_;
    Record record_;
};

}  // namespace driftless
