#include "cmd/help/man_page.hpp"

#include <algorithm>

#include "cmd/help/roff.hpp"

namespace driftless {

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
