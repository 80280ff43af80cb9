/// What tests of trace formats share: lines read into a trace, and Mooncake rows as text.
#pragma once

#include "proto/trace/reader.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

struct ReadTrace {
    Trace trace;
    InputErrors errors;
    bool usable = false;

    /// The trace, which has to be usable.
    Trace sound() {
        EXPECT_TRUE(usable) << first_error();
        return std::move(trace);
    }
    std::string first_error() const { return errors.empty() ? "" : to_text(errors.list[0]); }
};

inline ReadTrace read(const std::vector<std::string>& lines, const ReadOptions& options = {}) {
    ReadTrace reading;
    TraceReader reader(options, reading.trace, reading.errors);
    reader.begin_file("t.jsonl");
    std::uint64_t number = 0;
    for (const std::string& line : lines) {
        if (!reader.add_line(++number, line)) {
            break;
        }
    }
    reading.usable = reader.finish();
    return reading;
}

/// One error, of this field, whose sentence holds `what`.
inline void expect_refused(const ReadTrace& got, const std::string& field,
                           const std::string& what) {
    ASSERT_EQ(got.errors.count, 1U) << what;
    EXPECT_EQ(got.errors.list[0].field, field);
    EXPECT_TRUE(says(got.first_error(), what));
}

/// Traces whose turns wait for the turns before them.
inline ReadOptions closed_sessions() {
    return ReadOptions{.sessions = Sessions::closed};
}

inline std::string row(const std::string& time, int input, int output, const std::string& ids) {
    return R"({"timestamp": )" + time + R"(, "input_length": )" + std::to_string(input) +
           R"(, "output_length": )" + std::to_string(output) + R"(, "hash_ids": [)" + ids + "]}";
}

}  // namespace driftless
