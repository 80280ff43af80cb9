#include <array>
#include <string_view>

#include "tests/tidy/rules.hpp"

namespace driftless::tidy {

namespace {

/// Rooms of the engine, lowest first; a room uses only those before it, so that no two can use each
/// other.
constexpr std::array<std::string_view, 30> rooms{
    "time",      "crypto", "task",       "tls",     "plan",    "schedule",  "underway", "live",
    "scrape",    "host",   "io",         "meet",    "synth",   "input",     "prompt",   "stats",
    "views",     "knee",   "comparison", "rules",   "record",  "calibrate", "logs",     "replay",
    "preflight", "events", "scraper",    "inspect", "history", "session",
};

/// Place of a file's room among them; -1: it is in none.
int rank_of(const std::string& path) {
    for (std::size_t i = 0; i < rooms.size(); ++i) {
        if (path.starts_with("engine/" + std::string(rooms[i]) + "/")) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

/// Why `file` must not include `name`, or empty.
std::string why_wrong(const SourceFile& file, const std::string& name) {
    const bool names_engine = name.starts_with("engine/");
    const bool names_cmd = name.starts_with("cmd/");
    if (file.is_in("proto") && (names_engine || names_cmd)) {
        return "proto knows nobody: hand the value in as a parameter";
    }
    if (file.is_in("engine") && names_cmd) {
        return "engine does not know cmd: hand the value in as a parameter";
    }
    if (!name.starts_with("tests/") && !name.starts_with("perf/")) {
        if ((file.is_in("engine/prompt") || file.is_in("engine/stats")) &&
            name.starts_with("engine/io/")) {
            return "prompt and stats move nothing: keep io out of them";
        }
        if (names_engine && rank_of(name) < 0) {
            return "a room without a place: name it in tests/tidy/layers.cpp";
        }
        if (names_engine && file.is_in("engine") && rank_of(name) > rank_of(file.path)) {
            return "a room above this one: turn the dependency round";
        }
        return "";
    }
    const bool is_product = file.is_in("proto") || file.is_in("engine") || file.is_in("cmd");
    return is_product ? "the product does not know its tests" : "";
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
    HeavyHeader{"openssl/ssl", "engine/tls/"},
    HeavyHeader{"openssl/x509", "engine/tls/"},
    HeavyHeader{"openssl/evp", "engine/crypto/"},
    HeavyHeader{"archive", "engine/input/"},
    HeavyHeader{"zlib", "engine/input/"},
    HeavyHeader{"fmt/", "cmd/"},
    HeavyHeader{"CLI/", "cmd/"},
    HeavyHeader{"toml++/", "cmd/toml_reader"},
    HeavyHeader{"yaml-cpp/", "cmd/replay/flags/tools/"},
    HeavyHeader{"protozero/", "proto/export/"},
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
