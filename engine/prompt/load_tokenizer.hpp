/// A tokenizer from its file, compressed or not, or from the folder of its model. Before time 0
/// only.
#pragma once

#include <string>

#include "engine/prompt/tokenizer.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// The file that `--tokenizer` names: the tokenizer in a folder that has one, else what was given.
std::string tokenizer_file(const std::string& given);

/// A whole file of a model. Errors: not_found, denied, invalid (a folder), too_large, and those of
/// reading it; `why` is a clause for people without the name.
Result<std::string> read_model_file(const std::string& path, std::string& why);

/// `given`: a file, or a folder. Errors: those of reading the file, and of `read_tokenizer`; `why`
/// is a clause for people that names the file; what can be done without one, the caller knows.
Result<Tokenizer> load_tokenizer(const std::string& given, std::string& why);

}  // namespace driftless
