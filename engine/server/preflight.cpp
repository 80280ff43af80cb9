#include "engine/server/preflight.hpp"

#include <string>
#include <utility>

#include "engine/server/findings.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// The plan, checked before any part refers to it.
const PreflightPlan& checked(const PreflightPlan& plan) {
    CHECK(plan.dialect != nullptr && plan.words != nullptr);
    return plan;
}

}  // namespace

Preflight::Preflight(Loop& loop, const PreflightPlan& plan, std::uint32_t first)
    : context_(loop, checked(plan), first),
      retrying_(context_),
      pages_(context_, retrying_),
      prompts_(*context_.plan.words),
      sender_(context_, retrying_),
      tokenize_(context_, prompts_),
      body_(context_, sender_),
      overhead_(context_, sender_, prompts_, tokenize_),
      words_(context_, sender_, prompts_, tokenize_, overhead_),
      first_words_(context_, sender_, prompts_, tokenize_, overhead_),
      pace_(context_, body_, prompts_),
      cache_(context_, sender_, prompts_, overhead_) {
    context_.asker.end_after(whole_max + plan.wait_ready.value_or(Duration{}));
    context_.findings.model = plan.body.model;
    context_.findings.ignore_eos = plan.body.ignore_eos;
    context_.findings.stream_options = plan.body.stream_options;
    context_.findings.length_member = plan.body.length_member;
}

bool Preflight::run() {
    context_.asker.loop().jobs().spawn(ask_all());
    context_.asker.run_until(done_);
    context_.findings.requests = context_.asker.next_name() - 1;
    return ok_;
}

/// Root job; ends in `done_`.
Task<void> Preflight::ask_all() {
    bool going = co_await ask_needed();
    if (going) {
        co_await ask_useful();
        going = pace_.check_text();
        for (std::string& hint : hints_for(context_.findings, *context_.plan.dialect,
                                           !context_.plan.sends_recorded_text)) {
            context_.note(std::move(hint));
        }
    }
    ok_ = going;
    done_ = true;
}

/// What no run can do without. False: the preflight has failed.
Task<bool> Preflight::ask_needed() {
    bool going = co_await pages_.ask_models();
    if (going) {
        co_await pages_.ask_info();
    }
    if (going && context_.plan.body.prompt == PromptKind::text) {
        co_await tokenize_.find();
    }
    if (going) {
        going = co_await probe_one_word();
    }
    if (going) {
        going = co_await words_.check();
    }
    if (going) {
        going = co_await first_words_.check();
    }
    co_return going;
}

/// What makes a run's numbers better, or its reader wiser.
Task<void> Preflight::ask_useful() {
    co_await sender_.send_again();
    co_await pace_.ask();
    co_await cache_.find_split();
    overhead_.assume_bos();
    co_await pages_.ask_metrics();
    co_await cache_.find_block();
}

/// What of the body is accepted, and what usage says of one word.
Task<bool> Preflight::probe_one_word() {
    const std::string word = prompts_.one_word();
    const Probe one = co_await body_.find(word);
    if (!one.ok) {
        co_return sender_.fail_answer("probe of one word", one);
    }
    const Reply& reply = context_.asker.reply();
    PreflightFindings& found = context_.findings;
    found.probe_ns = (context_.now() - reply.sent).ns;
    found.headers_before_token = reply.headers < reply.first_body;
    found.has_usage = one.prompt_tokens > 0;
    const bool settled = co_await overhead_.settle(one.prompt_tokens);
    co_return settled;
}

}  // namespace driftless
