#include "engine/prompt/load_tokenizer.hpp"

#include <sys/stat.h>

#include <cstddef>
#include <utility>

#include "engine/plan/files.hpp"
#include "engine/prompt/read_ranks.hpp"

namespace driftless {

namespace {

/// The largest published tokenizer.json is 33 MB.
constexpr std::size_t file_bytes_max = std::size_t{256} << 20;

/// What published models call the file, the best first.
constexpr const char* names_in_folder[] = {"tokenizer.json", "tekken.json", "tiktoken.model",
                                           "qwen.tiktoken"};

bool is_folder(const std::string& path) {
    struct stat facts{};
    return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool is_file(const std::string& path) {
    struct stat facts{};
    return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

/// "meta-llama/Llama-3-8B", "gpt2": no path, and no ending of a tokenizer's file.
bool looks_like_model(const std::string& given) {
    for (const char* ending : {".json", ".model", ".tiktoken", ".gz", ".zst", ".xz", ".bz2"}) {
        if (given.ends_with(ending)) {
            return false;
        }
    }
    const std::size_t slash = given.find('/');
    return !given.empty() && given.find_first_of("./~-") != 0 && given.back() != '/' &&
           (slash == std::string::npos || slash == given.rfind('/'));
}

std::string missing_text(const std::string& given) {
    if (!looks_like_model(given)) {
        return "does not exist";
    }
    const std::string folder = given.substr(given.rfind('/') + 1);
    return "does not exist; if it is the name of a model, download its tokenizer with: hf "
           "download " +
           given + " tokenizer.json tokenizer_config.json --local-dir " + folder +
           ", then give --tokenizer " + folder;
}

}  // namespace

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
    if (is_folder(given)) {
        for (const char* name : names_in_folder) {
            std::string file = given + (given.back() == '/' ? "" : "/") + name;
            if (is_file(file)) {
                return file;
            }
        }
    }
    return given;
}

namespace {

// A rank file needs what stands in the folder beside it; a tokenizer.json stands alone.
Result<TokenizerParts> read_parts(const std::string& path, std::string_view text,
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

}  // namespace

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
