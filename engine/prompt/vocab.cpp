#include "engine/prompt/vocab.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {
namespace {

// Found by intersecting the vocabularies of 15 generative tokenizers (GPT-2, Falcon, Llama-2,
// Phi-3, Mistral, Yi, Jamba, Claude-2, cl100k, Llama-3, Qwen2, DeepSeek-V3, GLM-4.6, Nemo,
// Command-A, o200k). The 37 words after "zip" are not one token when bare in Llama-2 or Mistral.
// clang-format off
constexpr std::string_view built_in_words =
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

constexpr std::uint32_t built_in_openers = 475;

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

}  // namespace

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
    bool uniform = true;
    for (std::uint32_t i = 0; i < size_; ++i) {
        uniform = uniform && lengths_[i] == length_max_;
    }
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

}  // namespace driftless
