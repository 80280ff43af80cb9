#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>
#include <vector>

#include "engine/prompt/tokenizer.hpp"
#include "proto/core/text.hpp"

namespace driftless {

// Ranks may run ahead of the number of tokens by this much before memory is taken for them.
static constexpr std::uint64_t ranks_ahead_max = 1'000'000;
// No token is longer in any published vocabulary; bounds the search for merges.
static constexpr std::size_t token_bytes_max = 4096;

static constexpr std::array<std::int8_t, 256> base64_values() {
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::array<std::int8_t, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < letters.size(); ++i) {
        values[static_cast<unsigned char>(letters[i])] = static_cast<std::int8_t>(i);
    }
    return values;
}

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

// Ranks: from tokens in the order of their merges to a byte-level BPE.
//
// tiktoken merges two tokens where their bytes together are a token, the lowest rank first. Each
// token then comes about in one way only, which is found once, by merging its own bytes.

/// OpenAI's p50k_base has GPT-2's ranks and runs of blanks behind them. The rank between is that of
/// its special token, which no line has.
static constexpr std::size_t p50k_ranks = 50'280;
static constexpr TokenId p50k_hole = 50'256;

namespace {

class Ranks {
  public:
    /// `first_id`: the id of the token of rank 0. Room for about that many tokens and bytes.
    Ranks(Bpe& bpe, TokenId first_id, std::size_t tokens, std::size_t bytes)
        : bpe_(bpe), first_id_(first_id), tokens_(tokens) {
        bpe_.vocabulary.reserve(tokens + first_id, bytes);
        bpe_.rules.bytes = true;
    }

    /// False, and why, where the token or the rank is there already or cannot be.
    bool add(std::string_view token, std::uint64_t rank, std::string& why) {
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

    /// Finds the merges. False, and why, where ranks or bytes are missing.
    bool finish(std::string& why) {
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

  private:
    // In the order of ranks: what the merges so far make of a token is the two that become it, or
    // more than two where no text leads to it. Nothing else can: while no merge reaches beyond a
    // token's bytes in a text, they merge as they do alone.
    void find_merges() {
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

    Bpe& bpe_;
    TokenId first_id_ = 0;
    std::size_t tokens_ = 0;
};

}  // namespace

// How text is cut: published beside the ranks as program text, so it is here.
static constexpr const char* cl100k =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
static constexpr const char* qwen =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
static constexpr const char* o200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
static constexpr const char* kimi =
    R"([\p{Han}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

struct SpecialToken {
    std::string_view text;
    TokenId id = 0;
};

}  // namespace

static constexpr SpecialToken gpt2_special[] = {{"<|endoftext|>", 50256}};
static constexpr SpecialToken cl100k_special[] = {{"<|endoftext|>", 100257},
                                                  {"<|fim_prefix|>", 100258},
                                                  {"<|fim_middle|>", 100259},
                                                  {"<|fim_suffix|>", 100260},
                                                  {"<|endofprompt|>", 100276}};
static constexpr SpecialToken o200k_special[] = {{"<|endoftext|>", 199999},
                                                 {"<|endofprompt|>", 200018}};
static constexpr SpecialToken llama3_special[] = {
    {"<|begin_of_text|>", 128000}, {"<|end_of_text|>", 128001}, {"<|start_header_id|>", 128006},
    {"<|end_header_id|>", 128007}, {"<|eom_id|>", 128008},      {"<|eot_id|>", 128009},
    {"<|python_tag|>", 128010}};
static constexpr SpecialToken qwen_special[] = {
    {"<|endoftext|>", 151643}, {"<|im_start|>", 151644}, {"<|im_end|>", 151645}};

namespace {

// Vocabularies that are known by how many ranks they have.
struct KnownRanks {
    std::string_view name;
    std::size_t ranks;
    const char* expression;
    std::span<const SpecialToken> special;  ///< where no tokenizer_config.json says them
};

}  // namespace

static constexpr std::size_t kimi_ranks = 163'584;
static constexpr KnownRanks known_ranks[] = {
    {"GPT-2", 50'256, gpt2_expression, gpt2_special},
    {"p50k", p50k_ranks, gpt2_expression, gpt2_special},
    {"cl100k", 100'256, cl100k, cl100k_special},
    {"Llama 3", 128'000, cl100k, llama3_special},
    {"Qwen", 151'643, qwen, qwen_special},
    {"Kimi", kimi_ranks, kimi, {}},
    {"o200k", 199'998, o200k, o200k_special},
};

// Kimi's own wrapper (tokenization_kimi.py) cuts texts at these places, and fills 258 ids behind
// its ranks: those that its configuration does not name are reserved.
static constexpr std::string_view kimi_class = "TikTokenTokenizer";
static constexpr TextCuts kimi_cuts{400'000, 25'000};
static constexpr TokenId kimi_special_ids = 258;

namespace {

struct Line {
    std::string_view token;  ///< in base64
    std::uint64_t rank = 0;
};

}  // namespace

static bool read_line(std::string_view text, Line& line) {
    const std::size_t blank = text.find(' ');
    if (blank == text.npos) {
        return false;
    }
    line.token = text.substr(0, blank);
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + blank + 1, end, line.rank);
    return error == std::errc{} && stop == end;
}

// The first line of `text`, which is shortened by it.
static std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    return line;
}

namespace {

class RankReader {
  public:
    explicit RankReader(std::string& why) : why_(why) {}
    Result<TokenizerParts> read_lines(std::string_view text, std::string_view config);
    Result<TokenizerParts> read_tekken(JsonValue root);

  private:
    bool refuse(std::string why) {
        why_ = std::move(why);
        return false;
    }
    bool add_lines(std::string_view text);
    bool read_config(JsonValue config);
    bool add_configured_tokens(JsonValue tokens);
    void add_reserved_tokens();
    bool choose_known(bool has_config);
    bool split_by(std::string_view expression);
    bool add_tekken_tokens(JsonValue vocabulary, std::uint64_t count, TokenId first);
    void add_special(std::string_view text, TokenId id);

    std::string& why_;
    TokenizerParts parts_;
    std::size_t ranks_ = 0;
    bool config_named_tokens_ = false;
};

}  // namespace

static const Error unsupported{ErrorCode::unsupported, 0, "read a rank file"};

bool RankReader::add_lines(std::string_view text) {
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    Ranks ranks(parts_.bpe, 0, lines, text.size());
    std::string token;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = take_line(text);
        if (line.empty()) {
            continue;
        }
        Line one;
        token.clear();
        if (!read_line(line, one) || !append_base64(token, one.token)) {
            return refuse("its line " + std::to_string(number) +
                          " is not a token in base64, a blank and a rank: '" +
                          std::string(line.substr(0, 60)) + "'" + fetch_again);
        }
        std::string cause;
        if (!ranks.add(token, one.rank, cause)) {
            return refuse("its line " + std::to_string(number) + " gives " + cause);
        }
    }
    ranks_ = parts_.bpe.vocabulary.size();
    return ranks.finish(why_);
}

bool RankReader::split_by(std::string_view expression) {
    Result<Pattern> pattern = Pattern::compile(expression, why_);
    if (!pattern) {
        return false;
    }
    parts_.splitter.add({.pattern = std::move(pattern).value()});
    return true;
}

void RankReader::add_special(std::string_view text, TokenId id) {
    parts_.added.push_back({.id = id, .text = std::string(text), .special = true});
}

// {"163584": {"content": "[BOS]", "lstrip": false, ..}, ..}.
bool RankReader::add_configured_tokens(JsonValue tokens) {
    for (JsonValue entry = tokens.first(); entry.present(); entry = entry.next()) {
        const std::string_view key = entry.key();
        const auto text = entry.find("content").as_string();
        std::uint64_t id = 0;
        const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), id);
        if (error != std::errc{} || stop != key.data() + key.size() || id > token_id_max || !text ||
            text->empty()) {
            return refuse(
                "tokenizer_config.json next to it names an added token without an id or a content: "
                "'" +
                std::string(key) + "'");
        }
        parts_.added.push_back(added_token(entry, static_cast<TokenId>(id), *text));
        config_named_tokens_ = true;
    }
    return true;
}

void RankReader::add_reserved_tokens() {
    const auto first = static_cast<TokenId>(ranks_);
    std::vector<bool> named(kimi_special_ids);
    for (const AddedToken& token : parts_.added) {
        if (token.id >= first && token.id - first < kimi_special_ids) {
            named[token.id - first] = true;
        }
    }
    for (TokenId i = 0; i < kimi_special_ids; ++i) {
        if (!named[i]) {
            add_special("<|reserved_token_" + std::to_string(first + i) + "|>", first + i);
        }
    }
}

bool RankReader::choose_known(bool has_config) {
    for (const KnownRanks& known : known_ranks) {
        if (known.ranks == ranks_) {
            if (!config_named_tokens_) {
                for (const SpecialToken& token : known.special) {
                    add_special(token.text, token.id);
                }
            }
            if (known.ranks == kimi_ranks) {
                parts_.cuts = kimi_cuts;
            }
            return split_by(known.expression);
        }
    }
    const std::string names = joined(known_ranks, ", ", [](const KnownRanks& known) {
        return std::string(known.name) + " " + std::to_string(known.ranks);
    });
    return refuse("how it splits text is unknown: " +
                  std::string(has_config ? "tokenizer_config.json next to it names no 'pat_str'"
                                         : "there is no tokenizer_config.json next to it") +
                  ", and its " + std::to_string(ranks_) + " ranks match no known vocabulary (" +
                  names +
                  "); add {\"pat_str\": \"..\"} in a tokenizer_config.json there, or take the "
                  "model's tokenizer.json");
}

bool RankReader::read_config(JsonValue config) {
    if (!add_configured_tokens(config.find("added_tokens_decoder"))) {
        return false;
    }
    const bool is_kimi = config.find("tokenizer_class").as_string() == kimi_class;
    if (is_kimi) {
        parts_.cuts = kimi_cuts;
        add_reserved_tokens();
    }
    if (const auto expression = config.find("pat_str").as_string()) {
        return split_by(*expression);
    }
    return is_kimi ? split_by(kimi) : choose_known(true);
}

Result<TokenizerParts> RankReader::read_lines(std::string_view text, std::string_view config) {
    if (!add_lines(text)) {
        return unsupported;
    }
    if (config.empty()) {
        return choose_known(false) ? Result<TokenizerParts>(std::move(parts_)) : unsupported;
    }
    JsonDocument document;
    const Result<JsonValue> root = document.parse(config);
    if (!root) {
        why_ = "tokenizer_config.json next to it is not JSON (byte " +
               std::to_string(document.error_offset()) + ")" + fetch_again;
        return root.error();
    }
    return read_config(root.value()) ? Result<TokenizerParts>(std::move(parts_)) : unsupported;
}

// [{"rank": 0, "token_bytes": "AA==", "token_str": ".."}, ..], more than are in use.
bool RankReader::add_tekken_tokens(JsonValue vocabulary, std::uint64_t count, TokenId first) {
    Ranks ranks(parts_.bpe, first, count, vocabulary.raw().size() / 4);
    std::string token;
    std::uint64_t taken = 0;
    for (JsonValue entry = vocabulary.first(); entry.present() && taken < count;
         entry = entry.next(), ++taken) {
        token.clear();
        const auto rank = entry.find("rank").as_u64();
        if (!rank || !append_base64(token, entry.find("token_bytes").as_string().value_or(""))) {
            return refuse("entry " + std::to_string(taken) +
                          " of its 'vocab' has no rank or no token_bytes in base64: " +
                          std::string(entry.raw().substr(0, 80)));
        }
        std::string cause;
        if (!ranks.add(token, *rank, cause)) {
            return refuse("entry " + std::to_string(taken) + " of its 'vocab' gives " + cause);
        }
    }
    return (taken == count || refuse("its 'vocab' ends after " + std::to_string(taken) + " of " +
                                     std::to_string(count) + " tokens" + fetch_again)) &&
           ranks.finish(why_);
}

// Its special tokens are in front of the ranks and are never looked for in text: mistral-common
// puts them there by id.
Result<TokenizerParts> RankReader::read_tekken(JsonValue root) {
    const JsonValue config = root.find("config");
    const auto expression = config.find("pattern").as_string();
    const auto all = config.find("default_vocab_size").as_u64();
    const auto special = config.find("default_num_special_tokens").as_u64();
    if (!expression || !all || !special || *all > token_id_max || *special >= *all) {
        why_ =
            "it looks like a tekken.json, but its 'config' lacks pattern, default_vocab_size or "
            "default_num_special_tokens";
        return unsupported;
    }
    constexpr TokenId begin_of_text = 1;
    parts_.before.push_back(begin_of_text);
    return split_by(*expression) && add_tekken_tokens(root.find("vocab"), *all - *special,
                                                      static_cast<TokenId>(*special))
               ? Result<TokenizerParts>(std::move(parts_))
               : unsupported;
}

bool is_rank_file(std::string_view text) {
    Line line;
    std::string token;
    return read_line(take_line(text), line) && append_base64(token, line.token);
}

Result<TokenizerParts> read_rank_file(std::string_view text, std::string_view config,
                                      std::string& why) {
    return RankReader(why).read_lines(text, config);
}

Result<TokenizerParts> read_tekken(JsonValue root, std::string& why) {
    return RankReader(why).read_tekken(root);
}

}  // namespace driftless
