/// NumbersByName: a map from names to numbers, searched without copying the name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace driftless {

struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
        return std::hash<std::string_view>{}(name);
    }
};

using NumbersByName = std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>>;

}  // namespace driftless
