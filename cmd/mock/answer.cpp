#include <algorithm>

#include "cmd/mock/core.hpp"
#include "cmd/mock/voice.hpp"
#include "proto/core/hash.hpp"
#include "proto/json/put.hpp"

namespace driftless::mock {

void append_log_line(std::string& out, const RequestLog& entry) {
    JsonWriter json(out);
    json.begin_object();
    put(json, {{"request_id", entry.request_id},
               {"row", entry.row},
               {"traceparent", or_null(entry.traceparent)},
               {"session", put_named(entry.session)},
               {"api", entry.api},
               {"stream", entry.stream},
               {"connection", entry.connection},
               {"status", entry.status},
               {"ending", entry.ending},
               {"fault", name_of(entry.fault)},
               {"start_ns", entry.start_ns},
               {"last_byte_ns", entry.last_byte_ns},
               {"begin_ns", entry.begin_ns},
               {"first_due_ns", entry.due_ns},
               {"end_ns", entry.end_ns},
               {"prompt_tokens", entry.prompt_tokens},
               {"cached_tokens", entry.cached_tokens},
               {"asked_tokens", entry.asked_tokens},
               {"output_tokens", entry.output_tokens},
               {"tokens_per_chunk", entry.tokens_per_chunk}});
    if (const auto& history = entry.history) {
        put(json, {{"history", JsonPairs{{"known", history->known},
                                         {"elsewhere", history->elsewhere},
                                         {"unknown", history->unknown}}}});
    }
    json.key("token_ns");
    // By hand: nearly all bytes of a log are stamps.
    out += '[';
    for (std::size_t i = 0; i < entry.token_ns.size(); ++i) {
        append(out, i != 0 ? "," : "", entry.token_ns[i]);
    }
    out += "]}\n";
}

/// Stamps of one answer for which room is taken at once; longer answers grow.
static constexpr std::uint32_t stamps_reserved_max = 4'096;

/// The seed of one request: the same id gives the same answer at the same pace, whenever it comes.
static std::uint64_t seed_of(std::uint64_t seed, std::string_view request_id) {
    Digest digest;
    digest.add(request_id);
    return mix64(seed ^ digest.value());
}

void MockAnswer::plan() {
    const CoreOptions& options = core_.options();
    made_ = 0;
    seat_ = Seat();
    head_sent_ = false;
    seed_ = seed_of(options.seed, log_.request_id);
    fault_ = fault_of_request(options.faults, log_.row, seed_);
    log_.fault = fault_;
    log_.tokens_per_chunk = options.pace.tokens_per_chunk;
}

void MockAnswer::begin(const Reply& reply, Instant now, std::string& out) {
    const CoreOptions& options = core_.options();
    const Asked& asked = request_.asked();
    reply_ = reply;
    log_.status = 200;
    log_.cached_tokens = core_.look_up(request_.prompt());
    fault_at_ = asked.output_tokens / 2;
    text_.begin(*request_.voice(), facts(now));
    if (asked.stream && options.early_headers) {
        send_head(out);
    }
    if (options.keep_log) {
        log_.token_ns.reserve(asked.stream ? std::min(asked.output_tokens, stamps_reserved_max)
                                           : 1);
    }
}

AnswerFacts MockAnswer::facts(Instant now) const {
    const CoreOptions& options = core_.options();
    const Asked& asked = request_.asked();
    AnswerFacts facts;
    facts.stream = asked.stream;
    facts.request_id = log_.request_id;
    facts.model = options.model.name;
    facts.created_s = core_.utc_seconds(now);
    facts.prompt_tokens = request_.prompt().tokens();
    facts.cached_tokens = log_.cached_tokens;
    facts.cached_known =
        options.cache_block_tokens != 0 &&
        (options.cached_reported == CachedReported::always ||
         (options.cached_reported == CachedReported::hits && log_.cached_tokens > 0));
    facts.output_tokens = asked.output_tokens;
    facts.reasoning_tokens = options.reasoning_tokens;
    facts.include_usage = asked.include_usage && options.usage;
    facts.continuous_usage = asked.continuous_usage && options.usage;
    facts.incremental = options.incremental;
    facts.seed = seed_;
    return facts;
}

void MockAnswer::start(Instant now) {
    const Pace& pace = core_.options().pace;
    log_.begin_ns = now.ns;
    schedule_.start(pace, now, log_.prompt_tokens - log_.cached_tokens, seed_);
    log_.due_ns = schedule_.next().ns;
    if (!request_.asked().stream) {  // due when its last token is
        schedule_.advance(pace, request_.asked().output_tokens - 1);
    }
}

void MockAnswer::join(MockConnection& connection, Instant now) {
    const Asked& asked = request_.asked();
    const std::uint32_t uncached = log_.prompt_tokens - log_.cached_tokens;
    schedule_.start(core_.options().pace, now, uncached, seed_);
    seat_.owner = &connection;
    seat_.ready = schedule_.next();
    seat_.prompt_left = uncached;
    // The first chunk leaves with its first token, as without steps; then each token is a step.
    seat_.steps = asked.stream ? asked.output_tokens - chunk_tokens() + 1 : asked.output_tokens;
    seat_.wanted = asked.stream ? 1 : seat_.steps;
    core_.join(seat_);
}

Instant MockAnswer::due() const {
    if (!core_.in_steps()) {
        return schedule_.next();
    }
    return seat_.done >= seat_.wanted ? seat_.latest : never;
}

void MockAnswer::end(Instant now) {
    core_.leave(seat_, now);
    if (core_.in_steps()) {
        log_.begin_ns = seat_.begun.ns;
        log_.due_ns = seat_.first.ns;
    }
    if (made_ > 0 && log_.status == 200) {
        core_.note_reply(log_, text_.content(made_));
    }
}

MockAnswer::State MockAnswer::produce(Instant now, std::string& out) {
    if (!request_.asked().stream) {
        return due() <= now ? produce_whole(now, out) : State::going;
    }
    State state = State::going;
    while (state == State::going && due() <= now && out.size() < produce_bytes_max) {
        state = strike(out);
        if (state == State::going) {
            state = produce_chunk(now, out);
        }
    }
    return state;
}

/// The fault of this request, where it takes the place of the next chunk.
MockAnswer::State MockAnswer::strike(std::string& out) {
    if (fault_ == Fault::none || made_ < fault_at_) {
        return State::going;
    }
    send_head(out);
    switch (fault_) {
        case Fault::reset:
            return State::reset;
        case Fault::truncate:
            return State::cut;
        case Fault::stall:
            return State::stalled;
        case Fault::error:
            text_.append_error_end(out);
            return State::error_end;
        case Fault::malformed:
            text_.append_broken_event(out);
            fault_ = Fault::none;
            return State::going;
        default:
            return State::going;  // the others do not strike in the middle
    }
}

/// The head, where it has not left yet.
void MockAnswer::send_head(std::string& out) {
    if (!head_sent_) {
        append_stream_head(out, reply_, request_.voice()->content_type);
        head_sent_ = true;
    }
}

void MockAnswer::note_sent(Instant now) {
    if (core_.options().keep_log) {
        log_.token_ns.push_back(now.ns);
    }
}

std::uint32_t MockAnswer::chunk_tokens() const {
    return std::min(core_.options().pace.tokens_per_chunk, text_.tokens_until_turn(made_));
}

/// A chunk has left: when the following one is due, and its fault where that strikes.
void MockAnswer::plan_next_chunk() {
    if (core_.in_steps()) {
        seat_.wanted += chunk_tokens();
    } else {
        schedule_.advance(core_.options().pace, chunk_tokens());
    }
}

MockAnswer::State MockAnswer::produce_chunk(Instant now, std::string& out) {
    if (made_ == 0) {
        send_head(out);
        text_.append_opening(out);
    }
    const std::uint32_t tokens = chunk_tokens();
    text_.append_tokens(out, made_, tokens);
    made_ += tokens;
    note_sent(now);
    if (made_ < request_.asked().output_tokens) {
        plan_next_chunk();
        return State::going;
    }
    text_.append_end(out);
    return State::complete;
}

MockAnswer::State MockAnswer::produce_whole(Instant now, std::string& out) {
    const Voice& voice = *request_.voice();
    std::string body;
    text_.append_body(body);
    std::string page;
    std::string count_field(voice.count_field);
    if (!count_field.empty()) {
        count_field += ": " + std::to_string(log_.prompt_tokens) + "\r\n";
    }
    append_page(page, reply_, 200, "application/json", body, count_field);
    made_ = request_.asked().output_tokens;
    note_sent(now);
    const std::size_t half = page.size() - body.size() / 2;
    switch (fault_) {
        case Fault::reset:
        case Fault::truncate:
            out.append(page, 0, half);
            return fault_ == Fault::reset ? State::reset : State::cut;
        case Fault::stall:
            out.append(page, 0, half);
            return State::stalled;
        case Fault::malformed:
            page[half] = '\x01';  // no JSON text holds a bare control byte
            break;
        case Fault::error:
            page.clear();
            append_refusal(page, reply_, {500, "InternalServerError", "Internal server error"},
                           voice.refusal);
            log_.status = 500;
            break;
        default:
            break;
    }
    out += page;
    return State::complete;
}

}  // namespace driftless::mock
