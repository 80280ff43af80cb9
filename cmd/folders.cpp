#include "cmd/folders.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cmd/exit_codes.hpp"

namespace driftless {

int fail_host(const char* what, const Error& error) {
    if (error.sys_errno == 0) {
        std::fprintf(stderr, "driftless: %s: %s failed (%s)\n", what, error.doing,
                     name_of(error.code));
    } else {
        std::fprintf(stderr, "driftless: %s: %s failed (%s: %s)\n", what, error.doing,
                     name_of(error.code), std::strerror(error.sys_errno));
    }
    return exit_host;
}

int refuse_folder(const std::string& folder) {
    std::fprintf(stderr, "driftless: --out %s: another run has taken this folder; name a new one\n",
                 folder.c_str());
    return exit_usage;
}

bool make_folders_above(const std::string& path) {
    for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
        if (::mkdir(path.substr(0, at).c_str(), 0755) != 0 && errno != EEXIST) {
            return false;
        }
    }
    return true;
}

bool make_folder(const std::string& path) {
    return make_folders_above(path) && ::mkdir(path.c_str(), 0755) == 0;
}

}  // namespace driftless
