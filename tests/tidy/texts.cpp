#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string>
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

namespace {

constexpr const char* blanks = " \n\t";

void skip_blanks(std::string_view& text) {
    const std::size_t first = text.find_first_not_of(blanks);
    text.remove_prefix(first == text.npos ? text.size() : first);
}

/// The word that `text` begins with, taken off it together with the blanks behind; may be empty.
std::string take_word(std::string_view& text) {
    const std::size_t end =
        text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    const std::string word(text.substr(0, end));
    text.remove_prefix(word.size());
    skip_blanks(text);
    return word;
}

/// Takes off what stands between the bracket that `text` begins with and the one that closes it.
void skip_bracket(std::string_view& text, char open, char close) {
    std::size_t depth = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        depth += text[at] == open ? 1 : 0;
        depth -= text[at] == close && depth > 0 ? 1 : 0;
        if (depth == 0) {
            text.remove_prefix(text[at] == close ? at + 1 : at);
            break;
        }
    }
    skip_blanks(text);
}

/// The name of the type that the block behind `head` defines; empty where that is no definition, is
/// of a type without a name, a specialization, or of a type inside another one.
std::string type_name(std::string_view head) {
    std::string word = take_word(head);
    while (word == "template") {
        skip_bracket(head, '<', '>');
        word = take_word(head);
    }
    if (word != "class" && word != "struct" && word != "enum" && word != "union") {
        return "";
    }
    const bool is_enum = word == "enum";
    for (bool goes_on = true; goes_on;) {  // bounded: each step takes something off
        const std::size_t before = head.size();
        if (head.starts_with("[[")) {
            skip_bracket(head, '[', ']');
        }
        std::string_view ahead = head;
        const std::string next = take_word(ahead);
        if (next == "alignas") {
            head = ahead;
            skip_bracket(head, '(', ')');
        } else if (is_enum && (next == "class" || next == "struct")) {
            head = ahead;
        }
        goes_on = head.size() < before;
    }
    const std::string name = take_word(head);
    if (head.starts_with("final")) {
        (void)take_word(head);
    }
    const bool is_own = head.empty() || (head[0] == ':' && !head.starts_with("::"));
    return is_own ? name : "";
}

/// A type that stands in a namespace, not in a type or function.
struct TypeDefinition {
    std::string name;  ///< with its namespaces
    std::size_t line = 0;
};

/// Those of a file that other files can see: not in a namespace without a name.
std::vector<TypeDefinition> types_of(const SourceFile& file) {
    std::vector<TypeDefinition> types;
    std::vector<std::string> scopes;  // the open blocks: the path of a named namespace, or empty
    for (std::size_t at = file.code.find_first_of("{}"); at != file.code.npos;
         at = file.code.find_first_of("{}", at + 1)) {
        if (file.code[at] == '}') {
            if (!scopes.empty()) {
                scopes.pop_back();
            }
            continue;
        }
        const std::string head = head_before(file.code, at);
        const std::string outer = scopes.empty() ? "" : scopes.back();
        const bool is_open = scopes.empty() || !outer.empty();
        std::string_view rest = head;
        std::string word = take_word(rest);
        word = word == "inline" ? take_word(rest) : word;
        if (word == "namespace") {
            scopes.push_back(is_open && !rest.empty() ? outer + std::string(rest) + "::" : "");
            continue;
        }
        const std::string name = is_open ? type_name(head) : "";
        if (!name.empty()) {
            types.push_back({outer + name, file.line_at(at)});
        }
        scopes.push_back("");
    }
    return types;
}

}  // namespace

Findings check_type_names(const Files& files) {
    Findings findings;
    std::map<std::string, Finding> seen;  // by name: where it stands first
    for (const SourceFile& file : files) {
        if (!file.is_in("proto") && !file.is_in("engine") && !file.is_in("cmd")) {
            continue;
        }
        for (const TypeDefinition& type : types_of(file)) {
            const auto [first, is_new] =
                seen.try_emplace(type.name, Finding{file.path, type.line, ""});
            if (!is_new && first->second.file != file.path) {
                findings.push_back({file.path, type.line,
                                    type.name + " is another type in " + first->second.file + ":" +
                                        std::to_string(first->second.line) +
                                        ", and no compiler sees both: rename one by what it is, or "
                                        "put it into a namespace without a name"});
            }
        }
    }
    return findings;
}

Findings check_file_names(const Files& files) {
    std::set<std::string> there{"llama.cpp", "NAME.cpp"};
    for (const SourceFile& file : files) {
        there.insert(file.path.substr(file.path.rfind('/') + 1));
    }
    const auto is_of_name = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    Findings findings;
    for (const SourceFile& file : files) {
        const bool is_product = file.is_in("proto") || file.is_in("engine") || file.is_in("cmd");
        for (std::size_t i = 0; is_product && i < file.lines.size(); ++i) {
            const std::string& line = file.lines[i];
            for (const char* const ending : {".hpp", ".cpp"}) {
                const std::size_t dot = line.starts_with("#") ? line.npos : line.find(ending);
                std::size_t begin = dot;
                while (begin != line.npos && begin > 0 && is_of_name(line[begin - 1])) {
                    --begin;
                }
                if (begin == dot || (dot + 4 < line.size() && is_of_name(line[dot + 4]))) {
                    continue;
                }
                const std::string name = line.substr(begin, dot + 4 - begin);
                if (!there.contains(name)) {
                    findings.push_back(
                        {file.path, i + 1, "there is no " + name + ": name its new place"});
                }
            }
        }
    }
    return findings;
}

}  // namespace driftless::tidy
