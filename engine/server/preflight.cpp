#include "engine/server/preflight.hpp"

#include <algorithm>
#include <string_view>

#include "proto/core/errors.hpp"
#include "proto/http/fields.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// The plan, checked before anything refers to it.
static const PreflightPlan& checked(const PreflightPlan& plan) {
    CHECK(plan.dialect != nullptr && plan.words != nullptr);
    return plan;
}

/// What of the body is accepted, and what usage says of one word.
static Task<bool> probe_one_word(PreflightContext& context) {
    const std::string word = context.prompts.one_word();
    const Probe one = co_await find_body_form(context, word);
    if (!one.ok) {
        co_return context.fail_answer("probe of one word", one);
    }
    PreflightFindings& found = context.findings;
    found.probe_ns = one.took.ns;
    found.headers_before_token = one.headers_first;
    found.has_usage = one.prompt_tokens > 0;
    const bool settled = co_await settle_overhead(context, one.prompt_tokens);
    co_return settled;
}

/// What no run can do without. False: the preflight has failed.
static Task<bool> ask_needed(PreflightContext& context) {
    bool going = co_await ask_models(context);
    if (going) {
        co_await ask_info(context);
    }
    if (going && context.plan.body.prompt == PromptKind::text) {
        co_await find_tokenize(context);
    }
    if (going) {
        going = co_await probe_one_word(context);
    }
    if (going) {
        going = co_await check_words(context);
    }
    if (going) {
        going = co_await check_first_words(context);
    }
    co_return going;
}

/// What makes a run's numbers better, or its reader wiser.
static Task<void> ask_useful(PreflightContext& context) {
    const PreflightFindings& found = context.findings;
    // Several servers tell cached tokens only where there are some: a prompt that was counted
    // before goes out again. Whether it is answered is not held against the server.
    if (found.has_usage && !found.has_cached_tokens && !context.last_counted.empty()) {
        (void)co_await context.send(context.last_counted);
    }
    co_await ask_pace(context);
    co_await find_split(context);
    assume_bos(context);
    co_await ask_metrics(context);
    co_await find_block(context);
}

/// All stages, in their order.
static Task<bool> ask_all(PreflightContext& context) {
    bool going = co_await ask_needed(context);
    if (going) {
        co_await ask_useful(context);
        going = check_text(context);
        for (std::string& hint : hints_for(context.findings, *context.plan.dialect,
                                           !context.plan.sends_recorded_text)) {
            context.note(std::move(hint));
        }
    }
    co_return going;
}

Preflight::Preflight(Loop& loop, const PreflightPlan& plan, std::uint32_t first)
    : context_(loop, plan, first) {
    context_.asker.end_after(whole_max + plan.wait_ready.value_or(Duration{}));
    context_.findings.model = plan.body.model;
    context_.findings.ignore_eos = plan.body.ignore_eos;
    context_.findings.stream_options = plan.body.stream_options;
    context_.findings.length_member = plan.body.length_member;
}

bool Preflight::run() {
    const bool ok = context_.asker.run(ask_all(context_));
    context_.findings.requests = context_.asker.next_name() - 1;
    return ok;
}

/// A question that is answered 429 is asked so often; the pauses between double from one second,
/// or are those of Retry-After, up to a limit.
static constexpr int busy_tries = 5;
static constexpr std::int64_t busy_pause_s_max = 30;
static constexpr int status_busy = 429;
/// One that breaks off, or meets an error of the server, is asked so often, with `ready_pause`
/// between: a flaw that passes is no reason to send nothing, one that stays is said.
static constexpr int broken_tries = 3;
/// So soon a pause ends where the user stops the preflight.
static constexpr Duration pause_slice = milliseconds(100);

static bool is_loading(int status) {
    return status == 502 || status == 503 || status == 504;
}

/// A limit of requests: how long to wait before the question is asked for the next time.
static Duration busy_pause(PreflightContext& context, int times) {
    const std::int64_t reported = count_in(header_value(context.asker.reply().head, "retry-after"));
    const std::int64_t wanted = reported > 0 ? reported : std::int64_t{1} << (times - 1);
    if (!context.busy_noted) {
        context.busy_noted = true;
        context.note(
            "it answers 429 to the preflight, which waits and retries; a row that gets one fails, "
            "unless --on-429 wait sends it again");
    }
    return seconds(std::min(wanted, busy_pause_s_max));
}

/// Whether the server broke the question off, or failed at it.
static bool broke(const PreflightContext& context, bool answered) {
    if (answered) {
        const int status = context.asker.reply().status;
        return status >= 500 &&
               !(is_loading(status) && context.plan.wait_ready);  // that has its own limit
    }
    const ErrorCode code = context.asker.error().code;
    return code == ErrorCode::reset || code == ErrorCode::closed;
}

static void note_broken(PreflightContext& context, bool answered) {
    if (!context.broken_noted) {
        context.broken_noted = true;
        context.note("warning: a preflight request " +
                     (answered ? "was answered " + std::to_string(context.asker.reply().status)
                               : std::string("broke off")) +
                     " and was sent again; rows that meet this fail");
    }
}

Task<void> PreflightContext::pause(Duration length) {
    const Instant end = now() + length;
    Signal over;
    Timer timer;
    timer.owner = &over;
    timer.handler = [](Timer& rung, Instant) { static_cast<Signal*>(rung.owner)->notify(); };
    while (now() < end && !asker.stopped()) {
        asker.loop().timers().set(timer, std::min(end, now() + pause_slice));
        co_await over.wait();
    }
}

bool PreflightContext::patient() const {
    const Duration waited = now() - begun;
    return plan.wait_ready && waited < *plan.wait_ready && !asker.stopped();
}

Task<bool> PreflightContext::fetch(const std::string& method, const std::string& path,
                                   const std::string& body, BodyWatch watch) {
    bool answered = false;
    int busy = 0;  // answers of 429
    int broken = 0;
    repeated = false;
    while (true) {  // bounded by `busy_tries`, `broken_tries` and `--wait-ready`
        answered = co_await asker.fetch(method, path, body, watch);
        const int status = answered ? asker.reply().status : 0;
        Duration length = ready_pause;
        busy += status == status_busy ? 1 : 0;
        if (status == status_busy && busy < busy_tries) {
            length = busy_pause(*this, busy);
        } else if (is_loading(status) && patient()) {
            // asked again for as long as the user said
        } else if (broke(*this, answered) && ++broken < broken_tries) {
            note_broken(*this, answered);
        } else {
            break;
        }
        repeated = repeated || status != status_busy;
        co_await pause(length);
    }
    co_return answered;
}

/// Tokens that `--extra-body` wants of every answer at least (vLLM refuses a length below its
/// `min_tokens`); else 1.
static std::uint32_t least_tokens_of(const std::string& extra_body) {
    JsonDocument document;
    const Result<JsonValue> extra = document.parse(extra_body);
    const std::int64_t least =
        extra ? context_of(extra.value().find("min_tokens")) : std::int64_t{-1};
    return static_cast<std::uint32_t>(std::max<std::int64_t>(least, 1));
}

/// An answer does not end: its length may have another name at this server.
static std::string remedy_of_length(const PreflightPlan& plan, const PreflightFindings& found) {
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

/// What an answer reports at all.
static void note_reported(PreflightContext& context, const Probe& probe) {
    PreflightFindings& found = context.findings;
    found.has_completion_tokens = found.has_completion_tokens || probe.completion_tokens >= 0;
    found.has_cached_tokens = found.has_cached_tokens || probe.cached_tokens >= 0;
    found.has_token_ids = found.has_token_ids || probe.has_token_ids;
    found.sent_usage = found.sent_usage || probe.has_usage;
    if (probe.ok && context.plan.body.stream && !probe.is_cut) {
        found.has_end_mark = found.has_end_mark.value_or(false) || probe.has_end_mark;
    }
    if (!probe.unread_member.empty()) {
        found.unread_member = context.asker.printable_words(probe.unread_member);
    }
}

PreflightContext::PreflightContext(Loop& loop, const PreflightPlan& given, std::uint32_t first)
    : plan(checked(given)),
      asker(loop, plan.server, first),
      begun(now()),
      model(plan.body.model),
      prompts(*plan.words) {
    findings.least_answer = least_tokens_of(plan.body.extra_body);
}

Task<Probe> PreflightContext::send(const std::string& prompt, std::uint32_t tokens,
                                   ReadTo reading) {
    const PreflightFindings& found = findings;
    BodySpec spec = plan.body;
    spec.model = model;
    spec.ignore_eos = found.ignore_eos;
    spec.stream_options = found.stream_options;
    spec.length_member = found.length_member;
    spec.stream = spec.stream || reading == ReadTo::enough;
    const std::uint32_t asked = std::max(tokens, found.least_answer);
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
        reading == ReadTo::enough ? length_watch.begin(*plan.dialect, bound) : BodyWatch{};
    const bool answered = co_await fetch("POST", plan.api_path, body, watch);
    if (!answered) {
        probe.message = plan.server.address.to_text() + ": " + asker.why();
    } else {
        probe = read_probe(*plan.dialect, spec.stream, asker.reply());
        probe.message = asker.printable_words(probe.message);
        probe.took = now() - asker.reply().sent;
        probe.repeated = repeated;
        note_reported(*this, probe);
    }
    probe.hung = !answered && asker.hung() && asker.reached();
    probe.asked = bound;
    co_return probe;
}

Task<bool> PreflightContext::count(const std::string& prompt, std::int64_t& tokens) {
    const Probe counted = co_await send(prompt);
    if (!counted.ok) {
        co_return fail_answer("probe of many words", counted);
    }
    tokens = counted.prompt_tokens;
    last_counted = prompt;
    co_return true;
}

bool PreflightContext::fail_answer(const std::string& what, const Probe& probe) {
    const PreflightFindings& found = findings;
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
    const std::string remedy =
        probe.hung ? remedy_of_length(plan, found) : remedy_for(refusal, found.models);
    failure.text += remedy.empty() ? "" : "; " + remedy;
    return false;
}

}  // namespace driftless
