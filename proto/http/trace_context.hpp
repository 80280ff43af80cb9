/// TraceContext: the name by which a request's spans are found in a tracing backend (W3C Trace
/// Context, level 1, version 00). Pure values; who sends it and who keeps it is decided elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace driftless {

struct TraceContext {
    std::uint64_t trace_high = 0;
    std::uint64_t trace_low = 0;
    std::uint64_t span = 0;  ///< of the request itself: the parent of the server's spans
};

/// The context of one row of one run: always the same, different from that of every other row of
/// the run, and never zero (which would be invalid).
TraceContext trace_context_of(std::string_view run_id, std::uint64_t row);

/// 32 hex digits in lower case, as backends show it.
std::string trace_id_text(const TraceContext& context);

/// "traceparent: 00-", 32 digits, "-", 16 digits, "-01" and the line's end.
inline constexpr std::size_t traceparent_bytes = 16 + 32 + 1 + 16 + 3 + 2;

/// Writes the field, sampled flag set, line end included; returns the end.
char* write_traceparent(char* out, const TraceContext& context);

}  // namespace driftless
