#include "engine/prompt/word_selection.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/prompt/load_tokenizer.hpp"
#include "engine/prompt/tokenizer/text.hpp"
#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

/// Orders in which all words are encoded together to verify them.
constexpr int verifications = 2;

struct Word {
    std::string_view text;
    TokenId id = 0;  ///< with a blank in front
};

bool is_letter(char c) {
    return c >= 'a' && c <= 'z';
}

bool all_letters(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_letter);
}

class Selection {
  public:
    Selection(Tokenizer& tokenizer, std::string& why)
        : tokenizer_(tokenizer), why_(why), blank_(tokenizer.blank()) {}

    Result<SelectedWords> run();

  private:
    bool check_joins();
    bool check_added();
    void collect();
    bool verify(std::vector<Word> words);
    bool encodes_to(std::string_view text, const std::vector<Word>& words);
    bool joins_words(std::string_view token) const;
    bool is_one_token(std::string_view piece);
    bool refuse(std::string why) {
        why_ = std::move(why);
        return false;
    }

    Tokenizer& tokenizer_;
    std::string& why_;
    std::string_view blank_;
    std::vector<std::string> hidden_;  ///< added tokens that would be found inside a word
    std::vector<Word> words_;          ///< all that keep the rule
    WordFigures figures_;
    std::vector<TokenId> ids_;  ///< scratch
};

bool Selection::joins_words(std::string_view token) const {
    for (std::size_t at = token.find(blank_); at != token.npos; at = token.find(blank_, at + 1)) {
        if (at > 0 && is_letter(token[at - 1])) {
            return true;
        }
    }
    return false;
}

// Check A: no token holds a letter and the blank behind it. Where text is cut into pieces first,
// such a token does harm only if some text leads to it; without, any merge on the way to it would.
bool Selection::check_joins() {
    const Vocabulary& vocabulary = tokenizer_.vocabulary();
    std::string text;
    for (TokenId id = 0; id < vocabulary.ids_end(); ++id) {
        const auto token = vocabulary.bytes(id);
        if (!token || !joins_words(*token)) {
            continue;
        }
        if (tokenizer_.has_pieces()) {
            text = *token;
            for (std::size_t at = text.find(blank_); at != text.npos;
                 at = text.find(blank_, at + 1)) {
                text.replace(at, blank_.size(), " ");
            }
            ids_.clear();
            tokenizer_.encode(text, ids_);
            if (ids_ != std::vector{id}) {
                continue;
            }
        }
        return refuse("it has tokens that span more than one word ('" + std::string(*token) +
                      "'), so adjacent words may not stay one token each");
    }
    return true;
}

// Check B: no added token is found inside a word or between two.
bool Selection::check_added() {
    for (const AddedToken& token : tokenizer_.added()) {
        std::string letters;
        bool inner_blank = false;
        bool plain = true;
        for (std::string_view rest = token.sought; !rest.empty();) {
            const bool mark = !rest.starts_with(' ') && rest.starts_with(blank_);
            const bool blank = mark || rest.starts_with(' ');
            inner_blank = inner_blank || (blank && !letters.empty());
            plain = plain && (blank || is_letter(rest.front()));
            if (!blank) {
                letters += rest.front();
            }
            rest.remove_prefix(mark ? blank_.size() : 1);
        }
        if (!plain || letters.empty()) {
            continue;
        }
        if (inner_blank) {
            return refuse("its added token '" + token.text + "' could appear between words");
        }
        hidden_.push_back(std::move(letters));
    }
    return true;
}

bool Selection::is_one_token(std::string_view piece) {
    ids_.clear();
    tokenizer_.merge(piece, ids_);
    return ids_.size() == 1;
}

void Selection::collect() {
    const Vocabulary& vocabulary = tokenizer_.vocabulary();
    for (TokenId id = 0; id < vocabulary.ids_end(); ++id) {
        const auto token = vocabulary.bytes(id);
        if (!token || !token->starts_with(blank_) || !all_letters(token->substr(blank_.size()))) {
            continue;
        }
        ++figures_.candidates;
        const std::string_view word = token->substr(blank_.size());
        const bool hides = std::any_of(hidden_.begin(), hidden_.end(), [&](const std::string& h) {
            return word.find(h) != word.npos;
        });
        if (!hides && is_one_token(word) && is_one_token(*token) && ids_.front() == id) {
            words_.push_back({word, id});
        }
    }
    figures_.strict = words_.size();
    CHECK(figures_.strict <= figures_.candidates);
}

// Check C, and the whole rule, by what counts in the end: all words in one text, in random order,
// and each by itself.
bool Selection::verify(std::vector<Word> words) {
    Random random(0);
    std::string text;
    for (int round = 0; round < verifications; ++round) {
        text.clear();
        for (std::size_t i = 0; i < words.size(); ++i) {
            std::swap(words[i], words[i + random.below(words.size() - i)]);
            text += i == 0 ? "" : " ";
            text += words[i].text;
        }
        if (!encodes_to(text, words)) {
            return false;
        }
    }
    for (const Word& word : words) {
        if (!encodes_to(word.text, {word})) {
            return false;
        }
    }
    return true;
}

// The first word may be its bare token, or the one with a blank: models differ.
bool Selection::encodes_to(std::string_view text, const std::vector<Word>& words) {
    CHECK(!words.empty());
    ids_.clear();
    tokenizer_.encode(text, ids_);
    std::size_t good = ids_.empty() ? 0 : 1;
    while (good > 0 && good < std::min(ids_.size(), words.size()) && ids_[good] == words[good].id) {
        ++good;
    }
    if (good == words.size() && good == ids_.size()) {
        return true;
    }
    return refuse("its words do not stay one token each in text ('" +
                  std::string(words[good == 0 ? 0 : good - 1].text) +
                  "' did not); its pre-tokenizer cuts words from the blank in front of them");
}

Result<SelectedWords> Selection::run() {
    const BpeRules& rules = tokenizer_.rules();
    figures_.kind = rules.bytes || blank_ == blank_letter ? "byte-level BPE"
                    : rules.byte_fallback                 ? "BPE over characters with byte fallback"
                                                          : "BPE over characters";
    figures_.vocabulary = tokenizer_.vocabulary().size();
    const Error error{ErrorCode::unsupported, 0, "select words"};
    if (!check_joins() || !check_added()) {
        return error;
    }
    collect();
    std::erase_if(words_, [](const Word& w) { return w.text.size() > WordTable::word_bytes_max; });
    std::sort(words_.begin(), words_.end(), [](const Word& a, const Word& b) {
        return a.text.size() != b.text.size() ? a.text.size() < b.text.size() : a.text < b.text;
    });
    const std::size_t count = std::min<std::size_t>(words_.size(), WordTable::words_max);
    if (count < WordTable::words_min) {
        why_ = "only " + std::to_string(count) +
               " of its words are always one token; prompts need " +
               std::to_string(WordTable::words_min);
        return error;
    }
    figures_.words = std::bit_floor(count);
    CHECK(figures_.words >= WordTable::words_min && figures_.words <= words_.size());
    words_.resize(figures_.words);
    if (!verify(words_)) {
        return error;
    }
    std::vector<std::string_view> texts;
    std::vector<std::uint32_t> ids;
    bool short_ids = true;
    for (const Word& word : words_) {
        texts.push_back(word.text);
        ids.push_back(static_cast<std::uint32_t>(word.id));
        short_ids = short_ids && ids.back() < WordTable::ids_from_max;
    }
    if (!short_ids) {
        ids.clear();
    }
    const auto all = static_cast<std::uint32_t>(texts.size());
    return SelectedWords{WordTable(texts, all, ' '), figures_, std::move(ids)};
}

}  // namespace

Result<SelectedWords> select_words(Tokenizer& tokenizer, std::string& why) {
    return Selection(tokenizer, why).run();
}

Result<SelectedWords> select_words(Tokenizer& tokenizer, const std::string& path,
                                   std::string& why) {
    std::string cause;
    Result<SelectedWords> selected = select_words(tokenizer, cause);
    if (!selected) {
        why = path + ": " + cause;
    }
    return selected;
}

Result<SelectedWords> load_words(const std::string& path, std::string& why) {
    Result<Tokenizer> tokenizer = load_tokenizer(path, why);
    return tokenizer ? select_words(tokenizer.value(), path, why)
                     : Result<SelectedWords>(tokenizer.error());
}

}  // namespace driftless
