/// What the server offers and accepts: the pages on which it tells about itself, the first form of
/// a row's body that it takes, and how its answers come.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/server/preflight.hpp"
#include "proto/http/fields.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// A server without a page of models; the page cannot be asked for in another way.
static bool lacks_page(int status) {
    return status == 404 || status == 405 || status == 410 || status == 422 || status == 501;
}

/// The first of the members that holds a number of tokens; -1: none.
static std::int64_t first_context(const JsonValue& entry,
                                  std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (const std::int64_t tokens = context_of(entry.find(name)); tokens > 0) {
            return tokens;
        }
    }
    return -1;
}

/// Of the page of models: their names, and what it says of the one that is asked for.
/// `first_model`: the first of the list, unmasked.
static void read_models(PreflightContext& context, std::string& first_model) {
    PreflightFindings& found = context.findings;
    Asker& asker = context.asker;
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
            first_model = *id;
        }
        const bool is_asked = context.model.empty() ? found.models.empty() : context.model == *id;
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

/// The answer to `GET /v1/models` named no model: the server's words, and what may fix it.
static bool fail_models(PreflightContext& context) {
    Asker& asker = context.asker;
    const Reply& reply = asker.reply();
    JsonDocument document;
    context.failure.status = reply.status;
    const std::string asked = "GET " + context.plan.server.root_path + "/v1/models ";
    if (reply.status == 200 && lists_no_model(document, reply.body)) {
        const std::string wait = context.plan.wait_ready ? ", also after --wait-ready"
                                                         : ": --wait-ready T waits for one";
        return context.fail(asked + "lists no model" + wait +
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
    return context.fail(asked + "answered " + std::to_string(reply.status) +
                        (said.empty() ? "" : " (" + said + ")") + " and named no model; " +
                        (remedy.empty() ? "name it with --model, or check the URL" : remedy));
}

/// The first of the list, where the user named none. False: there is none to choose.
static bool choose_model(PreflightContext& context, const std::string& first_model) {
    PreflightFindings& found = context.findings;
    const auto& models = found.models;
    if (context.model.empty() && !models.empty()) {
        context.model = first_model;
        found.model = models.front();
    } else if (context.model.empty() && context.plan.dialect->names_model) {
        return fail_models(context);
    }
    const bool is_listed = std::find(models.begin(), models.end(), found.model) != models.end();
    if (!found.model.empty() && !models.empty() && !is_listed) {
        context.note("the server does not list the model " + found.model);
    }
    return true;
}

Task<bool> ask_models(PreflightContext& context) {
    PreflightFindings& found = context.findings;
    Asker& asker = context.asker;
    std::string first_model;
    bool answered = false;
    while (true) {  // bounded by `--wait-ready`
        answered = co_await context.fetch("GET", context.plan.server.root_path + "/v1/models", "");
        const int status = answered ? asker.reply().status : 0;
        if (status == 200) {
            read_models(context, first_model);
        }
        const bool ready = answered && status < 500 && (status != 200 || !found.models.empty());
        if (ready || !context.patient()) {
            break;
        }
        co_await context.pause(PreflightContext::ready_pause);
    }
    if (!answered) {
        context.failure.error = asker.error();
        const std::string server = context.plan.server.address.to_text();
        const std::string asked = " answer to GET /v1/models came from " + server;
        co_return context.fail((asker.heard()     ? "no complete" + asked
                                : asker.reached() ? "no" + asked
                                                  : "cannot reach " + server) +
                               ": " + asker.why());
    }
    found.server = asker.printable_words(header_value(asker.reply().head, "server"));
    found.keep_alive = asker.reply().limits;
    co_return choose_model(context, first_model);
}

Task<void> ask_info(PreflightContext& context) {
    const PreflightPlan& plan = context.plan;
    Asker& asker = context.asker;
    if (context.findings.max_model_len >= 0 || plan.dialect->info_path[0] == '\0') {
        co_return;
    }
    const std::string path = plan.server.root_path + plan.dialect->info_path;
    const bool answered = co_await asker.fetch("GET", path, "");
    if (answered && asker.reply().status == 200) {
        context.findings.max_model_len = read_context(asker.reply().body);
    }
}

Task<void> ask_metrics(PreflightContext& context) {
    PreflightFindings& found = context.findings;
    Asker& asker = context.asker;
    if (found.server_block > 0 || !found.has_cached_tokens) {
        co_return;
    }
    const bool answered =
        co_await asker.fetch("GET", context.plan.server.root_path + "/metrics", "");
    if (answered && asker.reply().status == 200) {
        found.server_block = read_cache_block(asker.reply().body);
        found.server_block_source = found.server_block > 0 ? "metrics" : "";
    }
}

namespace {

/// What a server refuses of a body and rows can go without.
enum class BodyPart : std::uint8_t { ignore_eos, stream_options, length_name };

}  // namespace

static constexpr BodyPart body_parts[] = {BodyPart::ignore_eos, BodyPart::stream_options,
                                          BodyPart::length_name};

namespace {

/// The parts that were tried without, and those that are left out, each with its refusal.
struct RefusedParts {
    struct Dropped {
        BodyPart part;
        std::string reason;
    };
    std::vector<BodyPart> tried;
    std::vector<Dropped> dropped;

    bool was_tried(BodyPart part) const {
        return std::find(tried.begin(), tried.end(), part) != tried.end();
    }
    bool was_dropped(BodyPart part) const {
        return std::any_of(dropped.begin(), dropped.end(),
                           [part](const Dropped& one) { return one.part == part; });
    }
};

}  // namespace

/// The rows' bodies have this part. Another name of the length is tried only where the refusal
/// `may_mean` this one: it names it, or says nothing.
static bool in_body(const PreflightPlan& plan, BodyPart part, bool may_mean) {
    const BodySpec& body = plan.body;
    const Dialect& dialect = *plan.dialect;
    switch (part) {
        case BodyPart::ignore_eos:
            return body.ignore_eos && body.output == OutputRule::exact;
        case BodyPart::stream_options:
            return dialect.has_stream_options && body.stream;
        case BodyPart::length_name:
            break;
    }
    return dialect.has_two_length_names && body.length_member.empty() &&
           body.output != OutputRule::free && may_mean;
}

/// As the part is in the body.
static std::string_view name_of(BodyPart part, const Dialect& dialect) {
    switch (part) {
        case BodyPart::ignore_eos:
            return "ignore_eos";
        case BodyPart::stream_options:
            return "stream_options";
        case BodyPart::length_name:
            break;
    }
    return dialect.length_member;
}

/// The part to leave out next: those that the refusal names come first; nothing where all that the
/// body has were tried.
static std::optional<BodyPart> next_part(const PreflightPlan& plan, const RefusedParts& refused,
                                         std::string_view refusal) {
    std::optional<BodyPart> unnamed;
    for (const BodyPart part : body_parts) {
        const bool named = refusal.find(name_of(part, *plan.dialect)) != refusal.npos;
        if (refused.was_tried(part) || !in_body(plan, part, named || refusal.empty())) {
            continue;
        }
        if (named) {
            return part;
        }
        unnamed = unnamed ? unnamed : part;
    }
    return unnamed;
}

/// Sets which parts the next probes, and the rows, go without.
static void go_without(PreflightContext& context, const RefusedParts& refused) {
    const BodySpec& body = context.plan.body;
    PreflightFindings& found = context.findings;
    found.ignore_eos = body.ignore_eos && !refused.was_dropped(BodyPart::ignore_eos);
    found.stream_options = body.stream_options && !refused.was_dropped(BodyPart::stream_options);
    found.length_member = refused.was_dropped(BodyPart::length_name)
                              ? std::string(other_length_member(*context.plan.dialect))
                              : body.length_member;
}

/// What rows lack without a part.
static std::string note_of(const PreflightContext& context, const RefusedParts::Dropped& dropped) {
    const std::string refuses = "the server refuses " +
                                std::string(name_of(dropped.part, *context.plan.dialect)) + " (" +
                                dropped.reason + "): rows are sent ";
    switch (dropped.part) {
        case BodyPart::ignore_eos:
            return refuses + "without it and may end early; --output cap counts no row as short";
        case BodyPart::stream_options:
            return "warning: " + refuses + "without it, and the server may count no tokens" +
                   (context.plan.body.continuous_usage ? "; --continuous-usage has no effect" : "");
        case BodyPart::length_name:
            break;
    }
    return refuses + "with " + context.findings.length_member;
}

/// One part after the other, until a body is accepted or none is left to try. A part stays out
/// where the server minds something else without it.
static Task<void> leave_out_each(PreflightContext& context, const std::string& prompt,
                                 ReadTo reading, RefusedParts& refused, Probe& latest) {
    std::string refusal = context.asker.reply().body;
    while (!latest.ok) {  // bounded: `next_part` tells each part once
        const std::optional<BodyPart> part = next_part(context.plan, refused, refusal);
        if (!part) {
            break;
        }
        refused.tried.push_back(*part);
        refused.dropped.push_back({*part, reason_of(latest)});
        go_without(context, refused);
        Probe without = co_await context.send(prompt, 0, reading);
        const bool minds_else = refuses_body(without) && reason_of(without) != reason_of(latest);
        if (without.ok || minds_else) {
            latest = std::move(without);
            refusal = context.asker.reply().body;
        } else {
            refused.dropped.pop_back();
        }
    }
}

/// None of them alone was what the server minds: all that were tried, together.
static Task<void> leave_out_all(PreflightContext& context, const std::string& prompt,
                                ReadTo reading, RefusedParts& refused, Probe& latest) {
    for (const BodyPart part : refused.tried) {
        refused.dropped.push_back({part, reason_of(latest)});
    }
    go_without(context, refused);
    Probe without = co_await context.send(prompt, 0, reading);
    if (without.ok) {
        latest = std::move(without);
    }
}

/// A body with this prompt was refused, and `one` is the refusal: leaves out one part after the
/// other, and keeps one in where the server minds the same without it; at last all of them. `one`
/// becomes an answer, or the refusal of what the server minds beside them.
static Task<void> leave_out_refused(PreflightContext& context, const std::string& prompt,
                                    ReadTo reading, Probe& one) {
    RefusedParts refused;
    Probe latest = one;
    co_await leave_out_each(context, prompt, reading, refused, latest);
    if (!latest.ok && refused.tried.size() > 1 && refused.dropped.empty()) {
        co_await leave_out_all(context, prompt, reading, refused, latest);
    }
    if (!latest.ok) {
        refused.dropped.clear();
        go_without(context, refused);
    }
    for (const RefusedParts::Dropped& dropped : refused.dropped) {
        context.note(note_of(context, dropped));
    }
    one = std::move(latest);
}

/// Some servers answer no request for one token: SGLang's responses, OpenAI's below 16.
static constexpr std::uint32_t tokens_enough = 16;

/// Servers of this API differ in the name of the length, and this one may know the other one.
static bool is_length_open(const PreflightContext& context) {
    const BodySpec& body = context.plan.body;
    const PreflightFindings& found = context.findings;
    return context.plan.dialect->has_two_length_names && body.output != OutputRule::free &&
           found.length_member.empty() && !found.tried_both_lengths;
}

/// Only a stream can be stopped.
static ReadTo reading_of(const PreflightContext& context) {
    const bool stops = is_length_open(context) && context.plan.body.stream;
    return stops ? ReadTo::enough : ReadTo::end;
}

/// An answer of so few tokens was refused: is a longer one?
static Task<void> ask_for_more(PreflightContext& context, const std::string& prompt, ReadTo reading,
                               Probe& one) {
    Probe more = co_await context.send(prompt, tokens_enough, reading);
    if (!more.ok) {
        co_return;
    }
    const std::uint32_t few = std::exchange(context.findings.least_answer, tokens_enough);
    context.note("it refuses answers of " + tokens_text(few) + " (" + reason_of(one) +
                 ") and accepts those of " + std::to_string(tokens_enough));
    one = std::move(more);
}

/// More tokens came than were asked for, or a whole answer did not come in time: the server may
/// read the other name of the length.
static Task<void> try_other_length(PreflightContext& context, const std::string& prompt,
                                   std::uint32_t tokens, ReadTo reading, Probe& one) {
    PreflightFindings& found = context.findings;
    const bool hung = !context.plan.body.stream && one.hung;
    if (!is_length_open(context) || !(one.is_too_long() || hung)) {
        co_return;
    }
    found.tried_both_lengths = true;
    const std::string usual(context.plan.dialect->length_member);
    found.length_member = other_length_member(*context.plan.dialect);
    Probe other = co_await context.send(prompt, tokens, reading);
    const bool ended = other.ok || (hung && other.unreadable == Unreadable::not_a_stream);
    if (!ended || other.is_too_long()) {
        found.length_member.clear();
        co_return;
    }
    const std::string made =
        hung ? "no end of its answer came"
             : (one.is_cut ? "it made at least " : "it made ") + tokens_text(one.made());
    context.note(made + " where " + usual + " asked for " + std::to_string(one.asked) +
                 ", and obeys " + found.length_member + ": rows use it");
    one = std::move(other);
}

Task<Probe> find_body_form(PreflightContext& context, const std::string& prompt) {
    const bool streams = context.plan.body.stream;
    if (is_length_open(context) && !streams) {  // a stream tells the name the sooner
        Probe streamed = co_await context.send(prompt, 0, ReadTo::enough);
        co_await try_other_length(context, prompt, 0, ReadTo::enough, streamed);
    }
    const ReadTo reading = reading_of(context);
    Probe one = co_await context.send(prompt, 0, reading);
    if (refuses_body(one)) {
        co_await leave_out_refused(context, prompt, reading, one);
    }
    const bool may_want_more = refuses_body(one) || one.status == 500 || one.status == 200;
    if (!one.ok && one.unreadable == Unreadable::no && may_want_more &&
        context.findings.least_answer < tokens_enough) {
        co_await ask_for_more(context, prompt, reading, one);
    }
    co_await try_other_length(context, prompt, 0, reading, one);
    if (one.is_cut) {  // neither name is obeyed; usage is at the end
        one = co_await context.send(prompt);
    }
    co_return one;
}

/// Tokens of the answer that is looked at for how its chunks come.
static constexpr std::uint32_t stream_tokens = 8;

/// Which latencies stay unknown where several tokens come in one chunk.
static void note_chunks(PreflightContext& context) {
    const PreflightFindings& found = context.findings;
    const std::int64_t made = found.length_made;
    const std::int64_t chunks = found.stream_chunks;
    const bool reported = found.has_completion_tokens && found.unread_member.empty();
    if (!reported || chunks <= 0 || chunks >= made || context.plan.body.continuous_usage) {
        return;
    }
    const std::string came = tokens_text(made) + " came in ";
    if (chunks == 1) {
        context.note(came + "1 chunk: TPOT and ITL stay unknown for such rows");
    } else if (!found.counts_chunks && !found.has_token_ids) {
        context.note(came + std::to_string(chunks) + " chunks: ITL stays unknown for such rows" +
                     (context.plan.dialect->has_stream_options
                          ? "; --continuous-usage may count each chunk"
                          : ""));
    }
}

/// What will become of rows whose length the server does not obey.
static void note_length(PreflightContext& context) {
    const PreflightFindings& found = context.findings;
    const std::int64_t asked = found.length_asked;
    const std::int64_t made = found.length_made;
    if (asked < 0 || made < 0 || context.plan.body.output != OutputRule::exact) {
        return;
    }
    const std::string said = "asked for " + tokens_text(asked) + ", it made " +
                             (found.length_cut ? "at least " : "") + std::to_string(made);
    if (made > asked || found.length_cut) {
        context.note("warning: " + said + ": rows that ask for fewer tokens end as long_output" +
                     (context.plan.body.length_member.empty()
                          ? ""
                          : "; remove --length-field to try the other name"));
    } else if (found.has_completion_tokens && found.stream_chunks > made) {
        context.note("warning: usage counts " + tokens_text(made) + " and " +
                     std::to_string(found.stream_chunks) +
                     " chunks had text: it leaves some out (maybe reasoning), and rows end as "
                     "short_output; --output cap accepts that");
    } else if (made < asked && found.has_completion_tokens) {
        context.note("warning: " + said +
                     ": rows may end early, as short_output; --output cap accepts that");
    }
    note_chunks(context);
}

Task<void> ask_pace(PreflightContext& context) {
    PreflightFindings& found = context.findings;
    if (context.plan.body.output == OutputRule::free) {
        co_return;
    }
    const std::string word = context.prompts.one_word();
    const ReadTo reading = reading_of(context);
    Probe some = co_await context.send(word, stream_tokens, reading);
    co_await try_other_length(context, word, stream_tokens, reading, some);
    if (!some.ok) {
        co_return;
    }
    if (context.plan.body.stream) {
        found.stream_chunks = some.chunks;
        found.counts_chunks = some.counts_chunks;
        found.stream_receives = some.receives;
    }
    if (some.asked > 0) {
        found.length_asked = some.asked;
        found.length_made = some.made();
        found.length_cut = some.is_cut;
        note_length(context);
    }
}

bool check_text(PreflightContext& context) {
    if (context.plan.dialect->form == nullptr || context.findings.stream_chunks != 0) {
        return true;
    }
    return context.fail("an answer of " + std::to_string(stream_tokens) +
                        " tokens came, but no event has text where event.content of the template "
                        "points; correct the pointer");
}

}  // namespace driftless
