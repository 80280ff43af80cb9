// Any lines as the arguments that a run.json keeps, and behind an empty one those that are given
// anew: what is recalled parses or is refused in words, what is kept is kept the same again, and a
// key among them is never kept.
#include "cmd/flags/replay_options.hpp"
#include "cmd/flags/settings.hpp"
#include "proto/core/errors.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

constexpr const char* key = "planted-Key-0123456789";

// Lines up to an empty one, or to the end; `text` loses them.
std::vector<std::string> take_lines(std::string_view& text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.empty()) {
            break;
        }
        lines.emplace_back(line);
    }
    return lines;
}

void check_parsing(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments) {
        if (argument.find("--template") != std::string::npos) {
            return;  // it would be opened
        }
    }
    const ReplayCommandLine line = parse_replay_options(arguments, "");
    CHECK(line.kind == ReplayCommandLine::Kind::run || !line.text.empty());
    CHECK(line.kind != ReplayCommandLine::Kind::run || line.options.request.dialect != nullptr);
}

void check_keeping(std::vector<std::string> arguments) {
    const std::vector<std::string> kept = arguments_to_keep(arguments, "/folder");
    CHECK(arguments_to_keep(kept, "/elsewhere") == kept);
    arguments.push_back(std::string("--api-key=") + key);
    arguments.push_back(std::string("--header=Authorization: Bearer ") + key);
    arguments.push_back(std::string("--header=X-Api-Key:") + key);
    arguments.push_back(std::string("--url=http://me:") + key + "@host/v1");
    const std::vector<std::string> masked = arguments_to_keep(arguments, "/folder");
    CHECK(masked.size() == kept.size() + 4);
    for (std::size_t i = kept.size(); i < masked.size(); ++i) {
        CHECK(masked[i].find(key) == std::string::npos);
    }
}

void fuzz_arguments(std::string_view text) {
    const std::vector<std::string> kept = take_lines(text);
    const std::vector<std::string> given = take_lines(text);
    check_keeping(kept);
    (void)flag_not_to_resume_with(given, kept);
    const Recalled recalled = recall(kept, given, true);
    const Recalled without_key = recall(kept, given, false);
    CHECK(!without_key.refused.empty() || without_key.arguments == recalled.arguments);
    if (recalled.refused.empty()) {
        check_parsing(recalled.arguments);
    }
}

const FuzzTargets arguments_target = {{"arguments", fuzz_arguments}};

}  // namespace
}  // namespace driftless
