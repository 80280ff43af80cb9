/// Shapes of files that no format here reads, so that a refusal can say what a file is.
///
/// By keys that stand together and by first bytes (trace-formats 12.6). It never decides that a
/// file is readable.
#pragma once

#include <string_view>

#include "proto/json/document.hpp"

namespace driftless {

struct ForeignShape {
    std::string_view what;    ///< "a RAGPulse trace: its hash_ids are objects"; empty: none known
    std::string_view remedy;  ///< what to do with such a file
};

ForeignShape foreign_shape(const JsonValue& row);
/// The member of an object that no format reads which may hold the file's rows: a list of objects.
/// Empty: there is none.
std::string_view list_of_rows(const JsonValue& object);
/// By the first line, and by the name of the file where that does not say it all.
ForeignShape foreign_text_shape(std::string_view line, std::string_view file);
/// Lines that end in CR alone come as one line.
ForeignShape foreign_line_ends(std::string_view line);
/// By the beginning of a JSON text that is too long to be parsed.
ForeignShape foreign_long_shape(std::string_view beginning);

}  // namespace driftless
