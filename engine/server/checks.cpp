#include "engine/server/checks.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/plan/forecast.hpp"
#include "engine/prompt/builder.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

static constexpr std::uint32_t tokens_a_slice = 1 << 20;

/// The whole prompt of a row, as it is in its body.
static std::string built_prompt(PromptBuilder& builder, const TraceRow& row) {
    std::string prompt(builder.room_of(row), '\0');
    PromptCursor cursor = builder.begin(row);
    while (!builder.fill(cursor, prompt.data(), tokens_a_slice)) {
    }
    prompt.resize(cursor.bytes);
    return prompt;
}

static std::uint64_t first_block(const Trace& trace, const TraceRow& row) {
    return mix64(trace.ids_of(row).front() ^ mix64(row.name_space + 1));
}

/// Where the last token of a row's own text ends, in server tokens.
static std::uint32_t text_end(const TraceRow& row, Overhead overhead) {
    const std::uint32_t around = overhead.pre + overhead.post;
    return std::max(row.input_length, around + 1) - overhead.post;
}

/// Words that two prompts share in front.
static std::size_t shared_words(std::string_view a, std::string_view b, char separator) {
    const auto [end_a, end_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    const bool whole_a = end_a == a.end();
    const bool whole_b = end_b == b.end();
    const auto separators = static_cast<std::size_t>(std::count(a.begin(), end_a, separator));
    const bool at_end = (whole_a && whole_b) || (whole_a && *end_b == separator) ||
                        (whole_b && *end_a == separator);
    return separators + (at_end ? 1 : 0);
}

/// The ids of a prompt, as they are in its body.
static std::vector<std::int64_t> ids_in(std::string_view prompt) {
    std::vector<std::int64_t> ids;
    const char* at = prompt.data();
    const char* end = at + prompt.size();
    while (at < end) {
        std::int64_t id = 0;
        const auto read = std::from_chars(at, end, id);
        if (read.ec == std::errc()) {
            ids.push_back(id);
        }
        at = std::max(read.ptr, at + 1);
    }
    return ids;
}

std::vector<VerifyPair> draw_pairs(const Trace& trace, const Plan& plan, std::uint32_t rows_max,
                                   std::uint64_t seed) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        if (!plan.rows[position].is_to_second()) {
            all.push_back(position);
        }
    }
    std::vector<std::uint32_t> positions = all;
    Random random(seed);
    const std::size_t count = std::min<std::size_t>(rows_max, positions.size());
    for (std::size_t i = 0; i < count; ++i) {
        std::swap(positions[i], positions[i + random.below(positions.size() - i)]);
    }
    positions.resize(count);
    std::sort(positions.begin(), positions.end());
    std::vector<VerifyPair> pairs;
    std::unordered_multimap<std::uint64_t, std::size_t> by_first_block;
    for (const std::uint32_t position : positions) {
        const TraceRow& row = trace.rows[plan.rows[position].row];
        if (row.ids_count > 0) {
            by_first_block.emplace(first_block(trace, row), pairs.size());
        }
        pairs.push_back({position, std::nullopt, 0});
    }
    for (const std::uint32_t position : all) {
        const TraceRow& other = trace.rows[plan.rows[position].row];
        if (other.ids_count == 0) {
            continue;
        }
        const auto [begin, end] = by_first_block.equal_range(first_block(trace, other));
        for (auto at = begin; at != end; ++at) {
            VerifyPair& pair = pairs[at->second];
            const TraceRow& row = trace.rows[plan.rows[pair.first].row];
            const std::uint32_t blocks = common_blocks(trace, row, other);
            const bool same = blocks == row.ids_count && blocks == other.ids_count &&
                              row.input_length == other.input_length;
            if (position != pair.first && blocks > pair.blocks && !same) {
                pair.second = position;
                pair.blocks = blocks;
            }
        }
    }
    return pairs;
}

std::uint32_t shared_tokens(const Trace& trace, const TraceRow& a, const TraceRow& b,
                            std::uint32_t blocks, Overhead overhead) {
    const std::uint32_t end_a = text_end(a, overhead);
    const std::uint32_t end_b = text_end(b, overhead);
    const auto in_blocks = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(std::uint64_t{blocks} * trace.block_size, UINT32_MAX));
    const std::uint32_t shared =
        std::max(std::min({in_blocks, end_a, end_b}), std::min({overhead.pre, end_a, end_b}));
    return shared == end_a && shared == end_b ? shared + overhead.post : shared;
}

Verification::Verification(Loop& loop, const VerifyPlan& plan)
    : plan_(plan), asker_(loop, plan_.server, plan.first_request) {
    CHECK(plan.trace != nullptr && plan.plan != nullptr);
    CHECK(plan.words != nullptr && plan.prompts != nullptr);
}

bool Verification::run() {
    const bool good = asker_.run(check_all());
    findings_.requests = asker_.next_name() - plan_.first_request;
    return good;
}

Task<bool> Verification::check_all() {
    const std::vector<VerifyPair> pairs =
        draw_pairs(*plan_.trace, *plan_.plan, plan_.rows_max, plan_.seed);
    bool going = true;
    for (const VerifyPair& pair : pairs) {
        going = co_await check_row(pair.first, first_prompt_, first_tokens_);
        if (going && pair.second) {
            going = co_await check_row(*pair.second, second_prompt_, second_tokens_);
            going = going && check_pair(pair);
        }
        if (!going) {
            break;
        }
    }
    co_return going;
}

const TraceRow& Verification::row_at(std::uint32_t position) const {
    return plan_.trace->rows[plan_.plan->rows[position].row];
}

bool Verification::fail(std::string what) {
    findings_.wrong = std::move(what);
    return false;
}

/// The endpoint's tokens. What it sees around a text, and what stands around the row's, may differ:
/// the text counts.
Task<bool> Verification::count_by_endpoint(const std::string& name, const std::string& prompt,
                                           std::vector<std::int64_t>& tokens,
                                           std::int64_t& counted) {
    tokens = co_await asker_.tokenize(plan_.form, plan_.model, prompt);
    if (tokens.empty()) {
        co_return fail(name + ": the tokenize endpoint gave no tokens (" + asker_.status_or_why() +
                       ")");
    }
    const std::int64_t own = std::int64_t{plan_.own.pre} + plan_.own.post;
    counted =
        static_cast<std::int64_t>(tokens.size()) - own + plan_.overhead.pre + plan_.overhead.post;
    co_return true;
}

/// Sends ids for the shortest answer; usage counts them.
Task<bool> Verification::count_by_usage(const std::string& name, const std::string& prompt,
                                        std::vector<std::int64_t>& tokens, std::int64_t& counted) {
    const Result<BodyFrame> frame = plan_.dialect->frame(plan_.body);
    CHECK(static_cast<bool>(frame));  // the preflight has sent such bodies
    const BodyFrame& parts = frame.value();
    const std::string body = parts.before + prompt + parts.between +
                             (parts.has_length ? std::to_string(plan_.answer_tokens) : "") +
                             parts.after;
    const bool answered = co_await asker_.fetch("POST", plan_.api_path, body);
    if (!answered) {
        co_return fail(name + ": no answer came (" + asker_.why() + ")");
    }
    const Probe probe = read_probe(*plan_.dialect, plan_.body.stream, asker_.reply());
    if (!probe.ok || probe.prompt_tokens < 0) {
        co_return fail(name + ": " +
                       (probe.ok ? "the server reports no usage to compare with"
                                 : "the server answers " + std::to_string(probe.status) + " (" +
                                       asker_.printable_words(probe.message) + ")"));
    }
    tokens = ids_in(prompt);
    counted = probe.prompt_tokens;
    co_return true;
}

/// The tokens of one row's prompt; true where there are as many as recorded.
Task<bool> Verification::check_row(std::uint32_t position, std::string& prompt,
                                   std::vector<std::int64_t>& tokens) {
    const TraceRow& row = row_at(position);
    const std::string name = "row " + std::to_string(row.index);
    if (asker_.stopped()) {
        co_return fail("interrupted");
    }
    prompt = built_prompt(*plan_.prompts, row);
    std::int64_t counted = 0;
    bool going = false;
    if (plan_.dialect != nullptr) {
        going = co_await count_by_usage(name, prompt, tokens, counted);
    } else {
        going = co_await count_by_endpoint(name, prompt, tokens, counted);
    }
    if (!going) {
        co_return false;
    }
    const std::int64_t around = std::int64_t{plan_.overhead.pre} + plan_.overhead.post;
    const std::int64_t expected = std::max<std::int64_t>(row.input_length, around + 1);
    if (counted != expected) {
        co_return fail(name + ": the server counts " + std::to_string(counted) +
                       " tokens for its prompt, the trace says " + std::to_string(expected));
    }
    ++findings_.rows;
    findings_.tokens += static_cast<std::uint64_t>(counted);
    co_return true;
}

/// Both rows' tokens are at hand. The words that the texts share must be the trace's, but for
/// different blocks that begin with the same words; and the tokens must be those words, no more.
bool Verification::check_pair(const VerifyPair& pair) {
    const TraceRow& a = row_at(pair.first);
    const TraceRow& b = row_at(*pair.second);
    const std::int64_t expected = shared_tokens(*plan_.trace, a, b, pair.blocks, plan_.overhead);
    const bool equal = first_prompt_ == second_prompt_;
    const auto words = static_cast<std::int64_t>(
        shared_words(first_prompt_, second_prompt_, plan_.words->separator()));
    const std::int64_t in_texts = words + plan_.overhead.pre + (equal ? plan_.overhead.post : 0);
    const std::int64_t own = plan_.own.pre + (equal ? std::int64_t{plan_.own.post} : 0);
    const std::int64_t shared =
        std::ranges::mismatch(first_tokens_, second_tokens_).in1 - first_tokens_.begin();
    const std::int64_t at_server = shared - own + (in_texts - words);
    const std::int64_t beyond = in_texts - expected;
    if (at_server != in_texts || beyond < 0 || beyond >= head_words(*plan_.words)) {
        return fail("rows " + std::to_string(a.index) + " and " + std::to_string(b.index) +
                    " share " + std::to_string(at_server) +
                    " tokens at the server, the trace says " + std::to_string(expected));
    }
    ++findings_.pairs;
    findings_.shared_tokens += static_cast<std::uint64_t>(expected);
    findings_.shared_beyond += static_cast<std::uint64_t>(beyond);
    return true;
}

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
    return {built_prompt(builder, row), builder.words_of(row), !recorded};
}

/// vLLM's, which needs VLLM_SERVER_DEV_MODE=1, and SGLang's.
static constexpr std::array<std::string_view, 2> reset_paths{"/reset_prefix_cache", "/flush_cache"};

static constexpr const char* salt_instead = "; use --cache-salt random instead";

static bool is_absent(int status) {
    return status == 404 || status == 405 || status == 501;
}

/// SGLang says 400 while requests are in flight.
static bool is_passing(int status) {
    return status == 400 || status == 409 || status == 429 || status >= 500;
}

static bool is_done(int status) {
    return status >= 200 && status < 300;
}

WarmProbe::WarmProbe(Loop& loop, const PreflightPlan& plan, const PreflightFindings& found,
                     TellTale tell_tale, std::uint32_t first)
    : context_(loop, plan, first), tell_tale_(std::move(tell_tale)) {
    const std::uint32_t least = context_.findings.least_answer;
    context_.findings = found;
    context_.findings.notes.clear();
    context_.findings.least_answer = std::max(least, found.least_answer);
}

CacheProbe WarmProbe::look() {
    (void)context_.asker.run(ask());
    return state_;
}

bool WarmProbe::reset(CacheProbe& out) {
    const bool good = context_.asker.run(ask_and_reset());
    out = state_;
    return good;
}

Task<bool> WarmProbe::ask_and_reset() {
    const bool known = co_await ask();
    if (!known) {
        co_return fail(
            "it cannot be checked: " + state_.why +
            (context_.findings.has_cached_tokens
                 ? ""
                 : "; have the server report them (vLLM: --enable-prompt-tokens-details, "
                   "SGLang: --enable-cache-report)") +
            (tell_tale_.is_salted ? salt_instead : ""));
    }
    const bool proven = co_await prove();
    co_return proven;
}

// A server that counts prompts says how many tokens are its own: what is cached beyond these and a
// few words was sent before.
bool WarmProbe::hits(const Probe& probe) const {
    const auto words = static_cast<std::int64_t>(tell_tale_.words);
    const std::int64_t around = std::max<std::int64_t>(probe.prompt_tokens - words, 0);
    return probe.cached_tokens > around + static_cast<std::int64_t>(alike_tokens_max);
}

void WarmProbe::note(const Probe& probe) {
    const std::int64_t counted =
        probe.prompt_tokens > 0 ? probe.prompt_tokens : static_cast<std::int64_t>(tell_tale_.words);
    state_.tokens = static_cast<std::uint64_t>(counted);
    state_.cached_tokens =
        static_cast<std::uint64_t>(std::max<std::int64_t>(probe.cached_tokens, 0));
}

void WarmProbe::give_up(const Probe& probe) {
    state_.state = CacheState::unknown;
    const std::string said =
        probe.status > 0 ? "was answered " + std::to_string(probe.status) : "failed";
    state_.why =
        "the cache probe " + said +
        (probe.message.empty() ? "" : ": " + context_.asker.printable_words(probe.message));
}

/// Finds the state; false: it is unknown. A first try that broke off may have left the prompt
/// itself, so that the second hits it.
Task<bool> WarmProbe::ask() {
    const Probe first = co_await context_.send(tell_tale_.prompt);
    if (!first.ok) {
        give_up(first);
        co_return false;
    }
    note(first);
    if (hits(first) && first.repeated) {
        state_.state = CacheState::unknown;
        state_.why = "the cache probe broke off, and its repetition found its own first try";
    } else if (hits(first)) {
        state_.state = CacheState::warm;
    } else {
        co_await ask_again();
    }
    co_return state_.state != CacheState::unknown;
}

/// The prompt has just been sent: a server that keeps prompts, and says so, has hits now.
Task<void> WarmProbe::ask_again() {
    for (const bool last : {false, true}) {
        const Probe again = co_await context_.send(tell_tale_.prompt);
        if (!again.ok) {
            give_up(again);
            co_return;
        }
        if (hits(again)) {
            state_.state = CacheState::cold;
            co_return;
        }
        if (!context_.findings.has_cached_tokens) {
            break;
        }
        if (!last) {
            co_await context_.pause(settle_pause);
        }
    }
    state_.state = CacheState::unknown;
    state_.why = context_.findings.has_cached_tokens
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
Task<bool> WarmProbe::prove() {
    std::string path;
    Emptied emptied = Emptied::not_yet;
    for (int tries = 0; tries < reset_tries && emptied != Emptied::cannot; ++tries) {
        if (tries > 0) {
            co_await context_.pause(reset_pause);
        }
        emptied = co_await empty(path);
        if (emptied != Emptied::yes) {
            continue;
        }
        const Probe after = co_await context_.send(tell_tale_.prompt);
        if (!after.ok) {
            give_up(after);
            co_return fail("POST " + context_.asker.printable_words(path) +
                           " cannot be checked: " + state_.why);
        }
        note(after);
        if (!hits(after)) {
            state_.state = CacheState::cold;
            state_.reset = path;
            co_return true;
        }
    }
    if (emptied != Emptied::yes) {
        co_return false;  // the endpoint has said why
    }
    co_return fail(
        "POST " + context_.asker.printable_words(path) + " was answered, and " +
        std::to_string(state_.cached_tokens) + " of " + std::to_string(state_.tokens) +
        " tokens of an earlier prompt are still cached: other requests may be in flight, or there "
        "is another cache behind it; wait until the server is idle, or restart it");
}

}  // namespace driftless
