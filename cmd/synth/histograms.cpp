#include "cmd/synth/histograms.hpp"

#include "cmd/whole_file.hpp"

namespace driftless {
namespace {

std::string read_histogram(ValueLaw& law) {
    if (law.file.empty()) {
        return "";
    }
    const Result<std::string> text = read_whole_file(law.file);
    if (!text) {
        return "file:" + law.file + ": " + reason_of(text.error()) + "; name an existing file";
    }
    std::uint64_t line = 0;
    Result<std::vector<LawBin>> bins =
        read_law_bins(text.value(), law.unit, law.low, law.high, line);
    if (!bins) {
        return "file:" + law.file + (line > 0 ? ":" + std::to_string(line) : std::string()) + ": " +
               bins.error().doing +
               "; lines are value,weight or from..to,weight, with values from " +
               std::to_string(law.low / law.unit) + " to " + std::to_string(law.high / law.unit);
    }
    law.bins = std::move(bins).value();
    return "";
}

}  // namespace

std::string read_histograms(SynthSpec& spec) {
    std::vector<ValueLaw*> laws;
    if (auto* random = std::get_if<RandomSpec>(&spec.kind)) {
        laws = {&random->input, &random->output};
    } else if (auto* prefix = std::get_if<PrefixSpec>(&spec.kind)) {
        laws = {&prefix->prefix, &prefix->suffix, &prefix->output};
    } else if (auto* tree = std::get_if<TreeSpec>(&spec.kind)) {
        laws = {&tree->turns,  &tree->sub_turns, &tree->first,   &tree->sub_first, &tree->growth,
                &tree->output, &tree->gap,       &tree->summary, &tree->fan_out};
    } else if (auto* stress = std::get_if<StressSpec>(&spec.kind)) {
        laws = {&stress->output};
    }
    for (ValueLaw* law : laws) {
        if (const std::string why = read_histogram(*law); !why.empty()) {
            return why;
        }
    }
    return "";
}

}  // namespace driftless
