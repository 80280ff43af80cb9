// A completion of an operation that has ended must never reach the one that has its slot now.
// Dies with: check failed: op != nullptr
#include "engine/io/op_slots.hpp"

int main() {
    driftless::OpSlots slots;
    slots.open(1);
    driftless::Op op;
    slots.take(op);
    const std::uint64_t ended = slots.user_data_of(op);
    slots.free(op);
    slots.take(op);
    (void)slots.op_of(ended);
}
