#include "tests/tidy/source.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace driftless::tidy {

namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

void blank(std::string& code, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, code.size()); ++i) {
        if (code[i] != '\n') {
            code[i] = ' ';
        }
    }
}

/// Where the literal or comment that begins at `at` ends; `at` where none does.
std::size_t end_of_noncode(const std::string& text, std::size_t at) {
    const std::string_view rest = std::string_view(text).substr(at);
    const auto after = [&](std::size_t found, std::size_t bytes) {
        return found == text.npos ? text.size() : found + bytes;
    };
    if (rest.starts_with("//")) {
        return after(text.find('\n', at), 0);
    }
    if (rest.starts_with("/*")) {
        return after(text.find("*/", at + 2), 2);
    }
    if (rest.starts_with("R\"")) {
        const std::size_t open = text.find('(', at);
        const std::string close = ")" + text.substr(at + 2, open - at - 2) + "\"";
        return after(text.find(close, open), close.size());
    }
    const bool is_separator = at > 0 && is_word(text[at - 1]);  // 1'000
    if (rest[0] != '"' && (rest[0] != '\'' || is_separator)) {
        return at;
    }
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != rest[0] && text[end] != '\n') {
        end += text[end] == '\\' ? 2 : 1;
    }
    return std::min(end + 1, text.size());
}

void blank_preprocessor(std::string& code) {
    std::size_t begin = 0;
    bool goes_on = false;
    while (begin < code.size()) {
        const std::size_t end = std::min(code.find('\n', begin), code.size());
        const std::size_t first = code.find_first_not_of(' ', begin);
        if (goes_on || (first < end && code[first] == '#')) {
            goes_on = end > begin && code[end - 1] == '\\';
            blank(code, begin, end);
        }
        begin = end + 1;
    }
}

std::string code_of(const std::string& text) {
    std::string code = text;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = end_of_noncode(text, at);
        if (end > at) {
            blank(code, at, end);
        }
        at = std::max(end, at + 1);
    }
    blank_preprocessor(code);
    return code;
}

/// What stands between the quotes of the literal `whole`; raw ones as they are.
std::string inside_quotes(const std::string& whole) {
    const bool raw = whole.starts_with("R\"");
    const std::size_t begin = raw ? whole.find('(') + 1 : 1;
    const std::size_t end = raw ? whole.rfind(')') : whole.rfind('"');
    return end == whole.npos || end < begin ? "" : whole.substr(begin, end - begin);
}

std::vector<SourceFile::Literal> literals_of(const std::string& text) {
    std::vector<SourceFile::Literal> literals;
    bool continues = false;  // nothing but blanks since the last one
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = end_of_noncode(text, at);
        if (end > at && (text[at] == '"' || text[at] == 'R')) {
            if (!continues) {
                literals.push_back({at, ""});
            }
            literals.back().text += inside_quotes(text.substr(at, end - at));
            continues = true;
        } else if (std::isspace(static_cast<unsigned char>(text[at])) == 0) {
            continues = false;
        }
        at = std::max(end, at + 1);
    }
    return literals;
}

std::vector<SourceFile> read_tree() {
    namespace fs = std::filesystem;
    std::vector<SourceFile> files;
    const fs::path top = SOURCE_TREE;
    for (const char* folder : {"proto", "engine", "cmd", "tests", "perf"}) {
        if (!fs::exists(top / folder)) {
            continue;
        }
        for (const auto& entry : fs::recursive_directory_iterator(top / folder)) {
            const std::string ending = entry.path().extension();
            if (!entry.is_regular_file() || (ending != ".hpp" && ending != ".cpp")) {
                continue;
            }
            std::ostringstream text;
            text << std::ifstream(entry.path()).rdbuf();
            files.push_back(
                make_source(fs::relative(entry.path(), top).generic_string(), text.str()));
        }
    }
    std::sort(files.begin(), files.end(),
              [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
    return files;
}

}  // namespace

std::size_t SourceFile::line_at(std::size_t offset) const {
    return 1 + static_cast<std::size_t>(std::count(
                   code.begin(), code.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

const std::vector<SourceFile>& source_files() {
    static const std::vector<SourceFile> files = read_tree();
    return files;
}

SourceFile make_source(const std::string& path, const std::string& text) {
    SourceFile file;
    file.path = path;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        file.lines.push_back(line);
    }
    file.code = code_of(text);
    file.literals = literals_of(text);
    return file;
}

std::vector<Include> includes_of(const SourceFile& file) {
    std::vector<Include> includes;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        const std::string& line = file.lines[i];
        if (!line.starts_with("#include")) {
            continue;
        }
        const std::size_t begin = line.find_first_of("\"<");
        const std::size_t end = line.find_first_of("\">", begin + 1);
        if (begin != line.npos && end != line.npos) {
            includes.push_back({line.substr(begin + 1, end - begin - 1), i + 1});
        }
    }
    return includes;
}

std::string to_text(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        text += finding.file + ":" + std::to_string(finding.line) + ": " + finding.problem + "\n";
    }
    return text;
}

std::string head_before(const std::string& code, std::size_t brace) {
    std::size_t begin = brace;
    std::size_t closed = 0;  // the parts of `for (;;)` are one head
    while (begin > 0) {
        const char c = code[begin - 1];
        if (closed == 0 && (c == ';' || c == '{' || c == '}')) {
            break;
        }
        closed += c == ')' ? 1 : 0;
        closed -= c == '(' && closed > 0 ? 1 : 0;
        --begin;
    }
    const std::string head = code.substr(begin, brace - begin);
    const std::size_t first = head.find_first_not_of(" \n\t");
    const std::size_t last = head.find_last_not_of(" \n\t");
    return first == head.npos ? "" : head.substr(first, last - first + 1);
}

bool is_function_head(const std::string& head) {
    if (head.find('(') == head.npos) {
        return false;
    }
    for (const std::string_view word :
         {"if", "for", "while", "switch", "do", "else", "try", "catch", "namespace", "struct",
          "class", "enum", "union", "return", "co_return"}) {
        if (head.starts_with(word) && (head.size() == word.size() || !is_word(head[word.size()]))) {
            return false;
        }
    }
    return head.back() != '=' && head.back() != ',' && head.back() != '(';
}

std::size_t closing_bracket(const std::string& code, std::size_t open) {
    std::size_t depth = 0;
    for (std::size_t at = open; at < code.size(); ++at) {
        const char c = code[at];
        if (c == '(' || c == '[' || c == '{') {
            ++depth;
        } else if (c == ')' || c == ']' || c == '}') {
            if (--depth == 0) {
                return at;
            }
        }
    }
    return code.npos;
}

std::vector<FunctionBody> functions_of(const SourceFile& file) {
    std::vector<FunctionBody> bodies;
    std::size_t at = file.code.find('{');
    while (at != file.code.npos) {
        const std::size_t end = closing_bracket(file.code, at);
        if (end == file.code.npos) {
            break;
        }
        const bool is_function = is_function_head(head_before(file.code, at));
        if (is_function) {
            bodies.push_back({at, end});
        }
        at = file.code.find('{', is_function ? end : at + 1);
    }
    return bodies;
}

std::vector<std::size_t> places_of(const std::string& code, const std::string& word) {
    std::vector<std::size_t> places;
    for (std::size_t at = code.find(word); at != code.npos; at = code.find(word, at + 1)) {
        const bool begins = at == 0 || !is_word(code[at - 1]);
        const std::size_t end = at + word.size();
        if (begins && (end >= code.size() || !is_word(code[end]))) {
            places.push_back(at);
        }
    }
    return places;
}

}  // namespace driftless::tidy
