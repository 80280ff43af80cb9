/// Timed events as people type them: `--event "+90s post http://a:8000/start_profile"`, and files
/// of such lines. Pure, but for `read_events`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/http/url.hpp"
#include "proto/record/timed_event.hpp"

namespace driftless {

struct TypedEvent {
    std::int64_t at_ns = 0;  ///< from time 0 of the run, in wall time
    TimedEventKind kind = TimedEventKind::label;
    std::string what;  ///< URL, command line or label
    Url url;           ///< of a POST
};

/// A run has so many at most: each may be a process.
inline constexpr std::size_t events_max = 1000;

/// "+T post URL", "+T run COMMAND", "+T label TEXT". Errors: invalid, out_of_range.
Result<TypedEvent> parse_event(std::string_view text);

/// Adds those of a file: one a line; empty lines, and those that begin with '#', are left out.
/// Returns why it cannot be, with file and line, or the empty text.
std::string read_events(const std::string& path, std::vector<TypedEvent>& out);
/// The same of the text of a file; `where` stands before what is said.
std::string parse_events(const std::string& where, std::string_view text,
                         std::vector<TypedEvent>& out);

}  // namespace driftless
