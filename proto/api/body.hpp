/// Bodies: how the dialects put a request body together from what they have in common. Internal to
/// proto/api; each dialect's own file says what stands in its bodies. It builds text, and reads
/// nothing but `--extra-body`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/api/dialect.hpp"

namespace driftless {

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

}  // namespace driftless
