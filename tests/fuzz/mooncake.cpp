// Any bytes as a trace file: lines are split the same however they are cut, and what is read is
// sorted, rebased, consistent, and plans without a fault.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/input/lines.hpp"
#include "engine/plan/plan.hpp"
#include "proto/core/check.hpp"
#include "proto/trace/read.hpp"

namespace {

using namespace driftless;

bool read_in_pieces(std::string_view text, std::size_t piece, bool lenient, Trace& trace,
                    InputErrors& errors) {
    ReadOptions options;
    options.lenient = lenient;
    options.keep = {"type"};
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
        CHECK(row.input_length > 0 && row.output_length > 0);
        CHECK(trace.ids_of(row).size() <=
              (row.input_length + trace.block_size - 1) / trace.block_size);
        (void)trace.kept_of(row);
        previous = row.at_ns;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const bool lenient : {false, true}) {
        Trace whole;
        Trace cut;
        InputErrors errors;
        InputErrors cut_errors;
        const bool usable = read_in_pieces(text, size + 1, lenient, whole, errors);
        CHECK(usable == errors.empty());
        CHECK(usable == read_in_pieces(text, size % 7 + 1, lenient, cut, cut_errors));
        CHECK(whole.rows.size() == cut.rows.size() && whole.ids == cut.ids);
        CHECK(errors.count == cut_errors.count);
        for (const InputError& error : errors.list) {
            CHECK(!to_text(error).empty());
        }
        check_rows(whole);
        if (usable) {
            (void)make_plan(whole, {});  // refuses spans of more than 73 years
        }
    }
    return 0;
}
