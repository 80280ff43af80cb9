#include "cmd/options_flags.hpp"

#include "cmd/help/asked_tables.hpp"
#include "cmd/options_table.hpp"
#include "proto/core/nearest_name.hpp"

namespace driftless {

std::string Flags::wrong_value(const std::string& shown, const Error& error,
                               const std::vector<std::string>& taken) {
    const std::string nearest = nearest_name(shown, taken);
    return " \"" + shown + "\" " + error.doing +
           (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

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
