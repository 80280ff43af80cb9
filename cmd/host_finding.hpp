/// HostFinding: one thing that was looked at on this host, what was found, and what to do about it.
/// A plain value; `doctor` prints all of them, `calibrate` those that are not as they should be.
#pragma once

#include <cstdint>
#include <string>

namespace driftless {

enum class Grade : std::uint8_t {
    ok,
    warning,  ///< a replay runs, but less exactly, or less of it
    fault,    ///< a replay cannot run
};
/// "ok", "warning" or "fault". Static storage.
const char* name_of(Grade grade);

struct HostFinding {
    Grade grade = Grade::ok;
    const char* topic = "";  ///< "governor"; static storage
    std::string found;
    std::string remedy;  ///< one line; empty where all is well
};

}  // namespace driftless
