#include "proto/trace/turn_times.hpp"

#include <string>

namespace driftless {

std::int64_t lay_out_turn(const RowContext& context, std::uint32_t session, std::int64_t gap_ns) {
    const SessionTail& last = context.draft.sessions().tail(session);
    context.draft.trace().rows_laid_out += last.last_row == no_row ? 0 : 1;
    return later(last.last_at_ns, gap_ns);
}

std::optional<std::int64_t> read_turn_time(const RowContext& context, const Field& time,
                                           std::uint32_t session, std::int64_t gap_ns) {
    if (time.present) {
        return read_time(context, time);
    }
    if (context.rules.sessions == Sessions::recorded) {
        context.refuse(time.name, "", "is missing: the row follows its session's previous answer",
                       "use --sessions closed to send it when that answer has ended, or --sessions "
                       "open to send it by the recorded gaps, as if answers took no time");
        return std::nullopt;
    }
    const bool first = context.draft.sessions().tail(session).last_row == no_row;
    return first ? 0 : lay_out_turn(context, session, gap_ns);
}

bool admit_untimed(RowContext& context, const char* more) {
    if (context.rules.sessions != Sessions::recorded) {
        return true;
    }
    context.refuse(
        "", "", "has conversations, which have no arrival times",
        std::string(
            "use --sessions closed to start each at time 0 (replay --users N: N at a time) with "
            "turns "
            "waiting for answers, or --sessions open to send turns by the recorded delays") +
            more);
    context.stop = Stop::trace;
    return false;
}

}  // namespace driftless
