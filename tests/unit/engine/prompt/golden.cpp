#include "tests/unit/engine/prompt/golden.hpp"

#include "engine/plan/compressed_files.hpp"
#include "tests/unit/json_text.hpp"

namespace driftless {
namespace {

std::uint64_t take_number(std::string_view& from) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const auto byte = static_cast<unsigned char>(from.at(0));
        from.remove_prefix(1);
        value |= std::uint64_t{byte & 0x7FU} << shift;
        if (byte < 0x80) {
            return value;
        }
    }
}

std::vector<std::vector<TokenId>> take_ids(std::string_view& from, std::size_t strings) {
    std::vector<std::vector<TokenId>> all(strings);
    for (std::vector<TokenId>& ids : all) {
        std::int64_t last = 0;
        for (std::uint64_t left = take_number(from); left > 0; --left) {
            const std::uint64_t zigzag = take_number(from);
            const auto half = static_cast<std::int64_t>((zigzag + 1) / 2);
            last += zigzag % 2 == 0 ? half : -half;
            ids.push_back(static_cast<TokenId>(last));
        }
    }
    return all;
}

}  // namespace

std::string read_whole(const std::string& path) {
    std::string text;
    Result<InputSource> source = InputSource::open(path);
    if (!source) {
        return text;
    }
    for (;;) {
        const Result<std::string_view> piece = source.value().read();
        CHECK(static_cast<bool>(piece));
        if (piece.value().empty()) {
            return text;
        }
        text += piece.value();
    }
}

const std::vector<std::string>& golden_strings() {
    static const std::vector<std::string> strings =
        strings_of(JsonText(read_whole(TEST_DATA "/tokenizers/strings.json")).root);
    return strings;
}

Golden read_golden(const std::string& name) {
    const std::string text = read_whole(std::string(TEST_DATA) + "/tokenizers/" + name + ".ids");
    std::string_view rest = text;
    const std::size_t strings = golden_strings().size();
    Golden golden{.ids = take_ids(rest, strings), .ids_with_special = take_ids(rest, strings)};
    for (std::size_t i = 0; i < strings; ++i) {
        for (auto* texts : {&golden.decoded, &golden.decoded_without_special}) {
            const std::uint64_t bytes = take_number(rest);
            texts->push_back({bytes, take_number(rest)});
        }
    }
    CHECK(rest.empty());
    return golden;
}

// CRC-32 as in zlib (reflected polynomial 0xEDB88320).
GoldenText golden_text(const std::string& text) {
    std::uint32_t crc = ~std::uint32_t{0};
    for (const char c : text) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) {
            crc = crc >> 1 ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
        }
    }
    return {text.size(), ~crc};
}

std::string with_replacements(const std::string& text) {
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const std::size_t wanted = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
        unsigned low = 0x80;
        unsigned high = 0xBF;
        low = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : low;
        high = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : high;
        std::size_t good = 1;
        const bool leads = byte < 0x80 || (byte >= 0xC2 && byte <= 0xF4);
        while (leads && good < wanted && at + good < text.size()) {
            const auto next = static_cast<unsigned char>(text[at + good]);
            if (next < low || next > high) {
                break;
            }
            low = 0x80;
            high = 0xBF;
            ++good;
        }
        out += leads && good == wanted ? text.substr(at, good) : "\xEF\xBF\xBD";
        at += good;
    }
    return out;
}

namespace {

// NAME.json, or what a folder NAME holds of a rank file.
std::string path_in(const std::string& folder, const std::string& name) {
    const std::string ranks = folder + "/" + name + "/tiktoken.model";
    return InputSource::open(ranks) ? ranks : folder + "/" + name + ".json";
}

std::string fetched_folder() {
    const char* const folder = std::getenv("DRIFTLESS_TOKENIZERS");
    return folder == nullptr ? "" : folder;
}

}  // namespace

const std::vector<std::string>& small_tokenizers() {
    static const std::vector<std::string> names{
        "gpt2", "roberta",   "llama3", "qwen",   "o200k", "tekken",  "deepseek",  "kimi",
        "odd",  "starcoder", "falcon", "llama2", "gemma", "mistral", "metaspace", "superword"};
    return names;
}

const std::vector<std::string>& small_tokenizers_with_digests_only() {
    static const std::vector<std::string> names{"glm", "bloom", "letters", "kimi_ranks"};
    return names;
}

std::vector<std::string> real_tokenizers() {
    std::vector<std::string> there;
    for (const char* name : {"qwen2", "phi3"}) {
        if (InputSource::open(tokenizer_path(name))) {
            there.emplace_back(name);
        }
    }
    return there;
}

std::vector<std::string> fetched_tokenizers() {
    std::vector<std::string> there;
    for (const char* name : {"claude", "deepseek_v3", "gemma3", "gptoss", "llama2_chat", "llama3_1",
                             "mistral_nemo", "o200k_ranks", "llama3_ranks", "qwen3"}) {
        if (!fetched_folder().empty() && InputSource::open(tokenizer_path(name))) {
            there.emplace_back(name);
        }
    }
    return there;
}

std::vector<std::string> usable_tokenizers() {
    std::vector<std::string> names;
    for (const auto& some : {real_tokenizers(), fetched_tokenizers(), small_tokenizers(),
                             small_tokenizers_with_digests_only()}) {
        for (const std::string& name : some) {
            if (name != "odd" && name != "superword") {
                names.push_back(name);
            }
        }
    }
    return names;
}

std::uint32_t prompts_of_each(std::uint32_t by_default) {
    const char* const asked = std::getenv("DRIFTLESS_PROMPTS");
    return asked == nullptr ? by_default
                            : static_cast<std::uint32_t>(std::strtoul(asked, nullptr, 10));
}

std::string tokenizer_path(const std::string& name) {
    if (name == "qwen2" || name == "phi3") {
        return path_in(std::string(SHARED_DATA) + "/tokenizers", name);
    }
    const std::string ours = path_in(std::string(TEST_DATA) + "/tokenizers", name);
    return InputSource::open(ours) ? ours : path_in(fetched_folder(), name);
}

Tokenizer load_tokenizer(const std::string& name) {
    std::string why;
    Result<Tokenizer> tokenizer = load_tokenizer(tokenizer_path(name), why);
    EXPECT_TRUE(tokenizer) << name << ": " << why;
    CHECK(static_cast<bool>(tokenizer));
    return std::move(tokenizer).value();
}

}  // namespace driftless
