#include "cmd/base/program.hpp"

#include <algorithm>

namespace driftless {

const char* version() {
    return DRIFTLESS_VERSION;
}

const ShippedFile* find_shipped_file(std::string_view name) {
    const std::span<const ShippedFile> all = shipped_files();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [name](const ShippedFile& one) { return one.name == name; });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace driftless
