// The pages: README.md fits one page, links lead somewhere, and every page is found from the first.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace driftless::tidy {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t lines_max = 150;
constexpr std::size_t columns_max = 120;

std::string text_of(const fs::path& page) {
    std::ostringstream text;
    text << std::ifstream(page).rdbuf();
    return text.str();
}

std::size_t characters_of(const std::string& line) {
    return static_cast<std::size_t>(
        std::count_if(line.begin(), line.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

/// The files of the tree that a page links to, as paths below the top. Anchors are left out.
std::vector<fs::path> links_of(const fs::path& page) {
    static const std::regex link(R"(\]\(([^)#\s]+)[^)]*\))");
    const std::string text = text_of(fs::path(SOURCE_TREE) / page);
    std::vector<fs::path> links;
    for (std::sregex_iterator found(text.begin(), text.end(), link), end; found != end; ++found) {
        const std::string target = (*found)[1];
        if (target.find("://") == std::string::npos) {
            links.push_back((page.parent_path() / target).lexically_normal());
        }
    }
    return links;
}

/// Every page, as a path below the top. In tests and perf, other pages than README.md are data.
std::set<fs::path> pages() {
    std::set<fs::path> found{"README.md"};
    for (const std::string folder : {"cmd", "engine", "perf", "proto", "tests"}) {
        const bool is_product = folder != "perf" && folder != "tests";
        for (const auto& entry : fs::recursive_directory_iterator(fs::path(SOURCE_TREE) / folder)) {
            const fs::path& path = entry.path();
            if (path.filename() == "README.md" || (is_product && path.extension() == ".md")) {
                found.insert(path.lexically_relative(SOURCE_TREE));
            }
        }
    }
    return found;
}

TEST(Pages, LinkToFilesAndAreFoundFromTheFirst) {
    std::istringstream text(text_of(fs::path(SOURCE_TREE) / "README.md"));
    std::size_t lines = 0;
    for (std::string line; std::getline(text, line);) {
        ++lines;
        EXPECT_LE(characters_of(line), columns_max) << "README.md:" << lines;
    }
    EXPECT_LE(lines, lines_max) << "move a part to the page beside its code";
    EXPECT_GT(lines, 0U) << "README.md was not found at " SOURCE_TREE;
    for (const fs::path& page : pages()) {
        for (const fs::path& target : links_of(page)) {
            EXPECT_TRUE(fs::exists(fs::path(SOURCE_TREE) / target))
                << page.string() << " links to " << target.string();
        }
    }
    std::vector<fs::path> open{"README.md"};
    std::set<fs::path> seen{"README.md"};
    while (!open.empty()) {  // bounded: each page is opened once
        const fs::path page = open.back();
        open.pop_back();
        for (const fs::path& target : links_of(page)) {
            if (target.extension() == ".md" && seen.insert(target).second) {
                open.push_back(target);
            }
        }
    }
    for (const fs::path& page : pages()) {
        EXPECT_TRUE(seen.contains(page)) << page.string() << ": no page leads to it";
    }
}

}  // namespace
}  // namespace driftless::tidy
