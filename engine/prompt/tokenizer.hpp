/// Tokenizer: text to token ids and back: code points and patterns, its steps, the tokens that are
/// cut out before anything is merged, the cuts of the program around it, and how it is loaded from
/// its file, of ranks or of merges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/prompt/bpe.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"
#include "proto/json/document.hpp"

namespace driftless {

// Code points: what the parts of a tokenizer ask about text, and GPT-2's alphabet of bytes.
//
// Pure functions. Text is valid UTF-8 here; `to_valid_utf8` of proto/json makes it so at the
// door.

struct CodePoint {
    std::uint32_t value = 0;
    std::uint32_t bytes = 0;
};

/// The code point at the start of `text`, which is not empty.
CodePoint first_code_point(std::string_view text);
/// The code point at the end of `text`, which is not empty.
CodePoint last_code_point(std::string_view text);

/// Unicode's White_Space property, which Rust and Oniguruma share. Rules of Rust's `char` below.
bool is_white_space(std::uint32_t code_point);
/// What Rust's regular expressions call a word character: letters, marks, digits, letter-like
/// numbers and symbols, connectors, joiners.
bool is_word_character(std::uint32_t code_point);
/// General categories M*.
bool is_mark(std::uint32_t code_point);

/// What stands for a blank: in models of characters, and in GPT-2's alphabet.
inline constexpr std::string_view blank_mark = "\xE2\x96\x81";
inline constexpr std::string_view blank_letter = "\xC4\xA0";

/// Appends the bytes for which the letters stand; false, and nothing appended, where a code point
/// is not of the alphabet.
bool append_bytes_of_letters(std::string& out, std::string_view letters);

/// Pattern: what a tokenizer searches text for, a literal or a regular expression.
///
/// tokenizer.json writes its expressions for Oniguruma; PCRE2 runs them, after the rewrites below,
/// with the same matches (token-exact.md, section 12: 141 patterns of published tokenizers compared
/// over 3,018 strings). Owns the compiled expression and its match data: one thread at a time.
/// Text is valid UTF-8.
class Pattern {
  public:
    struct Match {
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    /// How far the matches of one text have been found. Begins default-made.
    struct Search {
        std::size_t from = 0;
        std::size_t last_end = std::string_view::npos;
    };

    static Pattern literal(std::string_view text);
    /// An expression in Oniguruma's syntax. Error: unsupported; `why` says what for people.
    static Result<Pattern> compile(std::string_view expression, std::string& why);

    Pattern(Pattern&&) noexcept;
    Pattern& operator=(Pattern&&) noexcept;
    ~Pattern();

    /// The next match of a text, leftmost first, none overlapping. It may be empty (an assertion
    /// that splits), but not where the one before ended.
    std::optional<Match> next(std::string_view text, Search& search);

  private:
    struct Compiled;
    Pattern();

    std::string literal_;
    std::unique_ptr<Compiled> compiled_;  ///< null: a literal
};

/// Rewrites what the two engines read differently: `\uXXXX`, `\h`, `\s` (PCRE2 counts U+180E in),
/// `[A&&B]`, classes within classes, `\p{Han}` (PCRE2 means script extensions), `X{3}+` (possessive
/// in PCRE2 only). Error: unsupported, where no rewrite is known; `why` says what.
Result<std::string> pcre2_of_oniguruma(std::string_view expression, std::string& why);

// Normalizer: what a tokenizer does to text before it looks for pieces.
//
// A list of steps, each a function of the whole text. Owned by a Tokenizer; one thread.

struct NormalizerStep {
    enum class Kind : std::uint8_t {
        nfc,
        nfd,
        nfkc,
        nfkd,
        lowercase,
        strip,
        strip_accents,  ///< drops marks
        prepend,        ///< puts `text` in front of what is not empty
        replace,        ///< each match of `pattern` by `text`
        letters,        ///< every byte by its letter
    };
    Kind kind = Kind::nfc;
    std::string text;
    Pattern pattern = Pattern::literal("");
    bool left = true;  ///< strip
    bool right = true;
};
/// As a tokenizer.json names them.
template <>
inline constexpr auto closed_list<NormalizerStep::Kind> =
    name_list("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "Prepend",
              "Replace", "ByteLevel");

class Normalizer {
  public:
    void add(NormalizerStep step) { steps_.push_back(std::move(step)); }
    bool empty() const { return steps_.empty(); }
    /// Whether some step turns bytes into letters.
    bool to_letters() const;
    /// Turns valid UTF-8 into valid UTF-8, in place.
    void run(std::string& text);

  private:
    std::vector<NormalizerStep> steps_;
    std::string scratch_;
};

// Splitter: the pre-tokenizer, which cuts normalized text into the pieces that are merged each by
// itself.
//
// A list of steps. Most only cut; some change the text that later ones see (a mark in place of
// blanks, bytes written as letters). What comes out are raw bytes: letters are turned back. Owned
// by a Tokenizer; one thread.

struct SplitStep {
    enum class Kind : std::uint8_t {
        // Cut at what matches.
        pattern,
        digits,
        punctuation,
        spaces,
        // Change text.
        prefix_blank,  ///< a blank in front of each piece that has none
        letters,       ///< every byte as its letter
        mark_blanks,   ///< `mark` for each blank, and in front as `prefix` says
    };
    /// What becomes of matches and of what is between them.
    enum class Behavior : std::uint8_t {
        isolated,
        removed,
        contiguous,
        merged_with_previous,
        merged_with_next,
    };
    enum class Prefix : std::uint8_t { always, none, first };

    Kind kind = Kind::pattern;
    Behavior behavior = Behavior::isolated;
    bool invert = false;  ///< matches are what is between matches
    Pattern pattern = Pattern::literal("");
    Prefix prefix = Prefix::always;
    std::string mark = {};
};
template <>
inline constexpr auto closed_list<SplitStep::Behavior> =
    name_list("Isolated", "Removed", "Contiguous", "MergedWithPrevious", "MergedWithNext");

class Splitter {
  public:
    void add(SplitStep step);
    bool empty() const { return steps_.empty(); }

    /// Appends the pieces of `text`; they live as long as it and until the next call. `at_start`:
    /// nothing is in front of `text`.
    void run(std::string_view text, bool at_start, std::vector<std::string_view>& pieces);

  private:
    struct Span {
        std::size_t begin = 0;
        std::size_t end = 0;
        bool matched = false;
    };
    void cut_all(SplitStep& step);
    void find_matches(SplitStep& step, std::string_view piece);
    void cut(const SplitStep& step, Span piece);
    void change(const SplitStep& step, bool at_start);
    template <typename Write>
    void rewrite(Write write);

    std::vector<SplitStep> steps_;
    bool has_letters_ = false;
    // Of one run: the text as the steps so far left it, and its pieces.
    std::string_view text_;
    std::string changed_[2];  ///< `text_` is the caller's, or one of these
    std::size_t newest_ = 0;
    std::vector<Span> spans_;
    std::vector<Span> next_spans_;
    std::vector<Span> found_;  ///< in one piece
};

// Decoder: from the texts of tokens back to one text.
//
// A list of steps over the list of texts, as Hugging Face's decoders define them. Pure.

struct DecoderStep {
    enum class Kind : std::uint8_t {
        replace,        ///< each match of `pattern` by `text`
        byte_fallback,  ///< runs of <0xNN> by their bytes; by U+FFFD each where that is no UTF-8
        fuse,           ///< all texts become one
        strip,          ///< up to `start` and `stop` times `text` off the ends of each
        letters,        ///< letters of bytes by their bytes, all texts become one
        marks,          ///< `text` is a blank; a first one is dropped where `drop_first`
    };
    Kind kind = Kind::fuse;
    Pattern pattern = Pattern::literal("");
    std::string text;
    std::uint32_t start = 0;
    std::uint32_t stop = 0;
    bool drop_first = false;
};
template <>
inline constexpr auto closed_list<DecoderStep::Kind> =
    name_list("Replace", "ByteFallback", "Fuse", "Strip", "ByteLevel", "Metaspace");

class Decoder {
  public:
    void add(DecoderStep step) { steps_.push_back(std::move(step)); }
    /// Runs the steps and joins the texts.
    std::string run(std::vector<std::string> texts);
    /// What is between texts in the end: a blank, where a tokenizer names no decoder.
    std::string separator;

  private:
    std::vector<DecoderStep> steps_;
};

// AddedTokens: texts that are one token as they stand, cut out before anything is merged.
//
// Where several could match, the leftmost does, and of those the longest. Two sets: one is sought
// in the text as it came, one in the normalized text. Built while loading; plain reads later.

struct AddedToken {
    TokenId id = 0;
    std::string text;
    std::string sought = {};   ///< what is looked for: `text`, normalized if need be
    bool single_word = false;  ///< matches only where no word character is beside it
    bool strip_left = false;   ///< takes the white space in front with it
    bool strip_right = false;
    bool normalized = false;  ///< sought in the normalized text
    bool special = false;     ///< left out of decoded text on request
};

// Text cuts: where the program around a tokenizer cuts long texts before it tokenizes them.
//
// Kimi's own does (`tokenization_kimi.py`): tokens never reach beyond such a cut, and a word that
// one falls into, or just behind, has a token more. Tokenizers without such a program cut nothing.

/// In code points; 0: nowhere.
struct TextCuts {
    std::size_t every = 0;   ///< each so many
    std::size_t run_of = 0;  ///< then, after so many blanks, or non-blanks, in a row
};
/// The parts of a text (valid UTF-8), in order, none of them empty.
std::vector<std::string_view> cut_text(std::string_view text, TextCuts cuts);

// Tokenizer: text to token ids and back, exactly as Hugging Face's `tokenizers` and tiktoken do
// it, for the BPE models that servers use.
//
// From a tokenizer.json: byte-level BPE (GPT-2, Llama 3, Qwen, DeepSeek, GPT-OSS, GLM, Nemo,
// Falcon, Phi) and BPE over characters with byte fallback (Llama 2, Mistral, Phi-3, Gemma), their
// normalizers, pre-tokenizers, added tokens, post-processors and decoders. From rank files:
// Kimi's, OpenAI's, Mistral's (tokenizer.hpp). What it does not know it refuses by name. Golden
// tests hold it to the reference.
//
// Used before time 0 only: it allocates as it likes. One thread at a time, for its scratch.

/// What the files of a tokenizer say, ready to run.
struct TokenizerParts {
    Normalizer normalizer;
    Splitter splitter;
    Bpe bpe;
    std::vector<AddedToken> added;
    Decoder decoder;
    std::vector<TokenId> before;  ///< put around a text by the post-processor: BOS and the like
    std::vector<TokenId> after;
    TextCuts cuts;
    /// What stands for a blank in the vocabulary: itself, U+2581, or U+0120.
    std::string_view blank = " ";
};

/// Reads a tokenizer.json. Errors: bad_json, unsupported, missing, invalid; `why` then is a clause
/// for people that names what is wrong and what would fix it.
Result<TokenizerParts> read_tokenizer(std::string_view json, std::string& why);

class Tokenizer {
  public:
    explicit Tokenizer(TokenizerParts parts);
    Tokenizer(Tokenizer&&) noexcept;
    ~Tokenizer();

    /// Appends the ids of `text`. Bytes that are no UTF-8 count as U+FFFD. `with_special`: and
    /// those that the post-processor puts around it.
    void encode(std::string_view text, std::vector<TokenId>& ids, bool with_special = false);

    /// The text of the ids; those that have no token say nothing. Bytes of a code point that was
    /// cut stay as they are. `skip_special`: without special added tokens.
    std::string decode(std::span<const TokenId> ids, bool skip_special = false);

    /// Appends the ids of one piece as it is: nothing is normalized, cut or looked for.
    void merge(std::string_view piece, std::vector<TokenId>& ids);

    const TokenizerParts& parts() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// A tokenizer from its file, compressed or not, or from the folder of its model. Before time 0
// only.

/// The file that `--tokenizer` names: the tokenizer in a folder that has one, else what was given.
std::string tokenizer_file(const std::string& given);

/// A whole file of a model. Errors: not_found, denied, invalid (a folder), too_large, and those of
/// reading it; `why` is a clause for people without the name.
Result<std::string> read_model_file(const std::string& path, std::string& why);

/// `given`: a file, or a folder. Errors: those of reading the file, and of `read_tokenizer`; `why`
/// is a clause for people that names the file; what can be done without one, the caller knows.
Result<Tokenizer> load_tokenizer(const std::string& given, std::string& why);

/// How GPT-2 cuts text, and what names no expression of its own.
inline constexpr const char* gpt2_expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr const char* fetch_again = "; fetch it again from where the model is published";

/// An added token as both kinds of files write its flags; it is sought in the text as it stands.
AddedToken added_token(JsonValue entry, TokenId id, std::string_view text);

/// Appends the bytes that base64 (RFC 4648, section 4) stands for; false where it is none.
bool append_base64(std::string& out, std::string_view text);

// Rank files: tokenizers that are published as a list of tokens in the order of their merges.
//
// Two spellings. tiktoken's (Kimi, OpenAI, Llama 3's and Qwen's own): base64 of a token, a blank,
// its rank, a line each; how text is cut before is not in it, but in `tokenizer_config.json`
// beside it or known by the number of ranks. Mistral's tekken.json says all by itself. In both,
// two tokens merge where their bytes together are a token, the lowest rank first.

/// Whether the first line is one of tiktoken's.
bool is_rank_file(std::string_view text);

/// Reads a rank file. `config`: the text of tokenizer_config.json, empty where there is none; its
/// `pat_str` is the expression that cuts, its `added_tokens_decoder` the added tokens. Errors and
/// `why` as of `read_tokenizer`.
Result<TokenizerParts> read_rank_file(std::string_view text, std::string_view config,
                                      std::string& why);

/// Reads a parsed tekken.json.
Result<TokenizerParts> read_tekken(JsonValue root, std::string& why);

}  // namespace driftless
