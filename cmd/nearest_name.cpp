#include "cmd/nearest_name.hpp"

#include <algorithm>
#include <cstddef>

namespace driftless {

namespace {

/// Levenshtein distance; flag names are short, so one row of the matrix is enough.
std::size_t edits_between(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

std::size_t shared_beginning(std::string_view a, std::string_view b) {
    std::size_t bytes = 0;
    while (bytes < a.size() && bytes < b.size() && a[bytes] == b[bytes]) {
        ++bytes;
    }
    return bytes;
}

}  // namespace

std::string nearest_name(std::string_view typed, const std::vector<std::string>& names) {
    constexpr std::size_t edits_max = 2;
    const std::size_t dashes = std::min(typed.find_first_not_of('-'), typed.size());
    std::size_t least = edits_max + 1;
    std::size_t most_shared = 0;
    std::string nearest;
    for (const std::string& name : names) {
        const std::size_t edits = edits_between(typed, name);
        const std::size_t shared = shared_beginning(typed, name);
        // Two edits make almost any short name of another, as --api of --qps: its first letter
        // must be right.
        if (edits == edits_max && shared <= dashes) {
            continue;
        }
        if (edits < least || (edits == least && edits <= edits_max && shared > most_shared)) {
            least = edits;
            most_shared = shared;
            nearest = name;
        }
    }
    return nearest;
}

}  // namespace driftless
