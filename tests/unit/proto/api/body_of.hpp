/// The body of a row, as a dialect writes it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "proto/api/dialect.hpp"

namespace driftless {

/// With prompt bytes `prompt` and 4 asked tokens; checked to be JSON. Of a spec that the dialect
/// refuses, the name of the error.
inline std::string body_of(const Dialect& dialect, const BodySpec& spec, std::string_view prompt) {
    const Result<BodyFrame> frame = dialect.frame(spec);
    if (!frame) {
        return name_of(frame.error().code);
    }
    const BodyFrame& parts = frame.value();
    std::string body = parts.before + std::string(prompt) + parts.between;
    body += (parts.has_length ? "4" : "") + parts.after;
    JsonDocument document;
    EXPECT_TRUE(document.parse(body)) << body;
    return body;
}

}  // namespace driftless
