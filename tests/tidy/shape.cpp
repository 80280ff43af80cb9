#include <array>
#include <string_view>

#include "tests/tidy/rules.hpp"

namespace driftless::tidy {

namespace {

constexpr std::size_t columns_max = 100;
constexpr std::size_t file_lines_max = 1000;  // aim at 500
constexpr std::size_t function_lines_max = 70;

/// Code points, not bytes: a line of comment may hold a letter beyond ASCII.
std::size_t columns_of(const std::string& line) {
    std::size_t columns = 0;
    for (const char c : line) {
        columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
    }
    return columns;
}

/// Words that mark work as unfinished. Cut in two, so that this file does not find itself.
const std::array<std::string, 4> unfinished{std::string("TO") + "DO", std::string("FIX") + "ME",
                                            std::string("XX") + "X", std::string("HA") + "CK"};

/// What proto and engine never use, and what they use instead.
struct Banned {
    std::string name;
    const char* instead;
};
const std::array<Banned, 8> banned{
    Banned{"std::function", "a plain function pointer with an owner"},
    Banned{"shared_ptr", "one owner and references"},
    Banned{"thread_local", "an object that is handed in"},
    Banned{"dynamic_cast", "a value that says its kind"},
    Banned{"rand", "Random of proto/core/hash.hpp"},
    Banned{"random_device", "Random of proto/core/hash.hpp, seeded by the user"},
    Banned{"system_clock", "the driver's now(), or CLOCK_REALTIME for an anchor"},
    Banned{"steady_clock", "the driver's now()"},
};

}  // namespace

Findings check_lines(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        for (std::size_t i = 0; i < file.lines.size(); ++i) {
            const std::string& line = file.lines[i];
            if (file.is_in("tests") && line.find('"') != line.npos) {
                continue;  // bytes from the wire or a trace stay as they are
            }
            if (columns_of(line) > columns_max) {
                findings.push_back({file.path, i + 1, "over 100 columns: break the line"});
            }
        }
    }
    return findings;
}

Findings check_file_sizes(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        if (file.lines.size() > file_lines_max) {
            findings.push_back({file.path, file.lines.size(),
                                "over 1,000 lines: two stories, give the second its own file"});
        }
    }
    return findings;
}

Findings check_function_sizes(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        if (file.is_in("tests")) {
            continue;  // a table of cases may be long
        }
        for (const FunctionBody& body : functions_of(file)) {
            const std::size_t begin = file.line_at(body.begin);
            const std::size_t lines = file.line_at(body.end) - begin + 1;
            if (lines > function_lines_max) {
                findings.push_back({file.path, begin,
                                    "a function of " + std::to_string(lines) +
                                        " lines: split it at its ideas (70 at most)"});
            }
        }
    }
    return findings;
}

Findings check_header_openings(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        if (!file.is_header()) {
            continue;
        }
        if (file.lines.empty() || !file.lines[0].starts_with("/// ")) {
            findings.push_back(
                {file.path, 1,
                 "open with a /// comment: what it is, who owns it, what it never does"});
        }
        bool once = false;
        for (const std::string& line : file.lines) {
            once = once || line == "#pragma once";
        }
        if (!once) {
            findings.push_back({file.path, 1, "add #pragma once"});
        }
    }
    return findings;
}

Findings check_words(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        for (std::size_t i = 0; i < file.lines.size(); ++i) {
            for (const std::string& word : unfinished) {
                if (!places_of(file.lines[i], word).empty()) {
                    findings.push_back({file.path, i + 1, word + ": finish it, or leave it out"});
                }
            }
        }
    }
    return findings;
}

Findings check_banned_names(const Files& files) {
    Findings findings;
    for (const SourceFile& file : files) {
        if (!file.is_in("proto") && !file.is_in("engine")) {
            continue;
        }
        for (const Banned& ban : banned) {
            for (const std::size_t place : places_of(file.code, ban.name)) {
                findings.push_back({file.path, file.line_at(place),
                                    ban.name + " has no place here: use " + ban.instead});
            }
        }
    }
    return findings;
}

}  // namespace driftless::tidy
