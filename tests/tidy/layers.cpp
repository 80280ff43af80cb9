#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/rules.hpp"

namespace driftless::tidy {

namespace {

/// The rooms of the product, lowest first, from the list in CMakeLists.txt that the libraries are
/// made of. Aborts where it cannot be read.
const std::vector<std::string>& rooms() {
    static const std::vector<std::string> list = [] {
        std::ifstream file(SOURCE_TREE "/CMakeLists.txt");
        std::vector<std::string> found;
        bool is_inside = false;
        for (std::string line; std::getline(file, line);) {
            is_inside = is_inside || line.starts_with("set(rooms");
            std::istringstream words(is_inside ? line : "");
            for (std::string word; words >> word;) {
                const std::string name = word.substr(0, word.find(')'));
                if (name.find('/') != std::string::npos) {
                    found.push_back(name);
                }
                is_inside = is_inside && word.find(')') == std::string::npos;
            }
        }
        EXPECT_GT(found.size(), 20U) << "CMakeLists.txt has no list of rooms";
        return found;
    }();
    return list;
}

/// Place of a file's room among them; -1: it is in none.
int rank_of(const std::string& path) {
    const std::string room = path.substr(0, path.rfind('/'));
    const auto found = std::find(rooms().begin(), rooms().end(), room);
    return found == rooms().end() ? -1 : static_cast<int>(found - rooms().begin());
}

/// Readings are functions of folders and traces: what moves bytes or talks to servers is not
/// theirs.
constexpr std::array<std::string_view, 6> moving_rooms{
    "engine/io/",     "engine/server/", "engine/replay/",
    "engine/record/", "engine/watch/",  "engine/machines/",
};

bool is_reading(const SourceFile& file) {
    return file.is_in("cmd/reading") || file.is_in("cmd/report");
}

bool is_product(const std::string& name) {
    return name.starts_with("proto/") || name.starts_with("engine/") || name.starts_with("cmd/");
}

/// Why `file` must not include `name`, or empty.
std::string why_wrong(const SourceFile& file, const std::string& name) {
    if (file.path == "cmd/driftless.cpp" || !is_product(file.path)) {
        return "";
    }
    if (name.starts_with("tests/") || name.starts_with("perf/")) {
        return "the product does not know its tests";
    }
    if (rank_of(file.path) < 0) {
        return "this file is in no room: name its folder in CMakeLists.txt (rooms)";
    }
    if (!is_product(name)) {
        return "";
    }
    if (rank_of(name) < 0) {
        return "a room without a place: name it in CMakeLists.txt (rooms)";
    }
    if (rank_of(name) > rank_of(file.path)) {
        return "a room above this one: turn the dependency round";
    }
    for (const std::string_view room : moving_rooms) {
        if (is_reading(file) && name.starts_with(room)) {
            return "readings move nothing: read the files of the run";
        }
    }
    return "";
}

/// A library's header and the path prefix under which alone it may be included.
struct HeavyHeader {
    std::string_view begins;
    std::string_view room;
};
constexpr std::array heavy_headers{
    HeavyHeader{"simdjson", "proto/json/"},
    HeavyHeader{"llhttp", "proto/http/"},
    HeavyHeader{"liburing", "engine/io/"},
    HeavyHeader{"openssl/ssl", "engine/io/"},
    HeavyHeader{"openssl/x509", "engine/io/"},
    HeavyHeader{"openssl/evp", "engine/base/"},
    HeavyHeader{"archive", "engine/plan/"},
    HeavyHeader{"zlib", "engine/plan/"},
    HeavyHeader{"fmt/", "cmd/"},
    HeavyHeader{"CLI/", "cmd/"},
    HeavyHeader{"toml++/", "cmd/base/"},
    HeavyHeader{"yaml-cpp/", "cmd/flags/"},
    HeavyHeader{"protozero/", "cmd/report/"},
    HeavyHeader{"xlsxwriter", "cmd/report/"},
    HeavyHeader{"gtest/", "tests/"},
    HeavyHeader{"benchmark/", "perf/"},
};

/// Headers of the world outside, which proto has no business with.
constexpr std::array<std::string_view, 12> outside_headers{
    "unistd.h", "fcntl.h", "sys/",   "netinet/", "pthread.h", "time.h",
    "ctime",    "chrono",  "thread", "mutex",    "fstream",   "iostream",
};

bool is_options_file(const std::string& path) {
    return path.substr(path.rfind('/') + 1).starts_with("options");
}

}  // namespace

Findings check_direction(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        for (const Include& include : includes_of(file)) {
            const std::string why = why_wrong(file, include.name);
            if (!why.empty()) {
                findings.push_back(
                    {file.path, include.line, "includes " + include.name + ": " + why});
            }
        }
    }
    return findings;
}

Findings check_heavy_headers(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        if (file.is_in("tests") || file.is_in("perf/micro")) {
            continue;  // tests and benchmarks may hold us against the library itself
        }
        for (const Include& include : includes_of(file)) {
            for (const HeavyHeader& heavy : heavy_headers) {
                if (include.name.starts_with(heavy.begins) && !file.path.starts_with(heavy.room)) {
                    findings.push_back({file.path, include.line,
                                        "<" + include.name + "> belongs into " +
                                            std::string(heavy.room) + " only: go through it"});
                }
            }
            if (include.name.starts_with("CLI/") && !is_options_file(file.path)) {
                findings.push_back({file.path, include.line,
                                    "<" + include.name + "> belongs into options files only"});
            }
            for (const std::string_view outside : outside_headers) {
                if (file.is_in("proto") && include.name.starts_with(outside)) {
                    findings.push_back({file.path, include.line,
                                        "proto has no file, clock or thread: <" + include.name +
                                            "> belongs into engine"});
                }
            }
        }
    }
    return findings;
}

}  // namespace driftless::tidy
