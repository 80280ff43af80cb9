#include "cmd/options_flags.hpp"

#include "cmd/nearest_name.hpp"

namespace driftless {

std::string unknown_argument(const CLI::App& app) {
    const std::vector<std::string> extras = app.remaining();
    if (extras.empty()) {
        return "";
    }
    if (!extras[0].starts_with("-")) {
        return "unexpected argument " + extras[0];
    }
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        names.push_back(option->get_name());
    }
    const std::string nearest = nearest_name(extras[0], names);
    return "unknown flag " + extras[0] + (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

std::string help_of(const CLI::App& app) {
    std::string text = app.help();
    for (std::size_t at = text.find("\n\n\n"); at != text.npos; at = text.find("\n\n\n", at)) {
        text.erase(at, 1);
    }
    return text;
}

}  // namespace driftless
