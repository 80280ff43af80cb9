// The records of a run are complete once: a second time, rows would get a second record.
// Dies with: check failed: stage_ == Stage::recording
#include "engine/record/writer.hpp"
#include "proto/api/dialect.hpp"

int main() {
    const driftless::Trace trace;
    const driftless::Plan plan;
    driftless::AssemblerConfig config;
    config.trace = &trace;
    config.plan = &plan;
    config.dialect = &driftless::dialect_of(driftless::Api::openai_chat);
    driftless::RecordWriter writer(config, driftless::Summary(), driftless::RecordSinks());
    writer.finish();
    writer.finish();
}
