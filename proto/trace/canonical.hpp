/// The canonical format: our own JSONL, which holds everything that a Trace holds.
///
/// The first line is a header: `{"schema":"driftless.trace","version":1,"block_size":512,
/// "tail_rule":"ceil"}`. Each further line is a row, in file order: `at_ns` from the trace's start,
/// `input_length`, `output_length`; where there are any, `hash_ids` (64 bits), `name_space`
/// (0 where absent), `session` with `session_number` where several sessions have one name, `turn`,
/// and `after`, the rows that it waits for: `[{"row":3,"trigger":"completion","delay_ns":0}]`,
/// where `row` counts the file's rows from 0. `replay --save-prompts` writes the same with a `body`
/// in each row, the request body that is sent as it stands, and `body_api` in the header, the
/// dialect that the bodies were made for (of a described server with its file's digest,
/// "template:0123456789abcdef"). Where recorded requests hold new
/// messages alone, the header says `"deltas":true`. Other columns are carried along for `--keep`. A
/// row without `hash_ids` has a private prompt; one with fewer than its length needs is read where
/// the header says `"uncovered":true`.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat canonical_format;

inline constexpr std::string_view canonical_schema = "driftless.trace";
inline constexpr std::uint64_t canonical_version = 1;
/// Keys of a header and of a row.
std::span<const std::string_view> canonical_columns();

}  // namespace driftless
