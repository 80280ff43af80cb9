/// What tests of synthetic workloads share: a command line in, its rows, its text and its trace
/// out.
#pragma once

#include "cmd/flags/synth_values.hpp"
#include "engine/plan/synth_rows.hpp"
#include "tests/unit/proto/trace/reading.hpp"

namespace driftless {

inline SynthOptions synth_options(const std::string& line) {
    const SynthCommandLine parsed = parse_synth_options(words_of(line));
    EXPECT_EQ(parsed.kind, SynthCommandLine::Kind::run) << parsed.text;
    return parsed.options;
}

inline std::string made_text(const std::string& line) {
    const SynthOptions options = synth_options(line);
    SynthText text(options.spec, options.name, *options.target);
    std::string all;
    while (text.next(all)) {
    }
    return all;
}

inline std::vector<SynthRow> made_rows(const std::string& line) {
    const SynthOptions options = synth_options(line);
    SynthRows rows(options.spec);
    std::vector<SynthRow> all;
    for (SynthRow row; rows.next(row);) {
        all.push_back(row);
    }
    return all;
}

inline Trace made_trace(const std::string& line, const ReadOptions& options = {}) {
    return read(lines_of(made_text(line)), options).sound();
}

}  // namespace driftless
