/// What prompts count as: the tokenize endpoint, the overhead around a prompt and its split, and
/// the words that are one token each. Usage is the truth: where the endpoint counts words
/// otherwise, it is believed no more.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/server/preflight.hpp"
#include "engine/server/word_search.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

/// First words of the table that are tried on a tokenize endpoint, two by two.
static constexpr std::uint32_t words_tried = 6;

/// Two prompts of one word each: what both share in front is before the prompt, the rest behind it
/// (token-exact.md, section 9). A word that is split is passed over for the next ones.
static Task<bool> try_form(PreflightContext& context, TokenizeForm form) {
    Asker& asker = context.asker;
    bool split = false;
    for (std::uint32_t word = 0; word + 1 < words_tried; word += 2) {
        const std::vector<std::int64_t> one =
            co_await asker.tokenize(form, context.model, context.plan.words->word(word));
        if (one.empty()) {
            co_return false;
        }
        const std::vector<std::int64_t> two =
            co_await asker.tokenize(form, context.model, context.plan.words->word(word + 1));
        const AroundWords around = compare_words(one, two);
        if (around.first_cost == 1 && around.second_cost == 1) {
            context.findings.tokenize_overhead = around.overhead;
            context.prompts.open_with(word);
            co_return true;
        }
        split = around.first_cost > 1 || around.second_cost > 1;
        if (!split) {
            break;  // it cannot tell two words apart
        }
    }
    if (split) {
        context.note(std::string("/tokenize (") + name_of(form) +
                     ") counts more than one token for single words: not used");
    }
    co_return false;
}

Task<void> find_tokenize(PreflightContext& context) {
    std::string_view missing;
    for (const TokenizeForm form : context.plan.dialect->tokenize_forms) {
        if (missing == tokenize_path(form)) {
            continue;
        }
        const bool understood = co_await try_form(context, form);
        if (understood) {
            context.findings.tokenize = form;
            context.tokenize_believed = true;
            co_return;
        }
        if (context.asker.hung()) {
            break;  // an endpoint that hangs does so in each form, and each would take its time
        }
        const int status = context.asker.reply().status;
        if (form != TokenizeForm::templated && (status == 404 || status == 405)) {
            missing = tokenize_path(form);
        }
    }
}

/// The tokenize endpoint was found, and sees what the API puts around a prompt, too.
static bool sees_template(const PreflightContext& context) {
    const std::optional<TokenizeForm>& form = context.findings.tokenize;
    return form && sees_template(*form, *context.plan.dialect);
}

/// So many ids without those that the endpoint puts around a text.
static std::int64_t tokens_within(const PreflightContext& context,
                                  std::span<const std::int64_t> ids) {
    const Overhead own = context.findings.tokenize_overhead;
    return static_cast<std::int64_t>(ids.size()) - own.pre - own.post;
}

/// Words whose counts are compared where only usage tells the overhead.
static constexpr std::uint32_t words_compared = 8;
/// Copies of one word that tell its cost: seven more than the word alone.
static constexpr std::uint32_t copies = 8;
namespace {

/// What was counted for a prompt of this word alone.
struct Single {
    std::int64_t tokens = 0;
    std::uint32_t word = 0;
};

}  // namespace

/// The first of the words whose count two words share; of several counts the smallest: a word that
/// costs two tokens at the beginning makes the template look longer, and never shorter.
static std::optional<Single> smallest_shared(std::span<const Single> singles) {
    std::optional<Single> found;
    for (std::size_t i = 0; i < singles.size(); ++i) {
        const auto same = [&](const Single& one) { return one.tokens == singles[i].tokens; };
        const bool shared = std::count_if(singles.begin(), singles.end(), same) > 1;
        if (shared && (!found || singles[i].tokens < found->tokens)) {
            found = singles[i];
        }
    }
    return found;
}

/// Nothing counts a prompt: what the tokenize endpoint puts around one, if it sees that.
static void take_uncounted(PreflightContext& context) {
    PreflightFindings& found = context.findings;
    const bool sees = sees_template(context);
    found.overhead = sees ? found.tokenize_overhead : Overhead{};
    found.overhead_source = sees ? "tokenize" : "none";
    found.split_known = sees;
    found.split_source = sees ? "tokenize" : "none";
    context.around = std::int64_t{found.overhead.pre} + found.overhead.post;
}

/// `--overhead`, and a warning where usage counts another sum.
static void take_given(PreflightContext& context, const Overhead& overhead) {
    PreflightFindings& found = context.findings;
    const std::int64_t given = std::int64_t{overhead.pre} + overhead.post;
    if (found.has_usage && given != context.around) {
        context.note("warning: usage counts an overhead of " + std::to_string(context.around) +
                     " tokens, --overhead says " + std::to_string(given) +
                     "; no prompt will have its recorded length; remove --overhead");
    }
    found.overhead = overhead;
    found.overhead_source = "flag";
    found.split_known = true;
    found.split_source = "flag";
}

/// The split that the chat template beside the tokenizer shows, where its tokens are exactly those
/// that usage counts.
static bool split_by_template(PreflightContext& context, std::uint32_t tokens) {
    const std::span<const TemplateSplit> splits = context.plan.template_splits;
    if (splits.empty() || !context.plan.dialect->templated || tokens == 0) {
        return false;
    }
    const std::optional<TemplateSplit> found = split_of(splits, tokens);
    if (!found) {
        const Overhead& first = splits.front().around;
        context.note("the chat template next to --tokenizer (" +
                     std::string(splits.front().family) + ") puts " + std::to_string(first.pre) +
                     "+" + std::to_string(first.post) +
                     " tokens around a prompt and usage counts " + std::to_string(tokens) +
                     "; its split is not used");
        return false;
    }
    context.findings.overhead = found->around;
    context.findings.split_known = true;
    context.findings.split_source = "chat_template";
    return true;
}

/// `around` tokens by usage; their split by /tokenize where it agrees, else by the chat template,
/// else by the model's name.
static void take_overhead(PreflightContext& context, std::int64_t around) {
    PreflightFindings& found = context.findings;
    context.around = around;
    const auto tokens = static_cast<std::uint32_t>(around);
    found.overhead_source = "usage";
    const bool sees = sees_template(context);
    if (!sees && split_by_template(context, tokens)) {
        return;
    }
    if (!sees) {
        found.overhead =
            split_overhead(*context.plan.dialect, context.model, tokens, found.split_known);
        found.split_source = found.split_known ? "model" : "none";
        return;
    }
    const Overhead reported = found.tokenize_overhead;
    const std::uint32_t post = std::min(reported.post, tokens);
    found.overhead = {tokens - post, post};
    found.split_known = reported.pre + reported.post == tokens;
    found.split_source = found.split_known ? "tokenize" : "none";
    if (found.split_known) {
        found.overhead_source = "tokenize";
    } else {
        context.note("usage counts an overhead of " + std::to_string(around) +
                     " tokens, /tokenize one of " + std::to_string(reported.pre + reported.post) +
                     ": using that of usage");
    }
}

/// No two words agree on the overhead: is it the words, or does the server waver?
static Task<bool> reject_words(PreflightContext& context, std::int64_t counted, std::int64_t many) {
    PreflightFindings& found = context.findings;
    found.words = WordVerdict::too_few;
    for (int again = 0; again < 2; ++again) {
        std::int64_t single = 0;
        const bool going = co_await context.count(context.prompts.one_word(), single);
        if (!going) {
            co_return false;
        }
        found.words = single == counted ? found.words : WordVerdict::varies;
    }
    found.words_asked = copies;
    found.words_counted = many - counted + 1;
    co_return true;
}

/// By usage alone, a word that costs two tokens looks like a longer template. So words are asked
/// once and eight times: one that grows by seven costs one token behind another, and two such words
/// that leave the same rest agree on the overhead. Of a table that is not known to hold at the
/// beginning of a prompt, all are asked before the smallest rest is believed.
static Task<bool> agree_on_overhead(PreflightContext& context, std::int64_t counted) {
    std::vector<Single> singles;
    std::int64_t many = 0;
    const bool built_in = context.plan.words == &WordTable::built_in();
    const std::uint32_t words = std::min(words_compared, context.plan.words->openers());
    const std::uint32_t first = context.prompts.opener();
    std::optional<Single> agreed;
    for (std::uint32_t word = 0; word < words && !(built_in && agreed); ++word) {
        context.prompts.open_with(first + word);
        std::int64_t single = counted;
        bool going = true;
        if (word > 0) {
            going = co_await context.count(context.prompts.one_word(), single);
        }
        if (going) {
            const std::vector<std::uint32_t> same(copies - 1, context.prompts.opener());
            going = co_await context.count(context.prompts.prompt_of(same), many);
        }
        if (!going) {
            co_return false;
        }
        if (single >= 1 && many - single == copies - 1) {
            singles.push_back({single, context.prompts.opener()});
        }
        agreed = smallest_shared(singles);
    }
    if (agreed) {
        context.prompts.open_with(built_in ? context.prompts.opener() : agreed->word);
        take_overhead(context, agreed->tokens - 1);
        co_return true;
    }
    context.prompts.open_with(first);
    const bool going = co_await reject_words(context, counted, many);
    co_return going;
}

Task<bool> settle_overhead(PreflightContext& context, std::int64_t counted) {
    bool going = true;
    if (!context.findings.has_usage) {
        take_uncounted(context);
    } else if (context.findings.tokenize) {  // the word is known to be one token
        take_overhead(context, counted - 1);
    } else {
        going = co_await agree_on_overhead(context, counted);
    }
    if (context.plan.overhead) {
        take_given(context, *context.plan.overhead);
    }
    co_return going;
}

void assume_bos(PreflightContext& context) {
    PreflightFindings& found = context.findings;
    if (!found.split_known && context.around == 1 && !context.plan.dialect->templated) {
        found.split_known = true;
        found.split_source = "bos";
    }
}

/// Questions of fewer words than this tell too little.
static constexpr std::uint32_t words_at_once_min = 16;

/// Words of one question: what the context surely holds, if every word should cost two tokens.
static std::uint32_t words_at_once(const PreflightContext& context) {
    const std::int64_t room = (context.findings.prompt_tokens_max() - context.around - 1) / 2;
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(room, 0, context.plan.words->size()));
}

/// Compares the ids of a prompt of these words with those of the tokenizer that they come from.
static void compare_ids(PreflightContext& context, std::span<const std::uint32_t> words,
                        std::span<const std::int64_t> ids) {
    const PreflightPlan& plan = context.plan;
    const std::size_t begin = context.findings.tokenize_overhead.pre + std::size_t{1};
    if (plan.word_ids.size() != plan.words->size() || ids.size() < begin + words.size()) {
        context.ids_agree = false;
        return;
    }
    bool equal = context.ids_agree.value_or(true);
    for (std::size_t i = 0; i < words.size(); ++i) {
        equal = equal && ids[begin + i] == std::int64_t{plan.word_ids[words[i]]};
    }
    context.ids_agree = equal;
}

/// The endpoint has stopped reporting tokens: usage counts alone. False: the preflight has failed,
/// since there is none.
static bool go_without_tokenize(PreflightContext& context) {
    const std::string stopped =
        "/tokenize stopped reporting tokens (" + context.asker.status_or_why() + "): ";
    if (!context.findings.has_usage) {
        return context.fail(stopped +
                            "nothing else can count the words; --no-preflight skips this check");
    }
    context.tokenize_believed = false;
    context.note(stopped + "using only usage");
    return true;
}

/// Whole orders go the way of the rows, halves of bad groups to /tokenize while it agrees.
static Task<bool> count_words(PreflightContext& context, std::span<const std::uint32_t> words,
                              bool whole, std::int64_t& tokens) {
    const std::string prompt = context.prompts.prompt_of(words);
    std::vector<std::int64_t> ids;
    if (context.tokenize_believed) {
        ids = co_await context.asker.tokenize(*context.findings.tokenize, context.model, prompt);
        if (ids.empty() && !go_without_tokenize(context)) {
            co_return false;
        }
    }
    const bool by_usage = context.findings.has_usage && (whole || !context.tokenize_believed);
    if (by_usage) {
        const bool going = co_await context.count(prompt, tokens);
        if (!going) {
            co_return false;
        }
        tokens -= context.around + 1;
    }
    if (!context.tokenize_believed) {
        co_return true;
    }
    if (whole) {
        compare_ids(context, words, ids);
    }
    const std::int64_t reported = tokens_within(context, ids) - 1;
    if (!by_usage) {
        tokens = reported;
    } else if (reported != tokens) {
        context.tokenize_believed = false;
        context.note("/tokenize counts " + std::to_string(reported) + " tokens for " +
                     std::to_string(words.size()) + " words, usage " + std::to_string(tokens) +
                     ": using that of usage");
    }
    co_return true;
}

static void take_result(PreflightContext& context, const WordSearch& search) {
    PreflightFindings& found = context.findings;
    found.words = search.verdict();
    found.words_asked = search.first_words();
    found.words_counted = search.first_tokens();
    found.word_questions = search.questions();
    found.joins = search.joins();
    found.dropped = search.dropped();
    for (const std::uint32_t word : found.dropped) {
        found.dropped_words.emplace_back(context.plan.words->word(word));
    }
}

Task<bool> check_words(PreflightContext& context) {
    if (context.findings.words != WordVerdict::not_asked ||
        (!context.findings.has_usage && !context.findings.tokenize)) {
        co_return true;
    }
    WordSearchLimits limits;
    limits.words_min = WordTable::words_min;
    limits.group_words_max = words_at_once(context);
    if (limits.group_words_max < words_at_once_min) {
        context.note("the model's context is too short to probe the words");
        co_return true;
    }
    WordSearch search(context.plan.words->size(), limits);
    while (!search.question().empty()) {
        std::int64_t tokens = 0;
        const bool whole = search.is_whole();
        const bool going = co_await count_words(context, search.question(), whole, tokens);
        if (!going) {
            co_return false;
        }
        search.take(tokens);
    }
    take_result(context, search);
    co_return true;
}

/// A table is proven where every word of the built-in list is one token behind another word: its
/// openers were then one token in front, too, in all vocabularies that were measured. A table from
/// a tokenizer is proven where the server makes the very ids of it.
static bool is_proven(const PreflightContext& context) {
    const bool built_in = context.plan.words == &WordTable::built_in();
    return (built_in && context.findings.words == WordVerdict::exact) ||
           context.ids_agree.value_or(false);
}

/// Tokens of one word as a whole prompt: by /tokenize where it sees what rows will have in front of
/// it, else by usage.
static Task<bool> count_first_word(PreflightContext& context, std::uint32_t word,
                                   std::int64_t& tokens) {
    const std::string prompt(context.plan.words->word(word));
    const bool sees = sees_template(context) || !context.findings.has_usage;
    if (context.tokenize_believed && sees) {
        const std::vector<std::int64_t> ids =
            co_await context.asker.tokenize(*context.findings.tokenize, context.model, prompt);
        tokens = tokens_within(context, ids);
        if (!ids.empty() || !go_without_tokenize(context)) {
            co_return !ids.empty();
        }
    }
    const bool going = co_await context.count(prompt, tokens);
    tokens -= context.around;
    co_return going;
}

Task<bool> check_first_words(PreflightContext& context) {
    PreflightFindings& found = context.findings;
    if (!found.has_words() || context.plan.body.prompt != PromptKind::text || is_proven(context)) {
        co_return true;
    }
    FirstWords first(context.prompts.words_without(found.dropped));
    while (const std::optional<std::uint32_t> word = first.question()) {
        std::int64_t tokens = 0;
        const bool going = co_await count_first_word(context, *word, tokens);
        if (!going) {
            co_return false;
        }
        first.take(tokens);
    }
    found.first_words = first.safe();
    found.first_words_asked = first.asked();
    if (first.safe().size() < FirstWords::safe_min) {
        found.words = WordVerdict::no_first;
    }
    co_return true;
}

/// Words that the prompts share: more than two blocks of 512 tokens.
static constexpr std::uint32_t shared_words_max = 1100;
static constexpr std::uint32_t shared_words_min = 32;
/// Words behind the shared ones.
static constexpr std::uint32_t own_words = 8;
/// Prompts that had to be sent again, after which nothing is found.
static constexpr int repeated_max = 4;

/// A prompt whose first `shared` of so many words are the same in each, and whose word behind them
/// is another one each time. No other run has the same.
static std::string shared_prompt(PreflightContext& context, std::uint32_t shared,
                                 std::uint32_t words) {
    const std::vector<std::uint32_t> kept = context.prompts.words_without(context.findings.dropped);
    Digest run;
    run.add(context.plan.server.run_id);
    Random same(run.value());
    Random own(run.value() + ++context.shared_prompts);
    std::vector<std::uint32_t> drawn;
    for (std::uint32_t i = 0; i + 1 < words; ++i) {
        const std::uint64_t common = same.below(kept.size());
        // The opening word is the first of them.
        const std::uint64_t index = i + 1 < shared ? common
                                    : i + 1 == shared
                                        ? (common + context.shared_prompts) % kept.size()
                                        : own.below(kept.size());
        drawn.push_back(kept[index]);
    }
    return context.prompts.prompt_of(drawn);
}

static Task<bool> ask_cache(PreflightContext& context, std::uint32_t words, SplitSearch& search,
                            bool repeats_first) {
    const std::string longest = shared_prompt(context, words, words + own_words);
    const Probe first = co_await context.send(longest);
    bool going = first.ok;
    int repeated = 0;
    while (going && search.question()) {
        if (repeats_first) {
            (void)co_await context.send(longest);
        }
        const std::string prompt = shared_prompt(context, *search.question(), words + own_words);
        const Probe next = co_await context.send(prompt);
        if (next.repeated) {  // what is cached may be its own first try
            going = next.ok && ++repeated < repeated_max;
        } else {
            going = next.ok;
            search.take(next.cached_tokens);
        }
    }
    const bool found = going && search.verdict() == SplitSearch::Verdict::found;
    co_return found;
}

/// Asks for prompts that share their first words. False where it cannot be asked, or is not found.
/// Where the counts contradict each other it asks once more, and repeats the first prompt before
/// each question: a slot of llama.cpp holds its latest prompt alone.
static Task<bool> search_cache(PreflightContext& context, std::uint32_t words,
                               SplitSearch& search) {
    const SplitSearch fresh = search;
    bool found = co_await ask_cache(context, words, search, false);
    if (search.verdict() == SplitSearch::Verdict::varies) {
        search = fresh;
        found = co_await ask_cache(context, words, search, true);
    }
    co_return found;
}

/// Words that prompts can share and be counted in; 0: none, or too few to tell anything.
static std::uint32_t words_to_share(const PreflightContext& context) {
    const PreflightFindings& found = context.findings;
    const std::int64_t room = found.prompt_tokens_max() - context.around - own_words;
    const bool fits = room >= std::int64_t{shared_words_min};
    return found.has_cached_tokens && found.has_words() && fits
               ? static_cast<std::uint32_t>(std::min<std::int64_t>(room, shared_words_max))
               : 0;
}

static void take_block(PreflightContext& context, const SplitSearch& search) {
    context.findings.server_block = search.block();
    context.findings.server_block_source = "cached_tokens";
}

Task<void> find_split(PreflightContext& context) {
    const std::uint32_t words = words_to_share(context);
    if (context.findings.split_known || context.around <= 0 || words == 0) {
        co_return;
    }
    SplitSearch search(words, 0, static_cast<std::uint32_t>(context.around));
    const bool found = co_await search_cache(context, words, search);
    if (!found) {
        co_return;
    }
    context.findings.overhead = {search.pre(),
                                 static_cast<std::uint32_t>(context.around) - search.pre()};
    context.findings.split_known = true;
    context.findings.split_source = "cached_tokens";
    take_block(context, search);
}

Task<void> find_block(PreflightContext& context) {
    const std::uint32_t words = words_to_share(context);
    const bool known = context.findings.server_block > 0 || context.plan.server_block_known;
    if (known || !context.findings.split_known || words == 0) {
        co_return;
    }
    SplitSearch search(words, context.findings.overhead.pre, context.findings.overhead.pre);
    const bool found = co_await search_cache(context, words, search);
    if (found) {
        take_block(context, search);
    }
}

}  // namespace driftless
