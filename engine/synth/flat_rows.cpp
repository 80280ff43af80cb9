#include "engine/synth/flat_rows.hpp"

#include <algorithm>
#include <bit>

#include "proto/core/portable_math.hpp"
#include "proto/trace/fields.hpp"

namespace driftless {
namespace {

// Purposes of random numbers; those of arrivals are 1.
constexpr std::uint64_t input_stream = 2;
constexpr std::uint64_t output_stream = 3;
constexpr std::uint64_t group_stream = 4;
constexpr std::uint64_t prefix_stream = 5;

}  // namespace

RandomRows::RandomRows(const SynthSpec& common, const RandomSpec& spec)
    : spec_(spec),
      arrivals_(common.arrivals, common.seed),
      input_(stream_of(common.seed, input_stream, 0)),
      output_(stream_of(common.seed, output_stream, 0)) {}

bool RandomRows::next(SynthRow& row) {
    row.clear();
    if (made_ == spec_.rows) {
        return false;
    }
    ++made_;
    row.at_ns = arrivals_.take();
    row.input_length = static_cast<std::uint32_t>(draw(spec_.input, input_));
    row.output_length = static_cast<std::uint32_t>(draw(spec_.output, output_));
    return true;
}

GroupChoice::GroupChoice(const PrefixSpec& spec, std::uint64_t seed)
    : spec_(spec), random_(stream_of(seed, group_stream, 0)) {
    if (spec_.zipf >= 0) {
        double sum = 0;
        for (std::uint32_t group = 0; group < spec_.groups; ++group) {
            sum += portable_exp(-spec_.zipf * portable_log(group + 1.0));
            upto_.push_back(sum);
        }
        return;
    }
    left_ = spec_.rows;
    tree_.assign(std::size_t{spec_.groups} + 1, 0);
    for (std::uint32_t group = 0; group < spec_.groups; ++group) {
        tree_[group + 1] += spec_.rows / spec_.groups + (group < spec_.rows % spec_.groups ? 1 : 0);
        const std::size_t above = group + 1 + ((group + 1) & -(group + 1));
        if (above < tree_.size()) {
            tree_[above] += tree_[group + 1];
        }
    }
}

std::uint32_t GroupChoice::by_share() {
    const double place = random_.uniform() * upto_.back();
    const auto found = std::upper_bound(upto_.begin(), upto_.end(), place);
    return static_cast<std::uint32_t>(
        std::min<std::size_t>(static_cast<std::size_t>(found - upto_.begin()), upto_.size() - 1));
}

/// Draws one of the rows that are left, and takes it: the group in whose part of them it lies.
std::uint32_t GroupChoice::by_count() {
    std::uint64_t place = spec_.ordered ? 0 : random_.below(left_);
    --left_;
    std::size_t at = 0;
    for (std::size_t step = std::bit_floor(tree_.size() - 1); step > 0; step /= 2) {
        if (at + step < tree_.size() && tree_[at + step] <= place) {
            at += step;
            place -= tree_[at];
        }
    }
    for (std::size_t node = at + 1; node < tree_.size(); node += node & -node) {
        --tree_[node];
    }
    return static_cast<std::uint32_t>(at);
}

std::uint32_t GroupChoice::next() {
    return spec_.zipf >= 0 ? by_share() : by_count();
}

PrefixRows::PrefixRows(const SynthSpec& common, const PrefixSpec& spec)
    : spec_(spec),
      arrivals_(common.arrivals, common.seed),
      choice_(spec, common.seed),
      suffix_(stream_of(common.seed, input_stream, 0)),
      output_(stream_of(common.seed, output_stream, 0)),
      blocks_(common.block_size) {
    Random lengths = stream_of(common.seed, prefix_stream, 0);
    for (std::uint32_t i = 0; i < spec_.groups; ++i) {
        const auto tokens = static_cast<std::uint32_t>(draw(spec_.prefix, lengths));
        groups_.push_back({fresh_.take(tokens / common.block_size), tokens});
    }
}

bool PrefixRows::next(SynthRow& row) {
    row.clear();
    if (made_ == spec_.rows) {
        return false;
    }
    ++made_;
    const Group& group = groups_[choice_.next()];
    row.at_ns = arrivals_.take();
    row.input_length = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(group.tokens + draw(spec_.suffix, suffix_), 1, row_tokens_max));
    row.output_length = static_cast<std::uint32_t>(draw(spec_.output, output_));
    blocks_.begin(group.first_id, std::min(group.tokens, row.input_length));
    blocks_.grow(row.input_length, fresh_);
    blocks_.write(row.ids);
    return true;
}

}  // namespace driftless
