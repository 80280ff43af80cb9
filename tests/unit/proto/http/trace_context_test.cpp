// A traceparent is what the specification says, and no two rows share one.
#include "proto/http/trace_context.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

namespace driftless {
namespace {

std::string field_of(std::string_view run_id, std::uint64_t row) {
    char text[traceparent_bytes];
    const char* end = write_traceparent(text, trace_context_of(run_id, row));
    EXPECT_EQ(end, text + traceparent_bytes);
    return {text, traceparent_bytes};
}

// W3C Trace Context, 3.2: version, trace id, parent id, flags; lower-case hex, ids not zero.
TEST(TraceContext, IsWrittenAsSpecified) {
    const std::regex shape("traceparent: 00-([0-9a-f]{32})-([0-9a-f]{16})-01\r\n");
    for (const std::uint64_t row : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
        const std::string text = field_of("0badcafe", row);
        std::smatch parts;
        ASSERT_TRUE(std::regex_match(text, parts, shape)) << text;
        EXPECT_EQ(parts[1], trace_id_text(trace_context_of("0badcafe", row)));
        EXPECT_NE(parts[1], std::string(32, '0'));
        EXPECT_NE(parts[2], std::string(16, '0'));
    }
    EXPECT_EQ(trace_id_text({0x0123456789ABCDEF, 1, 1}), "0123456789abcdef0000000000000001");
}

// The same row of the same run has one name for ever; other rows and other runs have others.
TEST(TraceContext, NamesEachRowOfEachRun) {
    EXPECT_EQ(field_of("0badcafe", 7), field_of("0badcafe", 7));
    std::set<std::string> traces;
    std::set<std::uint64_t> spans;
    for (const char* run_id : {"0badcafe", "0badcaff", ""}) {
        for (std::uint64_t row = 0; row < 10'000; ++row) {
            const TraceContext context = trace_context_of(run_id, row);
            traces.insert(trace_id_text(context));
            spans.insert(context.span);
        }
    }
    EXPECT_EQ(traces.size(), 30'000u);
    EXPECT_EQ(spans.size(), 30'000u);
}

}  // namespace
}  // namespace driftless
