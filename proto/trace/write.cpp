#include "proto/trace/write.hpp"

#include <algorithm>

#include "proto/core/text.hpp"
#include "proto/json/put.hpp"
#include "proto/trace/formats.hpp"
#include "proto/trace/row.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

static constexpr const TraceTarget* targets[] = {&canonical_target, &mooncake_target};

const TraceTarget* find_trace_target(std::string_view name) {
    const auto* const found = std::ranges::find(targets, name, &TraceTarget::name);
    return found == std::end(targets) ? nullptr : *found;
}

TraceWriter::TraceWriter(const Trace& trace, const TraceTarget& target,
                         std::vector<WrittenRow> rows)
    : trace_(trace), target_(target), rows_(std::move(rows)), ids_(trace) {
    const auto index_of = [&](const WrittenRow& row) { return trace.rows[row.position].index; };
    if (!target.by_time) {
        std::ranges::sort(rows_, {}, index_of);
    }
    std::uint32_t indices = 0;
    for (const TraceRow& row : trace.rows) {
        indices = std::max(indices, row.index + 1);
    }
    numbers_.assign(indices, no_row);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        numbers_[index_of(rows_[i])] = static_cast<std::uint32_t>(i);
    }
    for (const std::string& name : trace.sessions) {
        ++namesakes_[name];
    }
    last_rows_.assign(trace.sessions.size(), no_row);
}

void TraceWriter::begin(std::string& out) {
    if (!begun_ && target_.begin != nullptr) {
        target_.begin(*this, out);
        out += '\n';
    }
    begun_ = true;
}

bool TraceWriter::next(std::string& out, std::string_view body) {
    const std::size_t before = out.size();
    begin(out);
    if (out.size() > before) {
        return true;
    }
    if (next_ == rows_.size()) {
        return false;
    }
    new_body_ = body;
    target_.write(*this, rows_[next_++], out);
    out += '\n';
    return true;
}

std::uint64_t TraceWriter::dense_id(const TraceRow& row, std::size_t block) {
    std::uint64_t& written = ids_.of(row, block);
    written = written == 0 ? ++next_id_ : written;
    return written - 1;
}

void TraceWriter::write_kept(JsonWriter& json, const TraceRow& row,
                             std::span<const std::string_view> own) {
    const std::string_view kept = trace_.kept_of(row);
    if (kept.empty()) {
        return;
    }
    const Result<JsonValue> columns = document_.parse(kept);
    CHECK(columns);
    for (JsonValue one = columns.value().first(); one.present(); one = one.next()) {
        if (one.is(JsonType::null)) {
            continue;
        }
        if (std::find(own.begin(), own.end(), one.key()) == own.end()) {
            json.key(one.key()).raw(one.raw());
            continue;
        }
        lose("kept column with a name that the format uses itself",
             "kept columns with names that the format uses itself");
    }
}

void TraceWriter::write_extra(JsonWriter& json, const TraceRow& row) {
    if (const std::string_view extra = trace_.extra_of(row); !extra.empty()) {
        json.key("extra").raw(extra);
    }
}

void TraceWriter::write_members(JsonWriter& json, std::string_view object) {
    const Result<JsonValue> members = document_.parse(object);
    CHECK(members);
    copy_members(json, members.value(), {});
}

std::vector<std::string> TraceWriter::losses() const {
    std::vector<std::string> all = lines_;
    for (const Remark& one : counts_) {
        all.push_back(counted(one.count, one.one, one.many));
    }
    return all;
}

// The writer of the canonical format; what it is, formats.hpp says.

static void begin(TraceWriter& writer, std::string& out) {
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

static void write_dependencies(TraceWriter& writer, const TraceRow& row, JsonWriter& json) {
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

static void write_canonical(TraceWriter& writer, const WrittenRow& written, std::string& out) {
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

void write_canonical_header(JsonWriter& json, const CanonicalHeader& header) {
    put(json, {{"schema", canonical_schema},
               {"version", canonical_version},
               {"block_size", header.block_size},
               {"tail_rule", header.tail_rule == TailRule::ceil ? "ceil" : "floor"},
               {"source", JsonPairs{{"name", header.source}, {"format", header.format}}}});
}

void write_canonical_wait(JsonWriter& json, std::uint32_t on, Trigger trigger,
                          std::int64_t delay_ns) {
    put_object(json, {{"row", on},
                      {"trigger", trigger == Trigger::dispatch ? "dispatch" : "completion"},
                      {"delay_ns", delay_ns}});
}

constinit const TraceTarget canonical_target = {
    .name = "canonical",
    .by_time = false,
    .begin = begin,
    .write = write_canonical,
};

// The writer of the Mooncake format, with `session_id` and `delay` of AIPerf's dialect.
//
// Ids are numbered anew, from 0 by first use, over all namespaces: the format has one. Parts of a
// prompt that have no id get one of their own, which no other row has.

/// The one wait that the format can say: for the answer of the turn before. Nothing else.
static const Dependency* wait_for_turn(const TraceWriter& writer, const TraceRow& row,
                                       std::uint32_t turn_before) {
    const auto all = writer.trace().dependencies_of(row);
    const bool plain = all.size() == 1 && all[0].trigger == Trigger::completion &&
                       turn_before != no_row && writer.number_of(all[0].on) == turn_before;
    return plain ? &all[0] : nullptr;
}

static void write_session(TraceWriter& writer, const TraceRow& row, JsonWriter& json) {
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

static void write_ids(TraceWriter& writer, const TraceRow& row, JsonWriter& json) {
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

static void write_mooncake(TraceWriter& writer, const WrittenRow& written, std::string& out) {
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

std::int64_t whole_ms(std::int64_t at_ns) {
    constexpr std::int64_t ms = 1'000'000;
    return at_ns > time_max_ns - ms ? at_ns / ms * ms : (at_ns + ms / 2) / ms * ms;
}

constinit const TraceTarget mooncake_target = {
    .name = "mooncake",
    .write = write_mooncake,
};

}  // namespace driftless
