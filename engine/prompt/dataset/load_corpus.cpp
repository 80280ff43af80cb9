#include "engine/prompt/dataset/load_corpus.hpp"

#include <vector>

#include "engine/input/source.hpp"
#include "engine/prompt/dataset/reader.hpp"

namespace driftless {
namespace {

std::string_view problem_of(ErrorCode code) {
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
Result<bool> read_texts(InputSource& source, DatasetReader& reader, CorpusMaker& maker,
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

std::string nothing_found(const CorpusFigures& figures) {
    return "has no text to cut prompts from (" + std::to_string(figures.texts) + " texts of " +
           std::to_string(figures.bytes) + " bytes, and " + std::to_string(figures.empty_texts) +
           " empty ones); name another column with --dataset-column NAME, or another file";
}

}  // namespace

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
