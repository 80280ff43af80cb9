/// The tables of all dialects, and what they share: bodies, events, the members that are OpenAI's.
/// Internal to proto/api.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api/dialect.hpp"

namespace driftless {

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
// proto/api; each dialect's own file says what stands in its bodies. It builds text, and reads
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
    std::string_view prompt_open;   ///< what stands before the prompt's bytes in it
    std::string_view prompt_close;  ///< and after them
    std::string_view length_name;   ///< the member that bounds the answer
    /// The member whose object holds the length and `nested`; empty: they stand at the top.
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

/// The text as a JSON string, with its quotes.
std::string in_json_quotes(std::string_view text);

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

/// Whether there is text of a model in a value, or a member, of whatever shape. Names, types, ids,
/// links, citations are none. Of a large value the first 64 values are looked at.
bool has_text(const JsonValue& value);

/// A string's text; empty for all else.
std::string_view text_of(const JsonValue& value);
/// A count, also one that is written as a float (12.0); -1 where it is absent, negative, has a
/// fraction or an exponent, or is above `tokens_reported_max`.
std::int64_t count_of(const JsonValue& value);

// What the OpenAI-shaped dialects share: the members of a body and how an event is read.
// Internal to proto/api; the dialects' own files say in what they differ.

/// What stands beside prompt and length. None is ever null: several servers refuse nulls.
BodyMembers openai_members(const BodySpec& spec);

/// The value of `stream_options`: usage at the end, or with every event.
std::string openai_stream_options(bool continuous_usage);

/// The chat dialect itself, for those that speak it with something on top.
inline constexpr BodyShape chat_shape{"messages", R"([{"role":"user","content":")", R"("}])",
                                      "max_completion_tokens", ""};
/// The same with the name that the spec has for the length.
BodyShape chat_shape_of(const BodySpec& spec);
Result<BodyFrame> make_chat_frame(const BodySpec& spec);
void read_chat_event(const JsonValue& root, EventReading& reading);

/// What a dialect reads of one element of `choices`.
using ReadChoice = void (*)(const JsonValue& choice, EventReading& reading);

/// Reads the choices and the usage of one event, which may stand beside the choices, in one of
/// them (Moonshot), or in `x_groq`.
void read_openai_event(const JsonValue& root, ReadChoice read_choice, EventReading& reading);

/// Reads what all choices have beside their text: token ids and the finish reason, which may be an
/// object (`{"type":"abort","message":".."}`).
void read_choice_frame(const JsonValue& choice, EventReading& reading);

}  // namespace driftless
