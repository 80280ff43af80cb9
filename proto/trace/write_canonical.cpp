// The writer of the canonical format; what it is, canonical.hpp says.
#include "proto/trace/canonical.hpp"
#include "proto/trace/write.hpp"

namespace driftless {
namespace {

void begin(TraceWriter& writer, std::string& out) {
    const Trace& trace = writer.trace();
    JsonWriter json(out);
    json.begin_object();
    write_canonical_header(json, {trace.block_size, trace.tail_rule, trace.name, trace.format});
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
        write_canonical_wait(json, on, one.trigger, one.delay_ns);
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
    CanonicalRow line{written.at_ns, row.input_length, row.output_length, row.name_space,
                      std::nullopt,  std::nullopt,     row.turn};
    if (row.session != no_session) {
        line.session = trace.sessions[row.session];
        if (writer.namesakes(row.session) > 1) {
            line.session_number = row.session;
        }
    }
    write_canonical_row(json, line, trace.ids_of(row));
    write_dependencies(writer, row, json);
    if (const std::string_view body = writer.body_of(row); !body.empty()) {
        json.key(writer.recorded() ? "recorded" : "body").raw(body);
    } else {
        writer.write_extra(json, row);
    }
    writer.write_kept(json, row, canonical_columns());
    json.end_object();
}

}  // namespace

void write_canonical_header(JsonWriter& json, const CanonicalHeader& header) {
    json.key("schema").string(canonical_schema);
    json.key("version").unsigned_integer(canonical_version);
    json.key("block_size").unsigned_integer(header.block_size);
    json.key("tail_rule").string(header.tail_rule == TailRule::ceil ? "ceil" : "floor");
    json.key("source").begin_object();
    json.key("name").string(header.source);
    json.key("format").string(header.format);
    json.end_object();
}

void write_canonical_wait(JsonWriter& json, std::uint32_t on, Trigger trigger,
                          std::int64_t delay_ns) {
    json.begin_object();
    json.key("row").unsigned_integer(on);
    json.key("trigger").string(trigger == Trigger::dispatch ? "dispatch" : "completion");
    json.key("delay_ns").integer(delay_ns);
    json.end_object();
}

constinit const TraceTarget canonical_target = {
    .name = "canonical",
    .by_time = false,
    .begin = begin,
    .write = write,
};

}  // namespace driftless
