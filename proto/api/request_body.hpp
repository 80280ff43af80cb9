/// Bodies of requests: what a trace recorded of a request's own words, members with placeholders
/// that each row fills, and an assistant's answer as a message of the next request.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api/dialect.hpp"
#include "proto/http/request.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// BodyTemplate: members of a body whose texts have placeholders that each row of a trace fills
/// (`--extra-body '{"priority": "{kept.priority}"}'`). Pure values; what a placeholder means is not
/// known here.
///
/// A text that is one placeholder alone becomes the row's value as JSON: a number stays a number.
/// Among other text the value is text, escaped. A member for which the row has no value is left
/// out, with its name; so is an element of an array. Names are not filled, nor are Jinja templates
/// (texts with "{%").
struct BodyTemplate {
    struct Hole {
        std::string before;         ///< JSON in front of it, without white space
        std::size_t key_bytes = 0;  ///< of these, the name of its member
        FieldTemplate value;
    };
    std::vector<Hole> holes;
    std::string end;
    bool unescaped = false;  ///< doubled braces became single ones

    bool has(Placeholder placeholder) const;

    /// The JSON text. `value_of(field)`: the value of a hole as JSON, or nothing.
    template <typename ValueOf>
    std::string fill(const ValueOf& value_of) const;
};

/// Takes a JSON object apart. `unknown` as parse_field_template has it.
BodyTemplate parse_body_template(std::string_view object, std::string& unknown);

template <typename ValueOf>
std::string BodyTemplate::fill(const ValueOf& value_of) const {
    std::string out;
    bool opened = false;  // the member that would have a comma before it is now the first
    const auto append = [&](std::string_view json) {
        out += json.substr(opened && json.starts_with(',') ? 1 : 0);
        opened = false;
    };
    for (const Hole& hole : holes) {
        append(hole.before);
        if (const std::optional<std::string> json = value_of(hole.value)) {
            out += *json;
            continue;
        }
        out.resize(out.size() - hole.key_bytes);
        opened = !out.ends_with(',');
        out.resize(out.size() - (opened ? 0 : 1));
    }
    append(end);
    return out;
}

// Recorded requests: what a trace kept of a request's own words, made into the body that is sent.
//
// A recorded request is one JSON object: {"text_input": ".."}, {"messages": [..], "tools": [..]}
// or {"payload": {..}}, with "extra": {..} if the row had members of its own for the body. The
// words are sent as they were recorded. What servers refuse or would misread is fixed and counted
// (trace-formats 11.4): members that are null, empty lists of tools, the role `developer`,
// arguments of tool calls that are not text, and whatever the run decides (model, stream, length
// of the answer). Bytes in, bytes out; no file, no clock.

/// What was fixed, counted over all bodies.
struct RecordedFixes {
    std::uint64_t nulls = 0;        ///< members that were null, left out
    std::uint64_t roles = 0;        ///< messages of the role developer, sent as system
    std::uint64_t arguments = 0;    ///< arguments of tool calls that were objects, sent as text
    std::uint64_t call_ids = 0;     ///< tool calls without an id, which got one
    std::uint64_t models = 0;       ///< model names replaced by the run's
    std::uint64_t lengths = 0;      ///< limits of answers replaced by the recorded length
    std::uint64_t constrained = 0;  ///< answers bound to a grammar: asked without ignore_eos
};

/// A fix as a person reads it, and as run.json names it.
struct FixName {
    const char* key;
    const char* one;
    const char* many;
    std::uint64_t RecordedFixes::* count;
};
/// All of them. Static storage.
const std::array<FixName, 7>& recorded_fix_names();

/// Where a message of a chat is in a body, and whose it is.
struct MessageSpan {
    std::size_t begin = 0;     ///< its first byte, of the body
    std::size_t end = 0;       ///< behind its last one
    std::size_t text_end = 0;  ///< behind the last byte of its text; 0: it has no text, or parts
    bool is_answer = false;    ///< the assistant's
};

class RecordedComposer {
  public:
    /// `spec.prompt` is not looked at: recorded words are text. Both are copied or static.
    RecordedComposer(const Dialect& dialect, BodySpec spec);

    /// The spec's extra body of the requests that follow.
    void set_extra_body(std::string object) { spec_.extra_body = std::move(object); }

    /// Appends the body of one recorded request. `output_length` 0: unknown, the answer is bounded
    /// by what the request itself says. Errors: bad_json (no recorded request, or `extra_body` is
    /// no object), unsupported (the dialect takes no such request; the text says what would).
    Result<void> compose(std::string_view recorded, std::uint32_t output_length, std::string& out);

    /// Messages of the body that was composed last, in their order; empty where it has none.
    const std::vector<MessageSpan>& messages() const { return spans_; }

    const RecordedFixes& fixes() const { return fixes_; }

  private:
    Result<void> compose_text(std::string_view text, const JsonValue& extra,
                              std::uint32_t output_length, std::string& out);
    Result<void> compose_members(const JsonValue& request, std::uint32_t output_length,
                                 std::string& out);
    std::vector<BodyMember> messages_members(const JsonValue& request);
    std::vector<BodyMember> payload_members(const JsonValue& payload);
    void patch_length(std::vector<BodyMember>& members, std::uint32_t output_length);
    void patch_model(std::vector<BodyMember>& members);
    Result<std::vector<BodyMember>> extras_of(const JsonValue& extra);

    const Dialect& dialect_;
    BodySpec spec_;
    JsonDocument document_;
    JsonDocument extra_document_;
    RecordedFixes fixes_;
    std::vector<MessageSpan> spans_;  ///< of the body at hand
};

// AnswerWords: what an assistant said, put together from the events of an answer, and the message
// that it is in later requests of the conversation. Plain values; bytes in, bytes out.

/// A call of a tool, as far as it has come.
struct SaidCall {
    std::uint64_t index = 0;  ///< by which the parts of a call belong together
    std::string id;
    std::string name;
    std::string arguments;  ///< JSON text
};

/// The calls of an answer: at most 256 of them, of 4 MiB in all; what is beyond is `cut`.
class SaidCalls {
  public:
    /// One event's list of calls, or of parts of them. Absent: nothing. Parts belong together by
    /// their index, or follow one another where there is none; another id is another call.
    void take(const JsonValue& calls);
    void clear();
    const std::vector<SaidCall>& all() const { return calls_; }
    bool is_cut() const { return cut_; }

  private:
    SaidCall* call_of(const JsonValue& part);
    void append(std::string& to, std::string_view text);

    std::vector<SaidCall> calls_;
    std::size_t bytes_ = 0;
    bool cut_ = false;
};

/// What of an answer stays in the conversation (`--live-keep`).
struct KeptWords {
    bool text = true;
    bool tools = true;
    bool reasoning = false;
};

/// Appends the answer as a message of the chat completions API. An answer without text and calls
/// is an empty text.
void append_answer_message(std::string& out, std::string_view content, std::string_view reasoning,
                           const std::vector<SaidCall>& calls, const KeptWords& kept);

}  // namespace driftless
