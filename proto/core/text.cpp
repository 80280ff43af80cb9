#include "proto/core/text.hpp"

#include <algorithm>
#include <cstddef>

namespace driftless {

char lower(char byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](char byte) { return lower(byte); });
    return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

namespace {

/// Letters that are replaced, missing, too many, or swapped with their neighbour (the optimal
/// string alignment distance). Names are short: three rows of the matrix are enough.
std::size_t edits_between(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before.swap(above);
        above.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
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

/// Names that were begun but not ended: "--timeout" of "--timeout-idle"; joined for people. Empty
/// where there is none, or too many to choose from.
std::string names_begun(std::string_view typed, std::size_t dashes,
                        const std::vector<std::string>& names) {
    constexpr std::size_t letters_min = 3;
    constexpr std::size_t names_max = 4;
    std::vector<std::string_view> begun;
    for (const std::string& name : names) {
        if (typed.size() >= dashes + letters_min && std::string_view(name).starts_with(typed)) {
            begun.push_back(name);
        }
    }
    std::string text;
    for (std::size_t i = 0; i < begun.size() && begun.size() <= names_max; ++i) {
        text += i == 0 ? "" : i + 1 == begun.size() ? " or " : ", ";
        text += begun[i];
    }
    return text;
}

}  // namespace

std::string nearest_name(std::string_view typed, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        if (typed != name && equal_ignoring_case(typed, name)) {
            return name;
        }
    }
    constexpr std::size_t edits_max = 2;
    const std::size_t dashes = std::min(typed.find_first_not_of('-'), typed.size());
    std::size_t least = edits_max + 1;
    std::size_t most_shared = 0;
    std::string nearest;
    for (const std::string& name : names) {
        const std::size_t edits = edits_between(typed, name);
        const std::size_t shared = shared_beginning(typed, name);
        // Two edits make almost any short name of another, as --api of --qps: its first letter
        // must be right, and one letter more must be left.
        if (edits == edits_max && (shared <= dashes || name.size() <= dashes + edits)) {
            continue;
        }
        if (edits < least || (edits == least && edits <= edits_max && shared > most_shared)) {
            least = edits;
            most_shared = shared;
            nearest = name;
        }
    }
    return nearest.empty() ? names_begun(typed, dashes, names) : nearest;
}

std::string did_you_mean(std::string_view typed, std::string_view list) {
    list = list.substr(0, list.find_first_of(";("));
    std::vector<std::string> names;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find_first_of(", "), list.size());
        if (const std::string_view name = list.substr(0, end); !name.empty() && name != "or") {
            names.emplace_back(name);
        }
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    const std::string nearest = nearest_name(typed, names);
    return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

}  // namespace driftless
