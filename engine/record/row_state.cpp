#include "engine/record/row_state.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/plan/plan.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

/// Memory that a finished row may keep for the next one.
static constexpr std::size_t kept_bytes_max = 64 * 1024;
static constexpr std::size_t kept_chunks_max = 8 * 1024;

/// Gives extraordinary memory back. Not by shrink_to_fit, which does nothing to a vector where
/// there are no exceptions (libstdc++).
template <typename... List>
static void give_back(std::size_t kept_max, List&... lists) {
    ((lists.capacity() > kept_max ? List().swap(lists) : void()), ...);
}

static bool append_bounded(std::string& out, std::string_view text) {
    const std::size_t room = saved_text_bytes_max - std::min(saved_text_bytes_max, out.size());
    out.append(text.substr(0, room));
    CHECK(out.size() <= saved_text_bytes_max);
    return text.size() <= room;
}

/// Letter of what a token-bearing event holds (`chunk_kinds`).
static char kind_of(const EventReading& reading) {
    return !reading.content.empty()     ? 'c'
           : !reading.reasoning.empty() ? 'r'
           : !reading.tool_text.empty() ? 't'
                                        : 'e';
}

void AnswerState::reset(bool keep_text) {
    SavedText texts = std::move(text);
    renew(texts, &SavedText::content, &SavedText::reasoning, &SavedText::tool_text,
          &SavedText::calls);
    give_back(kept_bytes_max, texts.content, texts.reasoning, texts.tool_text);
    give_back(kept_chunks_max, chunk_stamps, chunk_waits, chunk_tokens, chunk_kinds);
    renew(*this, &AnswerState::chunk_stamps, &AnswerState::chunk_waits, &AnswerState::chunk_tokens,
          &AnswerState::chunk_kinds);
    text = std::move(texts);
    keeps_text = keep_text;
    CHECK(chunk_stamps.empty() && chunk_tokens.empty() && text.content.empty());
}

void AnswerState::give_counting_up() {
    counting = Counting::none;
    chunk_tokens.clear();
}

void AnswerState::close_kinds() {
    if (open_kind_chunks > 0) {
        chunk_kinds += open_kind + std::to_string(open_kind_chunks);
        open_kind_chunks = 0;
    }
}

void AnswerState::stamp_chunk(const ReadAt& read, char kind) {
    CHECK(chunk_stamps.size() <= chunks_per_row_max);
    if (chunk_stamps.size() == chunks_per_row_max) {
        over_limit = true;
        return;
    }
    if (first_token_ns == no_stamp) {
        first_token_ns = read.ns;
    }
    last_token_ns = read.ns;
    last_token_wait_ns = read.waited_ns;
    chunk_stamps.push_back(read.ns);
    chunk_waits.push_back(read.waited_ns);
    if (kind != open_kind) {
        close_kinds();
        open_kind = kind;
    }
    ++open_kind_chunks;
    coalesced_chunks += read.coalesced ? 1 : 0;
}

/// Continuous usage is a running sum: a token that showed no text is counted to the next chunk that
/// does, whose gap it explains.
void AnswerState::count_tokens(const EventReading& reading) {
    const bool has_running = reading.usage_is_running && reading.completion_tokens >= 0;
    const bool has_ids = reading.token_ids >= 0;
    ids_on_all = ids_on_all && has_ids;
    ids_sum += has_ids ? reading.token_ids : 0;
    if (counting == Counting::undecided) {
        counting = has_running ? Counting::continuous : has_ids ? Counting::ids : Counting::none;
    }
    std::int64_t tokens = -1;
    if (counting == Counting::continuous && has_running) {
        tokens = reading.completion_tokens - continuous_last;
        continuous_last = reading.completion_tokens;
    } else if (counting == Counting::ids && has_ids) {
        tokens = reading.token_ids;
    }
    if (tokens < 0 || tokens > std::numeric_limits<std::int32_t>::max() || over_limit) {
        give_counting_up();
        return;
    }
    chunk_tokens.push_back(static_cast<std::int32_t>(tokens));
    CHECK(chunk_tokens.size() == chunk_stamps.size());
}

void AnswerState::take_usage(const EventReading& reading) {
    if (!reading.has_usage) {
        return;
    }
    usage_seen = true;
    prompt_tokens = reading.prompt_tokens >= 0 ? reading.prompt_tokens : prompt_tokens;
    cached_tokens = reading.cached_tokens >= 0 ? reading.cached_tokens : cached_tokens;
    if (reading.completion_tokens >= 0) {
        completion_tokens = reading.completion_tokens;
        usage_is_final = !reading.usage_is_running || !finish_reason.empty();
    }
}

void AnswerState::keep_text_of(const EventReading& reading) {
    const bool content = append_bounded(text.content, reading.content);
    const bool reasoning = append_bounded(text.reasoning, reading.reasoning);
    const bool tool_text = append_bounded(text.tool_text, reading.tool_text);
    text.cut = text.cut || !content || !reasoning || !tool_text;
}

/// Stamps of events for what they are, not for their tokens.
void AnswerState::stamp_event(const EventReading& reading, std::int64_t stamp_ns) {
    if (is_whole) {
        return;
    }
    if (reading.has_usage && !reading.usage_is_running) {
        usage_event_ns = stamp_ns;
    } else if (first_event_ns == no_stamp) {
        first_event_ns = stamp_ns;
    }
    if (!reading.finish_reason.empty()) {
        finish_event_ns = stamp_ns;
    }
}

void AnswerState::note_error(std::string_view message, std::int64_t stamp_ns) {
    if (!error_seen) {
        error = message.substr(0, message_bytes_max);
        error_event_ns = stamp_ns;
    }
    error_seen = true;
}

/// Behind the end marker nothing has a meaning but a usage.
void AnswerState::take(const EventReading& reading, std::string_view data, const ReadAt& read) {
    const std::int64_t stamp_ns = read.ns;
    if (done_seen) {
        take_usage(reading);
        usage_event_ns = reading.has_usage ? stamp_ns : usage_event_ns;
        return;
    }
    if (!reading.unread_member.empty()) {
        unread_member = reading.unread_member.substr(0, message_bytes_max);
    }
    switch (reading.kind) {
        case EventReading::Kind::ignored:
            return;
        case EventReading::Kind::done:
            done_seen = true;
            end_marker_ns = stamp_ns;
            take_usage(reading);
            return;
        case EventReading::Kind::error:
            note_error(reading.error_message, stamp_ns);
            return;
        case EventReading::Kind::bad:
            if (!bad_seen && !error_seen) {
                error = data.substr(0, message_bytes_max);
            }
            bad_seen = true;
            return;
        case EventReading::Kind::delta:
            break;
    }
    stamp_event(reading, stamp_ns);
    if (response_id.empty()) {
        response_id = reading.response_id.substr(0, message_bytes_max);
    }
    if (!reading.finish_reason.empty()) {
        finish_reason = reading.finish_reason.substr(0, message_bytes_max);
    }
    if (!reading.error_message.empty()) {
        note_error(reading.error_message, stamp_ns);
    }
    ids_seen = ids_seen || reading.token_ids >= 0;
    for (const auto& [into, said] : {std::pair{&worker_id, reading.worker_id},
                                     std::pair{&worker_timing, reading.worker_timing}}) {
        if (!said.empty() && said.size() <= worker_bytes_max) {
            *into = said;
        }
    }
    take_usage(reading);
    if (keeps_text) {
        text.calls.take(reading.tool_calls);
        text.cut = text.cut || text.calls.is_cut();
    }
    if (reading.repeats_text) {
        take_tokens(without_repetition(reading), read);
    } else {
        take_tokens(reading, read);
    }
}

/// What is new in an event that repeats the text so far. Without a new token and new text it bears
/// none.
EventReading AnswerState::without_repetition(const EventReading& reading) {
    CHECK(reading.repeats_text);
    EventReading fresh = reading;
    fresh.content.remove_prefix(std::min(repeated_bytes, fresh.content.size()));
    fresh.reasoning.remove_prefix(std::min(repeated_reasoning_bytes, fresh.reasoning.size()));
    const bool grew = reading.completion_tokens > repeated_tokens;
    fresh.token_bearing =
        reading.token_bearing && (grew || !fresh.content.empty() || !fresh.reasoning.empty());
    repeated_bytes = std::max(repeated_bytes, reading.content.size());
    repeated_reasoning_bytes = std::max(repeated_reasoning_bytes, reading.reasoning.size());
    repeated_tokens = std::max(repeated_tokens, reading.completion_tokens);
    return fresh;
}

void AnswerState::take_tokens(const EventReading& reading, const ReadAt& read) {
    if (!reading.token_bearing) {
        return;
    }
    has_tokens = true;
    usage_is_final = usage_is_final && reading.has_usage;  // else it was one on the way
    if (is_whole) {
        last_token_ns = read.ns;
        last_token_wait_ns = read.waited_ns;
    } else {
        stamp_chunk(read, kind_of(reading));
        count_tokens(reading);
        if (!reading.content.empty() && first_content_ns == no_stamp) {
            first_content_ns = read.ns;
        }
    }
    digest.add(reading.content);
    digest.add(reading.reasoning);
    digest.add(reading.tool_text);
    if (keeps_text) {
        keep_text_of(reading);
    }
}

void AnswerState::take_unread(const ReadAt& read) {
    has_tokens = true;
    first_event_ns = first_event_ns == no_stamp ? read.ns : first_event_ns;
    stamp_chunk(read, 'u');
    give_counting_up();
    ids_on_all = false;
}

std::string AnswerState::worker() const {
    std::string json;
    for (const auto& [name, said] :
         {std::pair{"worker_id", &worker_id}, std::pair{"timing", &worker_timing}}) {
        if (!said->empty()) {
            json += (json.empty() ? "{\"" : ",\"") + std::string(name) + "\":" + *said;
        }
    }
    CHECK(worker_id.size() <= worker_bytes_max && worker_timing.size() <= worker_bytes_max);
    return json.empty() ? json : json + "}";
}

static ServedLengths lengths_of(AroundPrompt around) {
    return {around.pre + 1 + around.post, around.post};
}

/// Positions in the trace of all rows that leave, or have left in earlier segments.
static std::vector<std::uint32_t> rows_of(const Trace& trace, const Plan& plan,
                                          const RowEnds* earlier) {
    std::vector<std::uint32_t> rows;
    rows.reserve(plan.rows.size());
    for (const Planned& planned : plan.rows) {
        rows.push_back(planned.row);
    }
    for (std::uint32_t row = 0; earlier != nullptr && row < trace.rows.size(); ++row) {
        if (earlier->contains(trace.rows[row].index)) {
            rows.push_back(row);
        }
    }
    return rows;
}

RunForecast::RunForecast(const Trace& trace, const Plan& plan, const ForecastRules& rules,
                         const RowEnds* earlier)
    : trace_(trace),
      rules_(rules),
      lengths_(lengths_of(rules.around)),
      paths_(trace, rows_of(trace, plan, earlier), lengths_, rules.shared_blocks),
      seen_by_all_(paths_.count()),
      passes_(rules.users) {
    for (std::uint32_t row = 0; earlier != nullptr && row < trace.rows.size(); ++row) {
        const auto before = earlier->find(trace.rows[row].index);
        if (before != earlier->end() && before->second) {
            (void)enter(row, 0);
        }
    }
}

/// Tokens of the row that the cache holds. Ends: each step goes towards the beginning.
std::uint32_t RunForecast::enter(std::uint32_t row, std::uint32_t pass) {
    while (pass < first_pass_) {
        seen_.emplace_front(paths_.count());
        --first_pass_;
    }
    while (pass - first_pass_ >= seen_.size()) {
        seen_.emplace_back(paths_.count());
    }
    std::vector<bool>& seen = seen_[pass - first_pass_];
    std::uint32_t node = paths_.end_of(row);
    CHECK(node != PromptPaths::none);
    for (; node != PromptPaths::none; node = paths_.before(node)) {
        std::vector<bool>& there = paths_.is_shared(node) ? seen_by_all_ : seen;
        if (there[node]) {
            break;
        }
        there[node] = true;
    }
    return node == PromptPaths::none ? 0 : paths_.tokens(node);
}

/// A user plays trees of the pass that it is in, or of later ones: those before the pass of every
/// user are over.
void RunForecast::forget_passes(const Due& due) {
    if (due.user == Due::no_user) {
        return;
    }
    if (due.user >= passes_.size()) {
        passes_.resize(due.user + std::size_t{1}, due.pass);
    }
    const bool moves_on = passes_[due.user] != due.pass;
    passes_[due.user] = due.pass;
    if (moves_on) {
        const std::uint32_t least = *std::min_element(passes_.begin(), passes_.end());
        for (; first_pass_ < least && !seen_.empty(); ++first_pass_) {
            seen_.pop_front();
        }
        first_pass_ = seen_.empty() ? std::max(first_pass_, least) : first_pass_;
    }
}

ExpectedHits RunForecast::fired(const Due& due) {
    forget_passes(due);
    const TraceRow& row = trace_.rows[due.row];
    const std::uint32_t shared = enter(due.row, due.pass);
    ExpectedHits hits;
    if (const std::uint32_t size = trace_.block_size; size > 0 && row.ids_count > 0) {
        const std::uint32_t whole = std::min(row.ids_count, row.input_length / size);
        const std::uint32_t usable = std::min(whole, (row.input_length - 1) / size);
        hits.tokens = std::min(shared / size, usable) * size;
    }
    if (const std::uint32_t block = rules_.server_block; block > 0) {
        const std::uint32_t length = lengths_.of(row);
        const std::uint32_t words_end = length - std::min(length, lengths_.post);
        const std::uint32_t at_least = std::min(rules_.around.pre, words_end);  // of the preflight
        hits.server = std::min(std::max(shared, at_least), length - 1) / block * block;
    }
    return hits;
}

TurnEnds::TurnEnds(const Trace& trace, const Plan& plan, const RowEnds* earlier, Side side)
    : trace_(trace) {
    if (trace.rows.empty() || (trace.sessions.empty() && trace.dependencies.empty())) {
        return;  // no row comes after another
    }
    std::uint32_t index_max = 0;
    for (const TraceRow& row : trace.rows) {
        index_max = std::max(index_max, row.index);
    }
    ended_ns_.assign(std::size_t{index_max} + 1, unknown);
    for (const Planned& planned : plan.rows) {
        std::int64_t& ended_ns = ended_ns_[trace.rows[planned.row].index];
        ended_ns = planned.side == side ? pending : ended_ns;
    }
    if (earlier != nullptr) {
        for (const auto& [number, ended] : *earlier) {
            const auto index = static_cast<std::uint32_t>(number);
            if (index <= index_max && ended && number == sending_number(index, 0, side)) {
                ended_ns_[index] = long_ago;
            }
        }
    }
    if (!trace.sessions.empty()) {
        link_sessions(trace);
    }
}

void TurnEnds::link_sessions(const Trace& trace) {
    before_.assign(ended_ns_.size(), no_row);
    std::vector<std::uint32_t> last(trace.sessions.size(), no_row);
    for (const TraceRow& row : trace.rows) {
        if (row.session != no_session) {
            CHECK(row.session < last.size());
            before_[row.index] = last[row.session];
            last[row.session] = row.index;
        }
    }
}

std::int64_t TurnEnds::end_of(std::uint32_t index) const {
    return index < ended_ns_.size() ? ended_ns_[index] : unknown;
}

std::optional<bool> TurnEnds::overtaken(const TraceRow& row, std::int64_t fired_ns) const {
    std::int64_t first_ns = pending;  // of the ends; `unknown` comes before all
    std::int64_t last_ns = unknown;
    const auto add = [&](std::uint32_t index) {
        first_ns = std::min(first_ns, end_of(index));
        last_ns = std::max(last_ns, end_of(index));
    };
    bool waits = false;
    for (const Dependency& one : trace_.dependencies_of(row)) {
        waits = waits || one.trigger != Trigger::over;
        if (one.trigger == Trigger::completion) {
            add(one.on);
        }
    }
    if (!waits && row.index < before_.size() && before_[row.index] != no_row) {
        add(before_[row.index]);
    }
    if (fired_ns < last_ns) {
        return true;
    }
    return last_ns == unknown || first_ns == unknown ? std::nullopt : std::optional(false);
}

void TurnEnds::end(const TraceRow& row, OptionalNs ended_ns) {
    if (!ended_ns_.empty()) {
        CHECK(row.index < ended_ns_.size());
        ended_ns_[row.index] = ended_ns.value_or(unknown);
    }
}

void RowState::reset(const Due& whose, std::uint32_t number_in_run, bool keep_text) {
    give_back(kept_bytes_max, head, pending);
    AnswerState old_answer = std::move(answer);
    old_answer.reset(keep_text);
    renew(*this, &RowState::head, &RowState::pending);
    answer = std::move(old_answer);
    due = whose;
    number = number_in_run;
    CHECK(head.empty() && pending.empty() && body == BodyKind::unknown);
}

}  // namespace driftless
