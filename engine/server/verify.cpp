#include "engine/server/verify.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "engine/prompt/block.hpp"
#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

constexpr std::uint32_t tokens_a_slice = 1 << 20;

std::uint64_t first_block(const Trace& trace, const TraceRow& row) {
    return mix64(trace.ids_of(row).front() ^ mix64(row.name_space + 1));
}

std::uint32_t shared_blocks(const Trace& trace, const TraceRow& a, const TraceRow& b) {
    if (a.name_space != b.name_space) {
        return 0;
    }
    const auto ids_a = trace.ids_of(a);
    const auto ids_b = trace.ids_of(b);
    const std::size_t least = std::min(ids_a.size(), ids_b.size());
    std::size_t shared = 0;
    while (shared < least && ids_a[shared] == ids_b[shared]) {
        ++shared;
    }
    return static_cast<std::uint32_t>(shared);
}

/// Where the last token of a row's own text ends, in server tokens.
std::uint32_t text_end(const TraceRow& row, Overhead overhead) {
    const std::uint32_t around = overhead.pre + overhead.post;
    return std::max(row.input_length, around + 1) - overhead.post;
}

/// Words that two prompts share in front.
std::size_t shared_words(std::string_view a, std::string_view b, char separator) {
    const auto [end_a, end_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    const bool whole_a = end_a == a.end();
    const bool whole_b = end_b == b.end();
    const auto separators = static_cast<std::size_t>(std::count(a.begin(), end_a, separator));
    const bool at_end = (whole_a && whole_b) || (whole_a && *end_b == separator) ||
                        (whole_b && *end_a == separator);
    return separators + (at_end ? 1 : 0);
}

/// The ids of a prompt, as they stand in its body.
std::vector<std::int64_t> ids_in(std::string_view prompt) {
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

std::size_t shared_front(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
    const std::size_t least = std::min(a.size(), b.size());
    std::size_t shared = 0;
    while (shared < least && a[shared] == b[shared]) {
        ++shared;
    }
    return shared;
}

}  // namespace

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
            const std::uint32_t blocks = shared_blocks(trace, row, other);
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
    asker_.loop().jobs().spawn(all());
    asker_.run_until(done_);
    findings_.requests = asker_.next_name() - plan_.first_request;
    return ok_;
}

/// Root job; ends in `done_`.
Task<void> Verification::all() {
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
    ok_ = going;
    done_ = true;
}

const TraceRow& Verification::row_at(std::uint32_t position) const {
    return plan_.trace->rows[plan_.plan->rows[position].row];
}

std::string Verification::build(const TraceRow& row) {
    std::string prompt(plan_.prompts->room_of(row), '\0');
    PromptCursor cursor = plan_.prompts->begin(row);
    while (!plan_.prompts->fill(cursor, prompt.data(), tokens_a_slice)) {
    }
    prompt.resize(cursor.bytes);
    return prompt;
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
    prompt = build(row);
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
    const std::int64_t at_server =
        static_cast<std::int64_t>(shared_front(first_tokens_, second_tokens_)) - own +
        (in_texts - words);
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

}  // namespace driftless
