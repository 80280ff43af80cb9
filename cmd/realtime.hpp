/// What `--realtime` says where it is not granted. Shared by `replay` and `calibrate`.
#pragma once

namespace driftless {

inline constexpr const char* realtime_refusal =
    "--realtime: this user is not allowed to raise priorities; allow it (ulimit -r 50, or the "
    "capability CAP_SYS_NICE), or remove the flag";

}  // namespace driftless
