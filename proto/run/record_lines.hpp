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

// The fields of a record in the order of its line: the one list by which lines are written and
// read, a walk as members.hpp has it. Internal to proto/run. What is done with them: RecordFields
// writes a line, WrittenFields reads one just as it is written, ParsedFields any JSON object, keys
// in any order. They also have `chunks` (null also without `has_chunks`).

/// Up to what orders records.
void walk_origin(auto& fields, auto& record) {
    fields.value("row", 1, record.row);
    fields.value("request", 8, record.request);
    fields.value("pass", 8, record.pass);
    fields.value("phase", 8, record.phase);
    fields.value("attempt", 10, record.attempt);
    fields.value("side", 14, record.side);
    fields.value("user", 8, record.user);
    fields.value("session", 1, record.session);
    fields.value("tree", 8, record.tree);
    fields.value("turn", 1, record.turn);
    fields.object("kept", 1, record.kept);
    fields.value("segment", 4, record.segment);
    fields.text("url", 1, record.url);
    fields.value("api", 1, record.api);
    fields.value("model", 6, record.model);
    fields.value("connection", 1, record.connection);
    fields.value("reused", 1, record.reused);
    fields.value("connection_state", 5, record.connection_state);
    fields.value("connection_age_ns", 5, record.connection_age_ns);
    fields.value("stale_retries", 1, record.stale_retries);
    fields.value("due_ns", 1, record.due_ns);
}

void walk_times(auto& fields, auto& record) {
    fields.value("parent_end_ns", 8, record.parent_end_ns);
    fields.value("overtaken", 9, record.overtaken);
    fields.value("armed_ns", 1, record.armed_ns);
    fields.value("fired_ns", 1, record.fired_ns);
    fields.value("drift_ns", 1, record.drift_ns);
    fields.value("held_ns", 1, record.held_ns);
    fields.value("late_cause", 1, record.late_cause);
    fields.texts("tainted", 1, record.tainted);
    fields.value("connect_ns", 1, record.connect_ns);
    fields.value("submit_ns", 3, record.submit_ns);
    fields.value("wire_ns", 1, record.wire_ns);
    fields.value("sent_ns", 1, record.sent_ns);
    fields.value("headers_ns", 1, record.headers_ns);
    fields.value("first_byte_ns", 1, record.first_byte_ns);
    fields.value("first_token_ns", 1, record.first_token_ns);
    fields.value("first_content_ns", 1, record.first_content_ns);
    fields.value("last_token_ns", 1, record.last_token_ns);
    fields.value("first_event_ns", 13, record.first_event_ns);
    fields.value("finish_event_ns", 13, record.finish_event_ns);
    fields.value("usage_event_ns", 13, record.usage_event_ns);
    fields.value("error_event_ns", 13, record.error_event_ns);
    fields.value("end_marker_ns", 13, record.end_marker_ns);
    fields.value("done_ns", 1, record.done_ns);
    fields.value("ended_ns", 2, record.ended_ns);
    fields.value("censored", 10, record.censored);
    fields.value("ttft_ns", 1, record.ttft_ns);
    fields.value("ttft_due_ns", 1, record.ttft_due_ns);
    fields.value("tpot_ns", 1, record.tpot_ns);
    fields.value("e2e_ns", 1, record.e2e_ns);
    fields.value("first_late_ns", 17, record.first_late_ns);
    fields.value("last_late_ns", 17, record.last_late_ns);
}

void walk_tokens(auto& fields, auto& record) {
    fields.chunks("chunk_ns", 1, record.chunk_ns, record.has_chunks);
    fields.chunks("chunk_tokens", 1, record.chunk_tokens, record.chunk_tokens_known);
    fields.chunks("chunk_late_ns", 17, record.chunk_late_ns, record.chunks_late_known);
    fields.chunks("chunk_kinds", 13, record.chunk_kinds);
    fields.value("input_length", 1, record.input_length);
    fields.value("prompt_tokens", 1, record.prompt_tokens);
    fields.value("prompt_tokens_off", 2, record.prompt_tokens_off);
    fields.value("live_turns", 11, record.live_turns);
    fields.value("padded_tokens", 11, record.padded_tokens);
    fields.value("expected_cached_tokens", 1, record.expected_cached_tokens);
    fields.value("expected_cached_server", 6, record.expected_cached_server);
    fields.value("cached_tokens", 1, record.cached_tokens);
    fields.value("output_length", 1, record.output_length);
    fields.value("output_tokens", 1, record.output_tokens);
    fields.value("tokens_source", 1, record.tokens_source);
}

void walk_end(auto& fields, auto& record) {
    fields.value("outcome", 1, record.outcome);
    fields.value("status", 1, record.status);
    fields.value("error", 1, record.error);
    fields.value("finish_reason", 1, record.finish_reason);
    fields.value("response_id", 1, record.response_id);
    fields.value("trace_id", 5, record.trace_id);
    fields.by_name("headers", 5, record.headers);
    fields.object("worker", 6, record.worker);
    fields.value("inflight", 1, record.inflight);
    fields.digest("output_digest", 1, record.output_digest);
    fields.value("bytes_sent", 1, record.bytes_sent);
    fields.value("bytes_received", 1, record.bytes_received);
    fields.value("coalesced_chunks", 1, record.coalesced_chunks);
    fields.value("receive_delay_ns", 1, record.receive_delay_ns);
    fields.value("retransmits", 6, record.retransmits);
    fields.value("wire_delay_bound_ns", 7, record.wire_delay_bound_ns);
    fields.value("request_delay_ns", 7, record.request_delay_ns);
    fields.if_known("shard", 1, record.shard);
}

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

    /// Whether another field stands behind the last one, which so is whole.
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
