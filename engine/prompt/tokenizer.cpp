#include "engine/prompt/tokenizer.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <unordered_map>
#include <utility>

#include "engine/plan/compressed_files.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static std::size_t blanks_at_start(std::string_view text) {
    std::size_t bytes = 0;
    while (bytes < text.size()) {
        const CodePoint point = first_code_point(text.substr(bytes));
        if (!is_white_space(point.value)) {
            break;
        }
        bytes += point.bytes;
    }
    return bytes;
}

static std::size_t blanks_at_end(std::string_view text) {
    const std::size_t all = text.size();
    while (!text.empty() && is_white_space(last_code_point(text).value)) {
        text.remove_suffix(last_code_point(text).bytes);
    }
    return all - text.size();
}

static bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
    const bool word_before =
        begin > 0 && is_word_character(last_code_point(text.substr(0, begin)).value);
    const bool word_behind =
        end < text.size() && is_word_character(first_code_point(text.substr(end)).value);
    return !word_before && !word_behind;
}

namespace {

/// A part of a text: an added token, or what is between.
struct Section {
    std::string_view text;
    const AddedToken* token = nullptr;
};

/// One set of texts to seek.
class AddedTokenFinder {
  public:
    /// `token` outlives this and does not move. One that seeks nothing is left out.
    void add(const AddedToken& token) {
        if (!token.sought.empty()) {
            begins_[static_cast<unsigned char>(token.sought.front())] = true;
            entries_.push_back(&token);
        }
    }

    /// Once, after the last `add`.
    void prepare() {
        std::stable_sort(
            entries_.begin(), entries_.end(),
            [](const AddedToken* a, const AddedToken* b) { return a->sought < b->sought; });
    }

    /// Appends the sections of `text`, in order, none of them empty.
    void cut(std::string_view text, std::vector<Section>& sections) const {
        std::size_t done = 0;  // where what is not yet in a section begins
        for (std::size_t at = 0; at < text.size();) {
            const AddedToken* const token = begins_[static_cast<unsigned char>(text[at])]
                                                ? longest_at(text.substr(at))
                                                : nullptr;
            if (token == nullptr) {
                ++at;
                continue;
            }
            std::size_t begin = at;
            std::size_t end = at + token->sought.size();
            at = end;
            if (token->single_word && !stands_alone(text, begin, end)) {
                continue;
            }
            if (token->strip_left) {  // but not what an earlier token took
                begin = std::max(begin - blanks_at_end(text.substr(0, begin)), done);
            }
            if (token->strip_right) {
                end += blanks_at_start(text.substr(end));
            }
            if (done < begin) {
                sections.push_back({text.substr(done, begin - done), nullptr});
            }
            sections.push_back({text.substr(begin, end - begin), token});
            done = end;
        }
        if (done < text.size()) {
            sections.push_back({text.substr(done), nullptr});
        }
    }

  private:
    // Narrows the sorted entries byte by byte to those that `text` begins with.
    const AddedToken* longest_at(std::string_view text) const {
        const AddedToken* longest = nullptr;
        auto low = entries_.begin();
        auto high = entries_.end();
        for (std::size_t depth = 0; low != high; ++depth) {
            if ((*low)->sought.size() == depth) {  // the shortest of them sorts first
                longest = *low;
                while (low != high && (*low)->sought.size() == depth) {
                    ++low;
                }
            }
            if (depth == text.size()) {
                break;
            }
            const auto byte = static_cast<unsigned char>(text[depth]);
            const auto at = [depth](const AddedToken* entry) {
                return static_cast<unsigned char>(entry->sought[depth]);
            };
            low =
                std::partition_point(low, high, [&](const AddedToken* e) { return at(e) < byte; });
            high =
                std::partition_point(low, high, [&](const AddedToken* e) { return at(e) == byte; });
        }
        return longest;
    }

    std::vector<const AddedToken*> entries_;  ///< sorted by what they seek
    bool begins_[256] = {};                   ///< some entry begins with that byte
};

}  // namespace

/// Bytes of the first so many code points; 0 of them: of all.
static std::size_t bytes_of_first(std::string_view text, std::size_t code_points) {
    if (code_points == 0 || text.size() <= code_points) {
        return text.size();  // not more code points than bytes
    }
    std::size_t at = 0;
    for (std::size_t count = 0; count < code_points && at < text.size(); ++count) {
        at += first_code_point(text.substr(at)).bytes;
    }
    return at;
}

/// Bytes up to where more than `run_of` blanks, or non-blanks, are in a row; 0: all.
static std::size_t bytes_before_long_run(std::string_view text, std::size_t run_of) {
    std::size_t run = 0;
    bool was_blank = false;
    for (std::size_t at = 0; run_of != 0 && text.size() > run_of && at < text.size();) {
        const CodePoint point = first_code_point(text.substr(at));
        const bool blank = is_white_space(point.value);
        run = blank == was_blank ? run + 1 : 1;
        was_blank = blank;
        if (run > run_of) {
            return at;
        }
        at += point.bytes;
    }
    return text.size();
}

std::vector<std::string_view> cut_text(std::string_view text, TextCuts cuts) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        std::string_view chunk = text.substr(0, bytes_of_first(text, cuts.every));
        text.remove_prefix(chunk.size());
        while (!chunk.empty()) {
            parts.push_back(chunk.substr(0, bytes_before_long_run(chunk, cuts.run_of)));
            CHECK(!parts.back().empty());
            chunk.remove_prefix(parts.back().size());
        }
    }
    return parts;
}

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
    for (const std::string_view part : cut_text(text, parts.cuts)) {
        state.encode_whole(part, ids);
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

const TokenizerParts& Tokenizer::parts() const {
    return state_->parts;
}

/// The largest published tokenizer.json is 33 MB.
static constexpr std::size_t file_bytes_max = std::size_t{256} << 20;

/// What published models call the file, the best first.
static constexpr const char* names_in_folder[] = {"tokenizer.json", "tekken.json", "tiktoken.model",
                                                  "qwen.tiktoken"};

/// "meta-llama/Llama-3-8B", "gpt2": no path, and no ending of a tokenizer's file.
static bool looks_like_model(const std::string& given) {
    for (const char* ending : {".json", ".model", ".tiktoken", ".gz", ".zst", ".xz", ".bz2"}) {
        if (given.ends_with(ending)) {
            return false;
        }
    }
    const std::size_t slash = given.find('/');
    return !given.empty() && given.find_first_of("./~-") != 0 && given.back() != '/' &&
           (slash == std::string::npos || slash == given.rfind('/'));
}

static std::string missing_text(const std::string& given) {
    if (!looks_like_model(given)) {
        return "does not exist";
    }
    const std::string folder = given.substr(given.rfind('/') + 1);
    return "does not exist; if it is the name of a model, download its tokenizer with: hf "
           "download " +
           given + " tokenizer.json tokenizer_config.json --local-dir " + folder +
           ", then give --tokenizer " + folder;
}

Result<std::string> read_model_file(const std::string& path, std::string& why) {
    Result<InputSource> source = InputSource::open(path);
    std::string text;
    while (source) {
        const Result<std::string_view> piece = source.value().read();
        if (!piece) {
            why = "cannot be read to its end: " + source.value().reason_of(piece.error());
            return piece.error();
        }
        if (piece.value().empty()) {
            return text;
        }
        if (text.size() + piece.value().size() > file_bytes_max) {
            why = "is larger than 256 MiB, so it is not a tokenizer.json";
            return Error{ErrorCode::too_large, 0, "read a tokenizer"};
        }
        text += piece.value();
    }
    const ErrorCode code = source.error().code;
    why = code == ErrorCode::not_found ? "does not exist"
          : code == ErrorCode::invalid ? "is a folder"
          : code == ErrorCode::denied  ? "cannot be read: permission denied"
                                       : "cannot be read";
    return source.error();
}

std::string tokenizer_file(const std::string& given) {
    std::error_code none;
    if (std::filesystem::is_directory(given, none)) {
        for (const char* name : names_in_folder) {
            std::string file = given + (given.back() == '/' ? "" : "/") + name;
            if (std::filesystem::is_regular_file(file, none)) {
                return file;
            }
        }
    }
    return given;
}

// A rank file needs what is in the folder beside it; a tokenizer.json stands alone.
static Result<TokenizerParts> read_parts(const std::string& path, std::string_view text,
                                         std::string& why) {
    if (!is_rank_file(text)) {
        return read_tokenizer(text, why);
    }
    const std::string beside = path.substr(0, path.rfind('/') + 1) + "tokenizer_config.json";
    const Result<std::string> config = read_model_file(beside, why);
    if (!config && config.error().code != ErrorCode::not_found) {
        why = "tokenizer_config.json next to it " + why;
        return config.error();
    }
    return read_rank_file(text, config ? std::string_view(config.value()) : "", why);
}

Result<Tokenizer> load_tokenizer(const std::string& given, std::string& why) {
    const std::string path = tokenizer_file(given);
    std::string cause;
    const Result<std::string> text = read_model_file(path, cause);
    if (!text) {
        const ErrorCode code = text.error().code;
        why = path + " " +
              (code == ErrorCode::not_found ? missing_text(given)
               : code == ErrorCode::invalid ? cause +
                                                  " without a tokenizer.json, tekken.json or "
                                                  "tiktoken.model; put the model's there"
                                            : cause);
        return text.error();
    }
    Result<TokenizerParts> parts = read_parts(path, text.value(), cause);
    if (!parts) {
        why = path + ": " + cause;
        return parts.error();
    }
    return Tokenizer(std::move(parts).value());
}

}  // namespace driftless
