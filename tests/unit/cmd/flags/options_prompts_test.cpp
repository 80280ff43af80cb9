// What prompts are made of, as the flags say it.
#include "tests/unit/cmd/flags/parse_flags.hpp"

namespace driftless {
namespace {

// Text needs the tokenizer that counts it, and goes as text.
TEST(ReplayOptions, TakesADataset) {
    const ReplayOptions options = options_with(
        {"--dataset", "d.json", "--dataset-column", "answer", "--tokenizer", "t.json"});
    EXPECT_EQ(options.prompts.dataset, "d.json");
    EXPECT_EQ(options.prompts.dataset_column, "answer");
    EXPECT_TRUE(says(refusal_with({"--dataset", "d.json"}), "--dataset needs the model's --token"));
    EXPECT_TRUE(says(refusal_with({"--dataset-column", "c"}), "needs --dataset; give both"));
    EXPECT_TRUE(says(
        refusal_with(
            words_of("--dataset d.json --tokenizer t.json --prompt ids --api openai-completions")),
        "--prompt ids sends no"));
}

}  // namespace
}  // namespace driftless
