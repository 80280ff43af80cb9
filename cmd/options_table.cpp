#include "cmd/options_table.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace driftless {

namespace {

/// Why the flag refuses this word; empty: it takes it.
std::string refusal_of(CLI::Option& option, const std::string& word) {
    option.clear();
    option.add_result(word);
    try {
        option.run_callback();
        return "";
    } catch (const CLI::ParseError& error) {
        return error.what();
    }
}

/// The words that the flag takes: of its help, and of what it says where it refuses one. Of a flag
/// that takes any word, those that its unit names.
std::vector<std::string> choices_of(CLI::Option& option, const Flag& flag,
                                    const std::string& footer) {
    const std::string why = refusal_of(option, unlisted_word);
    if (why.empty()) {
        return flag.unit_words();
    }
    std::vector<std::string> choices;
    for (const std::string& word : possible_choices(flag, footer, why)) {
        if (refusal_of(option, word).empty()) {
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
