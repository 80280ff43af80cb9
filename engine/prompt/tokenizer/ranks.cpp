#include "engine/prompt/tokenizer/ranks.hpp"

#include <array>
#include <vector>

namespace driftless {

namespace {

// Ranks may run ahead of the number of tokens by this much before memory is taken for them.
constexpr std::uint64_t ranks_ahead_max = 1'000'000;
// No token is longer in any published vocabulary; bounds the search for merges.
constexpr std::size_t token_bytes_max = 4096;

constexpr std::array<std::int8_t, 256> base64_values() {
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::array<std::int8_t, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < letters.size(); ++i) {
        values[static_cast<unsigned char>(letters[i])] = static_cast<std::int8_t>(i);
    }
    return values;
}

const char* const fetch_again = "; fetch it again from where the model is published";

}  // namespace

bool append_base64(std::string& out, std::string_view text) {
    static constexpr std::array<std::int8_t, 256> values = base64_values();
    if (text.empty() || text.size() % 4 != 0) {
        return false;
    }
    for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) {
        text.remove_suffix(1);
    }
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const char c : text) {
        const int value = values[static_cast<unsigned char>(c)];
        if (value < 0) {
            return false;
        }
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        held += 6;
        if (held >= 8) {
            held -= 8;
            out.push_back(static_cast<char>(bits >> held & 0xFF));
        }
    }
    return true;
}

Ranks::Ranks(Bpe& bpe, TokenId first_id, std::size_t tokens, std::size_t bytes)
    : bpe_(bpe), first_id_(first_id), tokens_(tokens) {
    bpe_.vocabulary.reserve(tokens + first_id, bytes);
    bpe_.rules.bytes = true;
}

bool Ranks::add(std::string_view token, std::uint64_t rank, std::string& why) {
    if (rank + first_id_ > token_id_max || rank > tokens_ + ranks_ahead_max) {
        why = "the rank " + std::to_string(rank) + ", which cannot be";
        return false;
    }
    if (token.empty() || token.size() > token_bytes_max) {
        why = "a token of " + std::to_string(token.size()) + " bytes, which cannot be";
        return false;
    }
    const auto id = static_cast<TokenId>(first_id_ + rank);
    if (bpe_.vocabulary.bytes(id)) {
        why = "the rank " + std::to_string(rank) + " twice: two tokens have it" + fetch_again;
        return false;
    }
    if (bpe_.vocabulary.find(token)) {
        why = "a token twice: it has two ranks" + std::string(fetch_again);
        return false;
    }
    bpe_.vocabulary.set(id, token);
    return true;
}

bool Ranks::finish(std::string& why) {
    const Vocabulary& vocabulary = bpe_.vocabulary;
    const bool is_p50k = vocabulary.size() == p50k_ranks;
    for (TokenId id = first_id_; id < vocabulary.ids_end(); ++id) {
        if (!vocabulary.bytes(id) && !(is_p50k && id - first_id_ == p50k_hole)) {
            why = "it has holes: no token has the rank " + std::to_string(id - first_id_) +
                  fetch_again;
            return false;
        }
    }
    for (unsigned i = 0; i < 256; ++i) {
        const char byte = static_cast<char>(i);
        if (!vocabulary.find({&byte, 1})) {
            why = "it has no token for the byte " + std::to_string(i) +
                  ", so some texts cannot be tokenized" + fetch_again;
            return false;
        }
    }
    find_merges();
    return true;
}

// In the order of ranks: what the merges so far make of a token is the two that become it, or more
// than two where no text leads to it. Nothing else can: while no merge reaches beyond a token's
// bytes in a text, they merge as they do alone.
void Ranks::find_merges() {
    const Vocabulary& vocabulary = bpe_.vocabulary;
    bpe_.merges.reserve(vocabulary.size());
    bpe_.prepare();
    std::vector<TokenId> parts;
    for (TokenId id = first_id_; id < vocabulary.ids_end(); ++id) {
        if (!vocabulary.bytes(id)) {
            continue;
        }
        parts.clear();
        bpe_.append(*vocabulary.bytes(id), parts);
        if (parts.size() == 2) {
            bpe_.merges.set(parts[0], parts[1], {id, id});
        }
    }
    bpe_.rules.ignore_merges = true;  // what is a token as a whole is not taken apart
}

}  // namespace driftless
