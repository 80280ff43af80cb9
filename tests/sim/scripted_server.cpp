#include "tests/sim/scripted_server.hpp"

#include <charconv>

#include "cmd/mock/faults.hpp"
#include "engine/replay/lane.hpp"
#include "proto/core/hash.hpp"
#include "tests/golden/cases.hpp"

namespace driftless::sim {

namespace {

constexpr std::size_t light_bytes_max = 64 * 1024;
constexpr const char* stream_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(const std::string& bytes) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    return size + bytes + "\r\n";
}

std::string event(const std::string& json) {
    return chunk("data: " + json + "\n\n");
}

std::string token(const std::string& text) {
    return event(R"({"choices":[{"index":0,"delta":{"content":")" + text + R"("}}]})");
}

/// A whole stream of so many tokens, and as many as usage says.
std::string stream_of(std::uint32_t tokens, std::uint64_t counted) {
    std::string wire = stream_head;
    for (std::uint32_t i = 0; i < tokens; ++i) {
        wire += token(" w");
    }
    wire += event(R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":)" +
                  std::to_string(counted) + "}}");
    return wire + event("[DONE]") + "0\r\n\r\n";
}

/// A server that waits for its first token says that it lives.
std::string pings_and_tokens(std::uint32_t pings) {
    std::string wire = stream_of(canned_tokens, canned_tokens);
    for (std::uint32_t i = 0; i < pings; ++i) {
        wire.insert(std::string(stream_head).size(), chunk(": ping\n\n"));
    }
    return wire;
}

/// A whole stream of two tokens, the first of them in an event of so many bytes.
std::string stream_with_event_of(std::size_t bytes) {
    std::string json = R"({"prompt_token_ids":[1],"choices":[{"delta":{"content":"a"}}]})";
    const std::size_t frame = std::string("data: \n").size();  // the empty line ends it with a byte
    json.insert(json.find(']'), bytes - frame - 1 - json.size(), ' ');
    return stream_head + event(json) + token("b") + event("[DONE]") + "0\r\n\r\n";
}

std::string refusal(const std::string& status, std::size_t body_bytes) {
    return "HTTP/1.1 " + status +
           "\r\nContent-Type: text/html\r\nContent-Length: " + std::to_string(body_bytes) +
           "\r\n\r\n" + std::string(body_bytes, 'x');
}

CannedAnswer whole(const char* name, std::string wire, Outcome outcome) {
    CannedAnswer answer{.name = name, .wire = std::move(wire)};
    answer.outcome = answer.or_else = outcome;
    return answer;
}

CannedAnswer endless(const char* name, std::string wire, std::string again, Outcome outcome,
                     Duration pause = milliseconds(1)) {
    CannedAnswer answer = whole(name, std::move(wire), outcome);
    answer.again = std::move(again);
    answer.pause = pause;
    return answer;
}

CannedAnswer early(const char* name, std::string wire, Outcome outcome) {
    CannedAnswer answer = whole(name, std::move(wire), outcome);
    answer.early = true;
    answer.closes = true;
    return answer;
}

/// Whatever has no end of its own is ended by a limit, or by the clock.
void add_endless(std::vector<CannedAnswer>& answers) {
    const Outcome over = Outcome::limit_exceeded;
    const std::string long_line(1000, 'a');
    const std::string begun = std::string(stream_head) + "fffffff\r\n";
    answers.push_back(endless("endless tokens", stream_head, token("a"), over));
    // They are no events: their bytes are what is over.
    answers.push_back(endless("endless pings", stream_head,
                              chunk(": " + std::string(60'000, 'p') + "\n\n"), over));
    answers.push_back(
        endless("an endless event", begun + "data: ", std::string(60'000, 'a'), over));
    answers.push_back(endless("endless blank lines", begun, std::string(60'000, '\n'), over));
    answers.push_back(
        endless("an endless head", "HTTP/1.1 200 OK\r\n", "X-A: " + long_line + "\r\n", over));
    answers.push_back(
        endless("an endless header field", "HTTP/1.1 200 OK\r\nX: ", long_line, over));
    answers.push_back(endless("endless interim answers", "HTTP/1.1 103 Early Hints\r\n\r\n",
                              "HTTP/1.1 100 Continue\r\n\r\n", over));
    answers.push_back(
        endless("endless chunk extensions", std::string(stream_head) + "1;", long_line, over));
    answers.push_back(endless("endless trailers", std::string(stream_head) + "0\r\n",
                              "X-T: " + long_line + "\r\n", over));
    answers.push_back(
        endless("a byte now and then", begun, ":", Outcome::timeout_total, milliseconds(500)));
    answers.push_back(
        endless("an endless page", "HTTP/1.1 500 Oops\r\n\r\n", std::string(60'000, 'x'), over));
}

void add_sizes(std::vector<CannedAnswer>& answers) {
    answers.push_back(whole("more tokens than asked", stream_of(20, 20), Outcome::long_output));
    // Two are asked: ring.hpp.
    answers.push_back(
        whole("as many tokens counted as are believed", stream_of(2, 72), Outcome::long_output));
    answers.push_back(
        whole("a token more counted than is believed", stream_of(2, 73), Outcome::limit_exceeded));
    answers.push_back(
        whole("a count that is no count of tokens", stream_of(2, INT64_MAX), Outcome::ok));
    answers.push_back(
        whole("far more pings than events are allowed", pings_and_tokens(500), Outcome::ok));
    answers.push_back(whole("fewer tokens than asked", stream_of(1, 1), Outcome::short_output));
    // Of the row of exchanges_test.cpp: 5,000 tokens in.
    const std::uint64_t event_bytes_max =
        answer_limits(5000, canned_tokens, OutputRule::exact, false).event_bytes_max;
    answers.push_back(
        whole("the largest event", stream_with_event_of(event_bytes_max), Outcome::ok));
    answers.push_back(whole("an event a byte too large", stream_with_event_of(event_bytes_max + 1),
                            Outcome::limit_exceeded));
    answers.push_back(whole("a page larger than what is kept of it",
                            refusal("503 Busy", whole_body_bytes_max + 1), Outcome::http_5xx));
    std::string fields = "HTTP/1.1 200 OK\r\n";
    for (unsigned i = 0; i <= response_headers_max; ++i) {
        fields += "X-" + std::to_string(i) + ": 1\r\n";
    }
    answers.push_back(whole("too many header fields", fields + "\r\n", Outcome::limit_exceeded));
}

void add_timing(std::vector<CannedAnswer>& answers) {
    answers.push_back(whole("silence", "", Outcome::timeout_first_byte));
    answers.push_back(whole("silence after a head", stream_head, Outcome::timeout_idle));
    answers.push_back(
        early("refused before it was read", refusal("413 Too Large", 100), Outcome::http_4xx));
}

std::vector<CannedAnswer> make_answers() {
    std::vector<CannedAnswer> answers;
    for (const GoldenCase& golden : all_golden_cases()) {
        if (golden.dialect == "openai-chat") {
            const auto first = from_name<Outcome>(golden.readings.front().outcome);
            const auto last = from_name<Outcome>(golden.readings.back().outcome);
            CHECK(first && last && golden.readings.size() <= 2);
            answers.push_back(whole(golden.name.c_str(), golden.wire, *first));
            answers.back().or_else = *last;
            answers.back().closes = golden.closes;
        }
    }
    add_endless(answers);
    add_sizes(answers);
    add_timing(answers);
    return answers;
}

}  // namespace

const std::vector<CannedAnswer>& canned_answers() {
    static const std::vector<CannedAnswer> answers = make_answers();
    return answers;
}

const std::vector<CannedAnswer>& light_answers() {
    static const std::vector<CannedAnswer> light = [] {
        std::vector<CannedAnswer> some;
        std::copy_if(canned_answers().begin(), canned_answers().end(), std::back_inserter(some),
                     [](const CannedAnswer& answer) {
                         return answer.wire.size() + answer.again.size() <= light_bytes_max / 2;
                     });
        return some;
    }();
    return light;
}

void ScriptedServer::receive(std::string_view bytes) {
    while (true) {  // ends: every step consumes bytes or ends a request
        const RequestParser::Step step = parser_.feed(bytes);
        bytes.remove_prefix(step.consumed);
        switch (step.piece) {
            case RequestPiece::need_more:
            case RequestPiece::error:
                return;
            case RequestPiece::head_done:
                choose();
                break;
            case RequestPiece::body:
                break;
            case RequestPiece::done:
                phase_ = answer_->early ? phase_ : Phase::due;
                parser_.reset();
                break;
        }
    }
}

void ScriptedServer::choose() {
    const std::string_view id = parser_.header("X-Request-Id");
    const std::optional<std::uint64_t> row = mock::row_of_request_id(id);
    row_ = row ? std::optional(static_cast<std::uint32_t>(*row)) : std::nullopt;
    answer_ = &(*script_.answers)[pick(id)];
    phase_ = answer_->early ? Phase::due : Phase::listening;
}

std::uint64_t ScriptedServer::pick(std::string_view request_id) const {
    const std::uint64_t answers = script_.answers->size();
    if (!script_.in_turn) {
        return Random(mix64(script_.seed ^ row_.value_or(0))).below(answers);
    }
    std::uint64_t number = 0;
    request_id.remove_prefix(request_id.rfind('-') + 1);
    (void)std::from_chars(request_id.data(), request_id.data() + request_id.size(), number);
    return (number + answers - 1) % answers;
}

std::optional<std::string_view> ScriptedServer::say() {
    switch (phase_) {
        case Phase::listening:
            return std::nullopt;
        case Phase::due:
            phase_ = answer_->again.empty() ? Phase::listening : Phase::going_on;
            return answer_->wire;
        case Phase::going_on:
            return answer_->again;
    }
    return std::nullopt;
}

std::optional<Duration> ScriptedServer::goes_on_after() const {
    return phase_ == Phase::going_on ? std::optional(answer_->pause) : std::nullopt;
}

}  // namespace driftless::sim
