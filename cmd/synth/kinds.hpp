/// The kinds of synthetic workloads: what their flags say, as typed values, and the spec that
/// follows from them.
///
/// Pure. The options parser fills `KindValues`; `specify` checks what holds between several flags.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/synth/synth_values.hpp"
#include "engine/synth/spec.hpp"

namespace driftless {

enum class SynthKind : std::uint8_t {
    random,
    prefix,
    chat,
    agents,
    stress_reuse,
    stress_working_set,
    stress_offload,
    stress_compaction,
    stress_reactivation,
    stress_fan_out,
};

/// Values of all flags of all kinds. A kind reads its own.
struct KindValues {
    std::uint64_t count = 0;  ///< rows, sessions or trees
    ValueLaw input;
    ValueLaw output;
    RangeRatio range_ratio;
    std::uint32_t groups = 1;
    ValueLaw prefix;
    ValueLaw suffix;
    Popularity popularity;
    ValueLaw turns;
    ValueLaw sub_turns;
    std::uint32_t system = 0;
    std::uint32_t sub_system = 0;
    ValueLaw growth;
    ValueLaw gap;
    std::uint32_t context_max = 0;
    std::uint32_t compact_at = 0;
    ValueLaw summary;
    std::uint32_t depth = 0;
    ValueLaw fan_out;
    std::uint32_t parallel = 1;
    double spawn = 0;
    std::uint32_t prompt = 1;  ///< tokens of every prompt of a pattern
    std::uint64_t hit_ppm = 0;
    std::uint64_t set_tokens = 0;
    SetRange set_range;
    std::uint32_t steps = 1;
    std::uint32_t rounds = 1;
    std::uint32_t fan = 1;
    std::uint32_t fan_suffix = 0;
};

/// Fills `spec.kind`. Returns why the flags do not go together, or the empty text.
std::string specify(SynthKind kind, const KindValues& values, SynthSpec& spec);

}  // namespace driftless
