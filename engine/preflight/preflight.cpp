#include "engine/preflight/preflight.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"
#include "proto/sse/events.hpp"
#include "proto/sse/scanner.hpp"

namespace driftless {

namespace {

constexpr std::size_t message_bytes_max = 256;
constexpr Duration ready_pause = milliseconds(500);
constexpr std::uint64_t words_seed = 1;
constexpr Duration turn_max = milliseconds(100);

/// Usage of an answer that may be a stream or one JSON text.
struct UsageReader {
    const Dialect& dialect;
    JsonDocument document;
    std::string joined;
    Usage usage;
    std::string error;

    void event(std::string_view block) {
        const SseEvent event = read_sse_event(block, joined);
        if (!event.has_data) {
            return;
        }
        const EventReading reading = dialect.read_event(document, event.name, event.data);
        if (reading.kind == EventReading::Kind::error) {
            error = std::string(reading.error_message);
        }
        usage.prompt_tokens = std::max(usage.prompt_tokens, reading.prompt_tokens);
        usage.completion_tokens = std::max(usage.completion_tokens, reading.completion_tokens);
        usage.cached_tokens = std::max(usage.cached_tokens, reading.cached_tokens);
    }
};

}  // namespace

Preflight::Preflight(Loop& loop, const PreflightPlan& plan)
    : loop_(loop), plan_(plan), inquiry_(loop) {
    CHECK(plan.dialect != nullptr && plan.words != nullptr);
    findings_.model = plan.body.model;
    findings_.ignore_eos = plan.body.ignore_eos;
}

bool Preflight::run() {
    loop_.jobs().spawn(all());
    while (!done_) {  // bounded by the timeouts of its requests
        if (stopped()) {
            inquiry_.cancel();
        }
        (void)loop_.turn(loop_.driver().now() + turn_max, Wait::sleep);
    }
    loop_.jobs().reap();
    return ok_;
}

/// The order of questions. Root job; ends in `done_`.
Task<void> Preflight::all() {
    bool going = co_await ask_models();
    if (going && plan_.body.prompt == PromptKind::text) {
        co_await ask_tokenize();
    }
    if (going) {
        going = co_await probe_one_word();
    }
    if (going) {
        going = co_await probe_all_words();
    }
    ok_ = going;
    done_ = true;
}

bool Preflight::stopped() const {
    return plan_.stop_requests != nullptr &&
           plan_.stop_requests->load(std::memory_order_relaxed) > 0;
}

std::string Preflight::request_bytes(const std::string& method, const std::string& path,
                                     const std::string& body) {
    RequestHeadSpec spec;
    spec.method = method;
    spec.target = path;
    spec.host = plan_.host;
    spec.headers = plan_.headers;
    const RequestHead head(spec);
    const std::string id = plan_.run_id + "-preflight-" + std::to_string(++asked_);
    std::string bytes(head.bytes_max(id.size()), '\0');
    bytes.resize(head.write(bytes.data(), id, body.size()));
    return bytes + body;
}

/// One request; false where no answer came, with the reason in `failure_`.
Task<bool> Preflight::fetch(const std::string& method, const std::string& path,
                            const std::string& body) {
    request_ = request_bytes(method, path, body);
    Result<Reply> reply = co_await inquiry_.ask(plan_.address, request_, plan_.timeout);
    if (!reply) {
        failure_.error = reply.error();
        failure_.status = 0;
        co_return false;
    }
    reply_ = std::move(reply).value();
    co_return true;
}

bool Preflight::fail(const std::string& what) {
    failure_.text = what;
    return false;
}

/// `GET /v1/models`, again and again under `--wait-ready`. A server without that page is fine where
/// the user named the model.
Task<bool> Preflight::ask_models() {
    const Instant begun = loop_.driver().now();
    const Duration patience = plan_.wait_ready.value_or(Duration{0});
    Signal pause;
    Timer timer;
    timer.owner = &pause;
    timer.handler = [](Timer& rung, Instant) { static_cast<Signal*>(rung.owner)->notify(); };
    bool answered = false;
    while (true) {  // bounded by `patience`
        answered = co_await fetch("GET", plan_.root_path + "/v1/models", "");
        const bool ready = answered && reply_.status < 500;
        const Instant now = loop_.driver().now();
        if (ready || stopped() || now - begun >= patience) {
            break;
        }
        loop_.timers().set(timer, now + ready_pause);
        co_await pause.wait();
    }
    if (!answered) {
        co_return fail("cannot reach " + plan_.address.to_text() + ": " + failure_.error.doing +
                       " failed (" + name_of(failure_.error.code) +
                       "); is the server up? --wait-ready T waits for it");
    }
    findings_.server = std::string(header_value(reply_.head, "server"));
    if (reply_.status == 200) {
        read_models();
    }
    if (findings_.model.empty()) {
        failure_.status = reply_.status;
        co_return fail("GET " + plan_.root_path + "/v1/models answered " +
                       std::to_string(reply_.status) +
                       " and named no model; name it with --model, or check the URL");
    }
    co_return true;
}

void Preflight::read_models() {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(reply_.body);
    if (!root) {
        return;
    }
    for (JsonValue model = root.value().find("data").first(); model.present();
         model = model.next()) {
        const auto id = model.find("id").as_string();
        if (!id) {
            continue;
        }
        findings_.models.emplace_back(*id);
        if (findings_.model.empty()) {
            findings_.model = std::string(*id);
        }
        if (findings_.model == *id) {
            findings_.max_model_len = model.find("max_model_len").as_i64().value_or(-1);
        }
    }
    const auto& models = findings_.models;
    if (!models.empty() &&
        std::find(models.begin(), models.end(), findings_.model) == models.end()) {
        findings_.notes.push_back("the server does not list the model " + findings_.model);
    }
}

/// Token ids of the prompt with one word, as the server would see it; empty where it has no such
/// endpoint, or says something else.
Task<std::vector<std::int64_t>> Preflight::tokenize(const std::string& word) {
    std::string body;
    JsonWriter json(body);
    json.begin_object().key("model").string(findings_.model);
    if (plan_.dialect->api == Api::openai_chat) {
        json.key("messages").begin_array().begin_object();
        json.key("role").string("user").key("content").string(word);
        json.end_object().end_array().key("add_generation_prompt").boolean(true);
    } else {
        json.key("prompt").string(word).key("add_special_tokens").boolean(true);
    }
    json.end_object();
    std::vector<std::int64_t> tokens;
    const bool answered = co_await fetch("POST", plan_.root_path + "/tokenize", body);
    if (!answered || reply_.status != 200) {
        co_return tokens;
    }
    JsonDocument document;
    const Result<JsonValue> root = document.parse(reply_.body);
    if (root) {
        for (JsonValue token = root.value().find("tokens").first(); token.present();
             token = token.next()) {
            tokens.push_back(token.as_i64().value_or(-1));
        }
    }
    co_return tokens;
}

/// Two prompts of one word each: what both share in front is before the prompt, the rest behind it
/// (token-exact.md, section 9).
Task<void> Preflight::ask_tokenize() {
    const std::vector<std::int64_t> one = co_await tokenize(std::string(plan_.words->word(0)));
    if (one.empty()) {
        co_return;
    }
    const std::vector<std::int64_t> two = co_await tokenize(std::string(plan_.words->word(1)));
    if (two.size() != one.size()) {
        findings_.notes.push_back("/tokenize counts two single words differently: not used");
        co_return;
    }
    std::uint32_t shared = 0;
    while (shared < one.size() && one[shared] == two[shared]) {
        ++shared;
    }
    if (shared >= one.size()) {
        findings_.notes.push_back("/tokenize cannot tell two words apart: not used");
        co_return;
    }
    findings_.has_tokenize = true;
    findings_.overhead.pre = shared;
    findings_.overhead.post = static_cast<std::uint32_t>(one.size()) - 1 - shared;
    findings_.overhead_source = "tokenize";
}

Preflight::Probe Preflight::read_probe() const {
    Probe probe;
    probe.status = reply_.status;
    UsageReader reader{*plan_.dialect, {}, {}, {}, {}};
    if (reply_.status != 200) {
        probe.message = error_message_of(reader.document, reply_.body, message_bytes_max);
        return probe;
    }
    EventScanner scanner;
    scanner.reset(plan_.dialect->framing);
    std::string_view rest = reply_.body;
    while (!rest.empty()) {  // ends: every cut takes a byte at least
        const std::size_t cut = scanner.next(rest);
        reader.event(rest.substr(0, cut == 0 ? rest.size() : cut));
        rest.remove_prefix(cut == 0 ? rest.size() : cut);
    }
    probe.usage = reader.usage;
    probe.message = reader.error;
    probe.ok = reader.error.empty();
    return probe;
}

/// One request with this prompt, exactly as the rows will be sent, for one token.
Task<Preflight::Probe> Preflight::probe(const std::string& prompt) {
    BodySpec spec = plan_.body;
    spec.model = findings_.model;
    spec.ignore_eos = findings_.ignore_eos;
    Probe probe;
    const Result<BodyFrame> frame = plan_.dialect->make_body_frame(spec);
    if (!frame) {
        probe.message = "--extra-body is no JSON object";
        co_return probe;
    }
    const BodyFrame& parts = frame.value();
    const std::string body =
        parts.before + prompt + parts.between + (parts.has_length ? "1" : "") + parts.after;
    const bool answered = co_await fetch("POST", plan_.api_path, body);
    if (!answered) {
        probe.message =
            std::string(failure_.error.doing) + " failed (" + name_of(failure_.error.code) + ")";
        co_return probe;
    }
    co_return read_probe();
}

bool Preflight::fail_answer(const std::string& what, const Probe& probe) {
    failure_.status = probe.status;
    failure_.text = "the " + what + " (POST " + plan_.api_path + ") ";
    failure_.text += probe.status > 0 ? "was answered " + std::to_string(probe.status) : "failed";
    failure_.text += probe.message.empty() ? "" : ": " + probe.message;
    if (probe.status == 404) {
        failure_.text += "; check --url, --endpoint, --api and --model";
    } else if (probe.status == 401 || probe.status == 403) {
        failure_.text += "; check --api-key or OPENAI_API_KEY";
    }
    return false;
}

/// The overhead by usage, and whether `ignore_eos` is taken.
Task<bool> Preflight::probe_one_word() {
    const std::string word(plan_.words->word(0));
    Probe one = co_await probe(word);
    if (one.status == 400 && findings_.ignore_eos && plan_.body.output == OutputRule::exact) {
        const std::string refusal = one.message;
        findings_.ignore_eos = false;
        one = co_await probe(word);
        if (one.ok) {
            findings_.notes.push_back("the server refuses ignore_eos (" + refusal +
                                      "): rows go without it and may end early");
        }
    }
    if (!one.ok) {
        co_return fail_answer("probe of one word", one);
    }
    findings_.probe_ns = (loop_.driver().now() - reply_.sent).ns;
    findings_.headers_before_token = reply_.headers < reply_.first_body;
    findings_.has_usage = one.usage.prompt_tokens >= 0;
    findings_.has_cached_tokens = one.usage.cached_tokens >= 0;
    if (plan_.overhead) {
        findings_.overhead = *plan_.overhead;
        findings_.overhead_source = "flag";
    }
    const std::int64_t counted = one.usage.prompt_tokens - 1;
    const std::int64_t known = findings_.overhead.pre + findings_.overhead.post;
    if (!findings_.has_usage) {
        findings_.notes.push_back("the server sends no usage: prompt counts cannot be verified");
    } else if (findings_.overhead_source.empty()) {
        findings_.overhead = {static_cast<std::uint32_t>(std::max<std::int64_t>(counted, 0)), 0};
        findings_.overhead_source = "usage";
    } else if (counted != known) {
        findings_.notes.push_back("usage counts an overhead of " + std::to_string(counted) +
                                  " tokens, " + findings_.overhead_source + " says " +
                                  std::to_string(known));
    }
    if (findings_.overhead_source.empty()) {
        findings_.overhead_source = "none";
    }
    co_return true;
}

std::string Preflight::all_words(std::uint64_t seed) const {
    const WordTable& words = *plan_.words;
    std::vector<std::uint32_t> order(words.size());
    std::iota(order.begin(), order.end(), 0u);
    Random random(seed);
    for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[random.below(i)]);
    }
    // The first word of a prompt comes from those that are safe there.
    const std::uint32_t first_safe = 1u << words.first_bits();
    const auto safe = std::find_if(order.begin(), order.end(),
                                   [&](std::uint32_t word) { return word < first_safe; });
    std::iter_swap(order.begin(), safe);
    std::string prompt(words.word(order[0]));
    for (std::size_t i = 1; i < order.size(); ++i) {
        prompt += words.separator();
        prompt += words.word(order[i]);
    }
    return prompt;
}

/// Every word once: each must count as one token.
Task<bool> Preflight::probe_all_words() {
    if (!findings_.has_usage) {
        co_return true;
    }
    const std::int64_t size = plan_.words->size();
    const std::int64_t overhead = findings_.overhead.pre + findings_.overhead.post;
    if (findings_.max_model_len >= 0 && findings_.max_model_len < size + overhead + 1) {
        findings_.notes.push_back("the model's context is too short to probe all words at once");
        co_return true;
    }
    const std::string prompt = all_words(words_seed);
    const Probe all = co_await probe(prompt);
    if (!all.ok) {
        co_return fail_answer("probe of all words", all);
    }
    findings_.words_asked = size;
    findings_.words_counted = all.usage.prompt_tokens - overhead;
    findings_.words_exact = findings_.words_counted == size;
    co_return true;
}

}  // namespace driftless
