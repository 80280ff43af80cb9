// Any sequence of events, of any rows, with any bytes: no crash, one record for each row and not
// one more, rows that never touch each other's fate, records that survive their line of JSON, and
// no piece of a key in any of them.
#include "engine/record/assembler.hpp"

#include "proto/figures/summary.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

constexpr std::uint32_t rows = 4;
constexpr std::int64_t zero_ns = 1'000'000;
// A key, which the phrases below give back; no line holds so many bytes of it in a row.
const std::string secret = "Qz7kW2vN9xLb4RtY8mHc3JfD6sGp1UeA5oXiVnTw";
constexpr std::size_t secret_piece_bytes = 8;

// What a real server would send, so that the fuzzer gets past the door.
const std::string phrases[] = {
    "",
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Request-Id: r\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"text\":\"b\",\"token_ids\":[1,2]}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"r\"},\"finish_reason\":\"stop\"}],"
    "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n",
    "data: {\"error\":{\"message\":\"no\"}}\n\n",
    "data: [DONE]\n\n",
    "data: ",
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Request-Id: " + secret + "\r\n\r\n",
    "data: {\"error\":{\"message\":\"no such key: " + secret + "\"}}\n\n",
    "data: {\"id\":\"" + secret +
        "\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},"
        "\"finish_reason\":\"" +
        secret + "\"}]}\n\n",
    "not with the key " + secret,
};

bool holds_secret(std::string_view text) {
    for (std::size_t at = 0; at + secret_piece_bytes <= secret.size(); ++at) {
        const std::string_view piece = std::string_view(secret).substr(at, secret_piece_bytes);
        if (text.find(piece) != text.npos) {
            return true;
        }
    }
    return false;
}

struct Reader {
    std::string_view bytes;
    std::uint8_t take() {
        if (bytes.empty()) {
            return 0;
        }
        const auto byte = static_cast<std::uint8_t>(bytes.front());
        bytes.remove_prefix(1);
        return byte;
    }
    std::string_view take_bytes(std::size_t count) {
        const std::string_view taken = bytes.substr(0, count);
        bytes.remove_prefix(taken.size());
        return taken;
    }
};

Due due_of(std::uint32_t row) {
    return {row * 1000, row, row, 0};
}

/// Which rows are armed, and which of those have left; the last is not in the plan.
struct Told {
    std::array<bool, rows + 1> armed{};
    std::array<bool, rows + 1> left{};
};

// All rows but the last are armed before what the fuzzer says.
void arm_rows(Assembler& assembler, Told& told) {
    for (std::uint32_t row = 0; row + 1 < rows; ++row) {
        const Event event = Event::of_armed(due_of(row), row == 0 ? Event::never_armed : zero_ns);
        CHECK(assembler.consume(event, {}) == nullptr);
        told.armed[row] = true;
    }
}

/// The engine never says what only others can tell: short_output and long_output, because it does
/// not count tokens, and what a status stands for. A row that has not left has no answer, and one
/// that has is not said to be unsent.
Outcome end_of(std::uint8_t detail, bool has_left) {
    const auto drawn = static_cast<Outcome>(3 + detail % (outcome_count - 3));
    const Outcome outcome = detail < 128 ? Outcome::ok : drawn;
    switch (outcome) {
        case Outcome::http_3xx:
        case Outcome::http_4xx:
        case Outcome::http_429:
        case Outcome::http_5xx:
            return Outcome::truncated;
        case Outcome::ok:
            return has_left ? outcome : Outcome::not_sent;
        case Outcome::not_sent:
            return has_left ? Outcome::cancelled : outcome;
        default:
            return outcome;
    }
}

// Kind and row, flags and phrase, outcome or status, then as many bytes as one more says.
Event next_event(Reader& reader, std::int64_t stamp_ns, Told& told, std::string& payload) {
    Event event;
    const std::uint8_t what = reader.take();
    const std::uint8_t how = reader.take();
    const std::uint8_t detail = reader.take();
    event.kind = static_cast<EventKind>(what % 10);
    event.request = (what / 10) % (rows + 1);  // one of them is not in the plan
    event.flags = how % 8;
    event.stamp_ns = stamp_ns;
    event.wire_ns = detail % 2 == 0 ? 0 : stamp_ns - detail;
    payload = phrases[(how / 8) % std::size(phrases)];
    payload += reader.take_bytes(reader.take());
    if (event.kind == EventKind::armed) {
        const Event armed = Event::of_armed(due_of(event.request), event.stamp_ns);
        event.due = armed.due;
        event.user = armed.user;
        told.armed[event.request] = true;
    } else if (event.kind == EventKind::head) {
        event.status = static_cast<std::uint16_t>(detail < 128 ? 200 : 4 * detail);
    } else if (event.kind == EventKind::fired) {
        event.fired = {};
        // The engine fires nothing early (abort.request_fired_early).
        event.stamp_ns = std::max(stamp_ns, zero_ns + due_of(event.request).due_ns);
        told.left[event.request] = told.armed[event.request];  // nothing else leaves
        event.fired.target = detail;
        event.fired.late_cause = static_cast<LateCause>(detail % late_cause_count);
    } else if (event.kind == EventKind::end) {
        event.end = {};
        event.end.outcome = end_of(detail, told.left[event.request]);
        event.end.close_delimited = how % 2 == 1;
        event.end.entries_dropped = how / 128;
        event.end.sys_errno = detail % 7;
    }
    return event;
}

void check_record(const Record& record, JsonDocument& document) {
    std::string line;
    append_jsonl(line, record);
    const Result<Record> back = read_record(document, line);
    CHECK(static_cast<bool>(back));
    std::string again;
    append_jsonl(again, back.value());
    CHECK(line == again);
    CHECK(!holds_secret(line));
    CHECK(!record.error.has_value() || record.error->size() <= error_bytes_max);
    CHECK(!record.chunk_tokens_known || record.chunk_tokens.size() == record.chunk_ns.size());
    CHECK(record.first_token_ns.has_value() == !record.chunk_ns.empty());
    // An ok row has its first token, unless it had no text and was only counted, or what said so
    // was lost in the ring.
    CHECK(record.outcome != Outcome::ok || record.first_token_ns.has_value() ||
          record.output_tokens.value_or(0) > 0 || !record.tainted.empty());
    // What was lost in the ring says nothing of the answer's length.
    CHECK(record.outcome == Outcome::ok || !is_whole(record.outcome) || !lost_in_client(record));
    CHECK(record.tokens_source.has_value() == record.output_tokens.has_value());
}

void add_to(std::optional<Summary>& summary, const Record& record) {
    if (summary.has_value()) {
        summary->add(record);
    }
}

void fuzz_assembler(std::string_view any) {
    Trace trace;
    Plan plan;
    for (std::uint32_t i = 0; i < rows; ++i) {
        TraceRow row{.index = i, .input_length = 9, .output_length = 3};
        trace.rows.push_back(row);
        plan.rows.push_back({i * 1000, i, 0});
    }
    AssemblerConfig config{
        .trace = &trace,
        .plan = &plan,
        .dialect = &dialect_of(any.size() % 2 == 0 ? Api::openai_chat : Api::openai_completions),
        .urls = {"http://a/", "http://b/"},
        .save_responses = any.size() % 3,
        .secrets = {secret},
        .record_headers = {"X-Request-Id", "content-type"}};
    if (holds_secret(any)) {
        return;  // a server that gives back pieces of a key
    }
    Assembler assembler(config);
    assembler.begin({zero_ns});
    // Its histograms are large: one input in sixteen feeds a summary.
    std::optional<Summary> summary;
    if (any.size() % 16 == 0) {
        summary.emplace();
    }
    static JsonDocument document;
    Told told;
    arm_rows(assembler, told);
    std::array<int, rows> records{};
    Reader reader{any};
    std::string payload;
    for (std::int64_t stamp_ns = zero_ns; !reader.bytes.empty(); stamp_ns += 100) {
        const Event event = next_event(reader, stamp_ns, told, payload);
        const std::vector<char> copy(payload.begin(), payload.end());  // no reading past it
        const Record* record = assembler.consume(event, {copy.data(), copy.size()});
        CHECK(record == nullptr || (event.kind == EventKind::end && record->row == event.request));
        if (record != nullptr) {
            ++records[record->row];
            check_record(*record, document);
            add_to(summary, *record);
        } else if (event.kind == EventKind::end && event.request + 1 < rows) {
            CHECK(records[event.request] == 1);  // it had ended before
        }
    }
    while (const Record* record = assembler.next_unended()) {
        ++records[record->row];
        check_record(*record, document);
        add_to(summary, *record);
    }
    for (const int count : records) {
        CHECK(count == 1);
    }
    CHECK(assembler.rows_open() == 0 && assembler.counts().inflight == 0);
    if (summary.has_value()) {
        const SummaryFigures figures = summary->figures();
        const std::uint64_t measured =
            figures.completed + figures.short_output + figures.long_output + figures.censored +
            figures.failed + figures.outcomes[static_cast<std::size_t>(Outcome::abandoned)];
        CHECK(measured == figures.rows && measured + figures.warmup_rows == rows);
        CHECK(static_cast<bool>(document.parse(summary_json(figures, {}))));
    }
}

const FuzzTargets assembler_target = {{"assembler", fuzz_assembler}};

}  // namespace
}  // namespace driftless
