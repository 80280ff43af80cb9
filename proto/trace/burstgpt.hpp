/// BurstGPT: CSV with `Timestamp` in seconds since a midnight, `Request tokens`, `Response tokens`.
///
/// Read by name: the third release has two more columns, `Session ID` and `Elapsed time`. A
/// response of 0 tokens is a request that failed; such rows are dropped and counted. No block ids.
/// Source: HPMLL/BurstGPT, README.md; trace-formats section 6.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat burstgpt_format;

}  // namespace driftless
