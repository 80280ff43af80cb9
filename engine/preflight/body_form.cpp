#include "engine/preflight/body_form.hpp"

#include <cstdint>
#include <utility>

namespace driftless {

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

}  // namespace driftless
