#include "cmd/replay/server/chosen_words.hpp"

#include <cstdio>
#include <string>
#include <utility>

#include "cmd/replay/workload/dataset.hpp"
#include "cmd/screen/guard.hpp"
#include "engine/prompt/load_tokenizer.hpp"

namespace driftless {

OrExit<ChosenWords> choose_words(const PromptFlags& prompts) {
    if (prompts.tokenizer.empty()) {
        return ChosenWords();
    }
    std::string why;
    Result<Tokenizer> tokenizer = load_tokenizer(prompts.tokenizer, why);
    Result<SelectedWords> selected =
        tokenizer ? select_words(tokenizer.value(), prompts.tokenizer, why) : tokenizer.error();
    if (!selected) {
        complain("driftless: --tokenizer %s%s", why.c_str(),
                 selected.error().code == ErrorCode::not_found
                     ? ""
                     : "; without --tokenizer, built-in words are used and checked on the "
                       "server before the run");
        return exit_input;
    }
    const WordFigures& figures = selected.value().figures;
    print_line("words: the %zu shortest of %zu that are one token each in %s (%s, %zu tokens)",
               figures.words, figures.strict, prompts.tokenizer.c_str(), figures.kind.c_str(),
               figures.vocabulary);
    ChosenWords words;
    if (const auto chat = read_chat_template(tokenizer_file(prompts.tokenizer))) {
        words.template_splits =
            measure_guesses(guess_template(*chat), tokenizer.value(), selected.value().table);
    }
    if (!prompts.dataset.empty()) {
        OrExit<LoadedCorpus> text = choose_text(prompts, tokenizer.value(), selected.value().table);
        if (!text) {
            return text.exit_code();
        }
        words.text.emplace(std::move(text).value());
    }
    words.selected.emplace(std::move(selected).value());
    return words;
}

}  // namespace driftless
