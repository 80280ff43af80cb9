#include "engine/server/probe_sender.hpp"

#include <algorithm>
#include <string_view>

#include "engine/server/findings.hpp"
#include "proto/http/fields.hpp"
#include "proto/json/document.hpp"

namespace driftless {

namespace {

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

}  // namespace

Task<void> RetryingAsker::pause(Duration length) {
    Signal over;
    Timer timer;
    timer.owner = &over;
    timer.handler = [](Timer& rung, Instant) { static_cast<Signal*>(rung.owner)->notify(); };
    context_.asker.loop().timers().set(timer, context_.now() + length);
    co_await over.wait();
}

bool RetryingAsker::patient() const {
    const Duration waited = context_.now() - begun_;
    return context_.plan.wait_ready && waited < *context_.plan.wait_ready &&
           !context_.asker.stopped();
}

/// A limit of requests: how long to wait before the question is asked for the next time.
Duration RetryingAsker::busy_pause(int times) {
    const std::int64_t reported =
        count_in(header_value(context_.asker.reply().head, "retry-after"));
    const std::int64_t wanted = reported > 0 ? reported : std::int64_t{1} << (times - 1);
    if (!busy_noted_) {
        busy_noted_ = true;
        context_.note(
            "it answers 429 to the preflight, which waits and retries; rows that get a 429 are not "
            "sent again");
    }
    return seconds(std::min(wanted, busy_pause_s_max));
}

/// Whether the server broke the question off, or failed at it.
bool RetryingAsker::broke(bool answered) const {
    if (answered) {
        const int status = context_.asker.reply().status;
        return status >= 500 &&
               !(is_loading(status) && context_.plan.wait_ready);  // that has its own limit
    }
    const ErrorCode code = context_.asker.error().code;
    return code == ErrorCode::reset || code == ErrorCode::closed;
}

void RetryingAsker::note_broken(bool answered) {
    if (!broken_noted_) {
        broken_noted_ = true;
        context_.note("warning: a preflight request " +
                      (answered ? "was answered " + std::to_string(context_.asker.reply().status)
                                : std::string("broke off")) +
                      " and was sent again; rows that meet this fail");
    }
}

Task<bool> RetryingAsker::fetch(const std::string& method, const std::string& path,
                                const std::string& body, BodyWatch watch) {
    Asker& asker = context_.asker;
    bool answered = false;
    int busy = 0;  // answers of 429
    int broken = 0;
    while (true) {  // bounded by `busy_tries`, `broken_tries` and `--wait-ready`
        answered = co_await asker.fetch(method, path, body, watch);
        const int status = answered ? asker.reply().status : 0;
        Duration length = ready_pause;
        busy += status == status_busy ? 1 : 0;
        if (status == status_busy && busy < busy_tries && !asker.stopped()) {
            length = busy_pause(busy);
        } else if (is_loading(status) && patient()) {
            // asked again for as long as the user said
        } else if (broke(answered) && ++broken < broken_tries && !asker.stopped()) {
            note_broken(answered);
        } else {
            break;
        }
        co_await pause(length);
    }
    co_return answered;
}

namespace {

/// Tokens that `--extra-body` wants of every answer at least (vLLM refuses a length below its
/// `min_tokens`); else 1.
std::uint32_t least_tokens_of(const std::string& extra_body) {
    JsonDocument document;
    const Result<JsonValue> extra = document.parse(extra_body);
    const std::int64_t least =
        extra ? context_of(extra.value().find("min_tokens")) : std::int64_t{-1};
    return static_cast<std::uint32_t>(std::max<std::int64_t>(least, 1));
}

/// An answer does not end: its length may have another name at this server.
std::string remedy_of_length(const PreflightPlan& plan, const PreflightFindings& found) {
    const Dialect& dialect = *plan.dialect;
    const bool is_own = !plan.body.length_member.empty();
    if (!dialect.has_two_length_names || plan.body.output == OutputRule::free) {
        return "";
    }
    if (found.tried_both_lengths) {
        return "it made more tokens than it was asked for, under both names of the length: limit "
               "its answers at the server";
    }
    const std::string_view sent =
        is_own ? std::string_view(plan.body.length_member) : dialect.length_member;
    const std::string_view other =
        sent == dialect.length_member ? other_length_member(dialect) : dialect.length_member;
    return "if the log shows that it continues to answer, it ignores " + std::string(sent) +
           ": use --length-field " + std::string(other);
}

}  // namespace

ProbeSender::ProbeSender(PreflightContext& context, RetryingAsker& retrying)
    : context_(context),
      retrying_(retrying),
      least_tokens_(least_tokens_of(context.plan.body.extra_body)) {}

Task<Probe> ProbeSender::send(const std::string& prompt, std::uint32_t tokens) {
    const PreflightFindings& found = context_.findings;
    const PreflightPlan& plan = context_.plan;
    Asker& asker = context_.asker;
    BodySpec spec = plan.body;
    spec.model = context_.model;
    spec.ignore_eos = found.ignore_eos;
    spec.stream_options = found.stream_options;
    spec.length_member = found.length_member;
    spec.stream = spec.stream || reading_ == ReadTo::enough;
    const std::uint32_t asked = std::max(tokens, least_tokens_);
    Probe probe;
    const Result<BodyFrame> frame = plan.dialect->frame(spec);
    if (!frame) {
        probe.message =
            frame.error().code == ErrorCode::bad_json
                ? "--extra-body is not a JSON object"
                : "--extra-body would replace the prompt, or the object with the length";
        co_return probe;
    }
    const BodyFrame& parts = frame.value();
    const std::string body = parts.before + prompt + parts.between +
                             (parts.has_length ? std::to_string(asked) : "") + parts.after;
    const std::uint32_t bound = parts.has_length ? asked : 0;
    const BodyWatch watch =
        reading_ == ReadTo::enough ? watch_.begin(*plan.dialect, bound) : BodyWatch{};
    const bool answered = co_await retrying_.fetch("POST", plan.api_path, body, watch);
    if (!answered) {
        probe.message = plan.server.address.to_text() + ": " + asker.why();
    } else {
        probe = read_probe(*plan.dialect, spec.stream, asker.reply());
        probe.message = asker.printable_words(probe.message);
        note_reported(probe);
    }
    probe.asked = bound;
    co_return probe;
}

/// What an answer reports at all.
void ProbeSender::note_reported(const Probe& probe) {
    PreflightFindings& found = context_.findings;
    found.has_completion_tokens = found.has_completion_tokens || probe.completion_tokens >= 0;
    found.has_cached_tokens = found.has_cached_tokens || probe.cached_tokens >= 0;
    found.has_token_ids = found.has_token_ids || probe.has_token_ids;
    found.sent_usage = found.sent_usage || probe.has_usage;
    if (probe.ok && context_.plan.body.stream && !probe.is_cut) {
        found.has_end_mark = found.has_end_mark.value_or(false) || probe.has_end_mark;
    }
    if (!probe.unread_member.empty()) {
        found.unread_member = context_.asker.printable_words(probe.unread_member);
    }
}

Task<bool> ProbeSender::count(const std::string& prompt, std::int64_t& tokens) {
    const Probe counted = co_await send(prompt);
    if (!counted.ok) {
        co_return fail_answer("probe of many words", counted);
    }
    tokens = counted.prompt_tokens;
    last_counted_ = prompt;
    co_return true;
}

Task<void> ProbeSender::send_again() {
    if (context_.findings.has_usage && !context_.findings.has_cached_tokens &&
        !last_counted_.empty() && !context_.asker.stopped()) {
        (void)co_await send(last_counted_);
    }
}

bool ProbeSender::fail_answer(const std::string& what, const Probe& probe) {
    const PreflightFindings& found = context_.findings;
    const PreflightPlan& plan = context_.plan;
    Asker& asker = context_.asker;
    PreflightFailure& failure = context_.failure;
    failure.status = probe.status;
    failure.error = probe.status > 0 ? Error{} : asker.error();
    failure.text = "the " + what + " (POST " + asker.printable_words(plan.api_path) + ") ";
    failure.text += probe.status > 0 ? "was answered " + std::to_string(probe.status) : "failed";
    failure.text += probe.message.empty() ? "" : ": " + probe.message;
    const std::string& root = plan.server.root_path;
    const std::size_t behind = plan.api_path.starts_with(root) ? root.size() : 0;
    const std::string leads = asker.location();
    Refusal refusal{probe.status, probe.message, leads,
                    std::string_view(plan.api_path).substr(behind)};
    const std::string said_kind = kind_of(found);
    refusal.kind = said_kind;
    refusal.model = found.model;
    refusal.dialect = plan.dialect;
    refusal.ids = plan.body.prompt == PromptKind::ids;
    refusal.unreadable = probe.unreadable;
    const bool hung = probe.status == 0 && asker.hung() && asker.reached();
    const std::string remedy =
        hung ? remedy_of_length(plan, found) : remedy_for(refusal, found.models);
    failure.text += remedy.empty() ? "" : "; " + remedy;
    return false;
}

}  // namespace driftless
