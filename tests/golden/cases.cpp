#include "tests/golden/cases.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "proto/core/errors.hpp"

namespace driftless {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
}

// The bytes that one line of a wire block stands for.
std::string decode(std::string line) {
    replace_all(line, "␍", "\r");
    replace_all(line, "␊", "\n");
    replace_all(line, "␀", std::string_view("\0", 1));
    const std::string_view open = "‹";
    const std::string_view close = "›";
    for (std::size_t at = line.find(open); at != std::string::npos; at = line.find(open, at + 1)) {
        const std::string digits = line.substr(at + open.size(), 2);
        const char byte = static_cast<char>(std::stoi(digits, nullptr, 16));
        line.replace(at, open.size() + 2 + close.size(), 1, byte);
    }
    return line;
}

std::vector<GoldenCase> read_cases(const std::filesystem::path& path) {
    std::vector<GoldenCase> cases;
    std::ifstream file(path);
    std::string title;
    enum class Block { none, wire, expect, other } block = Block::none;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("```") && block != Block::none) {
            block = Block::none;
        } else if (line.starts_with("```response ")) {
            block = Block::wire;
            cases.push_back({path.stem().string() + ": " + title, line.substr(12), "", false, {}});
        } else if (line == "```expect" && !cases.empty()) {
            block = Block::expect;
            cases.back().readings.emplace_back();
        } else if (line.starts_with("```")) {
            block = Block::other;
        } else if (block == Block::wire) {
            const bool closes = line.ends_with("␄");
            cases.back().closes = closes;
            cases.back().wire += decode(closes ? line.substr(0, line.size() - 3) : line);
        } else if (block == Block::expect && line.starts_with("outcome ")) {
            cases.back().readings.back().outcome = line.substr(8);
        } else if (block == Block::expect) {
            cases.back().readings.back().lines += line + "\n";
        } else if (line.starts_with("## ")) {
            title = line.substr(3);
        }
    }
    return cases;
}

}  // namespace

std::vector<GoldenCase> all_golden_cases() {
    std::vector<GoldenCase> all;
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(TEST_DATA).parent_path() / "golden")) {
        if (entry.path().extension() == ".md" && entry.path().stem() != "README") {
            const std::vector<GoldenCase> cases = read_cases(entry.path());
            all.insert(all.end(), cases.begin(), cases.end());
        }
    }
    std::sort(all.begin(), all.end(),
              [](const GoldenCase& a, const GoldenCase& b) { return a.name < b.name; });
    return all;
}

ApiTemplate sample_template(const std::string& name) {
    std::ifstream file(std::filesystem::path(TEST_DATA) / "templates" / (name + ".json"));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::string why;
    Result<ApiTemplate> form = read_api_template(text, why);
    CHECK(static_cast<bool>(form));
    return std::move(form).value();
}

}  // namespace driftless
