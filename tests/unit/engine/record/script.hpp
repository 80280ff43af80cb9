/// Script: plays the engine towards the assembler in the tests, one row at a time: a small trace
/// and plan, and the events of an answer as the engine would frame them.
#pragma once

#include "engine/record/assembler.hpp"
#include "tests/unit/made.hpp"

namespace driftless {

// Time 0 of the scripts, on the clock of the stamps.
inline constexpr std::int64_t script_zero_ns = 5'000'000'000;

// `rows` rows, 1 ms apart, each 100 tokens in and 4 out.
struct ScriptTrace {
    Trace trace;
    Plan plan;
    explicit ScriptTrace(std::uint32_t rows) {
        for (std::uint32_t i = 0; i < rows; ++i) {
            const TraceRow& row =
                append_row(trace, {.at_ns = 1'000'000 * static_cast<std::int64_t>(i),
                                   .input_length = 100,
                                   .output_length = 4});
            plan.rows.push_back({.due_ns = row.at_ns, .row = i});
        }
    }
    AssemblerConfig config(const char* api = "openai-chat") const {
        return {.trace = &trace,
                .plan = &plan,
                .dialect = find_dialect(api),
                .urls = {"http://one/", "http://two/"}};
    }
};

// Stamps in these calls are from time 0.
class Script {
  public:
    explicit Script(Assembler& assembler, std::uint32_t row = 0, std::int64_t armed_at_ns = -1)
        : assembler_(assembler), row_(row) {
        assembler_.consume(event(EventKind::armed, row, armed_at_ns), {});
    }

    static Event event(EventKind kind, std::uint32_t row, std::int64_t at_ns) {
        if (kind == EventKind::armed) {
            return Event::of_armed({1'000'000 * static_cast<std::int64_t>(row), row, row, 0},
                                   script_zero_ns + at_ns);
        }
        Event event;
        event.kind = kind;
        event.request = row;
        event.stamp_ns = script_zero_ns + at_ns;
        return event;
    }

    /// Of a row that ends with that.
    static Event ended(std::uint32_t row, std::int64_t at_ns, Outcome outcome = Outcome::ok) {
        Event end = event(EventKind::end, row, at_ns);
        end.end = {};
        end.end.outcome = outcome;
        return end;
    }

    Script& fire(std::int64_t at_ns) {
        Event fired = event(EventKind::fired, row_, at_ns);
        fired.lane = 3;
        fired.fired = {};
        fired.fired.connect_ns = script_zero_ns - 1000;
        fired.fired.inflight = 2;
        fired.fired.target = 1;
        fired.fired.reused = true;
        assembler_.consume(fired, {});
        return *this;
    }
    Script& head(std::int64_t at_ns, std::uint16_t status = 200,
                 std::string_view fields = "Content-Type: text/event-stream\r\n") {
        const std::string text = "HTTP/1.1 200 OK\r\n" + std::string(fields) + "\r\n";
        part(at_ns, std::string_view(text).substr(0, 9));
        part(at_ns, std::string_view(text).substr(9));
        Event head = event(EventKind::head, row_, at_ns);
        head.status = status;
        assembler_.consume(head, {});
        return *this;
    }
    Script& part(std::int64_t at_ns, std::string_view bytes, std::uint8_t flags = 0) {
        Event part = event(EventKind::part, row_, at_ns);
        part.flags = flags;
        assembler_.consume(part, bytes);
        return *this;
    }
    Script& chunk(std::int64_t at_ns, std::string_view bytes, std::uint8_t flags = 0) {
        Event chunk = event(EventKind::chunk, row_, at_ns);
        chunk.flags = flags;
        assembler_.consume(chunk, bytes);
        return *this;
    }
    Script& data(std::int64_t at_ns, std::string_view json, std::uint8_t flags = 0) {
        return chunk(at_ns, "data: " + std::string(json) + "\n\n", flags);
    }
    // A chat chunk with that text.
    Script& text(std::int64_t at_ns, std::string_view text) {
        return data(at_ns, R"({"id":"chatcmpl-8f2c","choices":[{"index":0,"delta":{"content":")" +
                               std::string(text) + R"("},"finish_reason":null}]})");
    }
    Script& usage(std::int64_t at_ns, int completion_tokens) {
        return data(at_ns, R"({"id":"chatcmpl-8f2c","choices":[],"usage":{"prompt_tokens":25,)"
                           R"("completion_tokens":)" +
                               std::to_string(completion_tokens) +
                               R"(,"prompt_tokens_details":{"cached_tokens":16}}})");
    }
    Script& done(std::int64_t at_ns) { return data(at_ns, "[DONE]"); }

    const Record& end(std::int64_t at_ns, Outcome outcome = Outcome::ok,
                      bool close_delimited = false) {
        Event end = ended(row_, at_ns, outcome);
        end.end.close_delimited = close_delimited;
        end.waited_ns = waited_ns;
        return end_with(end);
    }
    const Record& end_with(const Event& end) {
        const Record* record = assembler_.consume(end, {});
        CHECK(record != nullptr);
        return *record;
    }

    static constexpr std::int64_t waited_ns = 700;  ///< of every row that it ends

  private:
    Assembler& assembler_;
    std::uint32_t row_;
};

using ChangeConfig = std::function<void(AssemblerConfig&)>;

/// An assembler of these rows, which has begun.
struct Assembling {
    ScriptTrace input;
    Assembler assembler;
    explicit Assembling(ScriptTrace rows, const char* api = "openai-chat",
                        const ChangeConfig& change = {})
        : input(std::move(rows)), assembler(config(api, change)) {
        assembler.begin({script_zero_ns});
    }
    AssemblerConfig config(const char* api, const ChangeConfig& change) {
        AssemblerConfig config = input.config(api);
        if (change) {
            change(config);
        }
        return config;
    }
};

/// The first of a few rows.
struct OneRow : Assembling, Script {
    explicit OneRow(const char* api = "openai-chat", const ChangeConfig& change = {})
        : Assembling(ScriptTrace(4), api, change), Script(assembler) {}
};

}  // namespace driftless
