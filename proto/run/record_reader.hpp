/// Records out of their lines: by the keys that we write, as we write them, or in any order.
#pragma once

#include <charconv>
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
#include "proto/run/record.hpp"

namespace driftless {

// The keys of a record in the order of its line, each with its field: the one list from which
// lines are read. Internal to proto/run.
//
// `Fields` is where the values come from: ParsedFields (any JSON object, keys in any order) or
// WrittenFields (a line just as `append_jsonl` writes it). Both have the same members; of those
// that end in `_later` the key came with a later schema than 1, and a parsed line may lack it:
// then the field keeps what it holds.

/// 16 hex digits; nothing where the text is not that.
inline std::optional<std::uint64_t> digest_from_text(std::string_view text) {
    constexpr std::size_t digits = 16;
    std::uint64_t digest = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, digest, 16);
    const bool is_digest = text.size() == digits && error == std::errc() && stop == end;
    return is_digest ? std::optional(digest) : std::nullopt;
}

template <typename Fields>
void read_origin(Fields& fields, Record& record) {
    fields.read("row", record.row);
    fields.read_later("request", record.request);
    fields.read_later("pass", record.pass);
    fields.read_name_later("phase", phase_from_name, record.phase);
    fields.read_later("attempt", record.attempt);
    fields.read_side("side", record.side);
    fields.read_later("user", record.user);
    fields.read("session", record.session);
    fields.read_later("tree", record.tree);
    fields.read("turn", record.turn);
    fields.read_object("kept", record.kept);
    fields.read_later("segment", record.segment);
    fields.read_text_or_empty("url", record.url);
    fields.read("api", record.api);
    fields.read_later("model", record.model);
    fields.read("connection", record.connection);
    fields.read("reused", record.reused);
    fields.read_name_later("connection_state", connection_state_from_name, record.connection_state);
    fields.read_later("connection_age_ns", record.connection_age_ns);
    fields.read("stale_retries", record.stale_retries);
    fields.read("due_ns", record.due_ns);
}

template <typename Fields>
void read_times(Fields& fields, Record& record) {
    fields.read_later("parent_end_ns", record.parent_end_ns);
    fields.read_later("overtaken", record.overtaken);
    fields.read("armed_ns", record.armed_ns);
    fields.read("fired_ns", record.fired_ns);
    fields.read("drift_ns", record.drift_ns);
    fields.read("held_ns", record.held_ns);
    fields.read_name("late_cause", late_cause_from_name, record.late_cause);
    fields.read_array("tainted", record.tainted);
    fields.read("connect_ns", record.connect_ns);
    fields.read_later("submit_ns", record.submit_ns);
    fields.read("wire_ns", record.wire_ns);
    fields.read("sent_ns", record.sent_ns);
    fields.read("headers_ns", record.headers_ns);
    fields.read("first_byte_ns", record.first_byte_ns);
    fields.read("first_token_ns", record.first_token_ns);
    fields.read("first_content_ns", record.first_content_ns);
    fields.read("last_token_ns", record.last_token_ns);
    fields.read_later("first_event_ns", record.first_event_ns);
    fields.read_later("finish_event_ns", record.finish_event_ns);
    fields.read_later("usage_event_ns", record.usage_event_ns);
    fields.read_later("error_event_ns", record.error_event_ns);
    fields.read_later("end_marker_ns", record.end_marker_ns);
    fields.read("done_ns", record.done_ns);
    fields.read_later("ended_ns", record.ended_ns);
    fields.read_later("censored", record.censored);
    fields.read("ttft_ns", record.ttft_ns);
    fields.read("ttft_due_ns", record.ttft_due_ns);
    fields.read("tpot_ns", record.tpot_ns);
    fields.read("e2e_ns", record.e2e_ns);
}

template <typename Fields>
void read_tokens(Fields& fields, Record& record) {
    record.has_chunks = fields.read_array("chunk_ns", record.chunk_ns);
    record.chunk_tokens_known = fields.read_array("chunk_tokens", record.chunk_tokens);
    fields.read_text_or_empty_later("chunk_kinds", record.chunk_kinds);
    fields.read("input_length", record.input_length);
    fields.read("prompt_tokens", record.prompt_tokens);
    fields.read_later("prompt_tokens_off", record.prompt_tokens_off);
    fields.read_later("live_turns", record.live_turns);
    fields.read_later("padded_tokens", record.padded_tokens);
    fields.read("expected_cached_tokens", record.expected_cached_tokens);
    fields.read_later("expected_cached_server", record.expected_cached_server);
    fields.read("cached_tokens", record.cached_tokens);
    fields.read("output_length", record.output_length);
    fields.read("output_tokens", record.output_tokens);
    fields.read_name("tokens_source", tokens_source_from_name, record.tokens_source);
}

template <typename Fields>
void read_end(Fields& fields, Record& record) {
    fields.read_name("outcome", outcome_from_name, record.outcome);
    fields.read("status", record.status);
    fields.read("error", record.error);
    fields.read("finish_reason", record.finish_reason);
    fields.read("response_id", record.response_id);
    fields.read_later("trace_id", record.trace_id);
    fields.read_headers("headers", record.headers);
    fields.read_object_later("worker", record.worker);
    fields.read("inflight", record.inflight);
    fields.read_digest("output_digest", record.output_digest);
    fields.read("bytes_sent", record.bytes_sent);
    fields.read("bytes_received", record.bytes_received);
    fields.read("coalesced_chunks", record.coalesced_chunks);
    fields.read("receive_delay_ns", record.receive_delay_ns);
    fields.read_later("retransmits", record.retransmits);
    fields.read_later("wire_delay_bound_ns", record.wire_delay_bound_ns);
    fields.read_later("request_delay_ns", record.request_delay_ns);
    fields.read_of_merged_run("shard", record.shard);
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
