/// The reading half of `convert --from-logs`: tokenizer, salt, logs; a trace without their text.
#pragma once

#include <string>
#include <vector>

#include "cmd/convert/options.hpp"

namespace driftless {

/// Returns the exit code. What is wrong with the flags' files goes to standard error; what is wrong
/// with the logs into `errors`.
int read_from_logs(const ConvertOptions& options, Trace& trace, InputErrors& errors,
                   std::vector<std::string>& notes);

}  // namespace driftless
