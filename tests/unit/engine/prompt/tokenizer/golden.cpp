#include "golden.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "engine/input/source.hpp"
#include "proto/core/check.hpp"
#include "proto/json/document.hpp"

namespace driftless {

namespace {

std::uint64_t take_number(std::string_view& from) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const auto byte = static_cast<unsigned char>(from.at(0));
        from.remove_prefix(1);
        value |= std::uint64_t{byte & 0x7FU} << shift;
        if (byte < 0x80) {
            return value;
        }
    }
}

std::vector<std::vector<TokenId>> take_ids(std::string_view& from, std::size_t strings) {
    std::vector<std::vector<TokenId>> all(strings);
    for (std::vector<TokenId>& ids : all) {
        std::int64_t last = 0;
        for (std::uint64_t left = take_number(from); left > 0; --left) {
            const std::uint64_t zigzag = take_number(from);
            const auto half = static_cast<std::int64_t>((zigzag + 1) / 2);
            last += zigzag % 2 == 0 ? half : -half;
            ids.push_back(static_cast<TokenId>(last));
        }
    }
    return all;
}

}  // namespace

std::string read_whole(const std::string& path) {
    std::string text;
    Result<InputSource> source = InputSource::open(path);
    if (!source) {
        return text;
    }
    for (;;) {
        const Result<std::string_view> piece = source.value().read();
        CHECK(static_cast<bool>(piece));
        if (piece.value().empty()) {
            return text;
        }
        text += piece.value();
    }
}

const std::vector<std::string>& golden_strings() {
    static const std::vector<std::string> strings = [] {
        const std::string text = read_whole(std::string(TEST_DATA) + "/tokenizers/strings.json");
        JsonDocument document;
        const Result<JsonValue> root = document.parse(text);
        CHECK(static_cast<bool>(root));
        std::vector<std::string> all;
        for (JsonValue one = root.value().first(); one.present(); one = one.next()) {
            all.emplace_back(*one.as_string());
        }
        return all;
    }();
    return strings;
}

Golden read_golden(const std::string& name) {
    const std::string text = read_whole(std::string(TEST_DATA) + "/tokenizers/" + name + ".ids");
    std::string_view rest = text;
    const std::size_t strings = golden_strings().size();
    Golden golden;
    golden.ids = take_ids(rest, strings);
    golden.ids_with_special = take_ids(rest, strings);
    for (std::size_t i = 0; i < strings; ++i) {
        for (auto* texts : {&golden.decoded, &golden.decoded_without_special}) {
            const std::uint64_t bytes = take_number(rest);
            texts->push_back({bytes, take_number(rest)});
        }
    }
    CHECK(rest.empty());
    return golden;
}

// CRC-32 as in zlib (reflected polynomial 0xEDB88320).
GoldenText golden_text(const std::string& text) {
    std::uint32_t crc = ~std::uint32_t{0};
    for (const char c : text) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) {
            crc = crc >> 1 ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
        }
    }
    return {text.size(), ~crc};
}

const std::vector<std::string>& small_tokenizers() {
    static const std::vector<std::string> names{
        "gpt2", "roberta",   "llama3", "qwen",   "o200k", "tekken",  "deepseek",  "kimi",
        "odd",  "starcoder", "falcon", "llama2", "gemma", "mistral", "metaspace", "superword"};
    return names;
}

std::vector<std::string> real_tokenizers() {
    std::vector<std::string> there;
    for (const char* name : {"qwen2", "phi3"}) {
        if (InputSource::open(tokenizer_path(name))) {
            there.emplace_back(name);
        }
    }
    return there;
}

std::string tokenizer_path(const std::string& name) {
    const bool real = name == "qwen2" || name == "phi3";
    return (real ? std::string(SHARED_DATA) : std::string(TEST_DATA)) + "/tokenizers/" + name +
           ".json";
}

Tokenizer load_tokenizer(const std::string& name) {
    std::string why;
    Result<TokenizerParts> parts = read_tokenizer(read_whole(tokenizer_path(name)), why);
    EXPECT_TRUE(parts) << name << ": " << why;
    CHECK(static_cast<bool>(parts));
    return Tokenizer(std::move(parts).value());
}

}  // namespace driftless
