// Nothing is sent before it is due.
// Dies with: check failed: has_taken(due) && at_ns >= due.due_ns
#include "engine/plan/schedule.hpp"

int main() {
    driftless::Plan plan;
    plan.rows.push_back({10, 0, 0});
    driftless::Schedule schedule(plan);
    schedule.fired(schedule.take(), 9);
}
