#include "cmd/replay/run_json/engine_facts.hpp"

#include "proto/json/write.hpp"

namespace driftless {

namespace {

void write_reason(JsonWriter& json, const char* key, const std::string& reason) {
    json.key(key);
    reason.empty() ? json.null() : json.string(reason);
}

}  // namespace

EngineFacts settle_engine(const ThreadMeter& meter, bool realtime) {
    return {meter.why_no_instructions(), settle_memory(), realtime};
}

void write_engine(JsonWriter& json, const EngineFacts& facts) {
    json.key("engine").begin_object();
    json.key("instructions").boolean(facts.why_no_instructions.empty());
    write_reason(json, "instructions_reason", facts.why_no_instructions);
    json.key("realtime").boolean(facts.realtime);
    json.key("pages_present").boolean(facts.memory.present);
    json.key("pages_locked").boolean(facts.memory.locked);
    write_reason(json, "pages_reason", facts.memory.why_not);
    json.key("huge_page_bytes").unsigned_integer(facts.memory.huge_bytes);
    json.end_object();
}

}  // namespace driftless
