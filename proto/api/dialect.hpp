/// Dialects: how to speak a server's API. One file per dialect beside this one; each is a table of
/// plain functions: body out, event in. No dialect knows sockets, clocks or files. Then what they
/// share: bodies, events, the members that are OpenAI's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"
#include "proto/http/sse.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// TokenizeForm: the ways in which servers take a text and say its tokens (wire-formats.md,
/// "tokenise"). A dialect lists those that its servers may have; engine/server asks.
enum class TokenizeForm : std::uint8_t {
    messages,   ///< vLLM: /tokenize {messages}, through the chat template
    templated,  ///< llama.cpp: /apply-template {messages}, and its text to /tokenize {content}
    prompt,     ///< vLLM, SGLang: /tokenize {prompt}
    prompt_v1,  ///< SGLang: /v1/tokenize {prompt}
    content,    ///< llama.cpp: /tokenize {content}
    inputs,     ///< TGI: /tokenize {inputs}
};
template <>
inline constexpr auto closed_list<TokenizeForm> =
    name_list("messages", "templated", "prompt", "prompt_v1", "content", "inputs");

/// Of APIs that several servers speak: with a chat template around the prompt, and without.
inline constexpr TokenizeForm chat_tokenize_forms[] = {
    TokenizeForm::messages, TokenizeForm::templated, TokenizeForm::prompt, TokenizeForm::prompt_v1,
    TokenizeForm::content};
inline constexpr TokenizeForm completion_tokenize_forms[] = {
    TokenizeForm::prompt, TokenizeForm::prompt_v1, TokenizeForm::content};

enum class Api : std::uint8_t {
    openai_chat,
    openai_completions,
    openai_responses,
    anthropic,
    llamacpp,
    sglang,
    tgi,
    ollama,
    triton,
    aibrix,
    dynamo,
    user_template,
};

enum class PromptKind : std::uint8_t { text, ids };

/// `--output`: how the recorded output length binds the server.
enum class OutputRule : std::uint8_t { exact, cap, free };

/// What a request body holds besides its prompt and its length.
struct BodySpec {
    std::string model;
    PromptKind prompt = PromptKind::text;
    OutputRule output = OutputRule::exact;
    bool ignore_eos = true;         ///< only under OutputRule::exact
    bool continuous_usage = false;  ///< stream_options.continuous_usage_stats
    bool stream_options = true;     ///< false: a server refused them; usage may not come
    bool stream = true;
    /// The member that bounds the answer, where an API has two names for it
    /// (`has_two_length_names`); empty: the dialect's own.
    std::string length_member;
    /// `--extra-body`: a JSON object whose members are added to the body and replace ours of the
    /// same name (a null removes it). Empty for none.
    std::string extra_body;
};

/// A body cut at what changes per row: before + prompt + between + asked tokens + after. If
/// `has_length` is false (`--output free`, or the user set the length), the number is left out and
/// `after` follows `between` directly. Prompt bytes are inside the quotes of a string (text) or
/// inside the brackets of an array (ids).
struct BodyFrame {
    std::string before;
    std::string between;
    std::string after;
    bool has_length = true;
};

/// Largest count of tokens that is accepted from a server, the same as for a row of a trace
/// (`row_tokens_max`): anything above it is unknown. Sums and differences of such counts never
/// overflow.
inline constexpr std::int64_t tokens_reported_max = std::int64_t{1} << 27;

/// A count in a header field, of digits only; -1 if it is not one, or is too large.
std::int64_t count_in(std::string_view text);

/// What one event of a stream said, or an answer that is not streamed. Unknown numbers are -1;
/// views live until the document's next parse.
struct EventReading {
    enum class Kind : std::uint8_t {
        delta,    ///< anything that is neither of the others: role, tokens, usage, finish, progress
        done,     ///< the dialect's end marker (`[DONE]`)
        error,    ///< an error object inside the stream
        ignored,  ///< an event of a name we do not know, or of no meaning for us
        bad,      ///< no JSON, or not the shape of this API
    };
    Kind kind = Kind::ignored;

    std::string_view content;    ///< answer text, or the text of a refusal
    std::string_view reasoning;  ///< one of the names that servers have for it, never several
    std::string_view tool_text;  ///< function names and arguments of tool call deltas, as written
    JsonValue tool_calls;        ///< of a chat delta, as they are there; absent elsewhere
    /// A member, or a type of event, that has text and that the reader does not know; else empty.
    std::string_view unread_member;
    std::int64_t token_ids = -1;  ///< length of `token_ids`, where the server sends them
    bool repeats_text = false;    ///< each text begins with all that it said before
    bool token_bearing = false;   ///< content, reasoning or tool text, or a token without text

    std::int64_t prompt_tokens = -1;
    std::int64_t completion_tokens = -1;
    std::int64_t cached_tokens = -1;
    bool has_usage = false;
    /// The usage is beside tokens: a running sum, or a server that puts its final usage on the
    /// finish event. The last one read is the final one either way.
    bool usage_is_running = false;

    // What gateways say of the worker that answers, as JSON text; empty where unsaid (Dynamo).
    std::string_view worker_id;
    std::string_view worker_timing;
    std::string_view finish_reason;  ///< empty where null or absent
    std::string_view response_id;    ///< JSON id
    /// Of an error object; of a delta whose finish is a failure, what the server says of it.
    std::string_view error_message;
};

struct ApiTemplate;  // api_template.hpp

/// A header field that goes with every request of an API.
struct FixedHeader {
    const char* name = "";
    const char* value = "";
};

/// A dialect as a table.
struct Dialect {
    Api api = Api::openai_chat;
    const char* name = "";                           ///< as `--api` spells it
    std::span<const std::string_view> aliases = {};  ///< what other tools call it
    const char* help = "";                           ///< a clause for `replay --help`
    const char* default_path = "";                   ///< "/v1/chat/completions"
    const char* whole_path = "";  ///< of answers that are not streamed; empty: the same
    Framing framing = Framing::sse;
    bool takes_ids = false;  ///< `--prompt ids` makes sense
    bool has_ignore_eos = true;
    bool templated = false;      ///< a chat template stands around the prompt
    bool names_model = true;     ///< a body says for which model it is
    const char* info_path = "";  ///< page that tells the context where /v1/models does not
    /// Members of a body that hold the prompt ("messages") and bound the answer; empty: recorded
    /// messages and payloads cannot be sent (request_body.hpp).
    std::string_view prompt_member = {};
    std::string_view length_member = {};
    bool has_two_length_names = false;  ///< servers of this API differ in the name of that member
    bool has_stream_options = false;    ///< streams are asked for usage

    const char* prompt_tokens_header = "";  ///< field of a head that counts the prompt
    bool repeats_text = false;              ///< events may repeat all that was said before
    const char* key_header = "";            ///< field of `--api-key`; empty: Authorization
    FixedHeader fixed_header = {};          ///< goes with every request
    /// Fields of its answers that are in every record, as if `--record-header` named them.
    std::array<const char*, 3> recorded_headers = {"", "", ""};

    /// How its servers may say the tokens of a text, best first; empty: they do not.
    std::span<const TokenizeForm> tokenize_forms = {};
    bool described_by_file = false;    ///< `--template` says what it is
    bool has_routing_headers = false;  ///< `--routing-strategy` and `--user` make sense
    // Whether an answer has a place for these counts, however the server was started.
    bool reports_prompt_tokens = true;
    bool reports_cached_tokens = true;
    /// Its answers say that they have ended, by a finish reason, a usage or an end marker: one that
    /// does not is cut off.
    bool has_end_mark = true;
    /// Events that have a name are annotations of routers and gateways, and mean nothing, unless
    /// they hold choices or usage.
    bool ignores_named_events = false;

    // What `frame` and `read` call. A spec asks for ids only where they are taken. `root` is the
    // object of an event that is neither an end marker nor an error; `reading` is a delta so far.
    Result<BodyFrame> (*make_body_frame)(const BodySpec& spec) = nullptr;
    void (*read_event)(const JsonValue& root, EventReading& reading) = nullptr;
    /// `--api template`: what a file says, which is asked in place of the two functions.
    const ApiTemplate* form = nullptr;

    /// Builds the frame of bodies. Errors: bad_json or invalid, when `extra_body` is no JSON object
    /// or replaces what it must not; invalid, when the API takes no token ids and they are asked.
    Result<BodyFrame> frame(const BodySpec& spec) const;
    /// Reads one event's payload (SSE data, a line, or a whole answer that is not streamed).
    /// `event_name` is the SSE name or empty. Zeros beside a prompt of 0 tokens are unknown. A
    /// finish by which a server gives the request up ("error", "abort") has an error message.
    EventReading read(JsonDocument& document, std::string_view event_name,
                      std::string_view data) const;
};

/// Whether bodies of a dialect begin with the model (`{"model":"NAME"`), so that it can be another
/// one in each row.
bool names_model_first(const Dialect& dialect);

/// The other name of the member that bounds an answer, of those dialects whose servers differ.
std::string_view other_length_member(const Dialect& dialect);

/// The path of a dialect's requests, unless the user gives another.
const char* path_of(const Dialect& dialect, bool stream);

/// All dialects, in the order in which `--help` lists them.
std::span<const Dialect* const> dialects();
/// The table of a dialect, by value of `--api` (an alias, too) or by enum. nullptr for a name we do
/// not speak.
const Dialect* find_dialect(std::string_view name);
const Dialect& dialect_of(Api api);
/// All names, comma-separated, for messages.
std::string dialect_names();

/// The human part of a server's error body (`wire-formats` 1.7): `error.message`, `error` as
/// a string, `message`, `detail`, the title of a page, else the first bytes of the body as they
/// are; cut at a code point to at most `bytes_max`. Secrets are masked by the caller.
std::string error_message_of(JsonDocument& document, std::string_view body, std::size_t bytes_max);

/// Reads a usage as chat and completions write it, and as Responses do. Tokens that only
/// `total_tokens` includes count as the answer's: xAI and Gemini leave hidden reasoning out of
/// `completion_tokens`.
void read_usage(const JsonValue& usage, EventReading& reading);

// The tables of all dialects, each defined in the file of its name. Internal to proto/api: others
// ask `find_dialect` or `dialect_of`.

extern const Dialect openai_chat_dialect;
extern const Dialect openai_completions_dialect;
extern const Dialect openai_responses_dialect;
extern const Dialect anthropic_dialect;
extern const Dialect llamacpp_dialect;
extern const Dialect sglang_dialect;
extern const Dialect tgi_dialect;
extern const Dialect ollama_dialect;
extern const Dialect triton_dialect;
extern const Dialect aibrix_dialect;
extern const Dialect dynamo_dialect;
extern const Dialect template_dialect;

// Bodies: how the dialects put a request body together from what they have in common. Internal to
// proto/api; each dialect's own file says what is in its bodies. It builds text, and reads
// nothing but `--extra-body`.

/// One member of a body: its value as JSON text.
struct BodyMember {
    std::string name;
    std::string json;
};

/// An extra member would take the place of the prompt. Printed after the member's name.
inline constexpr Error extra_takes_prompt{ErrorCode::invalid, 0,
                                          "contains the prompt and cannot be replaced; remove it"};

/// Where prompt and length stand.
struct BodyShape {
    std::string_view prompt_name;   ///< the member that holds the prompt
    std::string_view prompt_open;   ///< what is before the prompt's bytes in it
    std::string_view prompt_close;  ///< and after them
    std::string_view length_name;   ///< the member that bounds the answer
    /// The member whose object holds the length and `nested`; empty: they are at the top.
    std::string_view nest;
};

/// The members of a body beside prompt and length, in this order around them.
struct BodyMembers {
    std::vector<BodyMember> first;   ///< before the prompt
    std::vector<BodyMember> nested;  ///< behind the length, inside the nest
    std::vector<BodyMember> last;    ///< behind both
};

/// The member that bounds the answer: the one that the spec names, else the `usual` one.
std::string_view length_name_of(const BodySpec& spec, std::string_view usual);

/// The object of `--extra-body`; absent where there is none. Errors: bad_json, invalid (no object).
Result<JsonValue> read_extra_body(const BodySpec& spec, JsonDocument& document);

/// Sets a member where it stands, or at the end; a null removes it: several servers refuse nulls.
void set_member(std::vector<BodyMember>& members, std::string_view name, std::string_view json);
bool has_member(const std::vector<BodyMember>& members, std::string_view name);
/// Appends `,"name":value`.
void append_member(std::string& out, std::string_view name, std::string_view value);

/// {"model", ...} where the spec names one, else nothing.
std::vector<BodyMember> model_member(const BodySpec& spec);

/// Model, stream, temperature 0 and ignore_eos, each at the top and only where the spec wants it.
BodyMembers flat_members(const BodySpec& spec);

/// The members of two JSON objects, those of the first before and instead of those of the second.
std::string joined_objects(std::string_view first, std::string_view second);

/// Why a body cannot have these extra members, a JSON object, or the empty text. Names the member.
std::string refused_extra(const Dialect& dialect, BodySpec spec, std::string_view extra);

/// Puts the parts together and applies `--extra-body`: its members replace those of the same name,
/// and members of an object named like the nest replace those inside it one by one; a null removes.
/// Errors: bad_json if the extra body is not JSON; invalid if it is not an object, or replaces the
/// prompt, or replaces the nest by something that is not an object.
Result<BodyFrame> make_frame(const BodySpec& spec, const BodyShape& shape, BodyMembers members);

// Events: what the dialects share when they read one. Internal to proto/api; each dialect's own
// file says what its events mean. It keeps nothing: views live until the document's next parse.

/// Parses an event's payload and reads what all APIs share: `[DONE]`, and an error object or string
/// (`error`, or the whole event if it is flat). If there is more to read, returns the root, an
/// object or of the type `or_root`, and the reading's kind is `delta`; else returns absent, and the
/// kind is done, error or bad.
JsonValue open_event(JsonDocument& document, std::string_view event_name, std::string_view data,
                     EventReading& reading, JsonType or_root = JsonType::object);

/// The message of an error, or else its text. Empty if it is not an error: absent, null, false, 0,
/// or an empty text, array or object, as servers send with events in which nothing is wrong.
std::optional<std::string_view> error_said(const JsonValue& error);

/// Whether a finish reason says that the server gave the request up.
bool is_failed_finish(std::string_view finish_reason);
/// Why an answer ended: a text, or an object with a type and a message. Any other leaves it as is.
void read_finish(const JsonValue& finish, EventReading& reading);

/// Whether there is text of a model in a value, or a member, of any shape. Names, types, ids,
/// links, citations are none. Of a large value the first 64 values are looked at.
bool has_text(const JsonValue& value);

/// An object or an array.
bool is_container(const JsonValue& value);
/// A string's text; empty for all else.
std::string_view text_of(const JsonValue& value);
/// A count, also one that is written as a float (12.0); -1 where it is absent, negative, has a
/// fraction or an exponent, or is above `tokens_reported_max`.
std::int64_t count_of(const JsonValue& value);

// What the OpenAI-shaped dialects share: the members of a body and how an event is read.
// Internal to proto/api; the dialects' own files say in what they differ.

/// What is beside prompt and length. None is ever null: several servers refuse nulls.
BodyMembers openai_members(const BodySpec& spec);

/// The value of `stream_options`: usage at the end, or with every event.
std::string_view openai_stream_options(bool continuous_usage);

/// The chat dialect itself, for those that speak it with something on top.
inline constexpr BodyShape chat_shape{"messages", R"([{"role":"user","content":")", R"("}])",
                                      "max_completion_tokens", ""};
/// The same with the name that the spec has for the length.
BodyShape chat_shape_of(const BodySpec& spec);
Result<BodyFrame> make_chat_frame(const BodySpec& spec);
void read_chat_event(const JsonValue& root, EventReading& reading);

/// What a dialect reads of one element of `choices`.
using ReadChoice = void (*)(const JsonValue& choice, EventReading& reading);

/// Reads the choices and the usage of one event, which may be beside the choices, in one of
/// them (Moonshot), or in `x_groq`.
void read_openai_event(const JsonValue& root, ReadChoice read_choice, EventReading& reading);

/// Reads what all choices have beside their text: token ids and the finish reason, which may be an
/// object (`{"type":"abort","message":".."}`).
void read_choice_frame(const JsonValue& choice, EventReading& reading);

}  // namespace driftless
