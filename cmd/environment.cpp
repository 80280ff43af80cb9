#include "cmd/environment.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace driftless {

void wipe_variable(const std::string& name) {
    const std::string begin = name + "=";
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (std::string_view(*entry).starts_with(begin)) {
            char* const value = *entry + begin.size();
            ::explicit_bzero(value, std::strlen(value));
        }
    }
    (void)::unsetenv(name.c_str());
}

}  // namespace driftless
