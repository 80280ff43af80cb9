/// Closed lists: enums whose values have names, the same in files and on screens.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

#include "proto/core/errors.hpp"

namespace driftless {

template <typename... Names>
constexpr std::array<const char*, sizeof...(Names)> name_list(Names... names) {
    return {names...};
}

/// In the order of the enum, from 0 without gaps: each closed list says its own, right behind it.
template <typename Enum>
inline constexpr std::array<const char*, 0> closed_list{};

template <typename Enum>
concept ClosedList = std::is_enum_v<Enum> && (closed_list<Enum>.size() > 0);

/// The first value says that there is none: files have it as null, and its name is none of them.
template <ClosedList Enum>
inline constexpr bool first_is_null = false;

template <ClosedList Enum>
constexpr const char* name_of(Enum value) {
    const auto index = static_cast<std::size_t>(value);
    CHECK(index < closed_list<Enum>.size());
    return closed_list<Enum>[index];
}

template <ClosedList Enum>
std::optional<Enum> from_name(std::string_view name) {
    for (std::size_t i = first_is_null<Enum> ? 1 : 0; i < closed_list<Enum>.size(); ++i) {
        if (name == closed_list<Enum>[i]) {
            return static_cast<Enum>(i);
        }
    }
    return std::nullopt;
}

}  // namespace driftless
