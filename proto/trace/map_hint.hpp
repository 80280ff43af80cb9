/// What to write for `--map` where a CSV header or a row is of no known format, by what its names
/// say.
///
/// For messages only: nothing is read by these guesses. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/trace/csv.hpp"

namespace driftless {

/// The names that `--map` can give of a row: "ts", "usage.prompt_tokens".
std::vector<std::string> map_names(const JsonValue& row);
std::vector<std::string> map_names(const CsvHeader& header);

/// "name the columns with --map time=ts,in=COLUMN,out=output_tokens; there are ..": COLUMN stands
/// where no name is obvious. Where all are, the flag is ready to copy, with what to do about the
/// unit of the times unless `time_unit` was given.
std::string map_remedy(const std::vector<std::string>& names, std::string_view time_unit);

/// Whether each name of the header is a number or a date: the file begins with a row.
bool is_row_of_numbers(const CsvHeader& header);

}  // namespace driftless
