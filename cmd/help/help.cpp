/// The commands and their help, then man pages of the same tables.

#include "cmd/help/help.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/this_host.hpp"
#include "cmd/flags/help_flags.hpp"
#include "cmd/flags/settings.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"

namespace driftless {

/// Runs a command with these words behind its name.
static int run_with(const Command& command, std::vector<std::string> words) {
    words.insert(words.begin(), command.name);
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    return command.run(static_cast<int>(words.size()), arguments.data());
}

const Command* find_command(std::span<const Command> commands, std::string_view name) {
    const auto found = std::ranges::find(commands, name, &Command::name);
    return found == commands.end() ? nullptr : &*found;
}

std::vector<CommandPages> read_pages(std::span<const Command> commands) {
    std::vector<CommandPages> pages;
    for (const Command& command : commands) {
        const std::vector<std::string> kinds =
            command.kinds != nullptr ? command.kinds() : std::vector<std::string>{""};
        const AskedTables asked;
        for (const std::string& kind : kinds) {
            const std::vector<std::string_view> of_kind = words_in(kind, " ");  // "stress reuse"
            std::vector<std::string> words(of_kind.begin(), of_kind.end());
            words.emplace_back("--help");
            (void)run_with(command, words);
        }
        CHECK(asked.tables().size() == kinds.size());
        pages.push_back({command.name, command.help, asked.tables()});
    }
    return pages;
}

/// Commands that are answered here. They come behind the others everywhere.
static const std::vector<CommandPages>& built_in() {
    static const std::vector<CommandPages> pages{
        {"help",
         "print the help of a command, or a file; --man COMMAND: its man page",
         {{"help", "", {}, {make_flag({"--man"}, "", "a man page, for man -l -", "")}, ""}}},
        {"completion",
         "completions of commands and flags for a shell",
         {{"completion bash", "for bash", {}, {}, ""},
          {"completion zsh", "for zsh", {}, {}, ""},
          {"completion fish", "for fish", {}, {}, ""}}},
        {"version",
         "print version, commit, compiler and kernel features",
         {{"version", "", {}, {}, ""}}},
    };
    return pages;
}

static bool is_built_in(std::string_view name) {
    return std::ranges::find(built_in(), name, &CommandPages::name) != built_in().end();
}

static int print_man_page(std::span<const Command> commands, const Command* command,
                          const BuildFacts& build) {
    const PageFacts facts{version(), build.date};
    const std::string page = command != nullptr ? man_page(read_pages({command, 1}).front(), facts)
                                                : program_man_page(read_pages(commands), built_in(),
                                                                   shipped_files(), facts);
    std::fputs(page.c_str(), stdout);
    return exit_done;
}

static bool is_file(const std::string& path) {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

static bool has_flag(const CommandPages& pages, const std::string& name) {
    return std::ranges::any_of(pages.tables, [&name](const FlagTable& table) {
        const std::vector<std::string> names = names_of(table.flags);
        return std::ranges::find(names, name) != names.end();
    });
}

/// A flag that is typed without a command is most often one of replay's, which is the first.
static std::string why_not_flag(std::span<const Command> commands, const std::string& typed) {
    const std::string flag = typed.substr(0, typed.find('='));  // the value may be a key
    const std::string nearest = flag == "-v" ? "-V" : nearest_name(flag, {"--help", "--version"});
    if (!nearest.empty()) {
        return "unknown flag '" + flag + "'; did you mean " + nearest + "?";
    }
    for (const CommandPages& one : read_pages(commands)) {
        if (has_flag(one, flag)) {
            return "flag '" + flag + "' needs a command before it, as in driftless " + one.name +
                   " " + flag;
        }
    }
    return "unknown flag '" + flag + "'";
}

/// A flag of commands, a key, an exit code, a heading: where it stands. Else what may be meant.
static int print_word(std::span<const Command> commands, const std::string& typed) {
    const std::string word = typed.substr(0, typed.find('='));  // the value may be a key
    const bool is_version = word == "--version" || word == "-V";
    const bool is_man = !is_version && !nearest_name(word, {"--man"}).empty();
    if (!is_version && !is_man) {
        const std::vector<CommandPages> pages = read_pages(commands);
        std::vector<std::string> names;
        for (const CommandPages& one : pages) {
            names.push_back(one.name);
        }
        // A mistyped command may be a part of other names: then only a whole name is an answer.
        const bool is_typo = !nearest_name(word, names).empty();
        const auto lines = find_word(pages, shipped_files(), word, is_typo);
        for (const std::string& line : lines) {
            print_line("%s", line.c_str());
        }
        if (!lines.empty()) {
            return exit_done;
        }
    }
    if (!word.starts_with("-")) {
        return refuse_command(commands, typed);
    }
    complain(
        "driftless help: unknown flag '%s'%s; name a command or a file; --man prints a "
        "command's man page",
        word.c_str(),
        is_version ? "; use driftless --version"
        : is_man   ? "; did you mean --man?"
                   : "");
    return exit_usage;
}

static int refuse_more(const char* command, const std::string& word) {
    complain("driftless %s: unexpected argument %s; remove it", command,
             mask_command({word}).front().c_str());
    return exit_usage;
}

/// The help of a command that is answered here.
static int print_version_help() {
    std::fputs(
        "Prints version, commit, compiler, kernel, and what io_uring grants here, or epoll. It has "
        "no flags.\n",
        stdout);
    return exit_done;
}

static int print_built_in_help(std::span<const Command> commands, const std::string& name) {
    if (name == "completion") {
        std::string flag = "--help";
        char* asked[] = {flag.data()};
        return run_completion(commands, asked);
    }
    if (name == "version") {
        return print_version_help();
    }
    print_help(commands, stdout);
    return exit_done;
}

static std::string why_not_command(std::span<const Command> commands, const std::string& typed) {
    std::vector<std::string> names;
    for (const Command& command : commands) {
        names.emplace_back(command.name);
    }
    for (const CommandPages& one : built_in()) {
        names.push_back(one.name);
    }
    for (const ShippedFile& one : shipped_files()) {
        if (typed.find('.') != std::string::npos) {
            names.emplace_back(one.name);
        }
    }
    const std::string shown = mask_command({typed}).front();
    const std::string meant = command_of_other_tools(typed);
    const std::string nearest = meant.empty() ? nearest_name(typed, names) : meant;
    if (nearest.empty() && is_file(typed)) {
        return "'" + shown + "' is a file, not a command; driftless replay " + shown +
               " --url URL plays a trace, driftless inspect " + shown + " describes it";
    }
    if (find_shipped_file(typed) != nullptr) {
        return "'" + shown + "' is a file, not a command; driftless help " + shown + " prints it";
    }
    const std::string help = find_shipped_file(nearest) != nullptr ? "driftless help " : "";
    return "unknown command '" + shown + "'" +
           (nearest.empty() ? "" : "; did you mean " + help + nearest + "?");
}

void print_help(std::span<const Command> commands, std::FILE* out) {
    std::fputs(
        "Replays the request traces of LLM services against an inference server, on time.\n\n"
        "Usage: driftless COMMAND [FLAGS]\n\nCommands:\n",
        out);
    for (const Command& command : commands) {
        std::fprintf(out, "  %-10s %s\n", command.name, command.help);
    }
    std::fputs("\n", out);
    for (const CommandPages& one : built_in()) {
        std::fprintf(out, "  %-10s %s\n", one.name.c_str(), one.summary.c_str());
    }
    std::fputs("\nFiles, which driftless help NAME prints:\n", out);
    for (const ShippedFile& one : shipped_files()) {
        std::fprintf(out, "  %-25.*s %.*s\n", static_cast<int>(one.name.size()), one.name.data(),
                     static_cast<int>(one.summary.size()), one.summary.data());
    }
    std::fputs(
        "\n"
        "  --version  the same as version (-V)\n"
        "  --help     print this help and exit (-h); `driftless COMMAND --help all` lists its "
        "flags\n"
        "             driftless help WORD finds flags, keys, exit codes and pages\n",
        out);
}

int run_help(std::span<const Command> commands, const BuildFacts& facts, std::span<char*> behind) {
    bool man = false;
    std::string name;
    std::string topic;
    for (const std::string argument : behind) {
        if (argument == "--man") {
            man = true;
        } else if (argument == "--names") {  // for the build: one page each
            for (const Command& command : commands) {
                print_line("%s", command.name);
            }
            return exit_done;
        } else if (argument == "-h" || argument == "--help") {
            continue;  // of help, or of the command that is named: that is printed anyway
        } else if (name.empty()) {
            name = argument;
        } else if (!man && find_command(commands, name) == nullptr && !is_built_in(name) &&
                   find_shipped_file(name) == nullptr) {
            name += " " + argument;
        } else if (topic.empty() && !man && find_command(commands, name) != nullptr) {
            topic = argument;
        } else {
            return refuse_more("help", argument);
        }
    }
    const ShippedFile* const file = find_shipped_file(name);
    if (file != nullptr && man) {
        complain(
            "driftless help: --man: %s is a file, which has no man page; remove --man to print it",
            name.c_str());
        return exit_usage;
    }
    if (file != nullptr) {  // byte by byte, so that redirecting it makes the file
        (void)std::fwrite(file->text.data(), 1, file->text.size(), stdout);  // main sees failures
        return exit_done;
    }
    const Command* command = find_command(commands, name);
    if (command == nullptr && !name.empty() && !is_built_in(name)) {
        return man ? refuse_command(commands, name) : print_word(commands, name);
    }
    if (man) {
        return print_man_page(commands, command, facts);
    }
    if (command != nullptr) {
        std::vector<std::string> words{"--help"};
        if (!topic.empty()) {
            words.insert(command->kinds != nullptr ? words.begin() : words.end(), topic);
        }
        return run_with(*command, words);
    }
    return print_built_in_help(commands, name);
}

int run_completion(std::span<const Command> commands, std::span<char*> behind) {
    constexpr const char* shells = "bash, zsh or fish";
    const std::string_view shell = behind.empty() ? "" : behind[0];
    if (shell == "--help" || shell == "-h") {
        std::fputs(
            "Prints completions of commands, flags and their values for a shell.\n"
            "\n"
            "  bash: source <(driftless completion bash)            # in ~/.bashrc\n"
            "  zsh:  source <(driftless completion zsh)             # in ~/.zshrc, after compinit\n"
            "  fish: driftless completion fish | source             # in config.fish\n",
            stdout);
        return exit_done;
    }
    if (behind.size() > 1) {
        return refuse_more("completion", behind[1]);
    }
    const std::vector<CommandPages> pages = read_pages(commands);
    const std::vector<Completed> all = completed_words(pages, built_in(), shipped_files());
    if (shell == "bash" || shell == "zsh" || shell == "fish") {
        const std::string script = shell == "bash"  ? bash_completion(all)
                                   : shell == "zsh" ? zsh_completion(all)
                                                    : fish_completion(all);
        std::fputs(script.c_str(), stdout);
        return exit_done;
    }
    complain("driftless completion: %s%s; name %s", shell.empty() ? "" : "no shell ",
             shell.empty() ? "no shell is given" : std::string(shell).c_str(), shells);
    return exit_usage;
}

int run_version(const BuildFacts& facts, std::span<char*> behind) {
    const std::string_view word = behind.empty() ? "" : behind[0];
    if (word == "-h" || word == "--help") {
        return print_version_help();
    }
    if (!behind.empty()) {
        return refuse_more("version", behind[0]);
    }
    utsname system{};
    (void)::uname(&system);
    print_line("driftless %s", version());
    print_line("commit    %s", *facts.commit != '\0'
                                   ? (std::string(facts.commit) + ", " + facts.date).c_str()
                                   : "not known");
    print_line("compiler  %s, MODE=%s", facts.compiler, facts.mode);
    const DriverProbe driver = probe_driver();
    print_line("kernel    %s %s %s", system.sysname, system.release, system.machine);
    if (!driver.refusal.empty()) {
        print_line("io_uring  %s", driver.refusal.c_str());
    }
    if (driver.kind != DriverKind::automatic) {
        print_line("%-8s  %s", name_of(driver.kind), driver.text().c_str());
    }
    return exit_done;
}

int refuse_command(std::span<const Command> commands, const std::string& typed) {
    const std::string why =
        typed.starts_with("-") ? why_not_flag(commands, typed) : why_not_command(commands, typed);
    complain("driftless: %s (see driftless --help)", why.c_str());
    return exit_usage;
}

static constexpr std::size_t bytes_max = 80;

/// A letter as roff shows it: what it would take for syntax, or draw as a typographic sign, by
/// name.
static std::string_view escape_of(char letter) {
    constexpr std::string_view letters = "\\-'`\"^~";
    constexpr std::string_view escapes[] = {"\\e",   "\\-",   "\\(aq", "\\(ga",
                                            "\\(dq", "\\(ha", "\\(ti"};
    const std::size_t at = letters.find(letter);
    return at == letters.npos ? "" : escapes[at];
}

static std::string macro(std::string_view name, std::string_view title) {
    return std::string(name) + " \"" + Roff::plain(title) + "\"\n";
}

static std::string capitals(std::string text) {
    std::ranges::transform(text, text.begin(), [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    });
    return text;
}

/// Where a line that is too long for one may be cut: never inside an escape.
static std::size_t cut_of(std::string_view line) {
    std::size_t cut = bytes_max - 1;  // behind it stands the backslash that continues the line
    const std::size_t escape = line.rfind('\\', cut - 1);
    if (escape != line.npos && escape + 4 > cut) {
        cut = escape;
    }
    return cut;
}

Roff::Roff(std::string_view page, std::string_view date, std::string_view version) {
    page_ = ".TH " + plain(capitals(std::string(page))) + " 1 " + std::string(date) +
            " \"driftless " + std::string(version) + "\" \"User Commands\"\n";
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

void Roff::definition(std::string_view term, std::string_view meaning) {
    line(".TP");
    line(term);
    filled(meaning);
}

void Roff::filled(std::string_view text) {
    std::string line;
    for (const std::string_view word : words_in(text, " \n")) {
        const std::string shown = plain(word);
        if (!line.empty() && line.size() + 1 + shown.size() > bytes_max) {
            page_ += line + "\n";
            line.clear();
        }
        line += (line.empty() ? "" : " ") + shown;
    }
    page_ += line + (line.empty() ? "" : "\n");
}

void Roff::verbatim(std::string_view lines) {
    page_ += ".nf\n";
    while (!lines.empty()) {
        std::string shown = plain(take_until(lines, "\n").substr(2));
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
        const std::string_view first = take_until(rest, "\n");
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

struct Term {
    const char* name;
    const char* meaning;
};

}  // namespace

static constexpr Term variables[] = {
    {"OPENAI_API_KEY", "Bearer token of requests; --api-key takes precedence."},
    {"XDG_STATE_HOME, HOME", "driftless calibrate saves its figures below this folder."},
    {"TMPDIR", "Folder in which calibrate rehearses; /tmp if unset."},
};
static constexpr Term files[] = {
    {"~/.local/state/driftless/calibration.json", "What driftless calibrate measured."},
    {"runs/TIME-TRACE/",
     "The folder of a run: report.html, requests.jsonl, summary.json, run.json."},
};

namespace {

/// The parts of a help's footer, each where a man page has it.
struct Footer {
    std::string notes;
    std::string examples;
    std::string exit_status;
};

}  // namespace

/// Adds the paragraphs of `text` to the parts that they belong to, each once.
static void add_footer(std::string_view text, Footer& footer) {
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

static std::string tag_of(const Flag& flag) {
    return joined(flag.names, ", ", Roff::bold) +
           (flag.unit.empty() ? "" : " " + Roff::italic(flag.unit));
}

static std::string meaning_of(const Flag& flag) {
    return flag.help + (flag.standard.empty() ? "" : " [" + flag.standard + "]");
}

static void add_flags(const FlagTable& table, Roff& roff) {
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

static void add_synopsis(const FlagTable& table, Roff& roff) {
    std::string line =
        Roff::bold("driftless " + table.command) + " [" + Roff::italic("FLAGS") + "]";
    for (const Flag& argument : table.arguments) {
        line += " [" + Roff::italic(argument.names[0]) + "]";
    }
    roff.line(line);
}

static void add_text(std::string_view title, std::string_view text, Roff& roff) {
    if (!text.empty()) {
        roff.section(title);
        roff.text(text);
    }
}

static void add_terms(std::string_view title, std::span<const Term> terms, Roff& roff) {
    roff.section(title);
    for (const Term& term : terms) {
        roff.definition(Roff::bold(term.name), term.meaning);
    }
}

static void begin_page(const std::string& page, const std::string& summary, Roff& roff) {
    roff.section("NAME");
    roff.text(page + " - " + summary);
    roff.section("SYNOPSIS");
}

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
