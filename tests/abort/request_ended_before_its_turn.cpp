// Nothing ends that is not on its way: whoever waits for that end would go too soon.
// Dies with: check failed: has_taken(due)
#include "engine/plan/schedule.hpp"

int main() {
    driftless::Plan plan;
    plan.rows.push_back({0, 0, 0});
    driftless::Schedule schedule(plan);
    schedule.ended(*schedule.peek(), 0, true);
}
