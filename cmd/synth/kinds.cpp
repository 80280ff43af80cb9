#include "cmd/synth/kinds.hpp"

#include "engine/synth/stress_rows.hpp"
#include "engine/synth/synth_text.hpp"
#include "proto/trace/fields.hpp"

namespace driftless {
namespace {

/// Trees of agents that may live at a time under one root: memory follows them.
constexpr std::uint64_t live_agents_max = 1'000'000;
/// What an offload pattern's sets are of a cache, in percent.
constexpr std::uint64_t fits_percent = 80;
constexpr std::uint64_t exceeds_percent = 125;

std::string specify_random(const KindValues& values, SynthSpec& spec) {
    RandomSpec random{values.count, values.input, values.output};
    const RangeRatio& ratio = values.range_ratio;
    if (ratio.input > 0 || ratio.output > 0) {
        if (values.input.kind != LawKind::fixed || values.output.kind != LawKind::fixed) {
            return "--range-ratio is a range around fixed lengths; give --in and --out-tokens as "
                   "numbers, or remove it";
        }
        const Result<ValueLaw> input = range_law(values.input, ratio.input);
        const Result<ValueLaw> output = range_law(values.output, ratio.output);
        if (!input || !output) {
            return "--range-ratio reaches beyond 134217728 tokens; use shorter lengths";
        }
        random.input = input.value();
        random.output = output.value();
    }
    spec.kind = random;
    return "";
}

std::string specify_prefix(const KindValues& values, SynthSpec& spec) {
    PrefixSpec prefix;
    prefix.rows = values.count;
    prefix.groups = values.groups;
    prefix.prefix = values.prefix;
    prefix.suffix = values.suffix;
    prefix.output = values.output;
    prefix.zipf = values.popularity.zipf;
    prefix.ordered = values.popularity.ordered;
    spec.kind = prefix;
    return "";
}

/// What all trees have in common.
TreeSpec tree_of(const char* name, const KindValues& values) {
    TreeSpec tree;
    tree.name = name;
    tree.trees = values.count;
    tree.turns = values.turns;
    tree.sub_turns = fixed_law(1);
    tree.system_tokens = values.system;
    tree.first = values.input;
    tree.sub_first = fixed_law(1);
    tree.growth = values.growth;
    tree.output = values.output;
    tree.gap = values.gap;
    tree.context_max = values.context_max;
    tree.summary = fixed_law(1);
    tree.fan_out = fixed_law(1);
    return tree;
}

std::string specify_agents(const KindValues& values, SynthSpec& spec) {
    TreeSpec tree = tree_of("agent", values);
    tree.sub_turns = values.sub_turns;
    tree.sub_first = values.input;
    tree.sub_system_tokens = values.sub_system;
    tree.compact_at = values.compact_at;
    tree.summary = values.summary;
    tree.depth = values.depth;
    tree.spawn = values.spawn;
    tree.fan_out = values.fan_out;
    tree.parallel = values.parallel;
    std::uint64_t live = 1;
    for (std::uint32_t level = 0; level < tree.depth; ++level) {
        live *= tree.parallel;
        if (live > live_agents_max) {
            return "--parallel " + std::to_string(tree.parallel) + " on --depth " +
                   std::to_string(tree.depth) +
                   " levels are more than 1000000 agents at a time; lower one of them";
        }
    }
    spec.kind = tree;
    return "";
}

/// A conversation that grows until it asks for a summary, again and again.
std::string specify_compaction(const KindValues& values, SynthSpec& spec) {
    TreeSpec tree = tree_of("compaction", values);
    tree.compact_at = values.compact_at;
    tree.summary = values.summary;
    spec.kind = tree;
    return "";
}

/// One prompt that is used again after a long time.
std::string specify_reactivation(const KindValues& values, SynthSpec& spec) {
    spec.kind = tree_of("reactivation", values);
    return "";
}

/// One prompt that many continue at one instant.
std::string specify_fan_out(const KindValues& values, SynthSpec& spec) {
    if (std::int64_t{values.prompt} + values.fan_suffix + values.output.high >
        std::int64_t{row_tokens_max}) {
        return "--in and --suffix together are more than 134217728 tokens; lower one of them";
    }
    TreeSpec tree = tree_of("fan-out", values);
    tree.turns = fixed_law(2);
    tree.first = fixed_law(values.prompt);
    tree.growth = fixed_law(values.fan_suffix);
    tree.gap = fixed_law(0);
    tree.context_max = row_tokens_max;
    tree.depth = 1;
    tree.spawn = 1;
    tree.fan_out = fixed_law(values.fan);
    tree.parallel = values.fan;
    tree.inherit = true;
    tree.sub_first = fixed_law(values.fan_suffix);
    spec.kind = tree;
    return "";
}

std::uint64_t prompts_of(std::uint64_t tokens, std::uint32_t prompt) {
    return std::max<std::uint64_t>(1, tokens / prompt);
}

std::string specify_pattern(SynthKind kind, const KindValues& values, SynthSpec& spec) {
    StressSpec stress;
    stress.input = values.prompt;
    stress.output = values.output;
    stress.rows = values.count;
    stress.rounds = values.rounds;
    std::uint64_t least = values.set_tokens;
    if (kind == SynthKind::stress_reuse) {
        stress.pattern = StressPattern::reuse;
        stress.hit_ppm = values.hit_ppm;
        stress.set_low = prompts_of(least, values.prompt);
    } else if (kind == SynthKind::stress_working_set) {
        stress.pattern = StressPattern::working_set;
        least = values.set_range.low;
        stress.set_low = prompts_of(least, values.prompt);
        stress.set_high = prompts_of(values.set_range.high, values.prompt);
        stress.steps = values.steps;
    } else {
        stress.pattern = StressPattern::offload;
        least = values.set_tokens * fits_percent / 100;
        stress.set_low = prompts_of(least, values.prompt);
        stress.set_high = prompts_of(values.set_tokens * exceeds_percent / 100, values.prompt) + 1;
    }
    if (least < values.prompt) {
        return std::string("--in ") + std::to_string(values.prompt) +
               ": one prompt is longer than the working set; use a shorter prompt or a larger "
               "set " +
               (kind == SynthKind::stress_offload ? "--capacity" : "--working-set");
    }
    if (stress_rows(stress) > synth_rows_max) {
        return "these are " + std::to_string(stress_rows(stress)) +
               " rows, but a trace can have 4294967000; give longer prompts (--in), or lower the "
               "others";
    }
    spec.kind = stress;
    return "";
}

}  // namespace

std::string specify(SynthKind kind, const KindValues& values, SynthSpec& spec) {
    if (values.compact_at > 0) {
        const std::uint64_t kept =
            std::uint64_t{values.system} + static_cast<std::uint64_t>(values.summary.centre);
        if (kept >= values.compact_at || values.compact_at > values.context_max) {
            return "--compact-at " + std::to_string(values.compact_at) +
                   ": must be more than --system plus --summary, and at most --max-context";
        }
    }
    switch (kind) {
        case SynthKind::random:
            return specify_random(values, spec);
        case SynthKind::prefix:
            return specify_prefix(values, spec);
        case SynthKind::chat:
            spec.kind = tree_of("chat", values);
            return "";
        case SynthKind::agents:
            return specify_agents(values, spec);
        case SynthKind::stress_compaction:
            return specify_compaction(values, spec);
        case SynthKind::stress_reactivation:
            return specify_reactivation(values, spec);
        case SynthKind::stress_fan_out:
            return specify_fan_out(values, spec);
        default:
            return specify_pattern(kind, values, spec);
    }
}

}  // namespace driftless
