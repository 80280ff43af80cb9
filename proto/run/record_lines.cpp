#include "proto/run/record_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"
#include "proto/run/record.hpp"

namespace driftless {

namespace {

// FieldWriter: the fields of a record into a line.

class FieldWriter {
  public:
    FieldWriter(std::string& out, const Record& record)
        : json_(out), has_chunks_(record.has_chunks) {}

    template <typename T>
    void value(std::string_view key, int, const T& value) {
        json_.key(key);
        write(value);
    }
    void text(std::string_view key, int, const std::string& text) {
        write_optional_text(json_, key, text);
    }
    void object(std::string_view key, int, const std::string& text) {
        json_.key(key).raw(text.empty() ? std::string_view("null") : text);
    }
    void digest(std::string_view key, int, std::optional<std::uint64_t> digest) {
        constexpr unsigned digits = 16;
        char text[digits];
        for (unsigned i = 0; i < digits; ++i) {
            text[i] = "0123456789abcdef"[(digest.value_or(0) >> (60 - 4 * i)) & 15];
        }
        json_.key(key);
        digest ? json_.string({text, digits}) : json_.null();
    }
    template <typename T>
    void chunks(std::string_view key, int, const std::vector<T>& values, bool known) {
        json_.key(key);
        has_chunks_&& known ? write_list(values) : write_null();
    }
    void chunks(std::string_view key, int, const std::string& kinds) {
        json_.key(key);
        has_chunks_ && !kinds.empty() ? write(kinds) : write_null();
    }
    void headers(std::string_view key, int, const std::vector<RecordedHeader>& headers) {
        json_.key(key).begin_object();
        for (const RecordedHeader& header : headers) {
            value(header.name, 0, header.value);
        }
        json_.end_object();
    }
    void of_merged_run(std::string_view key, std::optional<std::uint32_t> shard) {
        if (shard) {
            value(key, 0, *shard);
        }
    }

    JsonWriter& json() { return json_; }

  private:
    template <typename T>
    void write(const T& value) {
        if constexpr (std::is_same_v<T, std::string>) {
            json_.string(value);
        } else if constexpr (std::is_same_v<T, bool>) {
            json_.boolean(value);
        } else if constexpr (std::is_same_v<T, double>) {
            json_.number(value);
        } else if constexpr (std::is_same_v<T, Side>) {
            value == Side::none ? json_.null() : json_.string(name_of(value));
        } else if constexpr (std::is_enum_v<T>) {
            json_.string(name_of(value));
        } else if constexpr (std::is_signed_v<T>) {
            json_.integer(value);
        } else {
            json_.unsigned_integer(value);
        }
    }
    template <typename T>
    void write(const std::optional<T>& value) {
        value ? write(*value) : write_null();
    }
    void write(const std::vector<std::string>& texts) {
        texts.empty() ? write_null() : write_list(texts);
    }
    template <typename T>
    void write_list(const std::vector<T>& values) {
        json_.begin_array();
        for (const T& value : values) {
            write(value);
        }
        json_.end_array();
    }
    void write_null() { json_.null(); }

    JsonWriter json_;
    bool has_chunks_;
};

}  // namespace

void append_jsonl(std::string& out, const Record& record) {
    const std::size_t begin = out.size();
    FieldWriter fields(out, record);
    fields.json().begin_object();
    walk_record(fields, record);
    fields.json().end_object();
    escape_unprintable_json(out, begin);
    out += '\n';
}

// ParsedFields: the fields of a record out of a parsed line, whatever the order of its keys.
// Internal to proto/run; owns nothing.

/// Lines mostly have the order in which they are read, so that each key stands behind the one
/// before; one that does not is looked for among all of them.
class ParsedFields : JsonMembers {
  public:
    static constexpr int later = 2;  ///< the first schema whose keys may be missing

    explicit ParsedFields(JsonValue root) : root_(root), next_(root.first()) {}
    using JsonMembers::error;

    template <typename T>
    void value(const char* key, int since, T& out) {
        const JsonValue value = get(key, since);
        if (value.present()) {
            take(key, value, out);
        }
    }
    void of_merged_run(const char* key, std::optional<std::uint32_t>& out) {
        value(key, later, out);
    }
    void text(const char* key, int since, std::string& out) {
        std::optional<std::string> text;
        value(key, since, text);
        out = std::move(text).value_or("");
    }
    template <typename T>
    void chunks(const char* key, int since, std::vector<T>& out, bool& known) {
        const JsonValue list = get(key, since);
        known = list.present() && !list.is(JsonType::null);
        take(key, list, out);
    }
    void chunks(const char* key, int since, std::string& kinds) { text(key, since, kinds); }
    void digest(const char* key, int since, std::optional<std::uint64_t>& out) {
        std::optional<std::string> text;
        value(key, since, text);
        if (text) {
            keep(key, ErrorCode::out_of_range, digest_from_text(*text), out);
        }
    }
    /// An object is kept as its text.
    void object(const char* key, int since, std::string& out) {
        const JsonValue value = get(key, since);
        if (value.is(JsonType::object)) {
            out = value.raw();
        } else if (value.present() && !value.is(JsonType::null)) {
            fail(ErrorCode::bad_json, key);
        }
    }
    void headers(const char* key, int since, std::vector<RecordedHeader>& out) {
        const JsonValue headers = get(key, since);
        if (headers.present() && !headers.is(JsonType::object)) {
            fail(ErrorCode::bad_json, key);
            return;
        }
        for (JsonValue field = headers.first(); field.present(); field = field.next()) {
            RecordedHeader& header = out.emplace_back();
            header.name = field.key();
            header.value = field.as_string();
            if (!header.value && !field.is(JsonType::null)) {
                fail(ErrorCode::bad_json, key);
            }
        }
    }

  private:
    /// Keys that came with a schema after the first may be missing.
    JsonValue get(const char* key, int since) {
        const JsonValue found = next_.key() == key ? next_ : root_.find(key);
        next_ = found.present() ? found.next() : next_;
        if (!found.present() && since < later) {
            fail(ErrorCode::missing, key);
        }
        return found;
    }
    template <typename T>
    void take(const char* key, JsonValue value, std::optional<T>& out) {
        if (!value.is(JsonType::null)) {
            take(key, value, out.emplace());
        }
    }
    template <typename T>
    void take(const char* key, JsonValue value, std::vector<T>& out) {
        if (value.present() && !value.is(JsonType::null) && !value.is(JsonType::array)) {
            fail(ErrorCode::bad_json, key);
        }
        out.reserve(value.size());
        for (JsonValue item = value.first(); item.present(); item = item.next()) {
            take(key, item, out.emplace_back());
        }
    }
    template <typename T>
    void take(const char* key, JsonValue value, T& out) {
        if constexpr (std::is_enum_v<T>) {
            take_name(key, value, out);
        } else {
            JsonMembers::take(key, value, out);
        }
    }
    template <typename Enum>
    void take_name(const char* key, JsonValue value, Enum& out) {
        const std::optional<std::string_view> name = value.as_string();
        if (std::is_same_v<Enum, Side> && value.is(JsonType::null)) {
            return;
        }
        if (name) {
            keep(key, ErrorCode::out_of_range, from_name<Enum>(*name), out);
        } else {
            fail(ErrorCode::bad_json, key);
        }
    }

    JsonValue root_;
    JsonValue next_;  ///< the member behind the last one that was found
};

namespace {

/// What stands for itself in a JSON text, and is whole UTF-8 as a byte.
constexpr std::array<bool, 256> plain_bytes = [] {
    std::array<bool, 256> plain{};
    for (std::size_t byte = 0x20; byte < 0x80; ++byte) {
        plain[byte] = byte != '"' && byte != '\\';
    }
    return plain;
}();

const char* behind_plain(const char* at, const char* end) {
    while (at < end && plain_bytes[static_cast<unsigned char>(*at)]) {
        ++at;
    }
    return at;
}

/// The quote that ends a text, from within it; `end`: there is none.
const char* closing_quote(const char* at, const char* end) {
    while (at < end && *at != '"') {
        at += *at == '\\' && end - at > 1 ? 2 : 1;
    }
    return at;
}

const char* behind_digits(const char* at) {
    while (is_digit(*at)) {
        ++at;
    }
    return at;
}

std::string_view between(const char* from, const char* to) {
    return {from, static_cast<std::size_t>(to - from)};
}

}  // namespace

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

namespace {

bool read_written(JsonDocument& pieces, std::string_view line, Record& out) {
    line.remove_suffix(line.ends_with('\n') ? 1 : 0);
    WrittenFields fields(pieces, line);
    walk_record(fields, out);
    return fields.ends();
}

Result<RecordOrder> order_of(JsonValue line) {
    RecordOrder order;
    ParsedFields fields(line);
    fields.value("row", 1, order.row);
    fields.value("due_ns", 1, order.due_ns);
    fields.value("pass", ParsedFields::later, order.pass);
    fields.value("attempt", ParsedFields::later, order.attempt);
    fields.value("side", ParsedFields::later, order.side);
    return fields.error() ? Result<RecordOrder>(*fields.error()) : order;
}

bool differs(OptionalNs span, OptionalNs from, OptionalNs to) {
    std::int64_t ns = 0;
    return span && from && to && (__builtin_sub_overflow(*to, *from, &ns) || ns != *span);
}

/// An answer of this status can end so.
bool can_be(Outcome outcome, int status) {
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
const char* contradiction(const Record& record) {
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

Result<void> check(Record& record) {
    if (record.tokens_source == TokensSource::chunks) {
        record.tpot_ns.reset();
    }
    const char* const wrong = contradiction(record);
    return wrong == nullptr ? Result<void>() : Error{ErrorCode::invalid, 0, wrong};
}

}  // namespace

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
    const Result<JsonValue> root = document.parse(line);
    if (!root || !root.value().is(JsonType::object)) {
        return Error{ErrorCode::bad_json, 0, "read a record"};
    }
    out = Record();
    ParsedFields fields(root.value());
    walk_record(fields, out);
    return fields.error() ? Result<void>(*fields.error()) : check(out);
}

Result<Record> read_record(JsonDocument& document, std::string_view line) {
    Record record;
    if (const Result<void> read = read_record_into(document, line, record); !read) {
        return read.error();
    }
    return record;
}

Result<RecordOrder> RecordOrders::read(std::string_view line) {
    WrittenFields fields(document_, line);
    walk_origin(fields, record_);
    if (fields.goes_on()) {
        return RecordOrder{record_.due_ns, record_.row, record_.pass, record_.attempt,
                           record_.side};
    }
    const Result<JsonValue> root = document_.parse(line);
    if (!root || !root.value().is(JsonType::object)) {
        return Error{ErrorCode::bad_json, 0, "read a record"};
    }
    return order_of(root.value());
}

}  // namespace driftless
