#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "engine/server/findings.hpp"
#include "engine/server/preflight.hpp"
#include "engine/server/probe.hpp"
#include "engine/server/tokenize.hpp"
#include "proto/http/fields.hpp"
#include "proto/json/document.hpp"

namespace driftless {

namespace {

/// A server without a page of models; the page cannot be asked for in another way.
bool lacks_page(int status) {
    return status == 404 || status == 405 || status == 410 || status == 422 || status == 501;
}

/// The first of the members that holds a number of tokens; -1: none.
std::int64_t first_context(const JsonValue& entry, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (const std::int64_t tokens = context_of(entry.find(name)); tokens > 0) {
            return tokens;
        }
    }
    return -1;
}

}  // namespace

Task<bool> ServerPages::ask_models() {
    PreflightFindings& found = context_.findings;
    Asker& asker = context_.asker;
    bool answered = false;
    while (true) {  // bounded by `--wait-ready`
        answered =
            co_await retrying_.fetch("GET", context_.plan.server.root_path + "/v1/models", "");
        const int status = answered ? asker.reply().status : 0;
        if (status == 200) {
            read_models();
        }
        const bool ready = answered && status < 500 && (status != 200 || !found.models.empty());
        if (ready || !retrying_.patient()) {
            break;
        }
        co_await retrying_.pause(RetryingAsker::ready_pause);
    }
    if (!answered) {
        context_.failure.error = asker.error();
        const std::string server = context_.plan.server.address.to_text();
        const std::string asked = " answer to GET /v1/models came from " + server;
        co_return context_.fail((asker.heard()     ? "no complete" + asked
                                 : asker.reached() ? "no" + asked
                                                   : "cannot reach " + server) +
                                ": " + asker.why());
    }
    found.server = asker.printable_words(header_value(asker.reply().head, "server"));
    found.keep_alive = asker.reply().limits;
    co_return choose_model();
}

/// The first of the list, where the user named none. False: there is none to choose.
bool ServerPages::choose_model() {
    PreflightFindings& found = context_.findings;
    const auto& models = found.models;
    if (context_.model.empty() && !models.empty()) {
        context_.model = first_model_;
        found.model = models.front();
    } else if (context_.model.empty() && context_.plan.dialect->names_model) {
        return fail_models();
    }
    const bool is_listed = std::find(models.begin(), models.end(), found.model) != models.end();
    if (!found.model.empty() && !models.empty() && !is_listed) {
        context_.note("the server does not list the model " + found.model);
    }
    return true;
}

void ServerPages::read_models() {
    PreflightFindings& found = context_.findings;
    Asker& asker = context_.asker;
    found.models.clear();
    JsonDocument document;
    const Result<JsonValue> root = document.parse(asker.reply().body);
    if (!root) {
        return;
    }
    for (JsonValue entry = root.value().find("data").first(); entry.present();
         entry = entry.next()) {
        const auto id = entry.find("id").as_string();
        if (!id) {
            continue;
        }
        if (found.models.empty()) {
            first_model_ = *id;
        }
        const bool is_asked = context_.model.empty() ? found.models.empty() : context_.model == *id;
        found.models.push_back(asker.printable_words(*id));
        if (is_asked) {
            const std::int64_t slot = context_of(entry.find("meta").find("n_ctx"));  // llama.cpp
            const std::int64_t reported = first_context(
                entry, {"max_model_len", "context_window", "context_length", "max_context_length"});
            found.max_model_len = reported > 0 ? reported : slot;
            found.max_input_tokens = first_context(entry, {"max_input_tokens"});
            found.owned_by = asker.printable_words(entry.find("owned_by").as_string().value_or(""));
        }
    }
}

Task<void> ServerPages::ask_info() {
    const PreflightPlan& plan = context_.plan;
    Asker& asker = context_.asker;
    if (context_.findings.max_model_len >= 0 || plan.dialect->info_path[0] == '\0') {
        co_return;
    }
    const std::string path = plan.server.root_path + plan.dialect->info_path;
    const bool answered = co_await asker.fetch("GET", path, "");
    if (answered && asker.reply().status == 200) {
        context_.findings.max_model_len = read_context(asker.reply().body);
    }
}

Task<void> ServerPages::ask_metrics() {
    PreflightFindings& found = context_.findings;
    Asker& asker = context_.asker;
    if (found.server_block > 0 || !found.has_cached_tokens || asker.stopped()) {
        co_return;
    }
    const bool answered =
        co_await asker.fetch("GET", context_.plan.server.root_path + "/metrics", "");
    if (answered && asker.reply().status == 200) {
        found.server_block = read_cache_block(asker.reply().body);
        found.server_block_source = found.server_block > 0 ? "metrics" : "";
    }
}

/// The answer to `GET /v1/models` named no model: the server's words, and what may fix it.
bool ServerPages::fail_models() {
    Asker& asker = context_.asker;
    const Reply& reply = asker.reply();
    JsonDocument document;
    context_.failure.status = reply.status;
    const std::string asked = "GET " + context_.plan.server.root_path + "/v1/models ";
    if (reply.status == 200 && lists_no_model(document, reply.body)) {
        const std::string wait = context_.plan.wait_ready ? ", also after --wait-ready"
                                                          : ": --wait-ready T waits for one";
        return context_.fail(asked + "lists no model" + wait +
                             "; name it with --model if the server never lists it");
    }
    const std::string encoding = asker.printable_words(body_encoding(reply.head));
    const std::string words =
        asker.printable_words(error_message_of(document, reply.body, reply.body.size()));
    const std::string leads = asker.location();
    Refusal refusal{reply.status, words, leads, "/v1/models"};
    std::string said;
    std::string remedy;
    if (!encoding.empty()) {
        said = encoding;
        refusal.unreadable = Unreadable::encoded;
        remedy = remedy_for(refusal, {});
    } else if (reply.status == 200 && reply.body.starts_with('<')) {
        said = "a web page: " + words;
        remedy = "check --url and any proxy in front of the server";
    } else if (reply.status != 200 && !lacks_page(reply.status)) {
        said = words;
        remedy = remedy_for(refusal, {});
    }
    if (reply.status == 400 && remedy.empty()) {
        remedy = "the server refuses the request itself: check --url, and each --header";
    }
    return context_.fail(asked + "answered " + std::to_string(reply.status) +
                         (said.empty() ? "" : " (" + said + ")") + " and named no model; " +
                         (remedy.empty() ? "name it with --model, or check the URL" : remedy));
}

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
