/// What every parser does: reads words into values, prints its help, gives its flag table.

#include "cmd/flags/options_parser.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cmd/flags/help_flags.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

Flag flag_of(const CLI::Option& option, std::vector<std::string> words) {
    std::vector<std::string> names;
    for (const std::string& name : option.get_snames()) {
        names.push_back("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
        names.push_back("--" + name);
    }
    const bool has_value = option.get_expected_max() > 0;
    Flag flag = make_flag(std::move(names), has_value ? option.get_type_name() : "",
                          option.get_description(), option.get_group());
    flag.choices = std::move(words);
    return flag;
}

/// The flag table of a command. Flags of no group are left out: the help does not show them.
FlagTable table_of(const CommandParser& parser) {
    FlagTable table;
    table.command = parser.command;
    table.description = parser.app.get_description();
    table.footer = parser.app.get_footer();
    for (const CLI::Option* option : parser.app.get_options()) {
        if (option->get_positional()) {
            table.arguments.push_back(
                make_flag({option->get_name(true)}, "", option->get_description(), ""));
        } else if (!option->get_group().empty()) {
            table.flags.push_back(flag_of(*option, parser.flags.words_of(option)));
        }
    }
    return table;
}

/// One line about the first argument that no flag took, with the name that may have been meant; or
/// the empty text.
std::string unknown_argument(const CommandParser& parser) {
    const std::vector<std::string> extras = parser.app.remaining();
    if (extras.empty()) {
        return "";
    }
    if (!extras[0].starts_with("-")) {
        return "unexpected argument " + extras[0] + parser.argument_hint;
    }
    const std::string typed = extras[0].substr(0, extras[0].find('='));  // the value may be a key
    if (typed == "--version" || typed == "-V") {
        return "unknown flag " + typed + "; use driftless --version" + parser.flag_hint;
    }
    std::vector<std::string> names;
    for (const CLI::Option* option : parser.app.get_options()) {
        if (!option->get_group().empty()) {
            names.push_back(option->get_name());
        }
    }
    const std::string nearest = nearest_name(typed, names);
    return "unknown flag " + typed + (nearest.empty() ? "" : "; did you mean " + nearest + "?") +
           parser.flag_hint;
}

/// What is wrong with a command line, for its error; where CLI11 says it in its own way, in ours.
std::string reason_of(const CLI::ParseError& error) {
    // "--url: 1 required URL missing"
    const std::string text = error.what();
    constexpr std::string_view before = ": 1 required ";
    constexpr std::string_view behind = " missing";
    const std::size_t at = text.find(before);
    if (error.get_name() != "ArgumentMismatch" || at == text.npos || !text.ends_with(behind)) {
        return text;
    }
    const std::size_t begin = at + before.size();
    return text.substr(0, at) + " needs a value (" +
           text.substr(begin, text.size() - behind.size() - begin) + ")";
}

/// CLI11's help, with one empty line between groups instead of two. Where tables are asked for
/// (AskedTables) the flags go there, and the text is empty.
std::string help_of(const CommandParser& parser) {
    if (AskedTables* asked = AskedTables::current(); asked != nullptr) {
        asked->add(table_of(parser));
        return "";
    }
    std::string text = parser.app.help();
    for (std::size_t at = text.find("\n\n\n"); at != text.npos; at = text.find("\n\n\n", at)) {
        text.erase(at, 1);
    }
    return text;
}

}  // namespace

void Flags::refuse(const std::string& flag, const std::string& value, const Error& error,
                   const Words& words) {
    const std::string shown = mask_refused(flag, value);
    const std::string nearest = nearest_name(shown, words);
    throw CLI::ValidationError(flag + " \"" + shown + "\" " + error.doing +
                               (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

Flags::Words Flags::words_of(const CLI::Option* option) const {
    const auto found = words_.find(option);
    return found == words_.end() ? Words() : found->second();
}

void Flags::add(const std::string& name, const char* unit, const std::string& help,
                std::function<Words()> words, const CLI::callback_t& callback) {
    CLI::Option* const option = app_.add_option(name, callback, help);
    option->type_name(unit)->group(group_)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    words_[option] = std::move(words);
}

CommandParser::CommandParser(std::string named, const char* description, std::string footer,
                             std::size_t column_width)
    : command(std::move(named)), app(description, "driftless " + command), flags(app) {
    app.footer(std::move(footer));
    app.get_formatter()->column_width(column_width);
    app.allow_extras();
    app.set_help_flag("-h,--help", "print this help and exit");
}

std::string CommandParser::parse(const std::vector<std::string>& arguments, CommandLine& line) {
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
        return unknown_argument(*this);
    } catch (const CLI::CallForHelp&) {
        line.kind = CommandLine::Kind::help;
        line.text = help_of(*this);
        return "";
    } catch (const CLI::ParseError& error) {
        return reason_of(error);
    }
}

void CommandParser::read(const std::vector<std::string>& arguments, CommandLine& line,
                         const std::function<std::string()>& complete) {
    std::string why = parse(arguments, line);
    if (why.empty() && line.kind == CommandLine::Kind::run && complete) {
        why = complete();
    }
    if (!why.empty()) {
        line.refuse(command, why);
    }
}

}  // namespace driftless
