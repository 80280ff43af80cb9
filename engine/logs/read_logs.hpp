/// read_logs: logs of an LLM service in, one Trace out that holds none of their text.
///
/// Files, folders and standard input are read one after the other, in constant memory beyond the
/// rows and their block ids. It prints nothing itself, and no error quotes what a log says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/crypto/keyed_hash.hpp"
#include "engine/prompt/tokenizer/tokenizer.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct LogFiles {
    std::vector<std::string> paths;  ///< files, folders, or "-"
    std::string format;              ///< `--log-format`; empty: detected
    std::uint32_t block_size = 16;   ///< tokens
    bool lenient = false;            ///< calls without text or lengths are kept, and counted
    std::vector<std::string> keep;   ///< `--keep`
};

/// True where the trace is whole and usable. Otherwise `errors` says why, and `out` must not be
/// used. `notes` are one-line facts, in the order they should be printed. `hash` makes the block
/// ids: it holds the secret.
bool read_logs(const LogFiles& files, Tokenizer& tokenizer, KeyedHash& hash, Trace& out,
               InputErrors& errors, std::vector<std::string>& notes);

}  // namespace driftless
