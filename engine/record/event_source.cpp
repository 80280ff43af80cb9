#include "engine/record/event_source.hpp"

#include <algorithm>

namespace driftless {

namespace {

std::uint32_t number_in_plan(std::uint32_t request, const EventSource& engine,
                             std::size_t rows_in_all) {
    if (engine.positions == nullptr) {
        return request;
    }
    const auto rows = static_cast<std::uint32_t>(engine.positions->size());
    if (request >= std::max(engine.requests_end, rows)) {
        return UINT32_MAX;
    }
    return request / rows * static_cast<std::uint32_t>(rows_in_all) +
           (*engine.positions)[request % rows];
}

}  // namespace

Event numbered(const Event& event, const EventSource& engine, ShardPlace place,
               std::size_t rows_in_all) {
    Event made = event;
    made.request = number_in_plan(event.request, engine, rows_in_all);
    made.lane = place.number_of(event.lane);
    if (event.kind == EventKind::armed && event.user != Due::no_user) {
        made.user = place.number_of(event.user);
    }
    return made;
}

}  // namespace driftless
