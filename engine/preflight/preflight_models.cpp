/// The part of the preflight that asks pages: the models, their limits, the server's cache blocks.
#include <algorithm>

#include "engine/preflight/hints.hpp"
#include "engine/preflight/preflight.hpp"
#include "proto/http/fields.hpp"
#include "proto/json/document.hpp"

namespace driftless {

namespace {

constexpr Duration ready_pause = milliseconds(500);
/// A question that is answered 429 is asked so often; the pauses between double from one second,
/// or are those of Retry-After, up to a limit.
constexpr int busy_tries = 5;
constexpr std::int64_t busy_pause_s_max = 30;
constexpr int status_busy = 429;
/// One that breaks off, or meets an error of the server, is asked so often, with `ready_pause`
/// between: a flaw that passes is no reason to send nothing, one that stays is said.
constexpr int broken_tries = 3;

bool is_loading(int status) {
    return status == 502 || status == 503 || status == 504;
}

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

Task<void> Preflight::pause(Duration length) {
    Signal over;
    Timer timer;
    timer.owner = &over;
    timer.handler = [](Timer& rung, Instant) { static_cast<Signal*>(rung.owner)->notify(); };
    asker_.loop().timers().set(timer, now() + length);
    co_await over.wait();
}

bool Preflight::patient() const {
    const Duration waited = now() - begun_;
    return plan_.wait_ready && waited < *plan_.wait_ready && !asker_.stopped();
}

/// A limit of requests: how long to wait before the question is asked for the next time.
Duration Preflight::busy_pause(int times) {
    const std::int64_t reported = count_in(header_value(asker_.reply().head, "retry-after"));
    const std::int64_t wanted = reported > 0 ? reported : std::int64_t{1} << (times - 1);
    if (!busy_noted_) {
        busy_noted_ = true;
        findings_.notes.push_back(
            "it answers 429 to the preflight, which waits and asks again: rows that get a 429 are "
            "not sent again");
    }
    return seconds(std::min(wanted, busy_pause_s_max));
}

/// Whether the server broke the question off, or failed at it.
bool Preflight::broke(bool answered) const {
    if (answered) {
        const int status = asker_.reply().status;
        return status >= 500 &&
               !(is_loading(status) && plan_.wait_ready);  // that has its own limit
    }
    const ErrorCode code = asker_.error().code;
    return code == ErrorCode::reset || code == ErrorCode::closed;
}

void Preflight::note_broken(bool answered) {
    if (!broken_noted_) {
        broken_noted_ = true;
        findings_.notes.push_back("warning: a question of the preflight " +
                                  (answered
                                       ? "was answered " + std::to_string(asker_.reply().status)
                                       : std::string("broke off")) +
                                  " and was asked again; rows that meet this fail");
    }
}

/// One question. A limit of requests is no answer to it: it is asked again, a few times. So is one
/// that the server breaks off or fails at, and under `--wait-ready` one of the rows' API while
/// nobody answers behind a gateway.
Task<bool> Preflight::fetch(const std::string& method, const std::string& path,
                            const std::string& body) {
    bool answered = false;
    int busy = 0;  // answers of 429
    int broken = 0;
    while (true) {  // bounded by `busy_tries`, `broken_tries` and `--wait-ready`
        answered = co_await asker_.fetch(method, path, body);
        const int status = answered ? asker_.reply().status : 0;
        Duration length = ready_pause;
        busy += status == status_busy ? 1 : 0;
        if (status == status_busy && busy < busy_tries && !asker_.stopped()) {
            length = busy_pause(busy);
        } else if (is_loading(status) && patient()) {
            // asked again for as long as the user said
        } else if (broke(answered) && ++broken < broken_tries && !asker_.stopped()) {
            note_broken(answered);
        } else {
            break;
        }
        co_await pause(length);
    }
    co_return answered;
}

/// `GET /v1/models`, again and again under `--wait-ready`, until it lists a model: gateways answer
/// before they have a worker. It need not be the one that the user named, which may be an alias
/// that is never listed. A server without that page is fine where the user named the model.
Task<bool> Preflight::ask_models() {
    bool answered = false;
    while (true) {  // bounded by `--wait-ready`
        answered = co_await fetch("GET", plan_.server.root_path + "/v1/models", "");
        const int status = answered ? asker_.reply().status : 0;
        if (status == 200) {
            read_models();
        }
        const bool ready = answered && status < 500 && (status != 200 || !findings_.models.empty());
        if (ready || !patient()) {
            break;
        }
        co_await pause(ready_pause);
    }
    if (!answered) {
        failure_.error = asker_.error();
        const std::string server = plan_.server.address.to_text();
        co_return fail((asker_.heard() ? "no whole answer to GET /v1/models came from " + server
                                       : "cannot reach " + server) +
                       ": " + asker_.why());
    }
    findings_.server = asker_.printable_words(header_value(asker_.reply().head, "server"));
    findings_.keep_alive = asker_.reply().limits;
    const auto& models = findings_.models;
    if (model().empty() && !models.empty()) {
        plan_.body.model = first_model_;
        findings_.model = models.front();
    } else if (model().empty() && plan_.dialect->names_model) {
        co_return fail_models();
    }
    const bool is_listed = std::find(models.begin(), models.end(), findings_.model) != models.end();
    if (!findings_.model.empty() && !models.empty() && !is_listed) {
        findings_.notes.push_back("the server does not list the model " + findings_.model);
    }
    co_return true;
}

void Preflight::read_models() {
    findings_.models.clear();
    JsonDocument document;
    const Result<JsonValue> root = document.parse(asker_.reply().body);
    if (!root) {
        return;
    }
    for (JsonValue entry = root.value().find("data").first(); entry.present();
         entry = entry.next()) {
        const auto id = entry.find("id").as_string();
        if (!id) {
            continue;
        }
        if (findings_.models.empty()) {
            first_model_ = *id;
        }
        const bool is_asked = model().empty() ? findings_.models.empty() : model() == *id;
        findings_.models.push_back(asker_.printable_words(*id));
        if (is_asked) {
            const std::int64_t slot = context_of(entry.find("meta").find("n_ctx"));  // llama.cpp
            const std::int64_t reported = first_context(
                entry, {"max_model_len", "context_window", "context_length", "max_context_length"});
            findings_.max_model_len = reported > 0 ? reported : slot;
            findings_.max_input_tokens = first_context(entry, {"max_input_tokens"});
            findings_.owned_by =
                asker_.printable_words(entry.find("owned_by").as_string().value_or(""));
        }
    }
}

/// The page on which some servers tell their context, each in its own words.
Task<void> Preflight::ask_info() {
    const std::string path = plan_.server.root_path + plan_.dialect->info_path;
    const bool answered = co_await asker_.fetch("GET", path, "");
    if (answered && asker_.reply().status == 200) {
        findings_.max_model_len = read_context(asker_.reply().body);
    }
}

/// The size of the cache's blocks, where nothing has reported it: vLLM's /metrics do.
Task<void> Preflight::ask_metrics() {
    if (findings_.server_block > 0 || !findings_.has_cached_tokens || asker_.stopped()) {
        co_return;
    }
    const bool answered = co_await asker_.fetch("GET", plan_.server.root_path + "/metrics", "");
    if (answered && asker_.reply().status == 200) {
        findings_.server_block = read_cache_block(asker_.reply().body);
        findings_.server_block_source = findings_.server_block > 0 ? "metrics" : "";
    }
}

/// The answer to `GET /v1/models` named no model: the server's words, and what may fix it.
bool Preflight::fail_models() {
    const Reply& reply = asker_.reply();
    JsonDocument document;
    failure_.status = reply.status;
    const std::string asked = "GET " + plan_.server.root_path + "/v1/models ";
    if (reply.status == 200 && lists_no_model(document, reply.body)) {
        const std::string wait =
            plan_.wait_ready ? ", also after --wait-ready" : ": --wait-ready T waits for one";
        return fail(asked + "lists no model" + wait +
                    "; name it with --model where the server never lists it");
    }
    const std::string encoding = asker_.printable_words(body_encoding(reply.head));
    const std::string words =
        asker_.printable_words(error_message_of(document, reply.body, reply.body.size()));
    const std::string leads = location();
    Refusal refusal{reply.status, words, leads, "/v1/models"};
    std::string said;
    std::string remedy;
    if (!encoding.empty()) {
        said = encoding;
        refusal.unreadable = Unreadable::encoded;
        remedy = remedy_for(refusal, {});
    } else if (reply.status == 200 && reply.body.starts_with('<')) {
        said = "a web page: " + words;
        remedy = "check --url, and what answers in front of the server";
    } else if (reply.status != 200 && !lacks_page(reply.status)) {
        said = words;
        remedy = remedy_for(refusal, {});
    }
    return fail(asked + "answered " + std::to_string(reply.status) +
                (said.empty() ? "" : " (" + said + ")") + " and named no model; " +
                (remedy.empty() ? "name it with --model, or check the URL" : remedy));
}

}  // namespace driftless
