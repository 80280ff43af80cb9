/// A tokenizer from its file, compressed or not. Before time 0 only.
#pragma once

#include <string>
#include <string_view>

#include "engine/prompt/tokenizer/tokenizer.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// What a replay can do without its tokenizer.
inline constexpr std::string_view built_in_remedy =
    "without --tokenizer, built-in words are used, which the server is asked about before the run";

/// Errors: those of reading the file, and of `read_tokenizer`; `why` is a line for people that
/// names the file and the remedy.
Result<Tokenizer> load_tokenizer(const std::string& path, std::string& why);

}  // namespace driftless
