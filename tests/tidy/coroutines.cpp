#include <cctype>
#include <string_view>

#include "tests/tidy/rules.hpp"

namespace driftless::tidy {

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
