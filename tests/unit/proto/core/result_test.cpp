// Codes are told to people by their names in the enum.
#include <gtest/gtest.h>

#include <cerrno>

#include "proto/core/errors.hpp"

namespace driftless {
namespace {

TEST(ErrorCode, HasAName) {
    const std::pair<ErrorCode, const char*> names[] = {
        {ErrorCode::bad_json, "bad_json"},   {ErrorCode::bad_http, "bad_http"},
        {ErrorCode::too_large, "too_large"}, {ErrorCode::out_of_range, "out_of_range"},
        {ErrorCode::missing, "missing"},     {ErrorCode::truncated, "truncated"},
        {ErrorCode::not_found, "not_found"}, {ErrorCode::denied, "denied"},
        {ErrorCode::refused, "refused"},     {ErrorCode::unreachable, "unreachable"},
        {ErrorCode::reset, "reset"},         {ErrorCode::closed, "closed"},
        {ErrorCode::timed_out, "timed_out"}, {ErrorCode::cancelled, "cancelled"},
        {ErrorCode::exhausted, "exhausted"}, {ErrorCode::unsupported, "unsupported"},
        {ErrorCode::io_failed, "io_failed"}, {ErrorCode::exists, "exists"},
        {ErrorCode::invalid, "invalid"},
    };
    EXPECT_EQ(std::size(names), static_cast<std::size_t>(ErrorCode::invalid) + 1) << "all of them";
    for (const auto& [code, name] : names) {
        EXPECT_STREQ(name_of(code), name);
    }
}

// A person reads what the system says, or words; never the name of a code.
TEST(ErrorCode, HasAReasonInWords) {
    EXPECT_EQ(reason_of({ErrorCode::not_found, ENOENT, "open"}), "No such file or directory");
    EXPECT_EQ(reason_of({ErrorCode::too_large, 0, "read a line"}), "too large");
    for (int code = 0; code <= static_cast<int>(ErrorCode::invalid); ++code) {
        const std::string said = reason_of({static_cast<ErrorCode>(code), 0, ""});
        EXPECT_EQ(said.find('_'), std::string::npos) << said;
        EXPECT_FALSE(said.empty());
    }
}

}  // namespace
}  // namespace driftless
