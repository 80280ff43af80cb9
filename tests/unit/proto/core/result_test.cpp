// Codes are told to people by their names in the enum.
#include "proto/core/result.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

TEST(ErrorCode, IsToldByItsName) {
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

}  // namespace
}  // namespace driftless
