#include "cmd/help/roff.hpp"

#include <algorithm>

namespace driftless {

namespace {

constexpr std::size_t bytes_max = 80;

/// A letter as roff shows it: what it would take for syntax, or draw as a typographic sign, by
/// name.
std::string_view escape_of(char letter) {
    switch (letter) {
        case '\\':
            return "\\e";
        case '-':
            return "\\-";
        case '\'':
            return "\\(aq";
        case '`':
            return "\\(ga";
        case '"':
            return "\\(dq";
        case '^':
            return "\\(ha";
        case '~':
            return "\\(ti";
        default:
            return "";
    }
}

/// Takes the first line off `text`, without its end.
std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

std::string macro(std::string_view name, std::string_view title) {
    return std::string(name) + " \"" + Roff::plain(title) + "\"\n";
}

/// Where a line that is too long for one may be cut: never inside an escape.
std::size_t cut_of(std::string_view line) {
    std::size_t cut = bytes_max - 1;  // behind it stands the backslash that continues the line
    const std::size_t escape = line.rfind('\\', cut - 1);
    if (escape != line.npos && escape + 4 > cut) {
        cut = escape;
    }
    return cut;
}

}  // namespace

Roff::Roff(std::string_view page, std::string_view date, std::string_view version) {
    std::string name(page);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    page_ = ".TH " + plain(name) + " 1 " + std::string(date) + " \"driftless " +
            std::string(version) + "\" \"User Commands\"\n";
}

std::string Roff::plain(std::string_view text) {
    std::string out;
    if (text.starts_with('.')) {
        out = "\\&";  // else it would be a macro
    }
    for (const char letter : text) {
        const std::string_view escape = escape_of(letter);
        escape.empty() ? out.append(1, letter) : out.append(escape);
    }
    return out;
}

void Roff::section(std::string_view title) {
    page_ += macro(".SH", title);
}

void Roff::subsection(std::string_view title) {
    page_ += macro(".SS", title);
}

void Roff::line(std::string_view roff) {
    page_ += std::string(roff) + "\n";
}

void Roff::definition(std::string_view term, std::string_view meaning) {
    line(".TP");
    line(term);
    filled(meaning);
}

void Roff::filled(std::string_view text) {
    std::string line;
    while (!text.empty()) {
        text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
        const std::string_view word = text.substr(0, text.find_first_of(" \n"));
        text.remove_prefix(word.size());
        const std::string shown = plain(word);
        if (!line.empty() && line.size() + 1 + shown.size() > bytes_max) {
            page_ += line + "\n";
            line.clear();
        }
        line += (line.empty() || shown.empty() ? "" : " ") + shown;
    }
    page_ += line + (line.empty() ? "" : "\n");
}

void Roff::verbatim(std::string_view lines) {
    page_ += ".nf\n";
    while (!lines.empty()) {
        std::string shown = plain(take_line(lines).substr(2));
        while (shown.size() > bytes_max) {
            const std::size_t cut = cut_of(shown);
            page_ += shown.substr(0, cut) + "\\\n";
            shown.erase(0, cut);
        }
        page_ += shown + "\n";
    }
    page_ += ".fi\n";
}

void Roff::text(std::string_view text) {
    bool begins = true;
    while (!text.empty()) {
        std::string_view rest = text;
        const std::string_view first = take_line(rest);
        if (first.empty()) {
            text = rest;
            begins = true;
            continue;
        }
        // As many lines as are of one sort: indented or not.
        const bool indented = first.starts_with("  ");
        std::size_t size = 0;
        while (size < text.size() && text[size] != '\n' &&
               text.substr(size).starts_with("  ") == indented) {
            size = std::min(text.find('\n', size), text.size() - 1) + 1;
        }
        if (begins && !page_.ends_with("\"\n")) {
            page_ += ".PP\n";
        }
        begins = false;
        indented ? verbatim(text.substr(0, size)) : filled(text.substr(0, size));
        text.remove_prefix(size);
    }
}

}  // namespace driftless
