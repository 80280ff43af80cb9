// Any bytes are a dataset or are refused for a reason, the same however they come in; and whatever
// text is in it, every run of pieces has as many tokens as it says.
#include "engine/prompt/corpus.hpp"
#include "tests/fuzz/shared/pieces.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

struct Read {
    std::vector<std::string> texts;
    std::string why;
    bool operator==(const Read&) const = default;
};

Read read(const std::vector<std::vector<char>>& pieces) {
    DatasetReader reader("");
    Read out;
    Result<void> good;
    for (std::size_t i = 0; good && i < pieces.size(); ++i) {
        good = reader.read({pieces[i].data(), pieces[i].size()}, out.texts);
    }
    good = good ? reader.finish(out.texts) : good;
    CHECK(static_cast<bool>(good) == reader.why().empty());
    out.why = reader.why();
    return out;
}

Tokenizer load(const char* name) {
    std::ifstream file(std::string(TEST_DATA) + "/tokenizers/" + name);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    std::string why;
    Result<TokenizerParts> parts = read_tokenizer(text, why);
    CHECK(parts);
    return Tokenizer(std::move(parts).value());
}

void check_pieces(Tokenizer& tokenizer, const std::vector<std::string>& texts) {
    CorpusMaker maker(tokenizer, "the");
    for (const std::string& text : texts) {
        maker.add(text);
    }
    const Corpus corpus = maker.finish();
    CHECK(maker.figures().sections_left_out == 0);
    for (std::uint32_t done = 0; done < corpus.tokens();) {
        const Corpus::Run run = corpus.run(0, done, 1, 1);
        CHECK(run.tokens > 0 && run.bytes.size() <= run.tokens * Corpus::bytes_per_token_max);
        CHECK(run.bytes.front() == ' ' && run.bytes.back() >= 'a' && run.bytes.back() <= 'z');
        done += run.tokens;
    }
}

void fuzz_dataset(std::string_view any) {
    static Tokenizer tokenizers[] = {load("llama3.json"), load("llama2.json"),
                                     load("deepseek.json")};
    const FuzzInput input = read_input(any);
    const auto ways = ways_to_feed(input);
    const Read whole = read(ways.front());
    for (const auto& way : ways) {
        CHECK(read(way) == whole);
    }
    check_pieces(tokenizers[input.split % std::size(tokenizers)], whole.texts);
}

const FuzzTargets dataset_target = {{"dataset", fuzz_dataset}};

}  // namespace
}  // namespace driftless
