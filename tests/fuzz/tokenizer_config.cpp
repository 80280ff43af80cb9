// Any bytes as the tokenizer_config.json beside a rank file of all single bytes: refused in words,
// or a tokenizer that takes any text apart and puts it together again.
#include "engine/prompt/tokenizer.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

// In tiktoken's spelling: base64 of the token, a blank, its rank.
std::string all_bytes() {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (unsigned i = 0; i < 256; ++i) {
        out += {digits[i >> 2], digits[(i & 3) << 4], '=', '=', ' '};
        out += std::to_string(i) + "\n";
    }
    return out;
}

void fuzz_tokenizer_config(std::string_view config) {
    static const std::string ranks = all_bytes();
    std::string why;
    Result<TokenizerParts> parts = read_rank_file(ranks, config, why);
    CHECK(parts || !why.empty());
    if (parts) {
        Tokenizer tokenizer(std::move(parts).value());
        for (const std::string_view text :
             {"", "the quick  brown\n\xC3\xA9 1234 <s> \xE4\xB8\xAD"}) {
            std::vector<TokenId> ids;
            tokenizer.encode(text, ids, true);
            (void)tokenizer.decode(ids, true);
        }
    }
}

const FuzzTargets tokenizer_config_target = {{"tokenizer_config", fuzz_tokenizer_config}};

}  // namespace
}  // namespace driftless
