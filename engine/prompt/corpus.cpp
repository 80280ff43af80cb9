#include "engine/prompt/corpus.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/plan/compressed_files.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// Lists of turns go before single texts: they hold more.
static constexpr std::string_view usual_columns[] = {
    "conversations", "messages", "text", "prompt", "content", "question", "input", "instruction"};
static constexpr std::size_t names_shown = 12;

static std::string names_of(const JsonValue& row) {
    std::string names;
    std::size_t shown = 0;
    for (JsonValue value = row.first(); value.present(); value = value.next()) {
        if (++shown > names_shown) {
            return names + ", ..";
        }
        names += (names.empty() ? "" : ", ") + std::string(value.key());
    }
    return names.empty() ? "none" : names;
}

static bool is_text_or_null(const JsonValue& value) {
    return value.is(JsonType::string) || value.is(JsonType::null);
}

/// The text of a turn: the turn itself, or what it says.
static JsonValue text_in(const JsonValue& turn) {
    const JsonValue value = turn.find("value");
    return turn.is(JsonType::object) ? (value.present() ? value : turn.find("content")) : turn;
}

bool DatasetReader::choose_column(const JsonValue& row, std::string& why) {
    for (const std::string_view name : usual_columns) {
        const JsonValue value = row.find(name);
        if (value.is(JsonType::string) || value.is(JsonType::array)) {
            column_ = name;
            return true;
        }
    }
    why = "has no column with a usual name (it has " + names_of(row) +
          "); name the text column with --dataset-column NAME";
    return false;
}

/// Appends the texts of a row. False where it lacks them: `why` is then a clause for people, with
/// the remedy.
bool DatasetReader::take_texts(const JsonValue& row, std::vector<std::string>& texts,
                               std::string& why) {
    if (row.is(JsonType::string) && column_.empty()) {
        texts.push_back(kept_text(row));
        return true;
    }
    if (!row.is(JsonType::object)) {
        why = column_.empty() ? "is neither a text nor an object with one"
                              : "is not an object and has no column \"" + column_ + "\"";
        return false;
    }
    if (column_.empty() && !choose_column(row, why)) {
        return false;
    }
    const JsonValue value = row.find(column_);
    if (!value.present()) {
        why = "has no column \"" + column_ + "\" (it has " + names_of(row) +
              "); name another column with --dataset-column NAME";
        return false;
    }
    if (is_text_or_null(value)) {
        texts.push_back(kept_text(value));
        return true;
    }
    for (JsonValue turn = value.first(); turn.present(); turn = turn.next()) {
        const JsonValue text = text_in(turn);
        if (!value.is(JsonType::array) || !is_text_or_null(text)) {
            why = "has values that are not texts in \"" + column_ +
                  "\"; name another column with --dataset-column NAME";
            return false;
        }
        texts.push_back(kept_text(text));
    }
    if (!value.is(JsonType::array)) {
        why = "has no text in \"" + column_ + "\"; name another column with --dataset-column NAME";
    }
    return value.is(JsonType::array);
}

static constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
static constexpr const char* shapes =
    "give a JSON array of conversations (ShareGPT), or JSON lines with a text column";

Result<void> DatasetReader::begin(std::string_view piece) {
    CHECK(shape_ == Shape::unknown && !piece.empty());
    shape_ = piece.front() == '[' ? Shape::array : Shape::lines;
    if (piece.front() == '[' || piece.front() == '{' || piece.front() == '"') {
        return {};
    }
    return refuse(ErrorCode::invalid, std::string("is not a dataset; ") + shapes);
}

Result<void> DatasetReader::read(std::string_view piece, std::vector<std::string>& texts) {
    while (shape_ == Shape::unknown && !piece.empty()) {
        const char byte = piece.front();
        if (mark_bytes_ < byte_order_mark.size() && byte == byte_order_mark[mark_bytes_]) {
            ++mark_bytes_;
        } else if (white_space.find(byte) != white_space.npos) {
            lines_before_ += byte == '\n' ? 1 : 0;
        } else if (const Result<void> begun = begin(piece); !begun) {
            return begun;
        } else {
            break;
        }
        piece.remove_prefix(1);
    }
    if (shape_ == Shape::array) {
        return read_array(piece, texts);
    }
    lines_.feed(piece);
    return read_lines(texts);
}

Result<void> DatasetReader::read_array(std::string_view piece, std::vector<std::string>& texts) {
    CHECK(shape_ == Shape::array);
    elements_.feed(piece);
    while (const auto element = elements_.next()) {
        const std::string row = "element " + std::to_string(elements_.number()) + " ";
        if (const Result<void> good = read_row(*element, row, texts); !good) {
            return good;
        }
    }
    const std::string number = std::to_string(elements_.number() + 1);
    switch (elements_.state()) {
        case JsonElements::State::too_long:
            return refuse(ErrorCode::too_large, "element " + number + " is longer than 64 MiB");
        case JsonElements::State::wrong:
            return refuse(ErrorCode::bad_json,
                          "continues after its array; give one JSON array, or JSON lines");
        default:
            return {};
    }
}

Result<void> DatasetReader::read_lines(std::vector<std::string>& texts) {
    while (const auto line = lines_.next()) {
        const std::string row = "line " + std::to_string(lines_before_ + lines_.number()) + " ";
        const bool is_blank = line->find_first_not_of(white_space) == line->npos;
        if (const Result<void> good = is_blank ? Result<void>{} : read_row(*line, row, texts);
            !good) {
            return good;
        }
    }
    if (lines_.too_long()) {
        return refuse(ErrorCode::too_large,
                      "line " + std::to_string(lines_before_ + lines_.number() + 1) +
                          " is longer than 64 MiB; " + shapes);
    }
    return {};
}

Result<void> DatasetReader::read_row(std::string_view text, const std::string& row,
                                     std::vector<std::string>& texts) {
    const Result<JsonValue> value = document_.parse(text);
    if (!value && utf8_valid_prefix(text) < text.size()) {
        return refuse(ErrorCode::bad_json,
                      row + "is not UTF-8; convert the file, for instance with iconv");
    }
    if (!value) {
        const bool goes_on =
            shape_ == Shape::lines && JsonTexts().take(1, text) == JsonTexts::Found::part;
        return refuse(ErrorCode::bad_json,
                      row + (goes_on ? "ends inside its JSON text; put one text on each line (jq "
                                       "-c . FILE > NEW_FILE), or fetch the whole file"
                                     : "is not JSON (its byte " +
                                           std::to_string(document_.error_offset() + 1) +
                                           "); fetch the file again, or repair it"));
    }
    std::string why;
    if (!take_texts(value.value(), texts, why)) {
        return refuse(ErrorCode::invalid, row + why);
    }
    return {};
}

Result<void> DatasetReader::finish(std::vector<std::string>& texts) {
    switch (shape_) {
        case Shape::unknown:
            return refuse(ErrorCode::invalid, std::string("is empty; ") + shapes);
        case Shape::lines:
            lines_.finish();
            return read_lines(texts);
        case Shape::array:
            break;
    }
    if (elements_.state() == JsonElements::State::behind) {
        return {};
    }
    return refuse(ErrorCode::truncated, "ends inside its array, in element " +
                                            std::to_string(elements_.number() + 1) +
                                            "; fetch the whole file");
}

std::uint64_t Corpus::digest() const {
    Digest digest;
    digest.add(bytes_);
    for (const Border& border : borders_) {
        digest.add_u64(std::uint64_t{border.byte} << 32 | border.token);
    }
    return digest.value();
}

std::uint32_t Corpus::piece_at(std::uint64_t uniform) const {
    CHECK(pieces() > 0);
    const auto wide = static_cast<unsigned __int128>(uniform) * pieces();
    return static_cast<std::uint32_t>(wide >> 64);
}

std::uint32_t Corpus::fit(std::uint32_t first, std::uint32_t tokens_max) const {
    CHECK(first < pieces());
    const std::uint32_t all = tokens();
    if (tokens_max >= all) {
        return all;
    }
    // The border in front of the piece in which token `first + tokens_max` stands.
    const std::uint32_t begin = borders_[first].token;
    const std::uint32_t target = begin + tokens_max;  // two 32-bit counts: bytes_max bounds both
    const std::uint32_t wrapped = target >= all ? target - all : target;
    const auto behind =
        std::upper_bound(borders_.begin(), borders_.end(), wrapped,
                         [](std::uint32_t token, const Border& b) { return token < b.token; });
    const std::uint32_t end = (behind - 1)->token;
    return target >= all ? end + all - begin : end - begin;
}

Corpus::Run Corpus::run(std::uint32_t first, std::uint32_t token, std::uint32_t tokens_max,
                        std::size_t bytes_max_now) const {
    CHECK(first < pieces() && token < tokens());
    std::uint32_t at = borders_[first].token + token;
    at -= at >= tokens() ? tokens() : 0;
    const auto begin =
        std::lower_bound(borders_.begin(), borders_.end(), at,
                         [](const Border& b, std::uint32_t wanted) { return b.token < wanted; });
    CHECK(begin->token == at && begin + 1 < borders_.end());
    const auto behind = std::partition_point(begin + 1, borders_.end(), [&](const Border& b) {
        return b.token - begin->token <= tokens_max && b.byte - begin->byte <= bytes_max_now;
    });
    const Border& end = *std::max(begin + 1, behind - 1);
    CHECK(end.token > begin->token);
    return {std::string_view(bytes_).substr(begin->byte, end.byte - begin->byte),
            end.token - begin->token};
}

void Corpus::add(std::string_view escaped, std::uint32_t tokens_of_piece) {
    CHECK(bytes_.size() + escaped.size() <= 2 * bytes_max && tokens_of_piece > 0);
    bytes_ += escaped;
    borders_.push_back(
        {static_cast<std::uint32_t>(bytes_.size()), borders_.back().token + tokens_of_piece});
}

void Corpus::keep(std::uint32_t pieces_left) {
    CHECK(pieces_left <= pieces());
    borders_.resize(std::size_t{pieces_left} + 1);
    bytes_.resize(borders_.back().byte);
}

static constexpr std::size_t section_bytes = 4096;
static constexpr std::string_view between_texts = "\n\n";

static bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

static bool is_letter(char c) {
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

/// Where a piece ends that begins at 0: the first border behind its least length, or npos.
static std::size_t find_border(std::string_view text, std::size_t from) {
    for (std::size_t at = from; at + 1 < text.size(); ++at) {
        at = std::min(text.find(' ', at), text.size() - 1);
        if (at > 0 && at + 1 < text.size() && is_lower(text[at - 1]) && is_letter(text[at + 1])) {
            return at;
        }
    }
    return std::string_view::npos;
}

/// Line ends and tabs are text; a server may do anything with the others.
static bool has_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7F;
    });
}

CorpusMaker::CorpusMaker(Tokenizer& tokenizer, std::string_view word)
    : tokenizer_(tokenizer), word_(word) {
    for (const AddedToken& token : tokenizer.parts().added) {
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

static std::string_view problem_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::not_found:
            return "does not exist";
        case ErrorCode::invalid:
            return "is a folder; name a file";
        case ErrorCode::denied:
            return "cannot be read: permission denied";
        case ErrorCode::truncated:
            return "is damaged or ends early; fetch the whole file";
        default:
            return "cannot be read";
    }
}

/// Feeds the file's texts to `maker`; true where that took all of them.
static Result<bool> read_texts(InputSource& source, DatasetReader& reader, CorpusMaker& maker,
                               std::string& why) {
    std::vector<std::string> texts;
    for (bool ended = false; !ended && !maker.full();) {
        const Result<std::string_view> piece = source.read();
        if (!piece) {
            why = std::string(problem_of(piece.error().code)) + " (" +
                  source.reason_of(piece.error()) + ")";
            return piece.error();
        }
        ended = piece.value().empty();
        texts.clear();
        const Result<void> good = ended ? reader.finish(texts) : reader.read(piece.value(), texts);
        if (!good) {
            return good.error();
        }
        for (const std::string& text : texts) {
            maker.add(text);
        }
    }
    return !maker.full();
}

static std::string nothing_found(const CorpusFigures& figures) {
    return "has no text to cut prompts from (" + std::to_string(figures.texts) + " texts of " +
           std::to_string(figures.bytes) + " bytes, and " + std::to_string(figures.empty_texts) +
           " empty ones); name another column with --dataset-column NAME, or another file";
}

Result<LoadedCorpus> load_corpus(const std::string& path, const std::string& column,
                                 Tokenizer& tokenizer, std::string_view word, std::string& why) {
    CorpusMaker maker(tokenizer, word);
    if (!maker.refused().empty()) {
        why = "the tokenizer cannot count its pieces: " + maker.refused();
        return Error{ErrorCode::unsupported, 0, "read a dataset"};
    }
    Result<InputSource> source = InputSource::open(path);
    if (!source) {
        why = path + ": " + std::string(problem_of(source.error().code));
        return source.error();
    }
    DatasetReader reader(column);
    const Result<bool> whole = read_texts(source.value(), reader, maker, why);
    if (!whole) {
        why = path + ": " + (reader.why().empty() ? why : reader.why());
        return whole.error();
    }
    LoadedCorpus loaded;
    loaded.corpus = maker.finish();
    loaded.figures = maker.figures();
    loaded.column = reader.column();
    loaded.is_whole = whole.value();
    if (loaded.corpus.pieces() == 0) {
        why = path + ": " + nothing_found(loaded.figures);
        return Error{ErrorCode::invalid, 0, "read a dataset"};
    }
    return loaded;
}

}  // namespace driftless
