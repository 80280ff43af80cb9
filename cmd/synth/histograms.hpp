/// The histogram files that laws name.
#pragma once

#include <string>

#include "engine/synth/spec.hpp"

namespace driftless {

/// Reads the bins of all laws that name a file. Returns why one cannot be used, one line, or the
/// empty text.
std::string read_histograms(SynthSpec& spec);

}  // namespace driftless
