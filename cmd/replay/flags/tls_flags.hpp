/// Combinations of `--ca`, `--cert`, `--key` and `--insecure` that contradict each other, or would
/// be ignored. Pure: reads no file.
#pragma once

#include <string>

#include "cmd/replay/flags/options.hpp"

namespace driftless {

/// For options whose targets are known: what is wrong, with the remedy; empty: nothing.
std::string tls_contradiction(const ReplayOptions& options);

}  // namespace driftless
