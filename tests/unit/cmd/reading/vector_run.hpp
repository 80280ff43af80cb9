/// The five requests of tests/data/views/vector.json as a run that views are made of.
#pragma once

#include "cmd/reading/view.hpp"
#include "tests/unit/json_text.hpp"

namespace driftless {

/// The text of tests/data/views/vector.json.
std::string vector_text();
/// `vector` of that file: its first `rows` requests, by way of their lines in requests.jsonl.
ViewedRun vector_run(JsonValue vector, std::uint32_t rows = 5);

}  // namespace driftless
