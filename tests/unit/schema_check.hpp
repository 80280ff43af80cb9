/// A small JSON Schema validator for the tests that hold real output against the shipped schemas.
/// It knows what those use: type, enum, required, properties, additionalProperties, items, minimum;
/// `unit` is ours and says what a number counts in.
/// A keyword that it does not know is an error, so that a schema cannot promise what nobody checks.
#pragma once

#include "proto/json/document.hpp"
#include "tests/test.hpp"

namespace driftless {

// Everything that is wrong, one line each with its path; empty where the value holds.
std::vector<std::string> schema_errors(JsonValue schema, JsonValue value);

// The same of texts: the schema by its path from the top. Where `all` is set, the members of the
// value are those of the schema, in its order.
std::vector<std::string> schema_errors(std::string_view schema_path, const std::string& value,
                                       bool all = false);

// The text of a file of this repository, by its path from the top.
std::string source_file(std::string_view path);
std::filesystem::path source_path(std::string_view path);

}  // namespace driftless
