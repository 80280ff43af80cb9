#include "engine/stats/sent_tokens.hpp"

#include <algorithm>

namespace driftless {

/// Each try has a record of its own, but for requests that were sent again on another connection:
/// their server may have had them twice.
void SentTokens::add(const Record& record) {
    if (!record.fired_ns) {
        return;
    }
    const auto tries = 1.0 + static_cast<double>(record.stale_retries);
    const auto prompt = static_cast<double>(
        record.prompt_tokens.value_or(std::int64_t{record.input_length.value_or(0)}));
    const auto output = static_cast<double>(record.output_tokens.value_or(0));
    requests_.most += tries;
    prompt_.most += tries * prompt;
    if (!is_whole(record.outcome)) {  // the server may have gone on to the end
        const auto recorded = static_cast<double>(record.output_length.value_or(0));
        generated_.most += tries * std::max(output, recorded);
        return;
    }
    requests_.least += 1;
    prompt_.least += prompt;
    generated_.least += output;
    generated_.most += tries * output;
    prompts_unknown_ += record.prompt_tokens ? 0 : 1;
    outputs_unknown_ += counts_output(record) ? 0 : 1;
}

}  // namespace driftless
