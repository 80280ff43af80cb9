/// Several fuzz targets of one source: each is a program `fuzz_NAME`, and finds itself by its name
/// in the source's table of `{"NAME", ..}`.
#pragma once

#include <errno.h>  // program_invocation_name

#include <cstddef>
#include <string_view>

#include "proto/core/errors.hpp"

namespace driftless {

template <typename Target, std::size_t count>
const Target& this_target(const Target (&targets)[count]) {
    static const Target& found = [&]() -> const Target& {
        const std::string_view program = program_invocation_name;
        const std::string_view name = program.substr(program.rfind("fuzz_") + 5);
        for (const Target& target : targets) {
            if (name == target.name) {
                return target;
            }
        }
        CHECK(!"the program is named fuzz_ and a target of its table");
        return targets[0];
    }();
    return found;
}

}  // namespace driftless
