#include "engine/server/warm_probe.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "proto/figures/warm_cache.hpp"

namespace driftless {

namespace {

constexpr std::uint32_t tokens_a_slice = 1 << 20;

}  // namespace

TellTale make_tell_tale(const Trace& trace, const WordTable& words, PromptOptions options,
                        std::size_t server, std::uint32_t tokens) {
    const bool recorded = trace.is_recorded_text();
    options.corpus = nullptr;  // words say whose they are from the first token on, texts later
    options.shared_blocks = {};
    options.seed = recorded ? 0 : options.seed;
    options.cache_salt = "tell-tale " + std::to_string(trace.digest) + " " +
                         std::to_string(server) + " " + (recorded ? "" : options.cache_salt);
    Trace alone;
    alone.rows.resize(1);
    alone.rows.front().input_length = tokens;
    const TraceRow& row = alone.rows.front();
    PromptBuilder builder(alone, words, options);
    TellTale made{std::string(builder.room_of(row), '\0'), builder.words_of(row), !recorded};
    PromptCursor cursor = builder.begin(row);
    while (!builder.fill(cursor, made.prompt.data(), tokens_a_slice)) {
    }
    made.prompt.resize(cursor.bytes);
    return made;
}

namespace {

/// vLLM's, which needs VLLM_SERVER_DEV_MODE=1, and SGLang's.
constexpr std::array<std::string_view, 2> reset_paths{"/reset_prefix_cache", "/flush_cache"};

constexpr const char* salt_instead = "; use --cache-salt random instead";

bool is_absent(int status) {
    return status == 404 || status == 405 || status == 501;
}

/// SGLang says 400 while requests are in flight.
bool is_passing(int status) {
    return status == 400 || status == 409 || status == 429 || status >= 500;
}

bool is_done(int status) {
    return status >= 200 && status < 300;
}

}  // namespace

WarmProbe::WarmProbe(Loop& loop, const PreflightPlan& plan, const PreflightFindings& found,
                     TellTale tell_tale, std::uint32_t first)
    : context_(loop, plan, first),
      retrying_(context_),
      sender_(context_, retrying_),
      tell_tale_(std::move(tell_tale)) {
    context_.findings = found;
    context_.findings.notes.clear();
    sender_.set_least_tokens(std::max(sender_.least_tokens(), found.least_answer));
}

CacheProbe WarmProbe::look() {
    done_ = false;
    context_.asker.loop().jobs().spawn(look_job());
    context_.asker.run_until(done_);
    return state_;
}

bool WarmProbe::reset(CacheProbe& out) {
    done_ = false;
    context_.asker.loop().jobs().spawn(reset_job());
    context_.asker.run_until(done_);
    out = state_;
    return ok_;
}

/// Root job; ends in `done_`.
Task<void> WarmProbe::look_job() {
    co_await ask(state_);
    done_ = true;
}

/// Root job; ends in `done_`.
Task<void> WarmProbe::reset_job() {
    co_await ask(state_);
    ok_ = false;
    if (state_.state == CacheState::unknown) {
        (void)fail("it cannot be checked: " + state_.why +
                   (context_.findings.has_cached_tokens
                        ? ""
                        : "; have the server report them (vLLM: --enable-prompt-tokens-details, "
                          "SGLang: --enable-cache-report)") +
                   (tell_tale_.is_salted ? salt_instead : ""));
    } else {
        ok_ = co_await prove(state_);
    }
    done_ = true;
}

// A server that counts prompts says how many tokens are its own: what is cached beyond these and a
// few words was sent before.
bool WarmProbe::hits(const Probe& probe) const {
    const auto words = static_cast<std::int64_t>(tell_tale_.words);
    const std::int64_t around = std::max<std::int64_t>(probe.prompt_tokens - words, 0);
    return probe.cached_tokens > around + static_cast<std::int64_t>(alike_tokens_max);
}

void WarmProbe::note(const Probe& probe, CacheProbe& out) const {
    const std::int64_t counted =
        probe.prompt_tokens > 0 ? probe.prompt_tokens : static_cast<std::int64_t>(tell_tale_.words);
    out.tokens = static_cast<std::uint64_t>(counted);
    out.cached_tokens = static_cast<std::uint64_t>(std::max<std::int64_t>(probe.cached_tokens, 0));
}

void WarmProbe::give_up(const Probe& probe, CacheProbe& out) const {
    out.state = CacheState::unknown;
    const std::string said =
        probe.status > 0 ? "was answered " + std::to_string(probe.status) : "failed";
    out.why = "the cache probe " + said +
              (probe.message.empty() ? "" : ": " + context_.asker.printable_words(probe.message));
}

/// A first try that broke off may have left the prompt itself, so that the second hits it.
Task<void> WarmProbe::ask(CacheProbe& out) {
    const std::uint32_t name = next_name();
    const Probe first = co_await sender_.send(tell_tale_.prompt);
    const bool tried_twice = next_name() - name > 1;
    if (!first.ok) {
        give_up(first, out);
        co_return;
    }
    note(first, out);
    if (hits(first) && tried_twice) {
        out.state = CacheState::unknown;
        out.why = "the cache probe broke off, and its repetition found its own first try";
    } else if (hits(first)) {
        out.state = CacheState::warm;
    } else {
        co_await ask_again(out);
    }
}

/// The prompt has just been sent: a server that keeps prompts, and says so, has hits now.
Task<void> WarmProbe::ask_again(CacheProbe& out) {
    for (const bool last : {false, true}) {
        const Probe again = co_await sender_.send(tell_tale_.prompt);
        if (!again.ok) {
            give_up(again, out);
            co_return;
        }
        if (hits(again)) {
            out.state = CacheState::cold;
            co_return;
        }
        if (!context_.findings.has_cached_tokens) {
            break;
        }
        if (!last) {
            co_await retrying_.pause(settle_pause);
        }
    }
    out.state = CacheState::unknown;
    out.why = context_.findings.has_cached_tokens
                  ? "the same prompt, sent again, hit nothing: the server caches no prompts, or "
                    "another worker answered"
                  : "the server reports no cached tokens";
}

bool WarmProbe::fail(std::string why) {
    failure_ = std::move(why);
    return false;
}

/// By the first endpoint that is there; `not_yet`: it refuses while the server is busy.
Task<WarmProbe::Emptied> WarmProbe::empty(std::string& path) {
    Asker& asker = context_.asker;
    for (const std::string_view tried : reset_paths) {
        path = context_.plan.server.root_path + std::string(tried);
        const bool answered = co_await asker.fetch("POST", path, "");
        const int status = answered ? asker.reply().status : 0;
        if (answered && is_absent(status)) {
            continue;
        }
        if (!answered || !is_done(status)) {
            const std::string words = answered ? asker.printable_words(asker.reply().body) : "";
            (void)fail(
                "POST " + asker.printable_words(path) +
                (answered ? " was answered " + std::to_string(status) : " failed: " + asker.why()) +
                (words.empty() ? "" : " (" + words + ")") + "; wait until the server is idle" +
                (tell_tale_.is_salted ? salt_instead : ""));
            co_return is_passing(status) ? Emptied::not_yet : Emptied::cannot;
        }
        co_return Emptied::yes;
    }
    (void)fail(std::string("the server has neither POST /reset_prefix_cache (vLLM: start it with "
                           "VLLM_SERVER_DEV_MODE=1) nor POST /flush_cache (SGLang)") +
               (tell_tale_.is_salted ? salt_instead : "") +
               (tell_tale_.is_salted ? ", or restart the server" : "; restart the server instead"));
    co_return Emptied::cannot;
}

/// The prompt was cached until now. It must not be once the cache is empty; that leaves it there
/// again.
Task<bool> WarmProbe::prove(CacheProbe& out) {
    std::string path;
    Emptied emptied = Emptied::not_yet;
    for (int tries = 0; tries < reset_tries && emptied != Emptied::cannot; ++tries) {
        if (tries > 0) {
            co_await retrying_.pause(reset_pause);
        }
        emptied = co_await empty(path);
        if (emptied != Emptied::yes) {
            continue;
        }
        const Probe after = co_await sender_.send(tell_tale_.prompt);
        if (!after.ok) {
            give_up(after, out);
            co_return fail("POST " + context_.asker.printable_words(path) +
                           " cannot be checked: " + out.why);
        }
        if (!hits(after)) {
            note(after, out);
            out.state = CacheState::cold;
            out.reset = path;
            co_return true;
        }
        note(after, out);
    }
    if (emptied != Emptied::yes) {
        co_return false;  // the endpoint has said why
    }
    co_return fail(
        "POST " + context_.asker.printable_words(path) + " was answered, and " +
        std::to_string(out.cached_tokens) + " of " + std::to_string(out.tokens) +
        " tokens of an earlier prompt are still cached: other requests may be in flight, or there "
        "is another cache behind it; wait until the server is idle, or restart it");
}

}  // namespace driftless
