#include "engine/preflight/body_form.hpp"

#include <cstdint>
#include <utility>

namespace driftless {

namespace {

/// Some servers answer no request for one token: SGLang's responses, OpenAI's below 16.
constexpr std::uint32_t tokens_enough = 16;

}  // namespace

Task<Probe> BodyForm::find(const std::string& prompt) {
    Probe one = co_await sender_.send(prompt);
    if (refuses_body(one)) {
        co_await refused_.leave_out(prompt, one);
    }
    const bool may_want_more = refuses_body(one) || one.status == 500 || one.status == 200;
    if (!one.ok && one.unreadable == Unreadable::no && may_want_more &&
        sender_.least_tokens() < tokens_enough) {
        co_await ask_for_more(prompt, one);
    }
    if (one.ok && one.asked > 0 && one.made() > one.asked) {
        co_await try_other_length(prompt, one);
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

/// More tokens came than were asked for: the server may read the other name of the length.
Task<void> BodyForm::try_other_length(const std::string& prompt, Probe& one) {
    PreflightFindings& found = context_.findings;
    const PreflightPlan& plan = context_.plan;
    if (!plan.dialect->has_two_length_names || !found.length_member.empty()) {
        co_return;
    }
    found.length_member = other_length_member(*plan.dialect);
    Probe other = co_await sender_.send(prompt);
    if (!other.ok || other.made() > other.asked) {
        found.length_member.clear();
        co_return;
    }
    context_.note("it made " + tokens_text(one.made()) + " where " +
                  std::string(plan.dialect->length_member) + " asked for " +
                  std::to_string(one.asked) + ", and obeys " + found.length_member +
                  ": rows use it");
    one = std::move(other);
}

}  // namespace driftless
