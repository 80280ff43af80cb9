#include "tests/fuzz/shared/trace_lines.hpp"

#include <string_view>

#include "engine/plan/files.hpp"
#include "engine/plan/plan.hpp"
#include "proto/core/check.hpp"
#include "proto/json/write.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"

namespace driftless {

namespace {

bool read_in_pieces(std::string_view text, std::size_t piece, const ReadOptions& options,
                    Trace& trace, InputErrors& errors) {
    TraceReader reader(options, trace, errors);
    reader.begin_file("fuzz");
    LineSplitter lines;
    for (std::size_t at = 0; at <= text.size(); at += piece) {
        if (at < text.size()) {
            lines.feed(text.substr(at, piece));
        }
        if (at + piece > text.size()) {
            lines.finish();
        }
        while (const auto line = lines.next()) {
            if (!reader.add_line(lines.number(), *line)) {
                return reader.finish();
            }
        }
    }
    return reader.finish();
}

void check_rows(const Trace& trace) {
    std::int64_t previous = 0;
    CHECK(trace.rows.empty() || trace.rows.front().at_ns == 0);
    for (const TraceRow& row : trace.rows) {
        CHECK(row.at_ns >= previous);
        const bool known = row.input_length > 0 && row.output_length > 0;
        CHECK(known || !trace.body_of(row).empty());
        const std::uint64_t size = trace.block_size;
        CHECK(row.ids_count == 0 || (row.input_length + size - 1) / size >= row.ids_count);
        CHECK(row.name_space < trace.name_spaces);
        CHECK(row.session == no_session || row.session < trace.sessions.size());
        for (const Dependency& edge : trace.dependencies_of(row)) {
            CHECK(edge.on < row.index && edge.delay_ns >= 0);
        }
        (void)trace.kept_of(row);
        previous = row.at_ns;
    }
}

}  // namespace

int read_any(const std::uint8_t* data, std::size_t size, ReadOptions options) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const bool lenient : {false, true}) {
        Trace whole;
        Trace cut;
        InputErrors errors;
        InputErrors cut_errors;
        options.lenient = lenient;
        const bool usable = read_in_pieces(text, size + 1, options, whole, errors);
        CHECK(usable == errors.empty());
        CHECK(usable == read_in_pieces(text, size % 7 + 1, options, cut, cut_errors));
        CHECK(whole.rows.size() == cut.rows.size());
        CHECK(plain_ids(whole.ids) == plain_ids(cut.ids));
        CHECK(errors.count == cut_errors.count);
        for (const InputError& error : errors.list) {
            CHECK(!to_text(error).empty());
        }
        if (usable) {
            check_rows(whole);
            (void)make_plan(whole, {});  // refuses spans of more than 73 years
            CHECK(canonical_round_trip(whole).empty());
        }
    }
    return 0;
}

}  // namespace driftless
