#include "engine/prompt/tokenizer/tokenizer.hpp"

#include <unordered_map>
#include <utility>

#include "engine/prompt/tokenizer/text.hpp"
#include "proto/json/utf8.hpp"

namespace driftless {

struct Tokenizer::State {
    explicit State(TokenizerParts parts_in);

    void encode_whole(std::string_view text, std::vector<TokenId>& ids);
    void encode_normalized(std::string_view text, bool at_start, std::vector<TokenId>& ids);
    void encode_plain(std::string_view text, bool at_start, std::vector<TokenId>& ids);

    std::string text_of(const AddedToken& token) const;

    TokenizerParts parts;
    AddedTokenFinder as_written;
    AddedTokenFinder as_normalized;
    std::unordered_map<TokenId, const AddedToken*> added_by_id;
    // Scratch.
    std::string valid;
    std::string normalized;
    std::vector<Section> sections;
    std::vector<Section> normalized_sections;
    std::vector<std::string_view> pieces;
};

Tokenizer::State::State(TokenizerParts parts_in) : parts(std::move(parts_in)) {
    for (AddedToken& token : parts.added) {
        added_by_id[token.id] = &token;
        token.sought = token.text;
        if (token.normalized) {
            parts.normalizer.run(token.sought);
        }
        (token.normalized ? as_normalized : as_written).add(token);
    }
    as_written.prepare();
    as_normalized.prepare();
}

// The reference reads added tokens as letters of bytes, too, where the model has bytes: an added
// "na\u00efve" does not come back as it was.
std::string Tokenizer::State::text_of(const AddedToken& token) const {
    std::string bytes;
    const bool letters = parts.bpe.rules.bytes && append_bytes_of_letters(bytes, token.text);
    return letters ? bytes : token.text;
}

void Tokenizer::State::encode_plain(std::string_view text, bool at_start,
                                    std::vector<TokenId>& ids) {
    pieces.clear();
    parts.splitter.run(text, at_start, pieces);
    for (const std::string_view piece : pieces) {
        parts.bpe.append_cached(piece, ids);
    }
}

void Tokenizer::State::encode_normalized(std::string_view text, bool at_start,
                                         std::vector<TokenId>& ids) {
    normalized_sections.clear();
    as_normalized.cut(text, normalized_sections);
    for (const Section& section : normalized_sections) {
        if (section.token != nullptr) {
            ids.push_back(section.token->id);
        } else {
            encode_plain(section.text, at_start && section.text.data() == text.data(), ids);
        }
    }
}

void Tokenizer::State::encode_whole(std::string_view text, std::vector<TokenId>& ids) {
    sections.clear();
    as_written.cut(text, sections);
    for (const Section& section : sections) {
        const bool at_start = section.text.data() == text.data();
        if (section.token != nullptr) {
            ids.push_back(section.token->id);
        } else if (parts.normalizer.empty()) {
            encode_normalized(section.text, at_start, ids);
        } else {
            normalized.assign(section.text);
            parts.normalizer.run(normalized);
            encode_normalized(normalized, at_start, ids);
        }
    }
}

Tokenizer::Tokenizer(TokenizerParts parts) : state_(std::make_unique<State>(std::move(parts))) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

void Tokenizer::encode(std::string_view text, std::vector<TokenId>& ids, bool with_special) {
    State& state = *state_;
    TokenizerParts& parts = state.parts;
    if (with_special) {
        ids.insert(ids.end(), parts.before.begin(), parts.before.end());
    }
    text = to_valid_utf8(text, state.valid);
    TextCutter cutter(parts.cuts);
    while (!text.empty()) {
        const std::size_t bytes = cutter.next(text);
        state.encode_whole(text.substr(0, bytes), ids);
        text.remove_prefix(bytes);
    }
    if (with_special) {
        ids.insert(ids.end(), parts.after.begin(), parts.after.end());
    }
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) {
    std::vector<std::string> texts;
    for (const TokenId id : ids) {
        const auto added = state_->added_by_id.find(id);
        if (added != state_->added_by_id.end()) {
            if (!added->second->special || !skip_special) {
                texts.push_back(state_->text_of(*added->second));
            }
        } else if (const auto bytes = state_->parts.bpe.vocabulary.bytes(id)) {
            texts.emplace_back(*bytes);
        }
    }
    return state_->parts.decoder.run(std::move(texts));
}

void Tokenizer::merge(std::string_view piece, std::vector<TokenId>& ids) {
    state_->parts.bpe.append(piece, ids);
}

const Vocabulary& Tokenizer::vocabulary() const {
    return state_->parts.bpe.vocabulary;
}

const BpeRules& Tokenizer::rules() const {
    return state_->parts.bpe.rules;
}

std::span<const AddedToken> Tokenizer::added() const {
    return state_->parts.added;
}

std::string_view Tokenizer::blank() const {
    return state_->parts.blank;
}

bool Tokenizer::has_pieces() const {
    return !state_->parts.splitter.empty();
}

}  // namespace driftless
