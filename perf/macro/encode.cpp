// Encodes texts with a tokenizer: a digest of the ids for `tokenizers` (the script beside this) to
// hold against the reference implementation's, and how fast it went.
//
//     encode TOKENIZER TEXTS.json [ROUNDS]     TEXTS: a JSON array of strings
//
// Prints one JSON line: bytes, tokens, load and encode seconds (best round), CRC-32 of each text's
// ids as 32-bit little-endian numbers.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/prompt/tokenizer.hpp"
#include "proto/json/document.hpp"

namespace {

using namespace driftless;

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::uint32_t crc_of(const std::vector<TokenId>& ids) {
    std::uint32_t crc = ~std::uint32_t{0};
    for (const TokenId id : ids) {
        for (unsigned shift = 0; shift < 32; shift += 8) {
            crc ^= id >> shift & 0xFFU;
            for (int bit = 0; bit < 8; ++bit) {
                crc = crc >> 1 ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
            }
        }
    }
    return ~crc;
}

std::vector<std::string> read_texts(const char* path) {
    std::ifstream file(path);
    const std::string json{std::istreambuf_iterator<char>(file), {}};
    JsonDocument document;
    const Result<JsonValue> root = document.parse(json);
    std::vector<std::string> texts;
    if (root) {
        for (JsonValue one = root.value().first(); one.present(); one = one.next()) {
            texts.emplace_back(one.as_string().value_or(""));
        }
    }
    return texts;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) {
        std::fprintf(stderr, "usage: encode TOKENIZER TEXTS.json [ROUNDS]\n");
        return 2;
    }
    std::string why;
    const auto begin = std::chrono::steady_clock::now();
    Result<Tokenizer> loaded = load_tokenizer(arguments[1], why);
    const double load = seconds_since(begin);
    if (!loaded) {
        std::fprintf(stderr, "%s\n", why.c_str());
        return 3;
    }
    Tokenizer& tokenizer = loaded.value();
    const std::vector<std::string> texts = read_texts(arguments[2]);
    const int rounds = count > 3 ? std::atoi(arguments[3]) : 1;
    std::vector<std::vector<TokenId>> ids(texts.size());
    double best = 1e9;
    for (int round = 0; round < rounds; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < texts.size(); ++i) {
            ids[i].clear();
            tokenizer.encode(texts[i], ids[i]);
        }
        best = std::min(best, seconds_since(start));
    }
    std::size_t bytes = 0;
    std::size_t tokens = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        bytes += texts[i].size();
        tokens += ids[i].size();
    }
    std::printf("{\"bytes\":%zu,\"tokens\":%zu,\"load_s\":%.4f,\"encode_s\":%.6f,\"crc\":[", bytes,
                tokens, load, best);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        std::printf("%s%u", i == 0 ? "" : ",", crc_of(ids[i]));
    }
    std::printf("]}\n");
    return 0;
}
