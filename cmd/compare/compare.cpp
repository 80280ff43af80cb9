#include "cmd/compare/compare.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include "cmd/compare/options.hpp"
#include "cmd/compare/table/table.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/run_folder.hpp"

namespace driftless {

namespace {

int refuse(const std::string& why, int code) {
    std::fprintf(stderr, "driftless compare: %s\n", why.c_str());
    return code;
}

int compare(const CompareCommand& command) {
    for (const std::vector<std::string>* side : {&command.a, &command.b}) {
        for (const std::string& folder : *side) {
            RunFacts facts;
            if (const std::string why = read_run(folder, facts); !why.empty()) {
                return refuse(why, exit_usage);
            }
        }
    }
    return exit_done;
}

}  // namespace

int run_compare(int argc, char** argv) {
    const CompareCommandLine line =
        parse_compare_options(std::vector<std::string>(argv + 1, argv + argc));
    switch (line.kind) {
        case CompareCommandLine::Kind::help:
            std::fputs(line.text.c_str(), stdout);
            return exit_done;
        case CompareCommandLine::Kind::refused:
            std::fprintf(stderr, "%s\n", line.text.c_str());
            return exit_usage;
        case CompareCommandLine::Kind::table:
            return compare_table(line.table);
        case CompareCommandLine::Kind::run:
            break;
    }
    return compare(line.command);
}

}  // namespace driftless
