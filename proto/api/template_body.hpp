/// Template body: the body that a user describes, with its placeholders filled. Internal to
/// proto/api; `api_template.cpp` refuses what makes no sense before rows are sent.
#pragma once

#include <string>
#include <string_view>

#include "proto/api/dialect.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// These bytes mark the row's prompt and length in a filled body. No JSON text contains them.
inline constexpr char prompt_mark = '\x01';
inline constexpr char length_mark = '\x02';

inline constexpr const char* placeholder_names =
    "{prompt}, {output_length}, {model}, {stream}, {ignore_eos}";

/// The first of those placeholders in a text; empty: none.
std::string_view placeholder_in(std::string_view text);

struct FilledBody {
    std::string text;
    std::string unknown;        ///< the first placeholder that is none of ours; empty: none
    std::string misplaced;      ///< the first string with one that goes out unfilled; empty: none
    bool prompt_alone = false;  ///< {prompt} is a whole value
    bool extra_fits = true;     ///< the extra members leave the prompt where it is
};

/// Fills `{prompt}` inside any string, and the other placeholders where they are a whole string.
/// The length is left out, with the member whose value it is, under `--output free`.
///
/// `extra` (absent: none) is an object that goes into the body as a merge patch does (RFC 7396):
/// objects of the same name member by member, all else in place of ours, a null removes ours. It
/// does not fit where it would take away the prompt, or more than the length alone.
FilledBody fill_body(const JsonValue& body, const BodySpec& spec, const JsonValue& extra);

}  // namespace driftless
