#include "tests/unit/cmd/reading/vector_run.hpp"

#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

constexpr double ms = 1e6;

std::int64_t ns_of(JsonValue value) {
    return static_cast<std::int64_t>(value.as_double().value_or(0) * ms);
}

void add_event(Record& record, JsonValue event) {
    const std::int64_t stamp = ns_of(event.find("t"));
    const std::string kind(event.find("kind").as_string().value_or(""));
    if (kind == "role") {
        record.first_event_ns = stamp;
    } else if (kind == "finish") {
        record.finish_event_ns = stamp;
    } else if (kind == "error") {
        record.error_event_ns = stamp;
        record.outcome = Outcome::stream_error;
    } else if (kind == "done") {
        record.end_marker_ns = stamp;
    } else if (kind == "usage") {
        record.usage_event_ns = stamp;
        record.prompt_tokens = event.find("prompt_tokens").as_i64();
        record.output_tokens = event.find("completion_tokens").as_i64();
        record.tokens_source = TokensSource::usage;
    } else {
        record.chunk_ns.push_back(stamp - *record.fired_ns);
        record.chunk_tokens.push_back(
            static_cast<std::int32_t>(event.find("tokens").as_i64().value_or(0)));
        record.chunk_tokens_known = true;
        record.chunk_kinds += kind.substr(0, 1) + "1";
    }
}

Record record_of(JsonValue request, std::uint32_t row) {
    Record record{.row = row,
                  .api = "openai-chat",
                  .due_ns = ns_of(request.find("due")),
                  .fired_ns = ns_of(request.find("fired")),
                  .headers_ns = ns_of(request.find("headers")),
                  .done_ns = ns_of(request.find("end"))};
    record.ended_ns = record.done_ns;
    record.status = static_cast<int>(request.find("status").as_i64().value_or(0));
    record.outcome = record.status == 200 ? Outcome::ok : Outcome::http_5xx;
    record.input_length =
        static_cast<std::uint32_t>(request.find("input_tokens").as_i64().value_or(0));
    record.output_length =
        static_cast<std::uint32_t>(request.find("recorded_output").as_i64().value_or(0));
    const JsonValue events = request.find("events");
    for (JsonValue event = events.first(); event.present(); event = event.next()) {
        add_event(record, event);
    }
    if (!record.output_tokens && !record.chunk_ns.empty()) {  // as a record has it without usage
        record.output_tokens = static_cast<std::int64_t>(record.chunk_ns.size());
        record.tokens_source = TokensSource::chunks;
        record.chunk_tokens_known = false;
    }
    return record;
}

}  // namespace

std::string vector_text() {
    return read_bytes(TEST_DATA "/views/vector.json");
}

void drop_chunk_tokens(Record& record) {
    record.chunk_tokens.clear();
    record.chunk_tokens_known = false;
}

void keep_no_chunks(Record& record) {
    drop_chunk_tokens(record);
    if (!record.chunk_ns.empty()) {
        const std::size_t content = record.chunk_kinds.find('c') / 2;  // kinds are "c1r1"
        record.first_token_ns = *record.fired_ns + record.chunk_ns.front();
        record.first_content_ns = *record.fired_ns + record.chunk_ns[content];
        record.last_token_ns = *record.fired_ns + record.chunk_ns.back();
    }
    record.chunk_ns.clear();
    record.chunk_kinds.clear();
    record.has_chunks = false;
}

void answer_at_once(Record& record) {
    keep_no_chunks(record);
    record.has_chunks = true;
    record.first_token_ns.reset();
    record.first_content_ns.reset();
    record.last_token_ns = record.outcome == Outcome::ok ? record.done_ns : std::nullopt;
    for (OptionalNs* const stamp :
         {&record.first_event_ns, &record.finish_event_ns, &record.usage_event_ns,
          &record.error_event_ns, &record.end_marker_ns}) {
        stamp->reset();
    }
}

ViewedRun vector_run(JsonValue vector, std::uint32_t rows, void (*change)(Record& record)) {
    ViewedRun run{.duration_ns = ns_of(at(vector, "run/end")),
                  .limits = {.ttft_ns = 250'000'000, .tpot_ns = 50'000'000},
                  .run_id = "run",
                  .backend = "openai-chat",
                  .model = "m"};
    std::uint32_t row = 0;
    const JsonValue requests = vector.find("requests");
    for (JsonValue one = requests.first(); one.present() && row < rows; one = one.next(), ++row) {
        std::string line;
        Record record = record_of(one, row);
        if (change != nullptr) {
            change(record);
        }
        append_jsonl(line, record);
        JsonDocument document;
        run.requests.push_back(*viewed_request(read_record(document, line).value()));
    }
    return run;
}

}  // namespace driftless
