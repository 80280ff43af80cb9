/// What run.json says of the engine's thread and its memory: what is counted, what was granted, and
/// why not.
#pragma once

#include <string>

#include "engine/host/memory.hpp"
#include "engine/host/thread_meter.hpp"

namespace driftless {

class JsonWriter;

struct EngineFacts {
    std::string why_no_instructions;  ///< empty: they are counted
    MemoryGrants memory;
    bool realtime = false;  ///< the thread runs before ordinary ones
};

/// Makes the memory of the process present and locked as far as the host allows, and notes the
/// result.
EngineFacts settle_engine(const ThreadMeter& meter, bool realtime);

/// The key "engine".
void write_engine(JsonWriter& json, const EngineFacts& facts);

}  // namespace driftless
