// A slot of the driver has one operation: what takes it while it is taken would get its stamps.
// Dies with: check failed: armed.user_data == 0
#include "engine/io/transmit_stamps.hpp"

int main() {
    driftless::TransmitStamps stamps;
    stamps.open(16, false);
    stamps.arm(7, driftless::Socket{0});
    stamps.arm(7, driftless::Socket{0});
}
