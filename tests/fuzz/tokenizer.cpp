// What begins with a brace is a tokenizer.json, what begins with a line of base64 and a rank a rank
// file (its bytes beside it, so that few lines make one): if it can be read, it encodes without a
// fault. In all else the first byte chooses one of twelve tokenizers, which encodes the rest: every
// id has a token, encoding again gives the same, and where nothing is normalized or dropped,
// decoding gives the text.
#include "engine/prompt/tokenizer.hpp"

#include "proto/core/text.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

struct Shape {
    const char* name;
    bool keeps_text;
};
// Those that keep text have no normalizer, no token that strips, and a token for every byte.
constexpr Shape shapes[] = {
    {"gpt2", true},      {"llama3", true}, {"o200k", true}, {"kimi", true},
    {"starcoder", true}, {"falcon", true}, {"qwen", false}, {"deepseek", false},
    {"llama2", false},   {"gemma", false}, {"odd", false},  {"metaspace", false},
};

std::vector<Tokenizer> load_all() {
    std::vector<Tokenizer> all;
    for (const Shape& shape : shapes) {
        std::ifstream file(std::string(TEST_DATA) + "/tokenizers/" + shape.name + ".json");
        const std::string text(std::istreambuf_iterator<char>(file), {});
        std::string why;
        Result<TokenizerParts> parts = read_tokenizer(text, why);
        CHECK(parts);
        all.emplace_back(std::move(parts).value());
    }
    return all;
}

void check_text(std::size_t which, std::string_view text) {
    static std::vector<Tokenizer> tokenizers = load_all();
    Tokenizer& tokenizer = tokenizers[which % tokenizers.size()];
    const bool keeps_text = shapes[which % tokenizers.size()].keeps_text;
    std::string storage;
    const std::string_view valid = to_valid_utf8(text, storage);
    std::vector<TokenId> ids;
    std::vector<TokenId> again;
    tokenizer.encode(text, ids);
    tokenizer.encode(valid, again);
    CHECK(ids == again);
    for (const TokenId id : ids) {
        CHECK(!keeps_text || !tokenizer.decode({&id, 1}).empty());
    }
    CHECK(!keeps_text || tokenizer.decode(ids) == valid);
}

// Every byte a token, behind those of the file.
std::string with_all_bytes(std::string_view ranks) {
    std::string out(ranks);
    out += '\n';
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (unsigned i = 0; i < 256; ++i) {
        out += {digits[i >> 2], digits[(i & 3) << 4], '=', '=', ' '};
        out += std::to_string(i) + "\n";
    }
    return out;
}

void check_file(std::string_view text) {
    std::string why;
    Result<TokenizerParts> parts =
        text.starts_with('{')
            ? read_tokenizer(text, why)
            : read_rank_file(with_all_bytes(text), R"({"pat_str": " ?[^ ]+| +"})", why);
    if (!parts) {
        CHECK(!why.empty());
        return;
    }
    Tokenizer tokenizer(std::move(parts).value());
    std::vector<TokenId> ids;
    tokenizer.encode("the quick  brown\n\xC3\xA9 1234 <s> \xE4\xB8\xAD", ids, true);
    (void)tokenizer.decode(ids, true);
}

void fuzz_tokenizer(std::string_view bytes) {
    if (!bytes.empty() && (bytes.front() == '{' || is_rank_file(bytes))) {
        check_file(bytes);
    } else if (!bytes.empty()) {
        check_text(static_cast<unsigned char>(bytes.front()), bytes.substr(1));
    }
}

const FuzzTargets tokenizer_target = {{"tokenizer", fuzz_tokenizer}};

}  // namespace
}  // namespace driftless
