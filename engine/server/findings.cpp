#include "engine/server/findings.hpp"

#include <algorithm>

#include "engine/io/tls.hpp"
#include "engine/record/row_state.hpp"
#include "proto/core/text.hpp"
#include "proto/http/fields.hpp"
#include "proto/http/sse.hpp"

namespace driftless {

std::string ProbePrompts::prompt_of(std::span<const std::uint32_t> words) const {
    std::string prompt = one_word();
    for (const std::uint32_t word : words) {
        prompt += words_.separator();
        prompt += words_.word(word);
    }
    return prompt;
}

std::vector<std::uint32_t> ProbePrompts::words_without(
    std::span<const std::uint32_t> dropped) const {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t word = 0; word < words_.size(); ++word) {
        if (!std::binary_search(dropped.begin(), dropped.end(), word)) {
            kept.push_back(word);
        }
    }
    return kept;
}

/// The events of a body that are whole: where it was cut, the last one may not be.
static std::string_view whole_events(Framing framing, std::string_view body) {
    EventScanner scanner;
    scanner.reset(framing);
    std::size_t read = 0;
    while (const std::size_t cut = scanner.next(body.substr(read))) {  // ends: a byte at least
        read += cut;
    }
    return body.substr(0, read);
}

/// What keeps rows from being read, where anything does: said by the head, or seen in the body.
static Unreadable find_unreadable(const Dialect& dialect, Framing framing, const Reply& reply,
                                  JsonDocument& document) {
    if (!body_encoding(reply.head).empty()) {
        return Unreadable::encoded;
    }
    const std::string_view type = header_value(reply.head, "content-type");
    const bool streams = is_event_stream(type) || begins_event_stream(reply.body) == true;
    if (framing == Framing::whole) {
        return streams ? Unreadable::not_whole : Unreadable::no;
    }
    if (framing != Framing::sse) {
        return Unreadable::no;
    }
    const EventReading whole = dialect.read(document, {}, reply.body);
    if (whole.kind == EventReading::Kind::delta && (whole.token_bearing || whole.has_usage)) {
        return Unreadable::not_a_stream;
    }
    return streams ? Unreadable::no : Unreadable::foreign;
}

/// The answer as a row's would be read (assembler.hpp).
static AnswerState read_answer(const Dialect& dialect, Framing framing, std::string_view body,
                               JsonDocument& document) {
    AnswerState answer;
    answer.is_whole = framing == Framing::whole;
    EventScanner scanner;
    scanner.reset(framing);
    std::string joined;
    while (!body.empty()) {  // ends: every cut takes a byte at least
        const std::size_t next = scanner.next(body);
        const std::string_view cut = body.substr(0, next == 0 ? body.size() : next);
        const SseEvent event = read_cut_event(framing, cut, joined);
        if (event.has_data) {
            answer.take(dialect.read(document, event.name, event.data), event.data, ReadAt{});
        }
        body.remove_prefix(cut.size());
    }
    return answer;
}

/// The same in words: the encoding; what the server says in the body; the type.
static std::string words_of(Unreadable unreadable, const Reply& reply, JsonDocument& document) {
    const std::string type(header_value(reply.head, "content-type"));
    switch (unreadable) {
        case Unreadable::no:
            break;
        case Unreadable::encoded:
            return body_encoding(reply.head);
        case Unreadable::not_a_stream:
            return "a whole answer, though a stream was asked for";
        case Unreadable::not_whole:
            return "a stream, though a whole answer was asked for";
        case Unreadable::foreign: {
            const std::string said = error_message_of(document, reply.body, reply.body.size());
            return (type.empty() ? "no content-type" : "content-type: " + type) +
                   (said.empty() ? "" : ", which says: " + said);
        }
    }
    return "";
}

/// A number of tokens that a text begins with: "16", "16.0"; -1: none.
static std::int64_t number_at(std::string_view text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    return count_in(text.substr(0, digits));
}

/// Where block sizes are in metrics: as a label of an information series, or as a gauge.
static constexpr std::string_view block_labels[] = {"{block_size=\"", ",block_size=\""};
static constexpr std::string_view block_gauges[] = {"sglang:page_size",
                                                    "dynamo_frontend_model_kv_cache_block_size"};

std::string reason_of(const Probe& refused) {
    return refused.message.empty() ? "status " + std::to_string(refused.status) : refused.message;
}

std::string tokens_text(std::int64_t tokens) {
    return counted(static_cast<std::uint64_t>(tokens), "token", "tokens");
}

Probe read_probe(const Dialect& dialect, bool stream, const Reply& reply) {
    Probe probe;
    JsonDocument document;
    probe.status = reply.status;
    if (reply.status != 200) {
        probe.message = error_message_of(document, reply.body, reply.body.size());
        return probe;
    }
    const Framing framing = stream ? dialect.framing : Framing::whole;
    probe.unreadable = find_unreadable(dialect, framing, reply, document);
    if (probe.unreadable != Unreadable::no) {
        probe.message = words_of(probe.unreadable, reply, document);
        return probe;
    }
    const AnswerState answer = read_answer(
        dialect, framing,
        reply.is_cut ? whole_events(framing, reply.body) : std::string_view(reply.body), document);
    probe.is_cut = reply.is_cut;
    probe.headers_first = reply.headers < reply.first_body;
    probe.receives = reply.body_receives;
    probe.prompt_tokens = answer.prompt_tokens;
    probe.completion_tokens = answer.completion_tokens;
    probe.cached_tokens = answer.cached_tokens;
    probe.has_usage = answer.usage_seen;
    probe.has_token_ids = answer.ids_seen;
    probe.unread_member = answer.unread_member;
    probe.has_end_mark = !answer.is_whole && answer.is_ended();
    probe.counts_chunks = answer.counting == AnswerState::Counting::continuous;
    probe.chunks = answer.is_whole ? (answer.has_tokens ? 1U : 0U)
                                   : static_cast<std::uint32_t>(answer.chunks());
    if (dialect.prompt_tokens_header[0] != '\0' && probe.prompt_tokens < 0) {
        probe.prompt_tokens = count_in(header_value(reply.head, dialect.prompt_tokens_header));
    }
    probe.ok = !answer.error_seen && !answer.bad_seen;
    if (!probe.ok) {
        probe.message = (answer.error_seen ? "" : "an event that is not one of this API: ") +
                        (answer.error.empty() ? "no text" : answer.error);
    }
    return probe;
}

BodyWatch LengthWatch::begin(const Dialect& dialect, std::uint32_t asked) {
    dialect_ = &dialect;
    asked_ = asked;
    return asked > 0 ? BodyWatch{this, &LengthWatch::is_enough} : BodyWatch{};
}

bool LengthWatch::is_enough(void* owner, std::string_view body, std::size_t shown) {
    return static_cast<LengthWatch*>(owner)->take(body, shown);
}

/// The events that are whole now.
bool LengthWatch::take(std::string_view body, std::size_t shown) {
    if (shown == 0) {  // it may be asked more than once
        chunks_ = 0;
        read_ = 0;
    }
    EventScanner scanner;
    scanner.reset(dialect_->framing);
    body.remove_prefix(read_);
    while (const std::size_t cut = scanner.next(body)) {  // ends: every cut takes a byte at least
        const SseEvent event = read_cut_event(dialect_->framing, body.substr(0, cut), joined_);
        body.remove_prefix(cut);
        read_ += cut;
        if (event.has_data) {
            const EventReading reading = dialect_->read(document_, event.name, event.data);
            chunks_ += reading.token_bearing || !reading.unread_member.empty() ? 1 : 0;
        }
    }
    return chunks_ > asked_ + chunks_past;
}

std::int64_t context_of(const JsonValue& value) {
    const std::int64_t tokens = value.as_i64().value_or(-1);
    return tokens < 0 || tokens > tokens_reported_max ? -1 : tokens;
}

std::int64_t read_context(std::string_view body) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(body);
    if (!root) {
        return -1;
    }
    const JsonValue settings = root.value().find("default_generation_settings");
    const std::int64_t total = context_of(root.value().find("max_total_tokens"));
    return total >= 0 ? total : context_of(settings.find("n_ctx"));
}

std::int64_t read_cache_block(std::string_view page) {
    while (!page.empty()) {  // ends: every step takes a line
        const std::string_view line = page.substr(0, page.find('\n'));
        page.remove_prefix(std::min(line.size() + 1, page.size()));
        if (line.find("cache_config_info{") != line.npos && !line.starts_with('#')) {
            for (const std::string_view label : block_labels) {
                const std::size_t at = line.find(label);
                const std::int64_t block =
                    at == line.npos ? -1 : number_at(line.substr(at + label.size()));
                if (block > 0) {
                    return block;
                }
            }
        }
        for (const std::string_view gauge : block_gauges) {
            const std::int64_t block =
                line.starts_with(gauge) ? number_at(line.substr(line.rfind(' ') + 1)) : -1;
            if (block > 0) {
                return block;
            }
        }
    }
    return -1;
}

bool lists_no_model(JsonDocument& document, std::string_view body) {
    const Result<JsonValue> root = document.parse(body);
    const JsonValue list = root ? root.value().find("data") : JsonValue();
    return list.is(JsonType::array) && list.size() == 0;
}

std::int64_t PreflightFindings::prompt_tokens_max() const {
    const std::int64_t beside_answer =
        max_model_len < 0 ? INT64_MAX : max_model_len - std::int64_t{least_answer};
    return max_input_tokens < 0 ? beside_answer : std::min(beside_answer, max_input_tokens);
}

static constexpr std::size_t models_shown = 4;

namespace {

/// A server's flag, and what is missing without it.
struct ServerFlag {
    std::string_view server;  ///< part of what it says of itself, lower case
    const char* flag;
};

}  // namespace

static constexpr ServerFlag cache_flags[] = {
    {"vllm", "start vLLM with --enable-prompt-tokens-details"},
    {"sglang", "start SGLang with --enable-cache-report"},
};
static constexpr ServerFlag usage_flags[] = {
    {"vllm", "start vLLM with --enable-force-include-usage"},
};

namespace {

/// A status (0: any), words of the server's message (lower case; empty: any), and what may fix it.
struct Remedy {
    int status;
    std::string_view says;
    const char* remedy;
};

}  // namespace

static constexpr const char* check_key = "check --api-key or OPENAI_API_KEY";
static constexpr const char* drop_temperature =
    "--extra-body '{\"temperature\":1}' sets another value, '{\"temperature\":null}' removes it";
static constexpr Remedy remedies[] = {
    {400, "chat template",
     "the model has no chat template: use --api openai-completions, or configure one on the "
     "server"},
    {400, "user authentication", check_key},
    {400, "authentication error", check_key},
    {400, "no connected db",  // LiteLLM looks up there every key that is not its master key
     "LiteLLM does not know this key: check --api-key or OPENAI_API_KEY"},
    {400, "no api key", check_key},
    {400, "temperature", drop_temperature},
    {422, "temperature", drop_temperature},
    {401, "", check_key},
    {403, "", "check --api-key or OPENAI_API_KEY, or --header if a gateway needs another field"},
    {405, "", "this path does not accept POST; check --endpoint and --api"},
    {413, "", "a proxy refuses bodies of that size; raise its limit (nginx: client_max_body_size)"},
    {422, "", "the server does not accept this body; check --api and --extra-body"},
    {429, "", "the server or its gateway limits requests; ask for a higher limit, or wait"},
    {501, "", "the server was started without this API; check --api"},
    {502, "", "no server answers behind the gateway; --wait-ready T waits for it"},
    {503, "", "the server is loading or overloaded; --wait-ready T waits for it"},
    {504, "", "no server answers behind the gateway; --wait-ready T waits for it"},
};

/// Flags that let a server take longer prompts, by its kind.
static constexpr ServerFlag context_flags[] = {
    {"vllm", "vLLM: --max-model-len"},
    {"sglang", "SGLang: --context-length"},
    {"llama", "llama.cpp: -c, which its slots share"},
};

namespace {

/// Owners of models, as /v1/models names them, and what their servers speak beside the OpenAI APIs.
struct Owner {
    std::string_view owner;
    const char* speaks;
};

}  // namespace

static constexpr Owner owners[] = {
    {"vllm", "openai-chat, openai-completions, openai-responses or anthropic"},
    {"sglang", "sglang, openai-chat, openai-completions, openai-responses or anthropic"},
    {"llamacpp", "llamacpp, openai-chat, openai-completions, openai-responses or anthropic"},
    {"nvidia", "dynamo, openai-chat, openai-completions, openai-responses or anthropic"},
    {"library", "ollama, openai-chat or openai-completions"},
};

/// Web frameworks of simulators that call their models vLLM's (llm-d-inference-sim, AIBrix's mock
/// application), and of no engine.
static constexpr std::string_view not_engines[] = {"fasthttp", "werkzeug"};

template <std::size_t count>
static const char* flag_of(const ServerFlag (&flags)[count], std::string_view kind) {
    const auto found = std::find_if(
        std::begin(flags), std::end(flags),
        [kind](const ServerFlag& flag) { return kind.find(flag.server) != kind.npos; });
    return found == std::end(flags) ? nullptr : found->flag;
}

static std::string with_flag(std::string text, const char* flag) {
    return flag == nullptr ? text : text + "; " + flag;
}

static std::string hint_of_usage(const PreflightFindings& found, const Dialect& dialect,
                                 std::string_view kind) {
    const std::string lacks = found.has_completion_tokens
                                  ? ": prompt counts cannot be verified"
                                  : ": tokens are counted by chunks, and prompt counts cannot be "
                                    "verified";
    if (!dialect.reports_prompt_tokens) {
        return (dialect.form != nullptr ? "the template has no event.prompt_tokens"
                                        : "this API does not report prompt tokens") +
               lacks;
    }
    if (dialect.form != nullptr) {
        return "the template's event.prompt_tokens does not point to a count of prompt tokens" +
               lacks;
    }
    if (found.sent_usage || found.has_completion_tokens) {
        return "the server's usage has no prompt_tokens, or counts 0" + lacks;
    }
    return with_flag("the answer has no usage" + lacks, flag_of(usage_flags, kind));
}

/// Nothing counts a prompt: what stands around it, and what its words cost, may be unknown.
static std::string hint_of_lengths(const PreflightFindings& found) {
    if (found.has_usage || found.overhead_source != "none") {
        return "";
    }
    const std::string words =
        found.tokenize ? "" : ", and nothing shows that each word is one token";
    return "warning: the server counts no prompt tokens: its overhead is unknown and counted as 0" +
           words + "; prompts may be longer than recorded; set --overhead PRE,POST" +
           (found.tokenize ? "" : " and --tokenizer");
}

/// Whether the text of answers is where it is looked for.
static std::string hint_of_text(const PreflightFindings& found) {
    const std::string unread =
        "answers have text in \"" + found.unread_member + "\", which driftless does not read: ";
    if (found.stream_chunks > 0) {
        return found.unread_member.empty()
                   ? ""
                   : "warning: " + unread + "its tokens have no stamps, and TTFT may be too high";
    }
    if (found.stream_chunks < 0) {
        return "";
    }
    const std::string lacks = found.has_completion_tokens
                                  ? "TTFT, TPOT and ITL stay unknown for such rows"
                                  : "such rows end as no_tokens";
    return "warning: " +
           (found.unread_member.empty() ? "the probe's answer had no text that driftless knows: "
                                        : unread) +
           lacks;
}

/// [Unreadable]
static constexpr const char* unreadable_remedies[] = {
    "",
    ("the server compresses its answers unasked, and driftless cannot read them; turn compression "
     "off there, or in the proxy in front of it (nginx: gzip off)"),
    "--no-stream asks for unstreamed answers, which have no TTFT, TPOT or ITL",
    "remove --no-stream",
    "check --url, --endpoint and --api",
};

static std::string hint_of_cache(const Dialect& dialect, std::string_view kind) {
    const std::string lacks = ": cache hits stay unknown";
    if (!dialect.reports_cached_tokens) {
        return (dialect.form != nullptr ? "the template has no event.cached_tokens"
                                        : "this API does not report cached tokens") +
               lacks;
    }
    if (dialect.form != nullptr) {
        return "the template's event.cached_tokens does not point to a count of cached tokens, "
               "even for a repeated prompt" +
               lacks;
    }
    return with_flag("no cached tokens were reported, even for a repeated prompt" + lacks,
                     flag_of(cache_flags, kind));
}

/// `--url` takes what is before the path that was asked, and --endpoint a path.
static std::string remedy_of_redirect(std::string_view location, std::string_view path) {
    const std::string leads = "it redirects to " + std::string(location);
    if (location.find("://") == location.npos) {
        return leads + " on the same server; check the paths in --url and --endpoint";
    }
    if (path.empty() || !location.ends_with(path)) {
        return leads + "; if the server is there, use that in --url";
    }
    location.remove_suffix(path.size());
    return "it redirects elsewhere; use --url " + std::string(location);
}

/// Where the server is of a kind that does not speak the API that was tried: what it does speak.
static std::string remedy_of_owner(const Refusal& refusal) {
    const int status = refusal.status;
    const bool no_page = status == 404 || status == 405 || status == 501;
    if (!no_page || refusal.dialect == nullptr) {
        return "";
    }
    const std::string kind = lower(refusal.kind);
    for (const Owner& owner : owners) {
        const std::string_view spoken = refusal.dialect->name;
        const std::string_view speaks = owner.speaks;
        if (kind.starts_with(owner.owner) && speaks.find(spoken) == speaks.npos) {
            return "its models are owned by \"" + std::string(owner.owner) +
                   "\", whose servers speak --api " + std::string(speaks);
        }
    }
    return "";
}

/// `--model` that the server does not know: others that it lists.
static std::string remedy_of_model(const Refusal& refusal, const std::vector<std::string>& models) {
    std::vector<std::string> others = models;
    std::erase(others, refusal.model);
    if (!others.empty()) {
        return "use --model with one that it lists: " + list_first(others, models_shown);
    }
    return models.empty() ? ""
                          : "it lists only the model \"" + models.front() +
                                "\"; set --model to the name that its workers serve";
}

std::string list_first(const std::vector<std::string>& names, std::size_t shown) {
    const std::string text = joined(std::span(names).first(std::min(names.size(), shown)), ", ");
    return names.size() > shown ? text + ", and " + std::to_string(names.size() - shown) + " more"
                                : text;
}

std::string kind_of(const PreflightFindings& found) {
    const std::string server = lower(found.server);
    const bool is_other =
        std::any_of(std::begin(not_engines), std::end(not_engines),
                    [&](std::string_view framework) { return server.starts_with(framework); });
    return is_other ? server : lower(found.owned_by) + " " + server;
}

std::vector<std::string> hints_for(const PreflightFindings& found, const Dialect& dialect,
                                   bool sets_lengths) {
    const std::string kind = kind_of(found);
    std::vector<std::string> hints;
    if (!found.has_usage) {
        hints.push_back(hint_of_usage(found, dialect, kind));
    } else if (!found.has_cached_tokens) {
        hints.push_back(hint_of_cache(dialect, kind));
    }
    for (std::string hint : {sets_lengths ? hint_of_lengths(found) : "", hint_of_text(found)}) {
        if (!hint.empty()) {
            hints.push_back(std::move(hint));
        }
    }
    constexpr std::int64_t chunks_told_apart = 4;
    if (found.stream_chunks >= chunks_told_apart && found.stream_receives == 1) {
        hints.push_back("the " + std::to_string(found.stream_chunks) +
                        " chunks of an answer came in one read: they come too fast to be "
                        "distinguished, or a proxy buffers streams (nginx: proxy_buffering off)");
    }
    return hints;
}

std::string remedy_for(const Refusal& refusal, const std::vector<std::string>& models) {
    const int status = refusal.status;
    if (status >= 300 && status < 400 && !refusal.location.empty()) {
        return remedy_of_redirect(refusal.location, refusal.path);
    }
    if (refusal.unreadable != Unreadable::no) {
        return unreadable_remedies[static_cast<std::size_t>(refusal.unreadable)];
    }
    if (status >= 400 && is_of_tls_port(refusal.message)) {
        return "the server expects TLS; use https:// in --url";
    }
    const std::string said = lower(refusal.message);
    const bool no_model = status == 404 || said.find("invalid model") != said.npos;
    if (no_model && said.find("model") != said.npos) {
        if (std::string remedy = remedy_of_model(refusal, models); !remedy.empty()) {
            return remedy;
        }
    }
    if (std::string remedy = remedy_of_owner(refusal); !remedy.empty()) {
        return remedy;
    }
    if (status == 400 && said.find("context") != said.npos) {
        const char* flag = flag_of(context_flags, lower(refusal.kind));
        return std::string("serve a longer context") +
               (flag == nullptr ? "" : " (" + std::string(flag) + ")");
    }
    for (const Remedy& remedy : remedies) {
        if (remedy.status == status && said.find(remedy.says) != said.npos) {
            return remedy.remedy;
        }
    }
    if (refusal.ids && status >= 400) {
        return "the server, or a gateway in front of it, may not accept token ids; try --prompt "
               "text";
    }
    return status == 404 ? "check --url, --endpoint, --api and --model" : "";
}

}  // namespace driftless
