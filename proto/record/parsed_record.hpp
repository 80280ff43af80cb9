/// The record of a line that is parsed already: for who reads more of the line than that.
#pragma once

#include "proto/core/result.hpp"
#include "proto/json/document.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// Chunks are most of a record: who needs none reads twice as fast.
enum class RecordChunks { read, skipped };

/// As `read_record`, and with its errors. Skipped chunks are as of a record that kept none.
Result<Record> record_of(const JsonValue& line, RecordChunks chunks = RecordChunks::read);

}  // namespace driftless
