/// The record of a line that is parsed already: for who reads more of the line than that.
#pragma once

#include "proto/core/result.hpp"
#include "proto/json/document.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// As `read_record`, and with its errors.
Result<Record> record_of(const JsonValue& line);

}  // namespace driftless
