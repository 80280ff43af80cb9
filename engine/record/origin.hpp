/// Origin: what a record knows of a row before it is sent: where it comes from, and when it was
/// due. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "engine/record/fill_record.hpp"
#include "engine/schedule/due.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// What `error` says of a row that will not be sent, because of the row with that index.
std::string waited_in_vain(std::uint32_t row, const char* why = "failed");

/// `number`: of the sending, in the run.
void fill_origin(Record& record, const Due& due, std::uint32_t number,
                 const AssemblerConfig& config);

}  // namespace driftless
