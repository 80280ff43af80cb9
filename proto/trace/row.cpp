#include "proto/trace/row.hpp"

#include "proto/json/printable.hpp"
#include "proto/json/write.hpp"

namespace driftless {

std::string to_text(const InputError& error) {
    std::string text = error.file;
    if (error.line > 0) {
        text += (text.empty() ? "line " : ":") + std::to_string(error.line);
    }
    text += text.empty() ? "" : ": ";
    if (!error.field.empty()) {
        text += error.field + " ";
    }
    if (!error.value.empty()) {
        text += '"';
        append_json_escaped(text, error.value);
        text += "\" ";
    }
    text += error.problem;
    if (!error.remedy.empty()) {
        text += "; " + error.remedy;
    }
    return printable(text);  // names of files and columns may hold anything
}

}  // namespace driftless
