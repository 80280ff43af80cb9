#include "engine/prompt/recorded_bodies.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/row_values.hpp"
#include "engine/prompt/live_bodies.hpp"
#include "proto/core/check.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

constexpr std::uint32_t not_planned = 0xFFFFFFFFu;

/// Position in `trace.rows` of each planned row, by its index.
std::vector<std::uint32_t> planned_positions(const Plan& plan, const Trace& trace) {
    std::vector<std::uint32_t> positions(trace.body_ends.size(), not_planned);
    for (const Planned& planned : plan.rows) {
        const std::uint32_t index = trace.rows[planned.row].index;
        if (index < positions.size()) {
            positions[index] = planned.row;
        }
    }
    return positions;
}

/// The row says only what is new, and nobody will have said what was before.
constexpr Error no_turn_before{ErrorCode::invalid, 0,
                               "send it, select whole conversations (--start, --end, --limit)"};

void refuse(const Trace& trace, const TraceRow& row, std::string_view request, const Error& error,
            InputErrors& errors) {
    InputError one;
    one.file = trace.file_of(row);
    one.line = row.line;
    constexpr std::size_t value_bytes_max = 80;
    one.value = request.substr(0, value_bytes_max);
    if (error.code == ErrorCode::bad_json) {
        one.problem = "has no readable request";
    } else if (error.code == ErrorCode::invalid) {
        one.problem = "has only what is new since the previous turn, which is not sent";
    } else {
        one.problem = "cannot be sent with this --api";
    }
    one.remedy = std::string("to ") + error.doing;
    errors.add(std::move(one));
}

}  // namespace

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
    const std::vector<std::uint32_t> positions = planned_positions(plan, trace);
    std::string bodies;
    bodies.reserve(trace.body_bytes.size());
    std::vector<std::uint64_t> ends;
    ends.reserve(positions.size());
    for (const std::uint32_t position : positions) {
        if (position != not_planned) {
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
                conversations->take(position, composer.messages(), before, bodies) !=
                    LiveBodies::Found::fits) {
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
    CHECK(ends.size() == positions.size());
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

}  // namespace driftless
