#include "proto/run/record_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"
#include "proto/run/record.hpp"

namespace driftless {

namespace {

class RecordFields : public MemberWriter {
  public:
    RecordFields(JsonWriter& json, const Record& record)
        : MemberWriter(json), has_chunks_(record.has_chunks) {}

    template <typename T>
    void chunks(std::string_view key, int, const std::vector<T>& values, bool known) {
        json_.key(key);
        has_chunks_&& known ? write(values) : write_null();
    }
    void chunks(std::string_view key, int, const std::string& kinds) {
        json_.key(key);
        has_chunks_ && !kinds.empty() ? write(kinds) : write_null();
    }

  private:
    bool has_chunks_;
};

/// The fields of a record out of a parsed line, whatever the order of its keys.
class ParsedFields : public JsonMembers {
  public:
    using JsonMembers::JsonMembers;

    template <typename T>
    void chunks(const char* key, int since, std::vector<T>& out, bool& known) {
        const JsonValue list = get(key, since);
        known = list.present() && !list.is(JsonType::null);
        if (known) {
            take(key, list, out);
        }
    }
    void chunks(const char* key, int since, std::string& kinds) { text(key, since, kinds); }
};

}  // namespace

void append_jsonl(std::string& out, const Record& record) {
    const std::size_t begin = out.size();
    JsonWriter json(out);
    RecordFields fields(json, record);
    json.begin_object();
    walk(fields, record);
    json.end_object();
    escape_unprintable_json(out, begin);
    out += '\n';
}

/// What stands for itself in a JSON text, and is whole UTF-8 as a byte.
static constexpr std::array<bool, 256> plain_bytes = [] {
    std::array<bool, 256> plain{};
    for (std::size_t byte = 0x20; byte < 0x80; ++byte) {
        plain[byte] = byte != '"' && byte != '\\';
    }
    return plain;
}();

static const char* behind_plain(const char* at, const char* end) {
    while (at < end && plain_bytes[static_cast<unsigned char>(*at)]) {
        ++at;
    }
    return at;
}

/// The quote that ends a text, from within it; `end`: there is none.
static const char* closing_quote(const char* at, const char* end) {
    while (at < end && *at != '"') {
        at += *at == '\\' && end - at > 1 ? 2 : 1;
    }
    return at;
}

static const char* behind_digits(const char* at) {
    while (is_digit(*at)) {
        ++at;
    }
    return at;
}

static std::string_view between(const char* from, const char* to) {
    return {from, static_cast<std::size_t>(to - from)};
}

/// The grammar of RFC 8259, section 6; the loops end at the line's bracket.
void WrittenFields::take_fraction(double& out) {
    const char* const whole = at_ + (*at_ == '-' ? 1 : 0);
    const char* to = behind_digits(whole);
    bool is_number = to > whole && (*whole != '0' || to - whole == 1);
    if (*to == '.') {
        const char* const from = to + 1;
        to = behind_digits(from);
        is_number = is_number && to > from;
    }
    if (*to == 'e' || *to == 'E') {
        const char* const from = to + 1 + (to[1] == '-' || to[1] == '+' ? 1 : 0);
        to = behind_digits(from);
        is_number = is_number && to > from;
    }
    if (!is_number || std::from_chars(at_, to, out).ec != std::errc()) {
        fail();
        return;
    }
    at_ = to;
}

void WrittenFields::take_text(std::string& out) {
    const char* const to = behind_plain(at_ + 1, end_);
    if (*at_ == '"' && to < end_ && *to == '"') {
        out.assign(between(at_ + 1, to));
        at_ = to + 1;
        return;
    }
    const char* const quote = closing_quote(to, end_);
    if (*at_ != '"' || quote == end_) {
        fail();
        return;
    }
    const Result<JsonValue> text = pieces_.parse(between(at_, quote + 1));
    if (!text || !text.value().is(JsonType::string)) {
        fail();
        return;
    }
    out.assign(*text.value().as_string());
    at_ = quote + 1;
}

/// A name out of a closed list: none has an escape.
std::string_view WrittenFields::plain_text() {
    if (failed_ || *at_ != '"') {
        fail();
        return {};
    }
    const char* const to = behind_plain(at_ + 1, end_);
    if (to == end_ || *to != '"') {
        fail();
        return {};
    }
    const std::string_view text = between(at_ + 1, to);
    at_ = to + 1;
    return text;
}

/// Finds its last bracket; whether what it encloses is JSON is JsonDocument's to say.
void WrittenFields::take_object(std::string& out) {
    unsigned depth = 0;  // the line's own bracket is one more
    const char* to = at_;
    do {
        const char c = *to;
        to = c == '"' ? closing_quote(to + 1, end_) : to;
        depth += c == '{' || c == '[' ? 1 : 0;
        depth -= depth > 0 && (c == '}' || c == ']') ? 1 : 0;
        to += to < end_ ? 1 : 0;
    } while (to < end_ && depth > 0 && depth < json_depth_max);
    if (*at_ != '{' || depth > 0) {
        fail();
        return;
    }
    const std::string_view text = between(at_, to);
    if (!pieces_.parse(text)) {
        fail();
        return;
    }
    out.assign(text);
    at_ = to;
}

static bool read_written(JsonDocument& pieces, std::string_view line, Record& out) {
    line.remove_suffix(line.ends_with('\n') ? 1 : 0);
    WrittenFields fields(pieces, line);
    walk(fields, out);
    return fields.ends();
}

static bool differs(OptionalNs span, OptionalNs from, OptionalNs to) {
    std::int64_t ns = 0;
    return span && from && to && (__builtin_sub_overflow(*to, *from, &ns) || ns != *span);
}

/// An answer of this status can end so.
static bool can_be(Outcome outcome, int status) {
    switch (outcome) {
        case Outcome::ok:
        case Outcome::short_output:
        case Outcome::long_output:
            return status == 200;
        case Outcome::http_3xx:
            return status / 100 == 3;
        case Outcome::http_429:
            return status == 429;
        case Outcome::http_5xx:
            return status / 100 == 5;
        default:
            return true;
    }
}

/// The first key that the rest of its line contradicts: such a line was not written so. nullptr:
/// none.
static const char* contradiction(const Record& record) {
    if (record.fired_ns ? record.outcome == Outcome::not_sent : is_whole(record.outcome)) {
        return "fired_ns";
    }
    if (record.status && !can_be(record.outcome, *record.status)) {
        return "status";
    }
    return (record.drift_ns && *record.drift_ns < 0) ||
                   differs(record.drift_ns, record.due_ns, record.fired_ns)
               ? "drift_ns"
           : differs(record.ttft_ns, record.fired_ns, record.first_token_ns) ? "ttft_ns"
           : differs(record.e2e_ns, record.fired_ns, record.last_token_ns)   ? "e2e_ns"
                                                                             : nullptr;
}

static Result<void> check(Record& record) {
    if (record.tokens_source == TokensSource::chunks) {
        record.tpot_ns.reset();
    }
    const char* const wrong = contradiction(record);
    return wrong == nullptr ? Result<void>() : Error{ErrorCode::invalid, 0, wrong};
}

bool has_taint(const Record& record, std::string_view reason) {
    return std::find(record.tainted.begin(), record.tainted.end(), reason) != record.tainted.end();
}

bool lost_in_client(const Record& record) {
    return has_taint(record, taint_payload_dropped) || has_taint(record, taint_entries_dropped);
}

Result<void> read_record_into(JsonDocument& document, std::string_view line, Record& out) {
    if (read_written(document, line, out)) {
        return check(out);
    }
    Result<Record> read = read_json_line<Record, ParsedFields>(document, line, "read a record");
    if (!read) {
        return read.error();
    }
    out = std::move(read).value();
    return check(out);
}

Result<Record> read_record(JsonDocument& document, std::string_view line) {
    Record record;
    if (const Result<void> read = read_record_into(document, line, record); !read) {
        return read.error();
    }
    return record;
}

/// Of a line that is written in another way.
static void walk(JsonMembers& fields, RecordOrder& order) {
    fields.value("row", 1, order.row);
    fields.value("due_ns", 1, order.due_ns);
    fields.value("pass", 8, order.pass);
    fields.value("attempt", 10, order.attempt);
    fields.value("side", 14, order.side);
}

Result<RecordOrder> RecordOrders::read(std::string_view line) {
    WrittenFields fields(document_, line);
    walk_origin(fields, record_);
    if (fields.goes_on()) {
        return RecordOrder{record_.due_ns, record_.row, record_.pass, record_.attempt,
                           record_.side};
    }
    return read_json_line<RecordOrder>(document_, line, "read a record");
}

}  // namespace driftless
