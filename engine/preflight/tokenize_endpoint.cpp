#include "engine/preflight/tokenize_endpoint.hpp"

#include <string_view>

#include "engine/preflight/tokenize.hpp"

namespace driftless {

namespace {

/// First words of the table that are tried on a tokenize endpoint, two by two.
constexpr std::uint32_t words_tried = 6;

}  // namespace

Task<void> TokenizeEndpoint::find() {
    std::string_view missing;
    for (const TokenizeForm form : context_.plan.dialect->tokenize_forms) {
        if (missing == tokenize_path(form) || context_.asker.stopped()) {
            continue;
        }
        const bool understood = co_await try_form(form);
        if (understood) {
            context_.findings.tokenize = form;
            believed_ = true;
            co_return;
        }
        if (context_.asker.hung()) {
            break;  // an endpoint that hangs does so in each form, and each would take its time
        }
        const int status = context_.asker.reply().status;
        if (form != TokenizeForm::templated && (status == 404 || status == 405)) {
            missing = tokenize_path(form);
        }
    }
}

/// Two prompts of one word each: what both share in front is before the prompt, the rest behind it
/// (token-exact.md, section 9). A word that is split is passed over for the next ones.
Task<bool> TokenizeEndpoint::try_form(TokenizeForm form) {
    Asker& asker = context_.asker;
    bool split = false;
    for (std::uint32_t word = 0; word + 1 < words_tried && !asker.stopped(); word += 2) {
        const std::vector<std::int64_t> one =
            co_await asker.tokenize(form, context_.model, context_.plan.words->word(word));
        if (one.empty()) {
            co_return false;
        }
        const std::vector<std::int64_t> two =
            co_await asker.tokenize(form, context_.model, context_.plan.words->word(word + 1));
        const AroundWords around = compare_words(one, two);
        if (around.first_cost == 1 && around.second_cost == 1) {
            context_.findings.tokenize_overhead = around.overhead;
            prompts_.open_with(word);
            co_return true;
        }
        split = around.first_cost > 1 || around.second_cost > 1;
        if (!split) {
            break;  // it cannot tell two words apart
        }
    }
    if (split) {
        context_.note(std::string("/tokenize (") + name_of(form) +
                      ") counts more than one token for single words: not used");
    }
    co_return false;
}

bool TokenizeEndpoint::sees_template() const {
    return found() && driftless::sees_template(*context_.findings.tokenize, *context_.plan.dialect);
}

Task<std::vector<std::int64_t>> TokenizeEndpoint::ids_of(const std::string& prompt) {
    std::vector<std::int64_t> ids =
        co_await context_.asker.tokenize(*context_.findings.tokenize, context_.model, prompt);
    co_return ids;
}

std::int64_t TokenizeEndpoint::tokens_within(const std::vector<std::int64_t>& ids) const {
    const Overhead own = context_.findings.tokenize_overhead;
    return static_cast<std::int64_t>(ids.size()) - own.pre - own.post;
}

void TokenizeEndpoint::compare_ids(std::span<const std::uint32_t> words,
                                   std::span<const std::int64_t> ids) {
    const PreflightPlan& plan = context_.plan;
    const std::size_t begin = context_.findings.tokenize_overhead.pre + std::size_t{1};
    if (plan.word_ids.size() != plan.words->size() || ids.size() < begin + words.size()) {
        ids_agree_ = false;
        ids_differ_ = true;
        return;
    }
    bool equal = true;
    for (std::size_t i = 0; i < words.size(); ++i) {
        equal = equal && ids[begin + i] == std::int64_t{plan.word_ids[words[i]]};
    }
    ids_differ_ = ids_differ_ || !equal;
    ids_agree_ = !ids_differ_;
}

}  // namespace driftless
