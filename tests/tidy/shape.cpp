#include <array>
#include <cctype>
#include <string_view>

#include "tests/tidy/rules.hpp"

namespace driftless::tidy {

namespace {

constexpr std::size_t columns_max = 100;
constexpr std::size_t file_lines_max = 1000;  // aim at 500
constexpr std::size_t function_lines_max = 70;

/// Code points, not bytes: a line of comment may hold a letter beyond ASCII.
std::size_t columns_of(const std::string& line) {
    std::size_t columns = 0;
    for (const char c : line) {
        columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
    }
    return columns;
}

/// Words that mark work as unfinished. Cut in two, so that this file does not find itself.
const std::array<std::string, 4> unfinished{std::string("TO") + "DO", std::string("FIX") + "ME",
                                            std::string("XX") + "X", std::string("HA") + "CK"};

/// What proto and engine never use, and what they use instead.
struct Banned {
    std::string name;
    const char* instead;
};
const std::array<Banned, 8> banned{
    Banned{"std::function", "a plain function pointer with an owner"},
    Banned{"shared_ptr", "one owner and references"},
    Banned{"thread_local", "an object that is handed in"},
    Banned{"dynamic_cast", "a value that says its kind"},
    Banned{"rand", "Random of proto/core/hash.hpp"},
    Banned{"random_device", "Random of proto/core/hash.hpp, seeded by the user"},
    Banned{"system_clock", "the driver's now(), or CLOCK_REALTIME for an anchor"},
    Banned{"steady_clock", "the driver's now()"},
};

}  // namespace

Findings check_lines(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        for (std::size_t i = 0; i < file.lines.size(); ++i) {
            const std::string& line = file.lines[i];
            if (file.is_in("tests") && line.find('"') != line.npos) {
                continue;  // bytes from the wire or a trace stay as they are
            }
            if (columns_of(line) > columns_max) {
                findings.push_back({file.path, i + 1, "over 100 columns: break the line"});
            }
        }
    }
    return findings;
}

Findings check_file_sizes(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        if (file.lines.size() > file_lines_max) {
            findings.push_back({file.path, file.lines.size(),
                                "over 1,000 lines: two stories, give the second its own file"});
        }
    }
    return findings;
}

Findings check_function_sizes(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        if (file.is_in("tests")) {
            continue;  // a table of cases may be long
        }
        for (const FunctionBody& body : functions_of(file)) {
            const std::size_t begin = file.line_at(body.begin);
            const std::size_t lines = file.line_at(body.end) - begin + 1;
            if (lines > function_lines_max) {
                findings.push_back({file.path, begin,
                                    "a function of " + std::to_string(lines) +
                                        " lines: split it at its ideas (70 at most)"});
            }
        }
    }
    return findings;
}

Findings check_local_functions(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        if (file.is_header() || file.is_in("tests") || file.is_in("perf")) {
            continue;
        }
        for (const FunctionBody& body : functions_of(file)) {
            std::size_t head = file.line_at(body.begin) - 1;  // its first line, not indented
            while (head > 0 && (file.lines[head].empty() || file.lines[head][0] == ' ')) {
                --head;
            }
            std::size_t opening = head;
            while (opening > 0 && file.lines[opening] != "namespace {" &&
                   file.lines[opening] != "}  // namespace") {
                --opening;
            }
            const std::string& line = file.lines[head];
            const std::string name = line.substr(0, line.find('('));
            if (file.lines[opening] == "namespace {" && name.size() < line.size() &&
                name.find("::", name.rfind(' ') + 1) == name.npos) {
                findings.push_back({file.path, head + 1,
                                    "a function in a namespace without a name: make it static, "
                                    "before that namespace"});
            }
        }
    }
    return findings;
}

Findings check_header_openings(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        if (!file.is_header()) {
            continue;
        }
        if (file.lines.empty() || !file.lines[0].starts_with("/// ")) {
            findings.push_back(
                {file.path, 1,
                 "open with a /// comment: what it is, who owns it, what it never does"});
        }
        bool once = false;
        for (const std::string& line : file.lines) {
            once = once || line == "#pragma once";
        }
        if (!once) {
            findings.push_back({file.path, 1, "add #pragma once"});
        }
    }
    return findings;
}

Findings check_words(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        for (std::size_t i = 0; i < file.lines.size(); ++i) {
            for (const std::string& word : unfinished) {
                if (!places_of(file.lines[i], word).empty()) {
                    findings.push_back({file.path, i + 1, word + ": finish it, or leave it out"});
                }
            }
        }
    }
    return findings;
}

Findings check_banned_names(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        if (!file.is_in("proto") && !file.is_in("engine")) {
            continue;
        }
        for (const Banned& ban : banned) {
            for (const std::size_t place : places_of(file.code, ban.name)) {
                findings.push_back({file.path, file.line_at(place),
                                    ban.name + " has no place here: use " + ban.instead});
            }
        }
    }
    return findings;
}

namespace {

constexpr const char* blanks = " \n\t";

bool ends_with_word(std::string_view text, std::string_view word) {
    if (!text.ends_with(word)) {
        return false;
    }
    text.remove_suffix(word.size());
    return text.empty() || (std::string_view("_:.>").find(text.back()) == text.npos &&
                            !std::isalnum(static_cast<unsigned char>(text.back())));
}

/// The code before `at` without blanks at its end; a bounded piece of it is enough.
std::string_view code_before(const std::string& code, std::size_t at) {
    constexpr std::size_t bytes = 200;
    const std::size_t begin = at > bytes ? at - bytes : 0;
    const std::string_view piece = std::string_view(code).substr(begin, at - begin);
    const std::size_t last = piece.find_last_not_of(blanks);
    return piece.substr(0, last == piece.npos ? 0 : last + 1);
}

bool awaits(const std::string& code) {
    return !places_of(code, "co_await").empty() || !places_of(code, "co_return").empty() ||
           !places_of(code, "co_yield").empty();
}

/// Offset of the '{' of the lambda whose '[' is at `open`, or npos where it is no lambda.
std::size_t lambda_body(const std::string& code, std::size_t open) {
    const std::string_view before = code_before(code, open);
    const char last = before.empty() ? ';' : before.back();
    const bool is_subscript =
        std::isalnum(static_cast<unsigned char>(last)) || last == '_' || last == ')' || last == ']';
    const bool after_keyword = ends_with_word(before, "return") || ends_with_word(before, "case");
    const bool is_attribute = code.compare(open, 2, "[[") == 0 || last == '[';
    std::size_t at = closing_bracket(code, open);
    if ((is_subscript && !after_keyword) || is_attribute || at == code.npos) {
        return code.npos;
    }
    at = code.find_first_not_of(blanks, at + 1);
    if (at != code.npos && code[at] == '(') {
        at = closing_bracket(code, at);
        at = at == code.npos ? at : at + 1;
    }
    const std::size_t stop = code.find_first_of("{;,)=", at);
    return stop != code.npos && code[stop] == '{' ? stop : code.npos;
}

/// Offset of the innermost bracket that is open at `at`, or npos at the top.
std::size_t enclosing_bracket(const std::string& code, std::size_t at) {
    std::size_t closed = 0;
    while (at > 0) {
        const char c = code[--at];
        if (c == ')' || c == ']' || c == '}') {
            ++closed;
        } else if (c == '(' || c == '[' || c == '{') {
            if (closed == 0) {
                return at;
            }
            --closed;
        }
    }
    return code.npos;
}

bool is_block(const std::string& code, std::size_t brace) {
    const std::string head = head_before(code, brace);
    if (head.empty() || head.ends_with(":") || is_function_head(head)) {
        return true;
    }
    for (const std::string_view word : {"if", "for", "while", "switch", "do", "else"}) {
        if (head.starts_with(word)) {
            return true;
        }
    }
    return false;
}

/// Why a co_await may not stand in the bracket at `open`, or empty.
std::string why_wrong_bracket(const std::string& code, std::size_t open) {
    if (code[open] == '{') {
        return is_block(code, open) ? "" : "co_await inside braces: await into a named local first";
    }
    const std::string_view before = code_before(code, open);
    for (const std::string_view word : {"if", "while", "switch"}) {
        if (code[open] == '(' && ends_with_word(before, word)) {
            return "";
        }
    }
    if (code[open] == '(' && before.ends_with("static_cast<void>")) {
        return "";
    }
    return "co_await inside an argument list: await into a named local first";
}

/// The statement around `at`: from the last ';', '{' or '}' to the next.
std::string statement_around(const std::string& code, std::size_t at) {
    const std::size_t begin = code.find_last_of(";{}", at);
    const std::size_t end = code.find_first_of(";{}", at);
    return code.substr(begin == code.npos ? 0 : begin + 1, end - begin - 1);
}

}  // namespace

Findings check_lambda_coroutines(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        for (std::size_t at = file.code.find('['); at != file.code.npos;
             at = file.code.find('[', at + 1)) {
            const std::size_t body = lambda_body(file.code, at);
            const std::size_t end =
                body == file.code.npos ? body : closing_bracket(file.code, body);
            if (end != file.code.npos && awaits(file.code.substr(body, end - body))) {
                findings.push_back({file.path, file.line_at(at),
                                    "a lambda that is a coroutine: its captures die before it; "
                                    "write a function"});
            }
        }
    }
    return findings;
}

Findings check_awaits(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        for (const std::size_t place : places_of(file.code, "co_await")) {
            if (ends_with_word(code_before(file.code, place), "operator")) {
                continue;
            }
            const std::size_t line = file.line_at(place);
            const std::string statement = statement_around(file.code, place);
            if (places_of(statement, "co_await").size() > 1) {
                findings.push_back({file.path, line, "two co_await in one statement: split it"});
            }
            if (statement.find('?') != statement.npos) {
                findings.push_back({file.path, line, "co_await beside ?: ; write an if"});
            }
            const std::size_t open = enclosing_bracket(file.code, place);
            const std::string why =
                open == file.code.npos ? "" : why_wrong_bracket(file.code, open);
            if (!why.empty()) {
                findings.push_back({file.path, line, why});
            }
        }
    }
    return findings;
}

}  // namespace driftless::tidy
