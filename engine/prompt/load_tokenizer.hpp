/// A tokenizer from its file, compressed or not, or from the folder of its model. Before time 0
/// only.
#pragma once

#include <string>
#include <string_view>

#include "engine/prompt/tokenizer/tokenizer.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// What a replay can do without its tokenizer.
inline constexpr std::string_view built_in_remedy =
    "without --tokenizer, built-in words are used and checked on the server before the run";

/// The file that `--tokenizer` names: the tokenizer in a folder that has one, else what was given.
std::string tokenizer_file(const std::string& given);

/// A whole file of a model. Errors: not_found, denied, invalid (a folder), too_large, and those of
/// reading it; `why` is a clause for people without the name.
Result<std::string> read_model_file(const std::string& path, std::string& why);

/// `given`: a file, or a folder. Errors: those of reading the file, and of `read_tokenizer`; `why`
/// is a line for people that names the file and the remedy.
Result<Tokenizer> load_tokenizer(const std::string& given, std::string& why);

}  // namespace driftless
