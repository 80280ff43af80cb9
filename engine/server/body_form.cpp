#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/server/preflight.hpp"

namespace driftless {

namespace {

/// Whether the server minds something else of the body now, or nothing any more.
bool did_help(const Probe& without, const Probe& before) {
    return without.ok || (refuses_body(without) && reason_of(without) != reason_of(before));
}

}  // namespace

Task<void> RefusedParts::leave_out(const std::string& prompt, Probe& one) {
    tried_.clear();
    dropped_.clear();
    Probe latest = one;
    co_await leave_out_each(prompt, latest);
    if (!latest.ok && tried_.size() > 1 && dropped_.empty()) {
        co_await leave_out_all(prompt, latest);
    }
    if (!latest.ok) {
        dropped_.clear();
        apply();
    }
    for (const Dropped& dropped : dropped_) {
        context_.note(note_of(dropped));
    }
    one = std::move(latest);
}

/// One part after the other, until a body is accepted or none is left to try. A part stays out
/// where the server minds something else without it.
Task<void> RefusedParts::leave_out_each(const std::string& prompt, Probe& latest) {
    std::string refusal = context_.asker.reply().body;
    while (!latest.ok && !context_.asker.stopped()) {  // bounded: `next_part` tells each part once
        const std::optional<Part> part = next_part(refusal);
        if (!part) {
            break;
        }
        tried_.push_back(*part);
        dropped_.push_back({*part, reason_of(latest)});
        apply();
        Probe without = co_await sender_.send(prompt);
        if (did_help(without, latest)) {
            latest = std::move(without);
            refusal = context_.asker.reply().body;
        } else {
            dropped_.pop_back();
        }
    }
}

/// None of them alone was what the server minds: all that were tried, together.
Task<void> RefusedParts::leave_out_all(const std::string& prompt, Probe& latest) {
    for (const Part part : tried_) {
        dropped_.push_back({part, reason_of(latest)});
    }
    apply();
    Probe without = co_await sender_.send(prompt);
    if (without.ok) {
        latest = std::move(without);
    }
}

/// The part to leave out next: those that the refusal names come first; nothing where all that the
/// body has were tried.
std::optional<RefusedParts::Part> RefusedParts::next_part(std::string_view refusal) const {
    std::optional<Part> unnamed;
    for (const Part part : all_parts) {
        const bool named = refusal.find(name_of(part)) != refusal.npos;
        const bool was_tried = std::find(tried_.begin(), tried_.end(), part) != tried_.end();
        if (was_tried || !in_body(part, named || refusal.empty())) {
            continue;
        }
        if (named) {
            return part;
        }
        unnamed = unnamed ? unnamed : part;
    }
    return unnamed;
}

/// The rows' bodies have this part. Another name of the length is tried only where the refusal
/// `may_mean` this one: it names it, or says nothing.
bool RefusedParts::in_body(Part part, bool may_mean) const {
    const BodySpec& body = context_.plan.body;
    const Dialect& dialect = *context_.plan.dialect;
    switch (part) {
        case Part::ignore_eos:
            return body.ignore_eos && body.output == OutputRule::exact;
        case Part::stream_options:
            return dialect.has_stream_options && body.stream;
        case Part::length_name:
            break;
    }
    return dialect.has_two_length_names && body.length_member.empty() &&
           body.output != OutputRule::free && may_mean;
}

/// As the part stands in the body.
std::string_view RefusedParts::name_of(Part part) const {
    switch (part) {
        case Part::ignore_eos:
            return "ignore_eos";
        case Part::stream_options:
            return "stream_options";
        case Part::length_name:
            break;
    }
    return context_.plan.dialect->length_member;
}

bool RefusedParts::was_dropped(Part part) const {
    return std::any_of(dropped_.begin(), dropped_.end(),
                       [part](const Dropped& one) { return one.part == part; });
}

/// Sets which parts the next probes, and the rows, go without.
void RefusedParts::apply() {
    const BodySpec& body = context_.plan.body;
    PreflightFindings& found = context_.findings;
    found.ignore_eos = body.ignore_eos && !was_dropped(Part::ignore_eos);
    found.stream_options = body.stream_options && !was_dropped(Part::stream_options);
    found.length_member = was_dropped(Part::length_name)
                              ? std::string(other_length_member(*context_.plan.dialect))
                              : body.length_member;
}

/// What rows lack without a part.
std::string RefusedParts::note_of(const Dropped& dropped) const {
    const std::string refuses = "the server refuses " + std::string(name_of(dropped.part)) + " (" +
                                dropped.reason + "): rows are sent ";
    switch (dropped.part) {
        case Part::ignore_eos:
            return refuses + "without it and may end early; --output cap counts no row as short";
        case Part::stream_options:
            return "warning: " + refuses + "without it, and the server may count no tokens" +
                   (context_.plan.body.continuous_usage ? "; --continuous-usage has no effect"
                                                        : "");
        case Part::length_name:
            break;
    }
    return refuses + "with " + context_.findings.length_member;
}

namespace {

/// Some servers answer no request for one token: SGLang's responses, OpenAI's below 16.
constexpr std::uint32_t tokens_enough = 16;

}  // namespace

/// Servers of this API differ in the name of the length, and this one may know the other one.
bool BodyForm::is_length_open() const {
    const BodySpec& body = context_.plan.body;
    const PreflightFindings& found = context_.findings;
    return context_.plan.dialect->has_two_length_names && body.output != OutputRule::free &&
           found.length_member.empty() && !found.tried_both_lengths;
}

/// Only a stream can be stopped.
ReadTo BodyForm::reading() const {
    const bool stops = is_length_open() && context_.plan.body.stream;
    return stops ? ReadTo::enough : ReadTo::end;
}

Task<Probe> BodyForm::ask_for(const std::string& prompt, std::uint32_t tokens) {
    sender_.set_reading(reading());
    Probe one = co_await sender_.send(prompt, tokens);
    co_await try_other_length(prompt, tokens, one);
    sender_.set_reading(ReadTo::end);
    co_return one;
}

Task<Probe> BodyForm::find(const std::string& prompt) {
    if (is_length_open() && !context_.plan.body.stream) {  // a stream tells the name the sooner
        sender_.set_reading(ReadTo::enough);
        Probe streamed = co_await sender_.send(prompt);
        co_await try_other_length(prompt, 0, streamed);
    }
    sender_.set_reading(reading());
    Probe one = co_await sender_.send(prompt);
    if (refuses_body(one)) {
        co_await refused_.leave_out(prompt, one);
    }
    const bool may_want_more = refuses_body(one) || one.status == 500 || one.status == 200;
    if (!one.ok && one.unreadable == Unreadable::no && may_want_more &&
        sender_.least_tokens() < tokens_enough) {
        co_await ask_for_more(prompt, one);
    }
    co_await try_other_length(prompt, 0, one);
    sender_.set_reading(ReadTo::end);
    if (one.is_cut) {  // neither name is obeyed; usage stands at the end
        one = co_await sender_.send(prompt);
    }
    context_.findings.least_answer = sender_.least_tokens();
    co_return one;
}

/// An answer of so few tokens was refused: is a longer one?
Task<void> BodyForm::ask_for_more(const std::string& prompt, Probe& one) {
    const std::uint32_t few = sender_.least_tokens();
    sender_.set_least_tokens(tokens_enough);
    Probe more = co_await sender_.send(prompt);
    if (!more.ok) {
        sender_.set_least_tokens(few);
        co_return;
    }
    context_.note("it refuses answers of " + tokens_text(few) + " (" + reason_of(one) +
                  ") and accepts those of " + std::to_string(tokens_enough));
    one = std::move(more);
}

/// More tokens came than were asked for, or a whole answer did not come in time: the server may
/// read the other name of the length.
Task<void> BodyForm::try_other_length(const std::string& prompt, std::uint32_t tokens, Probe& one) {
    PreflightFindings& found = context_.findings;
    const bool hung = !context_.plan.body.stream && one.status == 0 && context_.asker.hung() &&
                      context_.asker.reached();
    if (!is_length_open() || !(one.is_too_long() || hung)) {
        co_return;
    }
    found.tried_both_lengths = true;
    const std::string usual(context_.plan.dialect->length_member);
    found.length_member = other_length_member(*context_.plan.dialect);
    Probe other = co_await sender_.send(prompt, tokens);
    const bool ended = other.ok || (hung && other.unreadable == Unreadable::not_a_stream);
    if (!ended || other.is_too_long()) {
        found.length_member.clear();
        co_return;
    }
    const std::string made =
        hung ? "no end of its answer came"
             : (one.is_cut ? "it made at least " : "it made ") + tokens_text(one.made());
    context_.note(made + " where " + usual + " asked for " + std::to_string(one.asked) +
                  ", and obeys " + found.length_member + ": rows use it");
    one = std::move(other);
}

namespace {

/// Tokens of the answer that is looked at for how its chunks come.
constexpr std::uint32_t stream_tokens = 8;

}  // namespace

Task<void> AnswerPace::ask() {
    PreflightFindings& found = context_.findings;
    if (context_.plan.body.output == OutputRule::free || context_.asker.stopped()) {
        co_return;
    }
    const std::string word = prompts_.one_word();
    const Probe some = co_await body_.ask_for(word, stream_tokens);
    if (!some.ok) {
        co_return;
    }
    if (context_.plan.body.stream) {
        found.stream_chunks = some.chunks;
        found.counts_chunks = some.counts_chunks;
        found.stream_receives = context_.asker.reply().body_receives;
    }
    if (some.asked > 0) {
        found.length_asked = some.asked;
        found.length_made = some.made();
        found.length_cut = some.is_cut;
        note_length();
    }
}

/// What will become of rows whose length the server does not obey.
void AnswerPace::note_length() {
    const PreflightFindings& found = context_.findings;
    const std::int64_t asked = found.length_asked;
    const std::int64_t made = found.length_made;
    if (asked < 0 || made < 0 || context_.plan.body.output != OutputRule::exact) {
        return;
    }
    const std::string said = "asked for " + tokens_text(asked) + ", it made " +
                             (found.length_cut ? "at least " : "") + std::to_string(made);
    if (made > asked || found.length_cut) {
        context_.note("warning: " + said + ": rows that ask for fewer tokens end as long_output" +
                      (context_.plan.body.length_member.empty()
                           ? ""
                           : "; remove --length-field to try the other name"));
    } else if (found.has_completion_tokens && found.stream_chunks > made) {
        context_.note("warning: usage counts " + tokens_text(made) + " and " +
                      std::to_string(found.stream_chunks) +
                      " chunks had text: it leaves some out (maybe reasoning), and rows end as "
                      "short_output; --output cap accepts that");
    } else if (made < asked && found.has_completion_tokens) {
        context_.note("warning: " + said +
                      ": rows may end early, as short_output; --output cap accepts that");
    }
    note_chunks();
}

/// Which latencies stay unknown where several tokens come in one chunk.
void AnswerPace::note_chunks() {
    const PreflightFindings& found = context_.findings;
    const std::int64_t made = found.length_made;
    const std::int64_t chunks = found.stream_chunks;
    const bool reported = found.has_completion_tokens && found.unread_member.empty();
    if (!reported || chunks <= 0 || chunks >= made || context_.plan.body.continuous_usage) {
        return;
    }
    const std::string came = tokens_text(made) + " came in ";
    if (chunks == 1) {
        context_.note(came + "1 chunk: TPOT and ITL stay unknown for such rows");
    } else if (!found.counts_chunks && !found.has_token_ids) {
        context_.note(came + std::to_string(chunks) + " chunks: ITL stays unknown for such rows" +
                      (context_.plan.dialect->has_stream_options
                           ? "; --continuous-usage may count each chunk"
                           : ""));
    }
}

bool AnswerPace::check_text() {
    if (context_.plan.dialect->form == nullptr || context_.findings.stream_chunks != 0) {
        return true;
    }
    return context_.fail("an answer of " + std::to_string(stream_tokens) +
                         " tokens came, but no event has text where event.content of the template "
                         "points; correct the pointer");
}

}  // namespace driftless
