/// The five requests of tests/data/views/vector.json as a run that views are made of.
#pragma once

#include "cmd/reading/view.hpp"
#include "tests/unit/json_text.hpp"

namespace driftless {

/// The text of tests/data/views/vector.json.
std::string vector_text();
/// `vector` of that file: its first `rows` requests, by way of their lines in requests.jsonl.
/// `change`: of each record, before it is written.
ViewedRun vector_run(JsonValue vector, std::uint32_t rows = 5,
                     void (*change)(Record& record) = nullptr);
/// As a record has it whose chunks have no token counts; under `--chunks none`; under
/// `--no-stream`.
void drop_chunk_tokens(Record& record);
void keep_no_chunks(Record& record);
void answer_at_once(Record& record);

}  // namespace driftless
