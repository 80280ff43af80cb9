#include "cmd/help/help.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/guard.hpp"
#include "cmd/base/host_errors.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/secrets.hpp"
#include "cmd/flags/flag_table.hpp"
#include "cmd/help/completion.hpp"
#include "cmd/help/man_page.hpp"
#include "proto/core/check.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

/// The words of "stress reuse".
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        words.emplace_back(text.substr(0, text.find(' ')));
        text.remove_prefix(std::min(words.back().size() + 1, text.size()));
    }
    return words;
}

void ask_for_help(const Command& command, const std::string& kind) {
    std::vector<std::string> words = words_of(kind);
    words.insert(words.begin(), command.name);
    words.emplace_back("--help");
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    (void)command.run(static_cast<int>(words.size()), arguments.data());
}

}  // namespace

const Command* find_command(std::span<const Command> commands, std::string_view name) {
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [name](const Command& one) { return one.name == name; });
    return found == commands.end() ? nullptr : &*found;
}

std::vector<CommandPages> read_pages(std::span<const Command> commands) {
    std::vector<CommandPages> pages;
    for (const Command& command : commands) {
        const std::vector<std::string> kinds =
            command.kinds != nullptr ? command.kinds() : std::vector<std::string>{""};
        const AskedTables asked;
        for (const std::string& kind : kinds) {
            ask_for_help(command, kind);
        }
        CHECK(asked.tables().size() == kinds.size());
        pages.push_back({command.name, command.help, asked.tables()});
    }
    return pages;
}

namespace {

/// Commands that are answered here. They come behind the others everywhere.
const std::vector<CommandPages>& built_in() {
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

bool is_built_in(std::string_view name) {
    for (const CommandPages& one : built_in()) {
        if (one.name == name) {
            return true;
        }
    }
    return false;
}

int print_command_help(const Command& command) {
    std::string name = command.name;
    std::string flag = "--help";
    char* arguments[] = {name.data(), flag.data(), nullptr};
    return command.run(2, arguments);
}

int print_man_page(std::span<const Command> commands, const Command* command,
                   const BuildFacts& build) {
    const PageFacts facts{version(), build.date};
    const std::string page = command != nullptr ? man_page(read_pages({command, 1}).front(), facts)
                                                : program_man_page(read_pages(commands), built_in(),
                                                                   shipped_files(), facts);
    std::fputs(page.c_str(), stdout);
    return exit_done;
}

bool is_file(const std::string& path) {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

bool has_flag(const CommandPages& pages, const std::string& name) {
    for (const FlagTable& table : pages.tables) {
        for (const Flag& flag : table.flags) {
            if (std::find(flag.names.begin(), flag.names.end(), name) != flag.names.end()) {
                return true;
            }
        }
    }
    return false;
}

/// A flag that is typed without a command is most often one of replay's, which is the first.
std::string why_not_flag(std::span<const Command> commands, const std::string& typed) {
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

/// `help` knows two flags of its own.
int refuse_help_flag(const std::string& typed) {
    const std::string flag = typed.substr(0, typed.find('='));
    const std::string nearest = nearest_name(flag, {"--man"});
    const bool is_version = flag == "--version" || flag == "-V";
    complain(
        "driftless help: unknown flag '%s'%s; name a command or a file; --man prints a "
        "command's man page",
        flag.c_str(),
        is_version        ? "; use driftless --version"
        : nearest.empty() ? ""
                          : "; did you mean --man?");
    return exit_usage;
}

int refuse_more(const char* command, const std::string& word) {
    complain("driftless %s: unexpected argument %s; remove it", command,
             mask_command({word}).front().c_str());
    return exit_usage;
}

/// Byte by byte, so that redirecting it makes the file.
int print_file(const ShippedFile& file) {
    (void)std::fwrite(file.text.data(), 1, file.text.size(), stdout);  // main sees what failed
    return exit_done;
}

int refuse_page_of_file(const std::string& name) {
    complain(
        "driftless help: --man: %s is a file, which has no man page; remove --man to print "
        "it",
        name.c_str());
    return exit_usage;
}

/// The help of a command that is answered here.
int print_version_help() {
    std::fputs(
        "Prints version, commit, compiler, kernel, and what io_uring grants here. It has no "
        "flags.\n",
        stdout);
    return exit_done;
}

int print_built_in_help(std::span<const Command> commands, const std::string& name) {
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

/// Ours for what other tools call so; empty: they have none of that name.
std::string command_of_other_tools(std::string_view typed) {
    for (const char* const word : {"run", "bench", "benchmark", "profile", "play", "load"}) {
        if (typed == word) {
            return "replay";
        }
    }
    return typed == "serve" || typed == "server" ? "mock" : "";
}

std::string why_not_command(std::span<const Command> commands, const std::string& typed) {
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

}  // namespace

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
        "  --help     print this help and exit (-h); `driftless COMMAND --help` lists its flags\n",
        out);
}

int run_help(std::span<const Command> commands, const BuildFacts& facts, std::span<char*> behind) {
    bool man = false;
    std::string name;
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
        } else if (argument.starts_with("-")) {
            return refuse_help_flag(argument);
        } else if (name.empty()) {
            name = argument;
        } else {
            return refuse_more("help", argument);
        }
    }
    if (const ShippedFile* file = find_shipped_file(name); file != nullptr) {
        return man ? refuse_page_of_file(name) : print_file(*file);
    }
    const Command* command = find_command(commands, name);
    if (command == nullptr && !name.empty() && !is_built_in(name)) {
        return refuse_command(commands, name);
    }
    if (man) {
        return print_man_page(commands, command, facts);
    }
    if (command != nullptr) {
        return print_command_help(*command);
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
    const RingProbe ring = probe_ring();
    print_line("kernel    %s %s %s", system.sysname, system.release, system.machine);
    print_line("io_uring  %s", ring.refusal.empty() ? ring.text().c_str() : ring.refusal.c_str());
    return exit_done;
}

int refuse_command(std::span<const Command> commands, const std::string& typed) {
    const std::string why =
        typed.starts_with("-") ? why_not_flag(commands, typed) : why_not_command(commands, typed);
    complain("driftless: %s (see driftless --help)", why.c_str());
    return exit_usage;
}

}  // namespace driftless
