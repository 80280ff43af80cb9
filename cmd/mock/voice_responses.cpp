// OpenAI's Responses: events before the first token, deltas, and the whole response at the end.
#include "cmd/mock/voice.hpp"
#include "proto/json/write.hpp"

namespace driftless::mock {

namespace {

/// An event up to the members behind its type.
void begin_event(std::string& out, std::string_view type) {
    out += "event: ";
    out += type;
    out += "\ndata: {\"type\":\"";
    out += type;
    out += "\",";
}

void append_response(std::string& out, const AnswerFacts& facts, std::string_view status) {
    out += R"("id":"resp_)";
    append_json_escaped(out, facts.request_id);
    out += R"(","object":"response","model":")";
    append_json_escaped(out, facts.model);
    out += R"(","error":null,"status":")";
    out += status;
    out += '"';
}

/// Why it ended and what it counted.
void append_ending(std::string& out, const AnswerFacts& facts) {
    out += R"(,"incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":)";
    append_number(out, facts.prompt_tokens);
    if (facts.cached_known) {
        out += R"(,"input_tokens_details":{"cached_tokens":)";
        append_number(out, facts.cached_tokens);
        out += '}';
    }
    out += R"(,"output_tokens":)";
    append_number(out, facts.output_tokens);
    out += R"(,"total_tokens":)";
    append_number(out, std::int64_t{facts.prompt_tokens} + facts.output_tokens);
    out += '}';
}

void append_open(std::string& out, const AnswerFacts& facts) {
    for (const std::string_view type : {"response.created", "response.in_progress"}) {
        begin_event(out, type);
        out += R"("response":{)";
        append_response(out, facts, "in_progress");
        out += "}}\n\n";
    }
    begin_event(out, "response.output_item.added");
    out += R"("output_index":0,"item":{"type":"message","content":[]}})";
    out += "\n\n";
}

void append_tokens(std::string& out, const AnswerFacts&, const Piece& piece) {
    begin_event(out, "response.output_text.delta");
    out += R"("item_id":"msg_0","output_index":0,"content_index":0,"delta":")";
    out += piece.words;
    out += "\"}\n\n";
}

void append_end(std::string& out, const AnswerFacts& facts) {
    begin_event(out, "response.output_text.done");
    out += R"("item_id":"msg_0","text":"as above"})";
    out += "\n\n";
    begin_event(out, "response.incomplete");
    out += R"("response":{)";
    append_response(out, facts, "incomplete");
    append_ending(out, facts);
    out += "}}\n\n";
}

void append_body(std::string& out, const AnswerFacts& facts, std::string_view words) {
    out += '{';
    append_response(out, facts, "incomplete");
    out += R"(,"output":[{"type":"message","role":"assistant","content":[)";
    out += R"({"type":"output_text","text":")";
    out += words;
    out += R"("}]}])";
    append_ending(out, facts);
    out += '}';
}

}  // namespace

const Voice responses_voice{.api = Api::openai_responses,
                            .path = "/v1/responses",
                            .asked = {.text = "input", .length = "max_output_tokens"},
                            .open = append_open,
                            .tokens = append_tokens,
                            .end = append_end,
                            .broken = "event: response.output_text.delta\ndata: {\"type\":\n\n",
                            .error =
                                "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\","
                                "\"message\":\"Internal server error\"}\n\n",
                            .body = append_body};

}  // namespace driftless::mock
