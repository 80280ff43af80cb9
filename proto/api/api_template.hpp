/// ApiTemplate: an API that the user describes in a file, for servers that we do not know (`--api
/// template --template FILE`; README.md in this folder describes the format).
///
/// A value owned by the code that read the file; the dialect made of it refers to it. It holds what
/// the file says and touches no file itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/api/dialect.hpp"
#include "proto/json/document.hpp"

namespace driftless {

struct ApiTemplate {
    std::string path;
    std::string body;  ///< JSON object with placeholders, as written
    Framing framing = Framing::sse;
    std::string end;            ///< payload that ends a stream, beside "[DONE]"; empty: none
    bool repeats_text = false;  ///< events repeat all that was said before
    bool prompt_alone = false;  ///< {prompt} is a whole value: ids fit in its place
    bool has_model = false;     ///< the body has that placeholder; the next one likewise
    bool has_ignore_eos = false;

    /// Where an event, or an answer that is not streamed, has what; what is not named is unknown.
    JsonPointer content;
    JsonPointer reasoning;
    JsonPointer finish_reason;
    JsonPointer prompt_tokens;
    JsonPointer completion_tokens;
    JsonPointer cached_tokens;
    JsonPointer response_id;
    JsonPointer error;

    std::uint64_t digest = 0;  ///< of the file's bytes
};

/// Reads the file's text. `why`: the rest of a sentence that begins with the file's name, for
/// people: member, value, remedy. Errors: bad_json, invalid, missing.
Result<ApiTemplate> read_api_template(std::string_view text, std::string& why);

/// The dialect of such a server. It refers to `form`, which stays where it is.
Dialect dialect_of(const ApiTemplate& form);

/// The body of the rows. Errors: bad_json or invalid, when the spec's extra body is no JSON object
/// or does not fit (api_template.cpp); invalid, when ids have no place.
Result<BodyFrame> make_template_frame(const ApiTemplate& form, const BodySpec& spec);

/// Whether an event's payload is the template's own end marker.
bool ends_stream(const ApiTemplate& form, std::string_view data);
/// Reads one event, as `Dialect::read_event` does.
void read_template_event(const ApiTemplate& form, const JsonValue& root, EventReading& reading);

}  // namespace driftless
