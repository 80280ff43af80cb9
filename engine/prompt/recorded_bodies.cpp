#include "engine/prompt/recorded_bodies.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/wait_graph.hpp"
#include "engine/prompt/row_fields.hpp"
#include "proto/api/request_body.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// LiveBodies: finds, while the bodies of a trace are made, which of them go on behind the
/// answer to another one, and cuts from these what was said before. Bytes in, bytes out.
class LiveBodies {
  public:
    /// Trace and plan outlive it.
    LiveBodies(const Trace& trace, const Plan& plan);

    /// The next body, in the order of the file: of the row at that position in `trace.rows`, with
    /// its messages. It is at the end of `bodies`, from `begin` on, and is cut there. False: it
    /// may not be sent, since it holds new messages alone, and the row before it is not sent.
    bool take(std::uint32_t row, const std::vector<MessageSpan>& messages, std::size_t begin,
              std::string& bodies);

    LiveTurns finish() { return std::move(live_); }

  private:
    /// What a row says, of all its messages.
    struct Said {
        std::size_t messages = 0;
        std::uint64_t digest = 0;
        bool known = false;  ///< it was seen, and is sent
    };

    std::uint32_t sent_before(std::uint32_t row, const Dependency& one) const;
    std::uint32_t before_of(std::uint32_t row, const std::vector<MessageSpan>& messages,
                            const std::vector<std::uint64_t>& digests) const;

    const Trace& trace_;
    const Plan& plan_;
    const PlannedRows planned_;
    std::vector<std::uint32_t> first_of_;  ///< [sessions] index of its first row
    std::vector<Said> said_;               ///< [rows of the trace]
    LiveTurns live_;
};

static std::uint32_t offset_of(std::size_t bytes) {
    CHECK(bytes <= std::numeric_limits<std::uint32_t>::max());
    return static_cast<std::uint32_t>(bytes);
}

LiveBodies::LiveBodies(const Trace& trace, const Plan& plan)
    : trace_(trace), plan_(plan), planned_(trace, plan), first_of_(trace.sessions.size(), no_row) {
    for (const TraceRow& row : trace.rows) {
        if (row.session != no_session) {
            first_of_[row.session] = std::min(first_of_[row.session], row.index);
        }
    }
    live_.turns.resize(trace.rows.size());
    said_.resize(trace.rows.size());
}

/// Position in `trace.rows` of what the row waits for, where it was sent before in the same
/// session. `no_row`: not so.
std::uint32_t LiveBodies::sent_before(std::uint32_t row, const Dependency& one) const {
    const std::optional<std::uint32_t> place = planned_.find(one.on);
    const std::optional<std::uint32_t> own = planned_.find(trace_.rows[row].index);
    if (one.trigger != Trigger::completion || !place || !own || *place >= *own) {
        return no_row;
    }
    const std::uint32_t before = plan_.rows[*place].row;
    const bool same_session = trace_.rows[before].session == trace_.rows[row].session;
    return said_[before].known && same_session ? before : no_row;
}

/// The row that it goes on behind, of those whose answers it waits for: the one that says most of
/// what it repeats. `no_row`: none. `digests`: of the messages up to each.
std::uint32_t LiveBodies::before_of(std::uint32_t row, const std::vector<MessageSpan>& messages,
                                    const std::vector<std::uint64_t>& digests) const {
    std::uint32_t best = no_row;
    for (const Dependency& one : trace_.dependencies_of(trace_.rows[row])) {
        const std::uint32_t before = sent_before(row, one);
        if (before == no_row) {
            continue;
        }
        const Said& said = said_[before];
        const bool repeats = messages.size() >= said.messages + 2 && !messages.back().is_answer &&
                             messages[said.messages].is_answer &&
                             digests[said.messages] == said.digest;
        const bool is_more = best == no_row || said.messages > said_[best].messages;
        best = (trace_.deltas || repeats) && is_more ? before : best;
    }
    return best;
}

bool LiveBodies::take(std::uint32_t row, const std::vector<MessageSpan>& messages,
                      std::size_t begin, std::string& bodies) {
    const TraceRow& whose = trace_.rows[row];
    if (messages.empty() || whose.session == no_session) {
        return true;
    }
    std::vector<std::uint64_t> digests(1);
    for (const MessageSpan& message : messages) {
        Digest digest;
        digest.add_u64(digests.back());
        digest.add(
            std::string_view(bodies).substr(begin + message.begin, message.end - message.begin));
        digests.push_back(digest.value());
    }
    const std::uint32_t before = before_of(row, messages, digests);
    const bool is_first = whose.index == first_of_[whose.session];
    if (trace_.deltas && before == no_row && !is_first) {
        return false;
    }
    const std::size_t first =
        before == no_row || trace_.deltas ? std::size_t{0} : said_[before].messages + 1;
    LiveTurn& turn = live_.turns[row];
    const std::size_t cut = messages[first].begin - messages.front().begin;
    bodies.erase(begin + messages.front().begin, cut);
    turn.before_at = offset_of(messages.front().begin);
    turn.messages_end = offset_of(messages.back().end - cut);
    turn.pad_at = messages.back().text_end > 0 ? offset_of(messages.back().text_end - cut) : 0;
    if (before != no_row) {
        LiveTurn& parent = live_.turns[before];
        turn.behind = before;
        turn.back = *planned_.find(whose.index) - *planned_.find(trace_.rows[before].index);
        live_.figures.conversations += parent.followers == 0 && parent.behind == no_row ? 1 : 0;
        ++parent.followers;
        ++live_.figures.turns;
    } else if (!is_first) {
        ++live_.figures.edited;
    }
    said_[row] = {messages.size(), digests.back(), planned_.contains(whose.index)};
    return true;
}

/// The row says only what is new, and nobody will have said what was before.
static constexpr Error no_turn_before{
    ErrorCode::invalid, 0, "send it, select whole conversations (--start, --end, --limit)"};

static void refuse(const Trace& trace, const TraceRow& row, std::string_view request,
                   const Error& error, InputErrors& errors) {
    const char* const problem =
        error.code == ErrorCode::bad_json ? "has no readable request"
        : error.code == ErrorCode::invalid
            ? "has only what is new since the previous turn, which is not sent"
            : "cannot be sent with this --api";
    refuse_row(trace, row, "", request, problem, std::string("to ") + error.doing, errors);
}

std::optional<TraceWithBodies> make_recorded_bodies(const Plan& plan, const Dialect& dialect,
                                                    const BodySpec& spec, Assistant assistant,
                                                    Trace trace, InputErrors& errors,
                                                    const BodyTemplate* members) {
    CHECK(trace.recorded && trace.copy_rows == 0);
    RecordedFigures figures;
    RecordedComposer composer(dialect, spec);
    RowValues values(trace);
    std::optional<LiveBodies> conversations;
    if (assistant == Assistant::live) {
        conversations.emplace(trace, plan);
    }
    const PlannedRows planned(trace, plan);
    std::string bodies;
    bodies.reserve(trace.body_bytes.size());
    std::vector<std::uint64_t> ends;
    ends.reserve(trace.body_ends.size());
    for (std::uint32_t index = 0; index < trace.body_ends.size(); ++index) {
        if (const std::optional<std::uint32_t> place = planned.find(index)) {
            const std::uint32_t position = plan.rows[*place].row;
            const TraceRow& row = trace.rows[position];
            const std::string_view request = trace.body_of(row);
            if (members != nullptr) {
                values.set(row);
                composer.set_extra_body(members->fill(
                    [&](const FieldTemplate& field) { return values.json_of(field); }));
            }
            const std::size_t before = bodies.size();
            Result<void> made = request.empty()
                                    ? Result<void>()
                                    : composer.compose(request, row.output_length, bodies);
            if (made && conversations && !request.empty() &&
                !conversations->take(position, composer.messages(), before, bodies)) {
                made = no_turn_before;
            }
            if (!made) {
                bodies.resize(before);
                refuse(trace, row, request, made.error(), errors);
            }
            figures.requests += request.empty() ? 0 : 1;
            figures.unbounded += !request.empty() && row.output_length == 0 ? 1 : 0;
        }
        ends.push_back(bodies.size());
    }
    figures.fixes = composer.fixes();
    std::optional<LiveTurns> live;
    if (conversations) {
        live = conversations->finish();
    }
    trace.body_bytes = std::move(bodies);
    trace.body_ends = std::move(ends);
    trace.body_api = dialect.name;
    trace.recorded = false;
    if (!errors.empty()) {
        return {};
    }
    return TraceWithBodies{std::move(trace), figures, std::move(live)};
}

std::vector<std::string> recorded_notes(const RecordedFigures& figures) {
    std::vector<std::string> notes;
    notes.push_back(counted(figures.requests, "recorded request is", "recorded requests are") +
                    " sent as recorded");
    if (figures.unbounded > 0) {
        notes.push_back(counted(figures.unbounded, "of them has", "of them have") +
                        " no recorded output length: its own limit applies, or none");
    }
    for (const FixName& name : recorded_fix_names()) {
        if (const std::uint64_t count = figures.fixes.*name.count; count > 0) {
            notes.push_back(counted(count, name.one, name.many));
        }
    }
    return notes;
}

std::vector<std::string> live_notes(const LiveFigures& figures) {
    std::vector<std::string> notes;
    notes.push_back(counted(figures.turns, "turn goes", "turns go") +
                    " on from answers of this run, in " +
                    counted(figures.conversations, "conversation", "conversations"));
    if (figures.edited > 0) {
        notes.push_back(counted(figures.edited, "turn does", "turns do") +
                        " not repeat the conversation before it, and keeps its recorded text");
    }
    return notes;
}

const TurnReply* Replies::take() {
    TurnReply reply;
    if (!ring_.pop(reply)) {
        return nullptr;
    }
    CHECK(reply.request < by_request_.size());
    by_request_[reply.request] = reply;
    return &by_request_[reply.request];
}

const TurnReply& Replies::behind(const Due& due) const {
    const std::uint32_t back = live_.of(due.row).back;
    CHECK(goes_on(due) && due.request >= back);
    const TurnReply& reply = by_request_[due.request - back];
    CHECK(reply.history != nullptr && reply.pass == due.pass);
    return reply;
}

std::size_t Replies::added_bytes(const Due& due) const {
    const TurnReply& reply = behind(due);
    return reply.bytes + 1 + live_.pad_word.size() * live_.words_for(due.row, reply.short_by);
}

Spliced Replies::body_of(const Due& due) const {
    const TurnReply& reply = behind(due);
    const LiveTurn& turn = live_.of(due.row);
    const std::string_view body = trace_.body_of(trace_.rows[due.row]);
    Spliced whole(body.substr(0, turn.before_at));
    whole.add({reply.history, reply.bytes});
    whole.add(",");
    whole.add(live_.own_messages(due.row, body, live_.words_for(due.row, reply.short_by)));
    whole.add(body.substr(turn.messages_end));
    return whole;
}

/// The messages of the row itself, as they were sent.
void Histories::append_own(const Due& due, const Spoken* before, std::string& out) const {
    const std::int32_t short_by = before == nullptr ? 0 : before->short_by;
    const Spliced own = live_.own_messages(due.row, trace_.body_of(trace_.rows[due.row]),
                                           live_.words_for(due.row, short_by));
    out += out.empty() ? "" : ",";
    const std::size_t begin = out.size();
    out.resize(begin + own.size());
    own.copy(0, own.size(), out.data() + begin);
}

/// By how much prompt and answer together are shorter than they were recorded: so much the next
/// prompt lacks.
void Histories::note_length(const TraceRow& row, const Record& record, Spoken& spoken) const {
    const bool recorded = row.input_length > 0 && row.output_length > 0;
    spoken.knows_length = recorded && record.prompt_tokens && counts_output(record);
    if (!spoken.knows_length) {
        return;
    }
    const std::int64_t short_by = std::int64_t{row.input_length} - *record.prompt_tokens +
                                  std::int64_t{row.output_length} - *record.output_tokens;
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    spoken.short_by = static_cast<std::int32_t>(std::clamp(short_by, -most, most));
}

/// What was said up to the answer that the row goes on from; null: there is none of this pass.
Histories::Spoken* Histories::before(const Due& due) {
    const LiveTurn& turn = live_.of(due.row);
    if (turn.behind == no_row) {
        return nullptr;
    }
    CHECK(due.request >= turn.back);
    Spoken& before = spoken_[due.request - turn.back];
    return before.has_ended && before.pass == due.pass ? &before : nullptr;
}

void Histories::complete(const LiveTurn& turn, const Spoken& before, Record& record) const {
    if (!record.fired_ns) {
        return;
    }
    record.live_turns = before.turns;
    record.expected_cached_tokens.reset();  // block ids are of the recorded answers
    record.expected_cached_server.reset();
    const bool fills = turn.pad_at > 0 || before.short_by <= 0;
    if (before.knows_length && fills) {
        record.padded_tokens = before.short_by;
    }
}

void Histories::ended(const Due& due, const SaidWords& said, Record& record) {
    const LiveTurn& turn = live_.of(due.row);
    Spoken* const before = this->before(due);
    if (before != nullptr) {
        complete(turn, *before, record);
    }
    if (turn.followers == 0) {
        if (before != nullptr && is_last_user(turn, said)) {
            std::string().swap(before->history);
        }
        return;
    }
    const bool goes_on = said.whole || rules_.goes_on_unanswered ||
                         record.outcome == Outcome::abandoned;  // without what it had said
    Spoken spoken;
    spoken.pass = due.pass;
    spoken.has_ended = true;
    spoken.turns = (before == nullptr ? 0 : before->turns) + (said.whole ? 1 : 0);
    if (goes_on && (turn.behind == no_row || before != nullptr)) {
        if (before != nullptr) {  // a copy where others need it, too
            spoken.history =
                is_last_user(turn, said) ? std::move(before->history) : before->history;
        }
        append_own(due, before, spoken.history);
        if (said.whole) {
            spoken.history += ',';
            append_answer_message(spoken.history, said.content, said.reasoning, said.calls,
                                  rules_.kept);
            note_length(trace_.rows[due.row], record, spoken);
        }
    }
    tell(due, std::move(spoken));
}

/// Keeps what was said up to the end of the request, and tells the engine where it is.
void Histories::tell(const Due& due, Spoken spoken) {
    const auto words = static_cast<std::size_t>(std::max(spoken.short_by, 0));
    const bool fits_in = spoken.history.size() + words * live_.pad_word.size() <= bytes_max_;
    const bool goes_on = !spoken.history.empty() && fits_in;
    whys_[due.row] = goes_on ? Why::none : fits_in ? Why::unread : Why::too_long;
    if (!fits_in) {
        std::string().swap(spoken.history);
    }
    Spoken& kept = spoken_[due.request];
    kept = std::move(spoken);
    unsent_.push_back({.history = kept.history.data(),
                       .bytes = kept.history.size(),
                       .request = due.request,
                       .pass = due.pass,
                       .short_by = kept.short_by,
                       .attempt = due.attempt,
                       .goes_on = goes_on});
    flush();
}

void Histories::flush() {
    while (!unsent_.empty() && ring_.push(unsent_.front())) {
        unsent_.pop_front();
    }
}

}  // namespace driftless
