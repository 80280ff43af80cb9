#include "cmd/compare/table/table.hpp"

#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/run_folder.hpp"

namespace driftless {

int compare_table(const TableCommand& command) {
    for (const std::string& folder : command.runs) {
        RunFacts facts;
        if (const std::string why = read_run(folder, facts); !why.empty()) {
            std::fprintf(stderr, "driftless compare: %s\n", why.c_str());
            return exit_usage;
        }
        std::printf("%s\n", folder.c_str());
    }
    return exit_done;
}

}  // namespace driftless
