// Tables are read whole or refused with line and reason; each shipped one reads and names an
// engine.
#include "cmd/base/server_metrics.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cmd/base/program.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string why(std::string_view text) {
    EngineMapping out;
    return read_mapping(text, out);
}

TEST(MappingFile, ReadsAndRefuses) {
    const std::string head = "engine = \"x\"\nprefixes = [\"x:\"]\n";
    EXPECT_EQ(why(head + "[[figure]]\nname = \"running\"\nmetrics = \"x:a\"\n"), "");
    EXPECT_EQ(why("engine = \"x\"\nfigure = []\n"), "line 1: prefixes is missing");
    EXPECT_EQ(
        why(head + "[[figure]]\nname = \"runing\"\nmetrics = \"x:a\"\n"),
        "line 3: [[figure]] name \"runing\" is not known; driftless help metrics.md lists all");
    EXPECT_EQ(why(head + "[[figure]]\nname = \"running\"\n"),
              "line 3: [[figure]] running: metrics is missing");
    EXPECT_EQ(why(head + "[[figure]]\nname = \"running\"\nmetrics = \"a\"\nlabel = \"b\"\n"),
              "line 3: [[figure]] running: label needs values, and values need a label");
    EXPECT_EQ(why(head + "gate = 1\n[[figure]]\nname = \"running\"\nmetrics = \"a\"\n"),
              "line 3: gate is not known; remove or correct it");
}

TEST(MappingFile, ShippedOnesCoverTheEngines) {
    std::set<std::string> engines;
    for (const EngineMapping& one : known_mappings()) {
        EXPECT_FALSE(one.sources.empty()) << one.engine;
        engines.insert(one.engine);
    }
    EXPECT_EQ(engines, (std::set<std::string>{"atom", "dynamo", "llamacpp", "power", "sglang",
                                              "tgi", "trtllm", "vllm"}));
}

// The refusal of an unknown name points to this page.
TEST(MappingFile, ThePageListsEveryFigure) {
    const ShippedFile* const page = find_shipped_file("metrics.md");
    ASSERT_NE(page, nullptr);
    for (std::size_t i = 0; i < server_figures; ++i) {
        const std::string name = name_of(static_cast<ServerFigure>(i));
        EXPECT_TRUE(says(page->text, "`" + name + "`")) << name;
    }
}

}  // namespace
}  // namespace driftless
