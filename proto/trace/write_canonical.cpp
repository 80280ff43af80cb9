// The writer of the canonical format; what it is, canonical.hpp says.
#include "proto/trace/canonical.hpp"
#include "proto/trace/write.hpp"

namespace driftless {
namespace {

void begin(TraceWriter& writer, std::string& out) {
    const Trace& trace = writer.trace();
    JsonWriter json(out);
    json.begin_object();
    json.key("schema").string(canonical_schema);
    json.key("version").unsigned_integer(canonical_version);
    json.key("block_size").unsigned_integer(trace.block_size);
    json.key("tail_rule").string(trace.tail_rule == TailRule::ceil ? "ceil" : "floor");
    json.key("source").begin_object();
    json.key("name").string(trace.name);
    json.key("format").string(trace.format);
    json.end_object();
    if (!writer.body_api().empty()) {
        json.key("body_api").string(writer.body_api());
    }
    if (trace.deltas && writer.body_api().empty()) {
        json.key("deltas").boolean(true);
    }
    if (trace.rows_uncovered > 0) {
        json.key("uncovered").boolean(true);
    }
    json.end_object();
}

void write_dependencies(TraceWriter& writer, const TraceRow& row, JsonWriter& json) {
    bool begun = false;
    for (const Dependency& one : writer.trace().dependencies_of(row)) {
        const std::uint32_t on = writer.number_of(one.on);
        if (on >= writer.number_of(row.index)) {
            writer.lose("dependency on a row that is not written",
                        "dependencies on rows that are not written");
            continue;
        }
        if (!begun) {
            json.key("after").begin_array();
            begun = true;
        }
        json.begin_object();
        json.key("row").unsigned_integer(on);
        json.key("trigger").string(one.trigger == Trigger::dispatch ? "dispatch" : "completion");
        json.key("delay_ns").integer(one.delay_ns);
        json.end_object();
    }
    if (begun) {
        json.end_array();
    }
}

void write(TraceWriter& writer, const WrittenRow& written, std::string& out) {
    const Trace& trace = writer.trace();
    const TraceRow& row = trace.rows[written.position];
    JsonWriter json(out);
    json.begin_object();
    json.key("at_ns").integer(written.at_ns);
    if (row.input_length > 0) {
        json.key("input_length").unsigned_integer(row.input_length);
    }
    if (row.output_length > 0) {
        json.key("output_length").unsigned_integer(row.output_length);
    }
    if (row.ids_count > 0) {
        json.key("hash_ids").begin_array();
        for (const std::uint64_t id : trace.ids_of(row)) {
            json.unsigned_integer(id);
        }
        json.end_array();
    }
    if (row.name_space != 0) {
        json.key("name_space").unsigned_integer(row.name_space);
    }
    if (row.session != no_session) {
        json.key("session").string(trace.sessions[row.session]);
        if (writer.namesakes(row.session) > 1) {
            json.key("session_number").unsigned_integer(row.session);
        }
    }
    if (row.turn != 0) {
        json.key("turn").unsigned_integer(row.turn);
    }
    write_dependencies(writer, row, json);
    if (const std::string_view body = writer.body_of(row); !body.empty()) {
        json.key(writer.recorded() ? "recorded" : "body").raw(body);
    }
    writer.write_kept(json, row, canonical_columns());
    json.end_object();
}

}  // namespace

constinit const TraceTarget canonical_target = {
    .name = "canonical",
    .by_time = false,
    .begin = begin,
    .write = write,
};

}  // namespace driftless
