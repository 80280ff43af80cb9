#include "engine/prompt/word_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/prompt/tokenizer.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

// Found by intersecting the vocabularies of 15 generative tokenizers (GPT-2, Falcon, Llama-2,
// Phi-3, Mistral, Yi, Jamba, Claude-2, cl100k, Llama-3, Qwen2, DeepSeek-V3, GLM-4.6, Nemo,
// Command-A, o200k). The 37 words after "zip" are not one token when bare in Llama-2 or Mistral.
// clang-format off
static constexpr std::string_view built_in_words =
    "abs acc ace act add adj adv aff age ago ain air ale ali all alt amb and ang ann "
    "ans ant any api app apt arc are arg arm arr art asc ash ask ast ath att aud aug "
    "aut aux bad bag bal ban bar bas bat bed bel ben ber bes bet bid big bil bin bis "
    "bit bol bot bow box boy bro buf bug bul bus but cal cam can cap car cas cat cel "
    "cer cha che chi cho cit cle cmd cod col com con cop cor cos cpu cre cro cup cur "
    "cut dam dan dat day dec def deg del dem den der des det dev did dig dim dir dis "
    "div doc dog dom don dot dro due ear eff ele ell emb enc end eng ens ent env equ "
    "era err esc esp ess est etc eth exp ext fac fan far fer fig fil fin fit fix flu "
    "fly fol foo for fre ful fun fur gal gar gas gel gen get git got gre had hal ham "
    "har has hat hem her hes hex him hip his hit hol hon hor hot how hum hus ice ide "
    "ign ill img imm imp inc ind inf ing inn ins int inv ion iss its jan jar jet job "
    "jud key kin lab lad lag lan lap las lat lav law lay led leg len les let lev lib "
    "lie lig lik lim lin lit loc log los lot low mac mad mag mal man map mar mas mat "
    "max may med mel mem men mer mes met mic mid mil min mir mit mod mon mor mos mot "
    "msg mus mut nan nas nat nav neg ner net new nil nit nom non nor not now num nut "
    "obj obs occ oct odd off old one ont opp opt orb ord ore org ost our out own pad "
    "pal pan par pas pat pay pdf ped pen per pes pet pic pid pie pin pit pod pol pop "
    "por pos pot pre pro pub pur put que rac rad ram ran rap rat raw ray reb rec red "
    "ref reg rel rem ren rep req res ret rev rib ric rid rig rim rip rob rod rom rot "
    "row rug run sal sam san say sch sec sed see sem sen seq ser set she sil sim sin "
    "six ski sky sol son spe sql src std ste str sub sum sun sup sur sym syn sys tab "
    "tag tal tan tar tax tem ten ter tex the thy til tim tip tmp tom ton top tor tra "
    "tre tri try two typ und une uns url use val van var vec vel ven ver via vir vis "
    "vol war was way web who why wid win won www xml yes you zip aid aim bay bos buy "
    "deb din dos egg exc eye fat fed fee gap hub jam joy kid lip lux meg mol pri pun "
    "rub sat sea tap tel too tro tur vic von wat yet";
// clang-format on

static constexpr std::uint32_t built_in_openers = 475;

static std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> words;
    for (const auto word : std::views::split(text, ' ')) {
        words.emplace_back(word.begin(), word.end());
    }
    return words;
}

WordTable::WordTable(std::span<const std::string_view> words, std::uint32_t openers, char separator)
    : size_(static_cast<std::uint32_t>(words.size())), openers_(openers), separator_(separator) {
    CHECK(words.size() >= words_min && words.size() <= words_max);
    CHECK(std::has_single_bit(size_));
    CHECK(openers >= 2 && openers <= size_);
    index_bits_ = static_cast<unsigned>(std::countr_zero(size_));
    first_bits_ = static_cast<unsigned>(std::bit_width(openers) - 1);
    static_assert(std::endian::native == std::endian::little, "slots are stored as numbers");
    for (std::uint32_t i = 0; i < size_; ++i) {
        CHECK(!words[i].empty() && words[i].size() <= word_bytes_max);
        char bytes[8] = {separator};
        std::memcpy(bytes + 1, words[i].data(), words[i].size());
        std::memcpy(&slots_[i], bytes, sizeof bytes);
        lengths_[i] = static_cast<std::uint8_t>(words[i].size() + 1);
        length_max_ = std::max<std::uint32_t>(length_max_, lengths_[i]);
    }
    const bool uniform = std::all_of(lengths_.begin(), lengths_.begin() + size_,
                                     [this](std::uint8_t length) { return length == length_max_; });
    uniform_length_ = uniform ? length_max_ : 0;
}

const WordTable& WordTable::built_in() {
    static const WordTable table(split(built_in_words), built_in_openers, ' ');
    return table;
}

WordTable WordTable::token_ids(std::uint32_t from) {
    CHECK(from <= ids_from_max);
    std::vector<std::uint32_t> ids(words_max);
    std::iota(ids.begin(), ids.end(), from);
    return token_ids(ids);
}

WordTable WordTable::token_ids(std::span<const std::uint32_t> ids) {
    std::vector<std::string> texts;
    for (const std::uint32_t id : ids) {
        texts.push_back(std::to_string(id));
    }
    const std::vector<std::string_view> words(texts.begin(), texts.end());
    return WordTable(words, static_cast<std::uint32_t>(words.size()), ',');
}

std::optional<WordTable> WordTable::without(std::span<const std::uint32_t> dropped,
                                            std::span<const std::uint32_t> first) const {
    std::vector<std::string_view> kept;
    for (const std::uint32_t i : first) {
        kept.push_back(word(i));
    }
    auto openers = static_cast<std::uint32_t>(first.size());
    for (std::uint32_t i = 0; i < size_; ++i) {
        const bool listed = std::find(dropped.begin(), dropped.end(), i) != dropped.end() ||
                            std::find(first.begin(), first.end(), i) != first.end();
        if (!listed) {
            kept.push_back(word(i));
            openers += first.empty() && i < openers_ ? 1 : 0;
        }
    }
    if (kept.size() < words_min || openers < 2) {
        return std::nullopt;
    }
    kept.resize(std::bit_floor(kept.size()));
    const auto size = static_cast<std::uint32_t>(kept.size());
    return WordTable(kept, std::min(openers, size), separator_);
}

std::uint64_t WordTable::digest() const {
    Digest digest;
    digest.add_u64(size_);
    digest.add_u64(std::uint64_t{1} << first_bits_);
    for (std::uint32_t i = 0; i < size_; ++i) {
        digest.add_u64(slots_[i]);
    }
    return digest.value();
}

std::string_view WordTable::word(std::uint32_t index) const {
    CHECK(index < size_);
    const char* bytes = reinterpret_cast<const char*>(&slots_[index]);
    return {bytes + 1, lengths_[index] - std::size_t{1}};
}

/// Orders in which all words are encoded together to verify them.
static constexpr int verifications = 2;

namespace {

struct Word {
    std::string_view text;
    TokenId id = 0;  ///< with a blank in front
};

}  // namespace

static bool is_letter(char c) {
    return c >= 'a' && c <= 'z';
}

static bool all_letters(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_letter);
}

namespace {

class Selection {
  public:
    Selection(Tokenizer& tokenizer, std::string& why)
        : tokenizer_(tokenizer), why_(why), blank_(tokenizer.parts().blank) {}

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

}  // namespace

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
    const Vocabulary& vocabulary = tokenizer_.parts().bpe.vocabulary;
    std::string text;
    for (TokenId id = 0; id < vocabulary.ids_end(); ++id) {
        const auto token = vocabulary.bytes(id);
        if (!token || !joins_words(*token)) {
            continue;
        }
        if (!tokenizer_.parts().splitter.empty()) {  // text is cut into pieces at all
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
    for (const AddedToken& token : tokenizer_.parts().added) {
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
    const Vocabulary& vocabulary = tokenizer_.parts().bpe.vocabulary;
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
    const BpeRules& rules = tokenizer_.parts().bpe.rules;
    figures_.kind = rules.bytes || blank_ == blank_letter ? "byte-level BPE"
                    : rules.byte_fallback                 ? "BPE over characters with byte fallback"
                                                          : "BPE over characters";
    figures_.vocabulary = tokenizer_.parts().bpe.vocabulary.size();
    const Error error{ErrorCode::unsupported, 0, "select words"};
    if (!check_joins() || !check_added()) {
        return error;
    }
    collect();
    std::erase_if(words_, [](const Word& w) { return w.text.size() > WordTable::word_bytes_max; });
    std::ranges::sort(words_, {}, [](const Word& w) { return std::pair(w.text.size(), w.text); });
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

Result<SelectedWords> select_words(Tokenizer& tokenizer, const std::string& path,
                                   std::string& why) {
    std::string cause;
    Result<SelectedWords> selected = Selection(tokenizer, cause).run();
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
