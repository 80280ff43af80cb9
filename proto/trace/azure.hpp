/// Azure's LLM inference traces: CSV with `TIMESTAMP`, `ContextTokens`, `GeneratedTokens`.
///
/// Read by name: the multi-modal trace of 2025 puts `NumImages` second; images are counted, not
/// sent. Wall clocks without a zone are UTC; the trace of 2024 mixes two spellings in one file. No
/// block ids and no sessions: every prompt is private. Source: Azure/AzurePublicDataset;
/// trace-formats section 5.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat azure_format;

}  // namespace driftless
