/// Golden: what tests/data/tokenizers/make_golden.py recorded of the reference implementation, read
/// back. Owned by whoever reads it; it never computes an expectation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/prompt/tokenizer/tokenizer.hpp"

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

/// Names of the tokenizers in tests/data, and of those in the shared folder that are there.
const std::vector<std::string>& small_tokenizers();
std::vector<std::string> real_tokenizers();
/// Where the tokenizer of that name is.
std::string tokenizer_path(const std::string& name);
/// Fails the test where it does not load.
Tokenizer load_tokenizer(const std::string& name);

}  // namespace driftless
