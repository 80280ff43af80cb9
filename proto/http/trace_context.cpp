#include "proto/http/trace_context.hpp"

#include <algorithm>

#include "proto/core/hash.hpp"

namespace driftless {

namespace {

constexpr unsigned digits = 16;  // of 64 bits

char* write_hex(char* out, std::uint64_t value) {
    for (unsigned i = 0; i < digits; ++i) {
        *out++ = "0123456789abcdef"[(value >> (60 - 4 * i)) & 15];
    }
    return out;
}

char* copy(char* out, std::string_view text) {
    return std::copy(text.begin(), text.end(), out);
}

}  // namespace

// Every step from the row to the first number is a bijection: no two rows of a run share it.
TraceContext trace_context_of(std::string_view run_id, std::uint64_t row) {
    Digest run;
    run.add(run_id);
    Random random(run.value() ^ mix64(row));
    TraceContext context;
    context.trace_high = random.next();
    context.trace_low = random.next();  // only one number of a stream is 0: not both of these
    context.span = std::max<std::uint64_t>(random.next(), 1);
    return context;
}

std::string trace_id_text(const TraceContext& context) {
    std::string text(2 * digits, '0');
    (void)write_hex(write_hex(text.data(), context.trace_high), context.trace_low);
    return text;
}

char* write_traceparent(char* out, const TraceContext& context) {
    out = copy(out, "traceparent: 00-");
    out = write_hex(write_hex(out, context.trace_high), context.trace_low);
    out = copy(out, "-");
    out = write_hex(out, context.span);
    return copy(out, "-01\r\n");
}

}  // namespace driftless
