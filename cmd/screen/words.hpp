/// Words that the tables and the progress line share. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/record/outcome.hpp"

namespace driftless {

/// A part of a whole in percent, "12.50 %"; "-" where the whole is 0.
std::string share(std::uint64_t part, std::uint64_t whole);

/// Whether `--continuous-usage`, a wish of OpenAI's APIs, can count the tokens of each chunk there.
/// `backend` is the name of the dialect.
bool can_count_chunk_tokens(std::string_view backend);

/// An outcome that counts as a failure in what people read: neither ok nor an answer of another
/// length.
bool is_failure(Outcome outcome);

/// "http_5xx 12, truncated 3": the failures among these outcomes, but for `without`.
std::string failed_kinds(const std::array<std::uint64_t, outcome_count>& outcomes,
                         Outcome without = Outcome::ok);

}  // namespace driftless
