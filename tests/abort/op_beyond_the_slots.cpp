// Slots are bounded: an operation beyond them is the fault of whoever counted, never a lost one.
// Dies with: check failed: first_free_ != Op::no_slot
#include "engine/io/op_slots.hpp"

int main() {
    driftless::OpSlots slots;
    slots.open(1);
    driftless::Op first;
    driftless::Op second;
    slots.take(first);
    slots.take(second);
}
