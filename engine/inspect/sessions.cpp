#include "engine/inspect/sessions.hpp"

namespace driftless {

namespace {

struct Session {
    std::uint64_t rows = 0;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
};

}  // namespace

SessionFigures sessions_of(const Trace& trace, std::span<const Planned> rows) {
    SessionFigures figures;
    std::vector<Session> sessions(trace.sessions.size());
    Sample delays;
    for (const Planned& planned : rows) {
        const TraceRow& row = trace.rows[planned.row];
        for (const Dependency& one : trace.dependencies_of(row)) {
            ++figures.dependencies;
            if (one.trigger == Trigger::dispatch) {
                ++figures.overlaps;
            } else {
                delays.add(static_cast<double>(one.delay_ns));
            }
        }
        if (row.session == no_session) {
            continue;
        }
        Session& session = sessions[row.session];
        session.first_ns = session.rows == 0 ? row.at_ns : session.first_ns;
        session.last_ns = row.at_ns;
        ++session.rows;
        ++figures.rows;
    }
    Sample rows_each;
    Sample lengths;
    for (const Session& session : sessions) {
        if (session.rows > 0) {
            ++figures.sessions;
            rows_each.add(static_cast<double>(session.rows));
            lengths.add(static_cast<double>(session.last_ns - session.first_ns));
        }
    }
    figures.rows_each = rows_each.distribution();
    figures.length_ns = lengths.distribution();
    figures.delay_ns = delays.distribution();
    return figures;
}

}  // namespace driftless
