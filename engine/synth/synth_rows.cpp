#include "engine/synth/synth_rows.hpp"

namespace driftless {
namespace {

using AnyRows = std::variant<RandomRows, PrefixRows, TreeRows, StressRows>;

AnyRows rows_of(const SynthSpec& spec) {
    if (const auto* random = std::get_if<RandomSpec>(&spec.kind)) {
        return AnyRows(std::in_place_type<RandomRows>, spec, *random);
    }
    if (const auto* prefix = std::get_if<PrefixSpec>(&spec.kind)) {
        return AnyRows(std::in_place_type<PrefixRows>, spec, *prefix);
    }
    if (const auto* trees = std::get_if<TreeSpec>(&spec.kind)) {
        return AnyRows(std::in_place_type<TreeRows>, spec, *trees);
    }
    return AnyRows(std::in_place_type<StressRows>, spec, *std::get_if<StressSpec>(&spec.kind));
}

}  // namespace

SynthRows::SynthRows(const SynthSpec& spec) : rows_(rows_of(spec)) {}

bool SynthRows::next(SynthRow& row) {
    if (auto* random = std::get_if<RandomRows>(&rows_)) {
        return random->next(row);
    }
    if (auto* prefix = std::get_if<PrefixRows>(&rows_)) {
        return prefix->next(row);
    }
    if (auto* trees = std::get_if<TreeRows>(&rows_)) {
        return trees->next(row);
    }
    return std::get_if<StressRows>(&rows_)->next(row);
}

}  // namespace driftless
