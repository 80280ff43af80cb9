#include "proto/trace/row.hpp"

#include <algorithm>

#include "proto/core/counted.hpp"
#include "proto/json/printable.hpp"
#include "proto/json/write.hpp"

namespace driftless {
namespace {

std::string kind_of(const InputError& error) {
    std::string said;
    for (const char c : error.field + '\n' + error.problem) {
        if (c < '0' || c > '9') {
            said.push_back(c);
        }
    }
    return said;
}

void count_kind(const InputError& error, std::vector<InputErrorKind>& kinds) {
    std::string said = kind_of(error);
    for (InputErrorKind& one : kinds) {
        if (one.said == said) {
            ++one.count;
            return;
        }
    }
    if (kinds.size() < input_errors_max) {
        kinds.push_back({std::move(said), 1});
    }
}

}  // namespace

void InputErrors::add(InputError error) {
    ++count;
    count_kind(error, kinds);
    if (list.size() < input_errors_max) {
        list.push_back(std::move(error));
    }
}

void InputErrors::add_first(InputError error) {
    ++count;
    count_kind(error, kinds);
    if (list.size() == input_errors_max) {
        list.pop_back();
    }
    list.insert(list.begin(), std::move(error));
}

std::vector<std::string> to_lines(const InputErrors& errors) {
    std::vector<std::string> lines;
    std::vector<std::uint64_t> shown(errors.kinds.size(), 0);
    std::uint64_t left = errors.count;
    for (const InputError& error : errors.list) {
        const auto kind = std::find_if(
            errors.kinds.begin(), errors.kinds.end(),
            [said = kind_of(error)](const InputErrorKind& one) { return one.said == said; });
        if (kind == errors.kinds.end()) {
            continue;  // one of more kinds than are counted
        }
        std::uint64_t& times = shown[static_cast<std::size_t>(kind - errors.kinds.begin())];
        if (++times > shown_errors_max) {
            continue;
        }
        lines.push_back(to_text(error));
        --left;
        if (times == shown_errors_max && kind->count > times) {
            lines.push_back("and " + std::to_string(kind->count - times) + " more like that");
            left -= kind->count - times;
        }
    }
    if (left > 0) {
        lines.push_back("and " + counted(left, "more error", "more errors"));
    }
    return lines;
}

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
