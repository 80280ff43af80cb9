#include "cmd/options_flags.hpp"

#include "cmd/help/asked_tables.hpp"
#include "cmd/nearest_name.hpp"
#include "cmd/options_table.hpp"

namespace driftless {

std::string unknown_argument(const CLI::App& app) {
    const std::vector<std::string> extras = app.remaining();
    if (extras.empty()) {
        return "";
    }
    if (!extras[0].starts_with("-")) {
        return "unexpected argument " + extras[0];
    }
    const std::string typed = extras[0].substr(0, extras[0].find('='));  // the value may be a key
    if (typed == "--version" || typed == "-V") {
        return "unknown flag " + typed + "; use driftless --version";
    }
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        if (!option->get_group().empty()) {
            names.push_back(option->get_name());
        }
    }
    const std::string nearest = nearest_name(typed, names);
    return "unknown flag " + typed + (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

std::string help_of(CLI::App& app) {
    if (AskedTables* asked = AskedTables::current(); asked != nullptr) {
        asked->add(table_of(app));
        return "";
    }
    std::string text = app.help();
    for (std::size_t at = text.find("\n\n\n"); at != text.npos; at = text.find("\n\n\n", at)) {
        text.erase(at, 1);
    }
    return text;
}

}  // namespace driftless
