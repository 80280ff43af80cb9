/// A Corpus from a dataset's file: a JSON array (ShareGPT) or JSON lines, compressed or not. Read
/// in bounded memory and tokenised once, before time 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/prompt/dataset/corpus.hpp"
#include "engine/prompt/dataset/corpus_maker.hpp"
#include "proto/core/result.hpp"

namespace driftless {

struct LoadedCorpus {
    Corpus corpus;
    CorpusFigures figures;
    std::string column;    ///< where the texts were; empty where rows are texts
    bool is_whole = true;  ///< false: the file has more than `Corpus::bytes_max` of text
};

/// Errors: those of reading the file; bad_json, truncated, too_large, invalid (no such column, no
/// text); unsupported (the tokenizer). `why` then is a line for people that names file, row, what
/// is wrong, and the remedy.
Result<LoadedCorpus> load_corpus(const std::string& path, const std::string& column,
                                 Tokenizer& tokenizer, std::string_view word, std::string& why);

}  // namespace driftless
