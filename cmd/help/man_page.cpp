#include "cmd/help/man_page.hpp"

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

namespace {

constexpr std::string_view exit_codes =
    "  0    done; failed requests are data, not a failed run\n"
    "  2    wrong flags, or an output that already exists\n"
    "  3    the trace or the tokenizer was refused\n"
    "  4    the server cannot be reached, or refused the probes\n"
    "  5    no request got a complete answer\n"
    "  6    not certified, or a rule violated, when that was required\n"
    "  7    the host lacks something or fails: io_uring, limits, disk\n"
    "  8    a --fail-if or --stop-when holds\n"
    "  130  interrupted\n";

struct Term {
    const char* name;
    const char* meaning;
};
constexpr Term variables[] = {
    {"OPENAI_API_KEY", "Bearer token of requests; --api-key takes precedence."},
    {"XDG_STATE_HOME, HOME", "driftless calibrate saves its figures below this folder."},
    {"TMPDIR", "Folder in which calibrate rehearses; /tmp if unset."},
};
constexpr Term files[] = {
    {"~/.local/state/driftless/calibration.json", "What driftless calibrate measured."},
    {"runs/TIME-TRACE/",
     "The folder of a run: report.html, requests.jsonl, summary.json, run.json."},
};

/// The parts of a help's footer, each where a man page has it.
struct Footer {
    std::string notes;
    std::string examples;
    std::string exit_status;
};

/// Adds the paragraphs of `text` to the parts that they belong to, each once.
void add_footer(std::string_view text, Footer& footer) {
    constexpr std::string_view examples = "Examples:\n";
    constexpr std::string_view exit = "Exit codes: ";
    while (!text.empty()) {
        std::string paragraph(text.substr(0, text.find("\n\n")));
        text.remove_prefix(std::min(paragraph.size() + 2, text.size()));
        std::string* part = &footer.notes;
        if (paragraph.starts_with(examples)) {
            part = &footer.examples;
            paragraph.erase(0, examples.size());
        } else if (paragraph.starts_with(exit)) {
            part = &footer.exit_status;
            paragraph.erase(0, exit.size());
        }
        if (part->find(paragraph) == part->npos) {
            *part += (part->empty() ? "" : "\n\n") + paragraph;
        }
    }
}

std::string tag_of(const Flag& flag) {
    std::string tag;
    for (const std::string& name : flag.names) {
        tag += (tag.empty() ? "" : ", ") + Roff::bold(name);
    }
    return tag + (flag.unit.empty() ? "" : " " + Roff::italic(flag.unit));
}

std::string meaning_of(const Flag& flag) {
    return flag.help + (flag.standard.empty() ? "" : " [" + flag.standard + "]");
}

void add_flags(const FlagTable& table, Roff& roff) {
    for (const Flag& argument : table.arguments) {
        roff.definition(Roff::italic(argument.names[0]), meaning_of(argument));
    }
    std::string group;
    for (const Flag& flag : table.flags) {
        if (flag.group != group) {
            group = flag.group;
            roff.subsection(group);
        }
        roff.definition(tag_of(flag), meaning_of(flag));
    }
}

void add_synopsis(const FlagTable& table, Roff& roff) {
    std::string line =
        Roff::bold("driftless " + table.command) + " [" + Roff::italic("FLAGS") + "]";
    for (const Flag& argument : table.arguments) {
        line += " [" + Roff::italic(argument.names[0]) + "]";
    }
    roff.line(line);
}

void add_text(std::string_view title, std::string_view text, Roff& roff) {
    if (!text.empty()) {
        roff.section(title);
        roff.text(text);
    }
}

void add_terms(std::string_view title, std::span<const Term> terms, Roff& roff) {
    roff.section(title);
    for (const Term& term : terms) {
        roff.definition(Roff::bold(term.name), term.meaning);
    }
}

std::string capitals(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    return text;
}

void begin_page(const std::string& page, const std::string& summary, Roff& roff) {
    roff.section("NAME");
    roff.text(page + " - " + summary);
    roff.section("SYNOPSIS");
}

}  // namespace

std::string man_page(const CommandPages& command, const PageFacts& facts) {
    const std::string page = "driftless-" + command.name;
    Roff roff(page, facts.date, facts.version);
    begin_page(page, command.summary, roff);
    Footer footer;
    for (const FlagTable& table : command.tables) {
        if (&table != &command.tables.front()) {
            roff.line(".br");
        }
        add_synopsis(table, roff);
        add_footer(table.footer, footer);
    }
    for (const FlagTable& table : command.tables) {
        const bool alone = command.tables.size() == 1;
        add_text(alone ? "DESCRIPTION" : capitals(table.command), table.description, roff);
        if (alone) {
            roff.section("OPTIONS");
        }
        add_flags(table, roff);
    }
    add_text("NOTES", footer.notes, roff);
    add_text("EXAMPLES", footer.examples, roff);
    add_text("EXIT STATUS", footer.exit_status, roff);
    roff.section("SEE ALSO");
    roff.line(Roff::bold("driftless") + "(1)");
    return roff.page();
}

std::string program_man_page(const std::vector<CommandPages>& commands,
                             const std::vector<CommandPages>& built_in,
                             std::span<const ShippedFile> shipped, const PageFacts& facts) {
    Roff roff("driftless", facts.date, facts.version);
    begin_page("driftless", "replays traces of LLM requests against an inference server, on time",
               roff);
    roff.line(Roff::bold("driftless") + " " + Roff::italic("COMMAND") + " [" +
              Roff::italic("FLAGS") + "]");
    add_text("DESCRIPTION",
             "Every request of a recorded trace leaves at its recorded instant, with a prompt of "
             "exactly the recorded length and the recorded prefix sharing. Every streamed token is "
             "stamped in nanoseconds, and every row of the trace becomes one line of JSON.",
             roff);
    roff.section("COMMANDS");
    for (const CommandPages& command : commands) {
        roff.definition(Roff::bold("driftless-" + command.name) + "(1)", command.summary);
    }
    for (const CommandPages& command : built_in) {
        roff.definition(Roff::bold(command.name), command.summary);
    }
    add_text("EXAMPLES",
             "  driftless inspect trace.jsonl\n"
             "  driftless replay trace.jsonl --url http://127.0.0.1:8000\n"
             "  driftless report runs/20261121T062957Z-trace\n",
             roff);
    add_text("EXIT STATUS", exit_codes, roff);
    add_terms("ENVIRONMENT", variables, roff);
    add_terms("FILES", files, roff);
    roff.subsection("Printed by driftless help NAME, installed in share/driftless");
    for (const ShippedFile& file : shipped) {
        roff.definition(Roff::bold(file.name), std::string(file.summary));
    }
    roff.section("SEE ALSO");
    for (std::size_t i = 0; i < commands.size(); ++i) {
        roff.line(Roff::bold("driftless-" + commands[i].name) + "(1)" +
                  (i + 1 < commands.size() ? "," : ""));
    }
    return roff.page();
}

}  // namespace driftless
