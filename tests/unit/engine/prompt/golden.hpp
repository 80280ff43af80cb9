/// Golden: what tests/data/tokenizers/make_golden.py recorded of the reference implementation, read
/// back. Owned by whoever reads it; it never computes an expectation.
#pragma once

#include "engine/prompt/tokenizer.hpp"
#include "tests/test.hpp"

namespace driftless {

struct GoldenText {
    std::uint64_t bytes = 0;
    std::uint64_t crc = 0;  ///< CRC-32
    bool operator==(const GoldenText&) const = default;
};

/// What the reference made of each string, in their order.
struct Golden {
    std::vector<std::vector<TokenId>> ids;
    std::vector<std::vector<TokenId>> ids_with_special;
    std::vector<GoldenText> decoded;  ///< of the latter
    std::vector<GoldenText> decoded_without_special;
};

/// A whole file, decompressed; empty where it is not there.
std::string read_whole(const std::string& path);
const std::vector<std::string>& golden_strings();
Golden read_golden(const std::string& name);
GoldenText golden_text(const std::string& text);

/// As Python's decode(errors="replace") writes bytes, which is what the reference returns: each
/// maximal head of a code point that breaks off is one U+FFFD.
std::string with_replacements(const std::string& text);

/// Names of the tokenizers in tests/data with ids of every string, and of those with digests only.
const std::vector<std::string>& small_tokenizers();
const std::vector<std::string>& small_tokenizers_with_digests_only();
/// Those of the shared folder that are there.
std::vector<std::string> real_tokenizers();
/// Those that tests/data/tokenizers/fetch_real has put into the folder DRIFTLESS_TOKENIZERS.
std::vector<std::string> fetched_tokenizers();
/// All of these, but for those from which no words can be chosen.
std::vector<std::string> usable_tokenizers();
/// How many prompts a test makes of each: as the environment's DRIFTLESS_PROMPTS says. Some seconds
/// each with 2,000.
std::uint32_t prompts_of_each(std::uint32_t by_default);
/// Where the tokenizer of that name is.
std::string tokenizer_path(const std::string& name);
/// Fails the test where it does not load.
Tokenizer load_tokenizer(const std::string& name);

}  // namespace driftless
