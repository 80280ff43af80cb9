// The writer of the Mooncake format, with `session_id` and `delay` of AIPerf's dialect.
//
// Ids are numbered anew, from 0 by first use, over all namespaces: the format has one. Parts of a
// prompt that have no id get one of their own, which no other row has.
#include "proto/trace/decimal_time.hpp"
#include "proto/trace/fields.hpp"
#include "proto/trace/mooncake.hpp"
#include "proto/trace/row.hpp"
#include "proto/trace/write.hpp"

namespace driftless {
namespace {

/// The one wait that the format can say: for the answer of the turn before. Nothing else.
const Dependency* wait_for_turn(const TraceWriter& writer, const TraceRow& row,
                                std::uint32_t turn_before) {
    const auto all = writer.trace().dependencies_of(row);
    const bool plain = all.size() == 1 && all[0].trigger == Trigger::completion &&
                       turn_before != no_row && writer.number_of(all[0].on) == turn_before;
    return plain ? &all[0] : nullptr;
}

void write_session(TraceWriter& writer, const TraceRow& row, JsonWriter& json) {
    if (row.session == no_session) {
        writer.lose("row that waits for others and has no session",
                    "rows that wait for others and have no session",
                    writer.trace().dependencies_of(row).empty() ? 0 : 1);
        return;
    }
    std::string name = writer.trace().sessions[row.session];
    if (writer.namesakes(row.session) > 1) {
        name += "#" + std::to_string(row.session);
    }
    json.key("session_id").string(name);
    const std::uint32_t before = writer.follow(row.session, writer.number_of(row.index));
    const Dependency* wait = wait_for_turn(writer, row, before);
    if (wait != nullptr && wait->delay_ns > 0) {
        json.key("delay").raw(time_text(wait->delay_ns, TimeUnit::ms));
    }
    const bool first = before == no_row && writer.trace().dependencies_of(row).empty();
    if (wait == nullptr && !first) {
        writer.lose(
            "row that waits for something other than its session's previous turn, which it will "
            "wait for when read again",
            "rows that wait for something other than their session's previous turn, which they "
            "will wait for when read again");
    }
}

void write_ids(TraceWriter& writer, const TraceRow& row, JsonWriter& json) {
    const std::uint32_t size = writer.trace().block_size;
    if (size == 0) {
        return;
    }
    json.key("hash_ids").begin_array();
    for (std::size_t block = 0; block < row.ids_count; ++block) {
        json.unsigned_integer(writer.dense_id(row, block));
    }
    for (std::uint64_t block = row.ids_count; block < blocks_of(row.input_length, size); ++block) {
        json.unsigned_integer(writer.fresh_id());
    }
    json.end_array();
}

void write(TraceWriter& writer, const WrittenRow& written, std::string& out) {
    const Trace& trace = writer.trace();
    const TraceRow& row = trace.rows[written.position];
    if (writer.number_of(row.index) == 0 && trace.block_size != 0 &&
        trace.block_size != mooncake_block_size) {
        writer.lose("blocks of " + std::to_string(trace.block_size) +
                    " tokens, which readers must be told (--block-size " +
                    std::to_string(trace.block_size) + "): the format has 512");
    }
    const std::int64_t at_ns = whole_ms(written.at_ns);
    writer.lose("time with a fraction of a ms, rounded: the format has whole ms",
                "times with fractions of a ms, rounded: the format has whole ms",
                at_ns != written.at_ns ? 1 : 0);
    const bool in_words = trace.recorded && !trace.body_of(row).empty();
    writer.lose("request body", "request bodies", trace.body_of(row).empty() || in_words ? 0 : 1);
    writer.lose("length besides a prompt with text", "lengths besides prompts with text",
                in_words && row.input_length > 0 ? 1 : 0);
    JsonWriter json(out);
    json.begin_object();
    json.key("timestamp").raw(time_text(at_ns, TimeUnit::ms));
    if (in_words) {
        if (trace.deltas && trace.body_of(row).starts_with(R"({"messages":)")) {
            json.key("assistant_responses").string("live");
        }
        writer.write_members(json, trace.body_of(row));
    } else {
        json.key("input_length").unsigned_integer(row.input_length);
    }
    if (row.output_length > 0) {
        json.key("output_length").unsigned_integer(row.output_length);
    }
    if (!in_words) {
        write_ids(writer, row, json);
        writer.write_extra(json, row);
    }
    write_session(writer, row, json);
    writer.write_kept(json, row, mooncake_format.columns);
    json.end_object();
}

}  // namespace

std::int64_t whole_ms(std::int64_t at_ns) {
    constexpr std::int64_t ms = 1'000'000;
    return at_ns > time_max_ns - ms ? at_ns / ms * ms : (at_ns + ms / 2) / ms * ms;
}

constinit const TraceTarget mooncake_target = {
    .name = "mooncake",
    .write = write,
};

}  // namespace driftless
