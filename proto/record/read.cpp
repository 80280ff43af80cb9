#include <algorithm>
#include <utility>

#include "proto/json/document.hpp"
#include "proto/record/parsed_fields.hpp"
#include "proto/record/read_into.hpp"
#include "proto/record/record.hpp"
#include "proto/record/record_order.hpp"
#include "proto/record/written_fields.hpp"

namespace driftless {

namespace {

bool read_written(JsonDocument& pieces, std::string_view line, Record& out) {
    line.remove_suffix(line.ends_with('\n') ? 1 : 0);
    WrittenFields fields(pieces, line);
    read_origin(fields, out);
    read_times(fields, out);
    read_tokens(fields, out);
    read_end(fields, out);
    return fields.ends();
}

template <typename Integer>
bool keep(JsonValue value, Integer& out) {
    const auto number = value.as_i64();
    const bool fits = number && std::in_range<Integer>(*number);
    out = fits ? static_cast<Integer>(*number) : out;
    return fits;
}

/// Of a parsed line; keys that came later than schema 1 may be missing.
Result<RecordOrder> order_of(JsonValue line) {
    RecordOrder order;
    const JsonValue row = line.find("row");
    const JsonValue due_ns = line.find("due_ns");
    if (!row.present() || !due_ns.present()) {
        return Error{ErrorCode::missing, 0, row.present() ? "due_ns" : "row"};
    }
    const JsonValue pass = line.find("pass");
    const JsonValue attempt = line.find("attempt");
    const JsonValue side = line.find("side");
    const bool has_side = side.present() && !side.is(JsonType::null);
    const std::optional<Side> named = side_from_name(side.as_string().value_or(""));
    const char* const wrong = !keep(row, order.row)                                ? "row"
                              : !keep(due_ns, order.due_ns)                        ? "due_ns"
                              : pass.present() && !keep(pass, order.pass)          ? "pass"
                              : attempt.present() && !keep(attempt, order.attempt) ? "attempt"
                              : has_side && !named                                 ? "side"
                                                                                   : nullptr;
    if (wrong != nullptr) {
        return Error{ErrorCode::out_of_range, 0, wrong};
    }
    order.side = named.value_or(Side::none);
    return order;
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

bool lost_in_client(const Record& record) {
    return std::any_of(record.tainted.begin(), record.tainted.end(), [](const std::string& why) {
        return why == taint_payload_dropped || why == taint_entries_dropped;
    });
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
    read_origin(fields, out);
    read_times(fields, out);
    read_tokens(fields, out);
    read_end(fields, out);
    return fields.failed() ? Result<void>(fields.error()) : check(out);
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
    read_origin(fields, record_);
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
