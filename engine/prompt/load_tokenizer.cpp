#include "engine/prompt/load_tokenizer.hpp"

#include <cstddef>
#include <utility>

#include "engine/input/source.hpp"
#include "engine/prompt/tokenizer/read_ranks.hpp"

namespace driftless {

namespace {

/// The largest published tokenizer.json is 33 MB.
constexpr std::size_t file_bytes_max = std::size_t{256} << 20;

Result<std::string> read_file(const std::string& path, std::string& why) {
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
            why = "is larger than 256 MiB: that is not a tokenizer.json";
            return Error{ErrorCode::too_large, 0, "read a tokenizer"};
        }
        text += piece.value();
    }
    const ErrorCode code = source.error().code;
    why = code == ErrorCode::not_found ? "does not exist"
          : code == ErrorCode::invalid ? "is a folder; name the tokenizer.json in it"
          : code == ErrorCode::denied  ? "may not be read"
                                       : "cannot be read";
    return source.error();
}

// A rank file needs what stands in the folder beside it; a tokenizer.json stands alone.
Result<TokenizerParts> read_parts(const std::string& path, std::string_view text,
                                  std::string& why) {
    if (!is_rank_file(text)) {
        return read_tokenizer(text, why);
    }
    const std::string beside = path.substr(0, path.rfind('/') + 1) + "tokenizer_config.json";
    const Result<std::string> config = read_file(beside, why);
    if (!config && config.error().code != ErrorCode::not_found) {
        why = "tokenizer_config.json beside it " + why;
        return config.error();
    }
    return read_rank_file(text, config ? std::string_view(config.value()) : "", why);
}

}  // namespace

Result<Tokenizer> load_tokenizer(const std::string& path, std::string& why) {
    std::string cause;
    const Result<std::string> text = read_file(path, cause);
    if (!text) {
        why = path + " " + cause;
        return text.error();
    }
    Result<TokenizerParts> parts = read_parts(path, text.value(), cause);
    if (!parts) {
        why = path + ": " + cause + "; " + std::string(built_in_remedy);
        return parts.error();
    }
    return Tokenizer(std::move(parts).value());
}

}  // namespace driftless
