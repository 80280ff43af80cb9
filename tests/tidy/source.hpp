/// Source: the files of this project as the tidy tests read them.
///
/// Reads the tree once; blanks comments and literals so that rules about code do not see words.
/// It understands as much C++ as these rules need, not more.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace driftless::tidy {

struct SourceFile {
    std::string path;                ///< from the top of the tree, with '/'
    std::vector<std::string> lines;  ///< as written
    /// The whole text with comments, strings and preprocessor lines turned into blanks; line breaks
    /// stay, so that offsets lead to lines.
    std::string code;

    bool is_header() const { return path.ends_with(".hpp"); }
    bool is_in(const std::string& folder) const { return path.starts_with(folder + "/"); }
    /// String literals with their offset; literals that stand side by side are one, escapes stay.
    struct Literal {
        std::size_t at = 0;
        std::string text;
    };
    std::vector<Literal> literals;

    /// 1-based line of an offset in `code`.
    std::size_t line_at(std::size_t offset) const;
};

/// All .hpp and .cpp files under proto, engine, cmd, tests and perf, sorted by path.
const std::vector<SourceFile>& source_files();

/// A file that is not read from the tree: for the tests of the rules themselves.
SourceFile make_source(const std::string& path, const std::string& text);

/// The names that `#include "..."` or `#include <...>` lines give, with their line.
struct Include {
    std::string name;
    std::size_t line = 0;
};
std::vector<Include> includes_of(const SourceFile& file);

/// One broken rule.
struct Finding {
    std::string file;
    std::size_t line = 0;
    std::string problem;  ///< what is wrong and what fixes it
};

/// All findings as one text, one line each: "file:line: problem".
std::string to_text(const std::vector<Finding>& findings);

/// A function with a body: where it begins (the line of its opening brace) and ends.
struct FunctionBody {
    std::size_t begin = 0;  ///< offset of '{' in `code`
    std::size_t end = 0;    ///< offset of the matching '}'
};
std::vector<FunctionBody> functions_of(const SourceFile& file);

/// What stands before the '{' at `brace`: the head of its block, or the expression that it belongs
/// to, without blanks around it.
std::string head_before(const std::string& code, std::size_t brace);
/// True for the head of a function or lambda: a parameter list, and no control flow, type or
/// initialiser.
bool is_function_head(const std::string& head);

/// Offset of the bracket that closes the one at `open`, or npos.
std::size_t closing_bracket(const std::string& code, std::size_t open);

/// Every place where `word` stands as a whole word in `code`.
std::vector<std::size_t> places_of(const std::string& code, const std::string& word);

}  // namespace driftless::tidy
