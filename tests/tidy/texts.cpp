#include <array>
#include <string_view>

#include "tests/tidy/rules.hpp"

namespace driftless::tidy {

namespace {

struct WordPair {
    std::string_view old;  ///< with the blanks that make it a word
    std::string_view better;
};

/// Words of earlier texts that readers stumbled over.
constexpr std::array pairs{
    WordPair{" is no duration", "is not a duration"},
    WordPair{" anew", "again"},
    WordPair{"stands behind", "is after"},
    WordPair{"in the place of", "instead of"},
    WordPair{"in spite of", "despite"},
    WordPair{" by plan", "as planned"},
    WordPair{"whoever", "the first to .."},
    WordPair{"must not be there", "must not exist"},
    WordPair{"exclude each other", "cannot be combined"},
    WordPair{"goes on", "continues"},
    WordPair{"go on ", "continue"},
    WordPair{"had left", "had been sent"},
    WordPair{" of its own", "its own .."},
    WordPair{"without an end", "endless"},
    WordPair{" but for ", "except"},
    WordPair{"nobody", "a passive or the subject"},
};

/// Texts of other programs, which the mock and the views repeat.
bool is_quoted(const SourceFile& file) {
    return file.is_in("cmd/mock") || file.is_in("cmd/reading") || file.is_in("engine/prompt");
}

/// The refusal of a value: the argument of `Error{ErrorCode::invalid, 0, ".."}` or `invalid("..")`
/// in a file that reads flags. It follows the value, and begins with a verb.
bool is_refusal(const SourceFile& file, const SourceFile::Literal& literal) {
    const std::string before =
        file.code.substr(literal.at < 40 ? 0 : literal.at - 40, literal.at < 40 ? literal.at : 40);
    const std::size_t last = before.find_last_not_of(" \n\t");
    const std::string head = last == before.npos ? "" : before.substr(0, last + 1);
    return (head.ends_with("ErrorCode::invalid, 0,") || head.ends_with(" invalid(")) &&
           (literal.text.starts_with("is ") || literal.text.starts_with("has "));
}

/// What to do follows a semicolon; a list, a number or a pattern says what is allowed.
bool has_remedy(std::string_view text) {
    return text.find_first_of(";:,0123456789") != text.npos;
}

}  // namespace

Findings check_plain_words(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        const bool is_shown = file.is_in("proto") || file.is_in("engine") || file.is_in("cmd");
        if (!is_shown || is_quoted(file)) {
            continue;
        }
        for (const SourceFile::Literal& literal : file.literals) {
            for (const WordPair& pair : pairs) {
                if (literal.text.find(pair.old) != literal.text.npos) {
                    findings.push_back({file.path, file.line_at(literal.at),
                                        "a text says '" + std::string(pair.old) + "'; say '" +
                                            std::string(pair.better) + "'"});
                }
            }
        }
    }
    return findings;
}

Findings check_remedies(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        const bool reads_flags = file.path.find("values.") != file.path.npos ||
                                 file.path.find("options") != file.path.npos;
        if (!file.is_in("cmd") || !reads_flags) {
            continue;
        }
        for (const SourceFile::Literal& literal : file.literals) {
            if (is_refusal(file, literal) && !has_remedy(literal.text)) {
                findings.push_back(
                    {file.path, file.line_at(literal.at),
                     "'" + literal.text + "' refuses a value without a remedy; add '; use ..'"});
            }
        }
    }
    return findings;
}

}  // namespace driftless::tidy
