/// Bodies of recorded requests: once a run knows its model and its rules, before time 0, every
/// selected row's recorded request becomes the body that is sent.
///
/// Takes the trace with the requests, gives one with the bodies; needs room for both forms at once.
/// No clock, no socket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/waits.hpp"
#include "proto/api/body_template.hpp"
#include "proto/api/recorded.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct RecordedFigures {
    std::uint64_t requests = 0;  ///< bodies made
    /// Of these, answers whose length the trace does not say: their own limits hold.
    std::uint64_t unbounded = 0;
    RecordedFixes fixes;
};

/// A trace whose bodies were made, and how.
struct TraceWithBodies {
    Trace trace;
    RecordedFigures figures;
    std::optional<LiveTurns> live;  ///< `Assistant::live`
};

/// `--assistant`: whose words the history of a conversation holds.
enum class Assistant : std::uint8_t {
    recorded,  ///< those of the trace
    live,      ///< the server's own, of this run
};

/// Makes the bodies of the plan's rows; those of other rows are dropped. Nothing where some cannot
/// be sent with this dialect, and `errors` names them by file and line.
///
/// Live: a row that waits for the answer to another row of its session, and that repeats the
/// messages of that row, then an answer, keeps the messages behind that answer alone
/// (waits.hpp).
/// `members`: those of `--extra-body` that rows fill, in place of the spec's.
std::optional<TraceWithBodies> make_recorded_bodies(const Plan& plan, const Dialect& dialect,
                                                    const BodySpec& spec, Assistant assistant,
                                                    Trace trace, InputErrors& errors,
                                                    const BodyTemplate* members = nullptr);

/// What was fixed, a line each, as a person reads it.
std::vector<std::string> recorded_notes(const RecordedFigures& figures);
std::vector<std::string> live_notes(const LiveFigures& figures);

}  // namespace driftless
