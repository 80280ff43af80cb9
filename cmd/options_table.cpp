#include "cmd/options_table.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace driftless {

namespace {

bool accepts(CLI::Option& option, const std::string& word) {
    option.clear();
    option.add_result(word);
    try {
        option.run_callback();
        return true;
    } catch (const CLI::ParseError&) {
        return false;
    }
}

/// The words of its help that the flag takes; none where it takes any word.
std::vector<std::string> choices_of(CLI::Option& option, const Flag& flag,
                                    const std::string& footer) {
    std::vector<std::string> choices;
    if (accepts(option, "such-a-word-is-in-no-list")) {
        return choices;
    }
    for (const std::string& word : possible_choices(flag, footer)) {
        if (accepts(option, word)) {
            choices.push_back(word);
        }
    }
    return choices;
}

Flag flag_of(CLI::Option& option, const std::string& footer) {
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
    if (has_value) {
        flag.choices = choices_of(option, flag, footer);
    }
    return flag;
}

}  // namespace

FlagTable table_of(CLI::App& app) {
    constexpr std::string_view program = "driftless ";
    FlagTable table;
    table.command = app.get_name().substr(program.size());
    table.description = app.get_description();
    table.footer = app.get_footer();
    for (CLI::Option* option : app.get_options()) {
        if (option->get_positional()) {
            table.arguments.push_back(
                make_flag({option->get_name(true)}, "", option->get_description(), ""));
        } else if (!option->get_group().empty()) {
            table.flags.push_back(flag_of(*option, table.footer));
        }
    }
    return table;
}

}  // namespace driftless
