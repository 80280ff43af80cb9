/// For who reads many lines of records: into one record, whose memory is used again.
#pragma once

#include <string_view>

#include "proto/core/result.hpp"
#include "proto/json/document.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// As `read_record`, and with its errors; after one `out` holds anything. A line just as
/// `append_jsonl` writes it is read several times faster than others, here and there.
Result<void> read_record_into(JsonDocument& document, std::string_view line, Record& out);

}  // namespace driftless
