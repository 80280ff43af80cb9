#include "engine/preflight/preflight.hpp"

#include <algorithm>
#include <utility>

#include "engine/preflight/hints.hpp"
#include "proto/core/check.hpp"
#include "proto/json/document.hpp"

namespace driftless {

namespace {

/// First words of the table that are tried on a tokenize endpoint, two by two.
constexpr std::uint32_t words_tried = 6;
/// Tokens of the answer that is looked at for how its chunks come.
constexpr std::uint32_t stream_tokens = 8;

/// Tokens that `--extra-body` wants of every answer at least (vLLM refuses a length below its
/// `min_tokens`); else 1.
std::uint32_t least_tokens(const std::string& extra_body) {
    JsonDocument document;
    const Result<JsonValue> extra = document.parse(extra_body);
    const std::int64_t least =
        extra ? context_of(extra.value().find("min_tokens")) : std::int64_t{-1};
    return static_cast<std::uint32_t>(std::max<std::int64_t>(least, 1));
}

}  // namespace

const char* name_of(WordVerdict verdict) {
    switch (verdict) {
        case WordVerdict::not_asked:
            return "not_asked";
        case WordVerdict::exact:
            return "exact";
        case WordVerdict::reduced:
            return "reduced";
        case WordVerdict::too_few:
            return "too_few";
        case WordVerdict::joins:
            return "joins";
        case WordVerdict::varies:
            return "varies";
        case WordVerdict::no_first:
            return "no_first";
    }
    return "unknown";
}

Preflight::Preflight(Loop& loop, const PreflightPlan& plan, std::uint32_t first)
    : plan_(plan), asker_(loop, plan_.server, first) {
    CHECK(plan.dialect != nullptr && plan.words != nullptr);
    findings_.model = plan.body.model;
    findings_.ignore_eos = plan.body.ignore_eos;
    findings_.stream_options = plan.body.stream_options;
    findings_.length_member = plan.body.length_member;
    probe_tokens_ = least_tokens(plan.body.extra_body);
}

bool Preflight::run() {
    begun_ = now();
    asker_.loop().jobs().spawn(all());
    asker_.run_until(done_);
    findings_.requests = asker_.next_name() - 1;
    return ok_;
}

/// The order of questions. Root job; ends in `done_`.
Task<void> Preflight::all() {
    bool going = co_await ask_models();
    if (going && findings_.max_model_len < 0 && plan_.dialect->info_path[0] != '\0') {
        co_await ask_info();
    }
    if (going && plan_.body.prompt == PromptKind::text) {
        co_await find_tokenize();
    }
    if (going) {
        going = co_await probe_one_word();
    }
    if (going) {
        going = co_await probe_words();
    }
    if (going) {
        going = co_await probe_first_words();
    }
    if (going) {
        co_await ask_again();
        co_await ask_for_stream();
        note_length();
        co_await find_split();
        assume_bos();
        co_await ask_metrics();
        co_await find_block();
        going = plan_.dialect->form == nullptr || findings_.stream_chunks != 0 || fail_content();
        const std::vector<std::string> hints = hints_for(findings_, *plan_.dialect);
        findings_.notes.insert(findings_.notes.end(), hints.begin(), hints.end());
    }
    ok_ = going;
    done_ = true;
}

bool Preflight::fail(const std::string& what) {
    failure_.text = what;
    return false;
}

/// Tries each way of tokenising that servers have until one is understood. A page that is missing
/// is not asked again.
Task<void> Preflight::find_tokenize() {
    std::string_view missing;
    for (const TokenizeForm form : plan_.dialect->tokenize_forms) {
        if (missing == tokenize_path(form) || asker_.stopped()) {
            continue;
        }
        const bool understood = co_await try_tokenize(form);
        if (understood) {
            findings_.tokenize = form;
            tokenize_believed_ = true;
            co_return;
        }
        const int status = asker_.reply().status;
        if (form != TokenizeForm::templated && (status == 404 || status == 405)) {
            missing = tokenize_path(form);
        }
    }
}

/// Two prompts of one word each: what both share in front is before the prompt, the rest behind it
/// (token-exact.md, section 9). A word that is split is passed over for the next ones.
Task<bool> Preflight::try_tokenize(TokenizeForm form) {
    bool split = false;
    for (std::uint32_t word = 0; word + 1 < words_tried && !asker_.stopped(); word += 2) {
        const std::vector<std::int64_t> one =
            co_await asker_.tokenize(form, model(), plan_.words->word(word));
        if (one.empty()) {
            co_return false;
        }
        const std::vector<std::int64_t> two =
            co_await asker_.tokenize(form, model(), plan_.words->word(word + 1));
        const AroundWords around = compare_words(one, two);
        if (around.first_cost == 1 && around.second_cost == 1) {
            findings_.tokenize_overhead = around.overhead;
            opener_ = word;
            co_return true;
        }
        split = around.first_cost > 1 || around.second_cost > 1;
        if (!split) {
            break;  // it cannot tell two words apart
        }
    }
    if (split) {
        findings_.notes.push_back(std::string("/tokenize (") + name_of(form) +
                                  ") makes more than one token of single words: not used");
    }
    co_return false;
}

/// One request with this prompt, exactly as the rows will be sent, for so many tokens; 0: as few as
/// the server takes.
Task<Probe> Preflight::probe(const std::string& prompt, std::uint32_t tokens) {
    BodySpec spec = plan_.body;
    spec.ignore_eos = findings_.ignore_eos;
    spec.stream_options = findings_.stream_options;
    spec.length_member = findings_.length_member;
    const std::uint32_t asked = std::max(tokens, probe_tokens_);
    Probe probe;
    const Result<BodyFrame> frame = plan_.dialect->frame(spec);
    if (!frame) {
        probe.message =
            frame.error().code == ErrorCode::bad_json
                ? "--extra-body is not a JSON object"
                : "--extra-body would replace the prompt, or the object that holds the length";
        co_return probe;
    }
    const BodyFrame& parts = frame.value();
    const std::string body = parts.before + prompt + parts.between +
                             (parts.has_length ? std::to_string(asked) : "") + parts.after;
    const bool answered = co_await fetch("POST", plan_.api_path, body);
    if (!answered) {
        probe.message = plan_.server.address.to_text() + ": " + asker_.why();
        co_return probe;
    }
    probe = read_probe(*plan_.dialect, plan_.body.stream, asker_.reply());
    probe.message = asker_.printable_words(probe.message);
    probe.asked = parts.has_length ? asked : 0;
    findings_.has_completion_tokens =
        findings_.has_completion_tokens || probe.completion_tokens >= 0;
    findings_.has_cached_tokens = findings_.has_cached_tokens || probe.cached_tokens >= 0;
    findings_.has_token_ids = findings_.has_token_ids || probe.has_token_ids;
    findings_.sent_usage = findings_.sent_usage || probe.has_usage;
    if (!probe.unread_member.empty()) {
        findings_.unread_member = asker_.printable_words(probe.unread_member);
    }
    co_return probe;
}

/// Several servers tell cached tokens only where there are some: a prompt that was sent before goes
/// out again. Whether it is answered is not held against the server.
Task<void> Preflight::ask_again() {
    if (findings_.has_usage && !findings_.has_cached_tokens && !last_prompt_.empty() &&
        !asker_.stopped()) {
        (void)co_await probe(last_prompt_);
    }
}

/// Whether chunks come one by one, as they are made. A proxy that holds an answer back until its
/// end makes every stamp but the last worthless (nginx, with TLS and proxy_buffering on).
Task<void> Preflight::ask_for_stream() {
    if (plan_.body.output == OutputRule::free || asker_.stopped()) {
        co_return;
    }
    const std::string word(plan_.words->word(opener_));
    const Probe some = co_await probe(word, stream_tokens);
    if (!some.ok) {
        co_return;
    }
    if (plan_.body.stream) {
        findings_.stream_chunks = some.chunks;
        findings_.counts_chunks = some.uncounted_chunks == 0;
        findings_.stream_receives = asker_.reply().body_receives;
    }
    if (some.asked > 0) {
        findings_.length_asked = some.asked;
        findings_.length_made = some.made();
    }
}

/// Where a redirect leads.
std::string Preflight::location() const {
    return asker_.printable_words(header_value(asker_.reply().head, "location"));
}

/// Every row would be without a token.
bool Preflight::fail_content() {
    return fail("an answer of " + std::to_string(stream_tokens) +
                " tokens came and none of its events has text where event.content of the template "
                "points: correct the pointer");
}

bool Preflight::fail_answer(const std::string& what, const Probe& probe) {
    failure_.status = probe.status;
    failure_.error = probe.status > 0 ? Error{} : asker_.error();
    failure_.text = "the " + what + " (POST " + asker_.printable_words(plan_.api_path) + ") ";
    failure_.text += probe.status > 0 ? "was answered " + std::to_string(probe.status) : "failed";
    failure_.text += probe.message.empty() ? "" : ": " + probe.message;
    const std::string& root = plan_.server.root_path;
    const std::size_t behind = plan_.api_path.starts_with(root) ? root.size() : 0;
    const std::string leads = location();
    Refusal refusal{probe.status, probe.message, leads,
                    std::string_view(plan_.api_path).substr(behind)};
    const std::string said_kind = kind_of(findings_);
    refusal.kind = said_kind;
    refusal.model = findings_.model;
    refusal.dialect = plan_.dialect;
    refusal.ids = plan_.body.prompt == PromptKind::ids;
    refusal.unreadable = probe.unreadable;
    const std::string remedy = remedy_for(refusal, findings_.models);
    failure_.text += remedy.empty() ? "" : "; " + remedy;
    return false;
}

/// What usage says, and what of the body is taken.
Task<bool> Preflight::probe_one_word() {
    const std::string word(plan_.words->word(opener_));
    const Probe one = co_await probe_as_taken(word);
    if (!one.ok) {
        co_return fail_answer("probe of one word", one);
    }
    findings_.probe_ns = (now() - asker_.reply().sent).ns;
    findings_.headers_before_token = asker_.reply().headers < asker_.reply().first_body;
    findings_.has_usage = one.prompt_tokens > 0;
    const bool settled = co_await settle_overhead(one.prompt_tokens);
    co_return settled;
}

}  // namespace driftless
