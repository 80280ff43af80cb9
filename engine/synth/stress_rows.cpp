#include "engine/synth/stress_rows.hpp"

#include <algorithm>

namespace driftless {
namespace {

// Purposes before these: tree_rows.cpp.
constexpr std::uint64_t stress_output_stream = 7;
constexpr std::uint64_t stress_choice_stream = 8;
constexpr std::uint64_t whole_ppm = 1'000'000;

}  // namespace

std::uint32_t stress_phases(const StressSpec& spec) {
    switch (spec.pattern) {
        case StressPattern::working_set:
            return spec.steps;
        case StressPattern::offload:
            return 3;
        default:
            return 1;
    }
}

std::uint64_t stress_set(const StressSpec& spec, std::uint32_t phase) {
    if (spec.pattern == StressPattern::offload) {
        return phase == 1 ? spec.set_high : spec.set_low;
    }
    if (spec.pattern == StressPattern::reuse || spec.steps == 1) {
        return spec.set_low;
    }
    const auto grown = static_cast<unsigned __int128>(spec.set_high - spec.set_low) * phase;
    return spec.set_low + static_cast<std::uint64_t>(grown / (spec.steps - 1));
}

std::uint64_t stress_rows(const StressSpec& spec) {
    if (spec.pattern == StressPattern::reuse) {
        return spec.set_low + spec.rows;
    }
    std::uint64_t rows = 0;
    for (std::uint32_t phase = 0; phase < stress_phases(spec); ++phase) {
        rows += stress_set(spec, phase) * spec.rounds;
    }
    return rows;
}

StressRows::StressRows(const SynthSpec& common, const StressSpec& spec)
    : spec_(spec),
      block_size_(common.block_size),
      arrivals_(common.arrivals, common.seed),
      output_(stream_of(common.seed, stress_output_stream, 0)),
      choice_(stream_of(common.seed, stress_choice_stream, 0)),
      blocks_(common.block_size),
      rows_(stress_rows(spec)) {
    const std::uint64_t prompts = std::max(spec_.set_low, spec_.set_high);
    fresh_.take(prompts * (spec_.input / block_size_));
}

/// What is due of the share so far, in whole blocks; never the last token, which no cache gives.
std::uint64_t StressRows::reused_blocks() {
    const std::uint64_t rows = made_ - spec_.set_low + 1;
    const auto wanted = static_cast<std::uint64_t>(static_cast<unsigned __int128>(rows) *
                                                   spec_.input * spec_.hit_ppm / whole_ppm);
    const std::uint64_t blocks = std::min<std::uint64_t>((wanted - reused_tokens_) / block_size_,
                                                         (spec_.input - 1) / block_size_);
    reused_tokens_ += blocks * block_size_;
    return blocks;
}

bool StressRows::next(SynthRow& row) {
    row.clear();
    if (made_ == rows_) {
        return false;
    }
    row.at_ns = arrivals_.take();
    row.input_length = spec_.input;
    row.output_length = static_cast<std::uint32_t>(draw(spec_.output, output_));
    const std::uint64_t each = spec_.input / block_size_;
    if (spec_.pattern == StressPattern::reuse && made_ >= spec_.set_low) {
        const std::uint64_t reused = reused_blocks();
        blocks_.begin(choice_.below(spec_.set_low) * each, reused * block_size_);
        blocks_.grow(spec_.input, fresh_);
    } else {
        blocks_.begin(prompt_ * each, spec_.input);
        if (++prompt_ == stress_set(spec_, phase_)) {
            prompt_ = 0;
            if (++round_ == spec_.rounds) {
                round_ = 0;
                ++phase_;
            }
        }
    }
    blocks_.write(row.ids);
    ++made_;
    return true;
}

}  // namespace driftless
