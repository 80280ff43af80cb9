#include "engine/prompt/dataset/corpus_maker.hpp"

#include <algorithm>
#include <utility>

#include "proto/core/check.hpp"
#include "proto/core/text.hpp"
#include "proto/json/utf8.hpp"
#include "proto/json/write.hpp"

namespace driftless {
namespace {

constexpr std::size_t section_bytes = 4096;
constexpr std::string_view between_texts = "\n\n";

bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

bool is_letter(char c) {
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

/// Where a piece ends that begins at 0: the first border behind its least length, or npos.
std::size_t find_border(std::string_view text, std::size_t from) {
    for (std::size_t at = from; at + 1 < text.size(); ++at) {
        at = std::min(text.find(' ', at), text.size() - 1);
        if (at > 0 && at + 1 < text.size() && is_lower(text[at - 1]) && is_letter(text[at + 1])) {
            return at;
        }
    }
    return std::string_view::npos;
}

/// Line ends and tabs are text; a server may do anything with the others.
bool has_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7F;
    });
}

}  // namespace

CorpusMaker::CorpusMaker(Tokenizer& tokenizer, std::string_view word)
    : tokenizer_(tokenizer), word_(word) {
    for (const AddedToken& token : tokenizer.added()) {
        if (trim(token.text, white_space).empty()) {
            continue;
        }
        if (find_border(token.text, 0) != std::string_view::npos) {
            refused_ = "its added token '" + token.text + "' spans more than one word";
        }
        is_added_.resize(std::max<std::size_t>(is_added_.size(), std::size_t{token.id} + 1));
        is_added_[token.id] = true;
    }
}

void CorpusMaker::add(std::string_view text) {
    text = trim(text, white_space);
    if (text.empty()) {
        ++figures_.empty_texts;
        return;
    }
    ++figures_.texts;
    figures_.bytes += text.size();
    CHECK(rest_begin_ <= rest_.size());
    rest_.erase(0, rest_begin_);
    rest_begin_ = 0;
    rest_ += rest_.empty() ? " " : between_texts;
    rest_ += text;
    while (!full() && cut_piece()) {
    }
}

/// Cuts one piece off what is left; false where that has to wait for more.
bool CorpusMaker::cut_piece() {
    const std::string_view rest = std::string_view(rest_).substr(rest_begin_);
    const std::size_t border = find_border(rest.substr(0, piece_bytes_max), piece_bytes_min);
    if (border != std::string_view::npos) {
        take(rest.substr(0, border));
        rest_begin_ += border;
        return true;
    }
    if (rest.size() <= piece_bytes_max) {
        return false;
    }
    const std::string_view piece =
        trim(cut_at_code_point(rest, piece_bytes_max - word_.size() - 1), white_space);
    const auto behind = static_cast<std::size_t>(piece.data() + piece.size() - rest.data());
    if (!piece.empty()) {
        take(" " + std::string(piece) + " " + word_);
        ++figures_.words_put_in;
    }
    // The next piece's blank overwrites the last byte in front of it, which is used up.
    const std::size_t next = std::min(rest.find_first_not_of(white_space, behind), rest.size());
    CHECK(next > 0);
    rest_begin_ += next - 1;
    rest_[rest_begin_] = ' ';
    return true;
}

/// Tokens of a text behind the word.
std::uint32_t CorpusMaker::count(std::string_view text, bool& has_added) {
    text_.assign(word_);
    text_ += text;
    ids_.clear();
    tokenizer_.encode(text_, ids_);
    has_added = std::any_of(ids_.begin(), ids_.end(), [this](TokenId id) {
        return std::size_t{id} < is_added_.size() && is_added_[id];
    });
    return ids_.empty() ? 0 : static_cast<std::uint32_t>(ids_.size() - 1);
}

void CorpusMaker::take(std::string_view piece) {
    bool has_added = false;
    const std::uint32_t tokens = has_control(piece) ? 0 : count(piece, has_added);
    escaped_.clear();
    append_json_escaped(escaped_, piece);
    if (tokens == 0 || has_added ||
        escaped_.size() > std::size_t{tokens} * Corpus::bytes_per_token_max) {
        figures_.left_out_bytes += piece.size();
        return;
    }
    corpus_.add(escaped_, tokens);
    section_ += piece;
    section_tokens_ += tokens;
    if (section_.size() >= section_bytes) {
        close_section();
    }
}

void CorpusMaker::close_section() {
    CHECK(pieces_before_ <= corpus_.pieces());
    bool has_added = false;
    if (count(section_, has_added) != section_tokens_ || has_added) {
        corpus_.keep(pieces_before_);
        figures_.left_out_bytes += section_.size();
        ++figures_.sections_left_out;
    }
    section_.clear();
    section_tokens_ = 0;
    pieces_before_ = corpus_.pieces();
}

Corpus CorpusMaker::finish() {
    close_section();
    return std::move(corpus_);
}

}  // namespace driftless
