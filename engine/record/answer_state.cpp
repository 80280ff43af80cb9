#include "engine/record/answer_state.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// Memory that a finished row may keep for the next one.
constexpr std::size_t kept_bytes_max = 64 * 1024;
constexpr std::size_t kept_chunks_max = 8 * 1024;

/// Not by shrink_to_fit, which does nothing to a vector where there are no exceptions (libstdc++).
template <typename List>
void clear(List& list, std::size_t kept_max) {
    list.clear();
    if (list.capacity() > kept_max) {
        List().swap(list);
    }
}

bool append_bounded(std::string& out, std::string_view text) {
    const std::size_t room = saved_text_bytes_max - std::min(saved_text_bytes_max, out.size());
    out.append(text.substr(0, room));
    CHECK(out.size() <= saved_text_bytes_max);
    return text.size() <= room;
}

/// Letter of what a token-bearing event holds (`chunk_kinds`).
char kind_of(const EventReading& reading) {
    return !reading.content.empty()     ? 'c'
           : !reading.reasoning.empty() ? 'r'
           : !reading.tool_text.empty() ? 't'
                                        : 'e';
}

}  // namespace

void AnswerState::reset(bool keep_text) {
    std::vector<std::int64_t> stamps = std::move(chunk_stamps);
    std::vector<std::int32_t> tokens = std::move(chunk_tokens);
    SavedText texts = std::move(text);
    std::string kinds = std::move(chunk_kinds);
    clear(kinds, kept_chunks_max);
    clear(stamps, kept_chunks_max);
    clear(tokens, kept_chunks_max);
    clear(texts.content, kept_bytes_max);
    clear(texts.reasoning, kept_bytes_max);
    clear(texts.tool_text, kept_bytes_max);
    texts.calls.clear();
    texts.cut = false;
    *this = AnswerState{};
    chunk_stamps = std::move(stamps);
    chunk_tokens = std::move(tokens);
    text = std::move(texts);
    chunk_kinds = std::move(kinds);
    keeps_text = keep_text;
    CHECK(chunk_stamps.empty() && chunk_tokens.empty() && text.content.empty());
}

/// How tokens are counted is decided once; all that follows a decision is that it is given up.
void AnswerState::count_by(Counting next) {
    CHECK(counting == Counting::undecided && next != Counting::undecided);
    counting = next;
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

void AnswerState::stamp_chunk(std::int64_t stamp_ns, bool coalesced, char kind) {
    CHECK(chunk_stamps.size() <= chunks_per_row_max);
    if (chunk_stamps.size() == chunks_per_row_max) {
        over_limit = true;
        return;
    }
    if (first_token_ns == no_stamp) {
        first_token_ns = stamp_ns;
    }
    last_token_ns = stamp_ns;
    chunk_stamps.push_back(stamp_ns);
    if (kind != open_kind) {
        close_kinds();
        open_kind = kind;
    }
    ++open_kind_chunks;
    coalesced_chunks += coalesced ? 1 : 0;
}

/// Continuous usage is a running sum: a token that showed no text is counted to the next chunk that
/// does, whose gap it explains.
void AnswerState::count_tokens(const EventReading& reading) {
    const bool has_running = reading.usage_is_running && reading.completion_tokens >= 0;
    const bool has_ids = reading.token_ids >= 0;
    ids_on_all = ids_on_all && has_ids;
    ids_sum += has_ids ? reading.token_ids : 0;
    if (counting == Counting::undecided) {
        count_by(has_running ? Counting::continuous : has_ids ? Counting::ids : Counting::none);
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
void AnswerState::take(const EventReading& reading, std::string_view data, std::int64_t stamp_ns,
                       bool coalesced) {
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
        take_tokens(without_repetition(reading), stamp_ns, coalesced);
    } else {
        take_tokens(reading, stamp_ns, coalesced);
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

void AnswerState::take_tokens(const EventReading& reading, std::int64_t stamp_ns, bool coalesced) {
    if (!reading.token_bearing) {
        return;
    }
    has_tokens = true;
    usage_is_final = usage_is_final && reading.has_usage;  // else it was one on the way
    if (is_whole) {
        last_token_ns = stamp_ns;
    } else {
        stamp_chunk(stamp_ns, coalesced, kind_of(reading));
        count_tokens(reading);
        if (!reading.content.empty() && first_content_ns == no_stamp) {
            first_content_ns = stamp_ns;
        }
    }
    digest.add(reading.content);
    digest.add(reading.reasoning);
    digest.add(reading.tool_text);
    if (keeps_text) {
        keep_text_of(reading);
    }
}

void AnswerState::take_unread(std::int64_t stamp_ns, bool coalesced) {
    has_tokens = true;
    first_event_ns = first_event_ns == no_stamp ? stamp_ns : first_event_ns;
    stamp_chunk(stamp_ns, coalesced, 'u');
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

}  // namespace driftless
