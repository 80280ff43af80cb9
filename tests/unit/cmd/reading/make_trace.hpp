/// What the tests of this room share: small traces by hand and by chance, and the real ones.
#pragma once

#include "engine/plan/trace_file.hpp"
#include "tests/unit/made.hpp"

namespace driftless {

struct RowSpec {
    std::int64_t at_ms = 0;
    std::uint32_t input_length = 1;
    std::vector<std::uint64_t> ids;
    std::uint32_t session = no_session;
    std::uint32_t name_space = 0;
};

inline Trace make_trace(std::uint32_t block_size, TailRule rule, const std::vector<RowSpec>& rows) {
    Trace trace{.name = "made",
                .format = "canonical",
                .time_unit = "ms",
                .block_size = block_size,
                .tail_rule = rule,
                .files = {{"made.jsonl", 0}}};
    for (const RowSpec& spec : rows) {
        append_row(trace,
                   {.at_ns = spec.at_ms * 1'000'000,
                    .input_length = spec.input_length,
                    .output_length = 7,
                    .name_space = spec.name_space,
                    .session = spec.session},
                   spec.ids);
        trace.name_spaces = std::max(trace.name_spaces, spec.name_space + 1);
    }
    return trace;
}

/// Prompts that share beginnings, in blocks of 4 tokens. Few ids, so that they meet at several
/// places and behind several others; the partial block at the end has an id under `ceil` only.
inline Trace random_trace(std::uint64_t seed, TailRule rule, std::size_t rows) {
    Random random(seed);
    std::vector<RowSpec> specs;
    for (std::size_t i = 0; i < rows; ++i) {
        RowSpec spec{.at_ms = static_cast<std::int64_t>(i),
                     .name_space = static_cast<std::uint32_t>(random.below(2) * (seed % 2))};
        if (i > 0 && random.below(4) > 0) {  // as an earlier one begins
            const RowSpec& earlier = specs[random.below(i)];
            spec.ids = earlier.ids;
            spec.name_space = earlier.name_space;
            spec.ids.resize(random.below(spec.ids.size() + 1));
        }
        for (std::uint64_t more = random.below(5); more > 0; --more) {
            spec.ids.push_back(random.below(6));
        }
        if (spec.ids.empty()) {
            spec.ids.push_back(random.below(6));
        }
        const auto whole = static_cast<std::uint32_t>(4 * spec.ids.size());
        const auto rest = static_cast<std::uint32_t>(random.below(4));
        spec.input_length = rule == TailRule::ceil ? whole - rest : whole + rest;
        specs.push_back(spec);
    }
    return make_trace(4, rule, specs);
}

inline std::string shared_trace(const std::string& name) {
    const std::string path = std::string(SHARED_DATA) + "/traces/" + name;
    return std::filesystem::exists(path) ? path : "";
}

inline Trace read_or_die(const std::string& path) {
    TraceFiles files{.paths = {path}, .sessions = Sessions::open};
    Trace trace;
    InputErrors errors;
    std::vector<std::string> notes;
    CHECK(read_trace(files, trace, errors, notes));
    return trace;
}

}  // namespace driftless
