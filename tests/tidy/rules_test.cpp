// Every rule finds a planted fault, and leaves the sound form beside it alone.
#include "tests/tidy/rules.hpp"

#include <gtest/gtest.h>

#include <string>

namespace driftless::tidy {
namespace {

std::size_t found(Findings (*check)(const Files&), const std::string& path,
                  const std::string& text) {
    return check({make_source(path, text)}).size();
}

TEST(Rules, FindWrongDirections) {
    EXPECT_EQ(found(check_direction, "proto/a.cpp", "#include \"engine/time/instant.hpp\"\n"), 1U);
    EXPECT_EQ(found(check_direction, "engine/io/a.cpp", "#include \"cmd/values.hpp\"\n"), 1U);
    EXPECT_EQ(found(check_direction, "engine/time/a.cpp", "#include \"engine/io/op.hpp\"\n"), 1U);
    EXPECT_EQ(found(check_direction, "engine/prompt/a.cpp", "#include \"engine/io/op.hpp\"\n"), 1U);
    EXPECT_EQ(found(check_direction, "engine/stats/a.cpp", "#include \"engine/record/b.hpp\"\n"),
              1U);
    EXPECT_EQ(found(check_direction, "cmd/a.cpp", "#include \"engine/attic/b.hpp\"\n"), 1U);
    EXPECT_EQ(found(check_direction, "cmd/a.cpp", "#include \"tests/tidy/rules.hpp\"\n"), 1U);
    EXPECT_EQ(found(check_direction, "engine/replay/a.cpp", "#include \"engine/io/op.hpp\"\n"), 0U);
    EXPECT_EQ(found(check_direction, "engine/record/a.cpp", "#include \"engine/plan/plan.hpp\"\n"),
              0U);
}

TEST(Rules, FindHeavyHeadersOutsideTheirRoom) {
    EXPECT_EQ(found(check_heavy_headers, "proto/api/a.cpp", "#include <simdjson.h>\n"), 1U);
    EXPECT_EQ(found(check_heavy_headers, "cmd/mock/core.cpp", "#include <CLI/App.hpp>\n"), 1U);
    EXPECT_EQ(found(check_heavy_headers, "proto/json/a.cpp", "#include <unistd.h>\n"), 1U);
    EXPECT_EQ(found(check_heavy_headers, "cmd/mock/options.cpp", "#include <CLI/App.hpp>\n"), 0U);
    EXPECT_EQ(found(check_heavy_headers, "proto/json/a.cpp", "#include <simdjson.h>\n"), 0U);
}

// At the limit, and one beyond.
TEST(Rules, FindWhatIsTooLong) {
    const std::string line_100 = "// " + std::string(97, 'x') + "\n";
    EXPECT_EQ(found(check_lines, "a.cpp", line_100), 0U);
    EXPECT_EQ(found(check_lines, "a.cpp", "x" + line_100), 1U);

    std::string lines_400;
    for (int i = 0; i < 400; ++i) {
        lines_400 += "\n";
    }
    EXPECT_EQ(found(check_file_sizes, "a.cpp", lines_400), 0U);
    EXPECT_EQ(found(check_file_sizes, "a.cpp", lines_400 + "\n"), 1U);

    std::string body(69, '\n');
    const std::string head = "namespace n {\nint f(int a)\n    const {";
    EXPECT_EQ(found(check_function_sizes, "a.cpp", head + body + "}\n}"), 0U);
    EXPECT_EQ(found(check_function_sizes, "a.cpp", head + body + "\n}\n}"), 1U);
    EXPECT_EQ(found(check_function_sizes, "a.cpp", "struct S {" + body + "\n};\n"), 0U);
    EXPECT_EQ(found(check_function_sizes, "a.cpp", "int a[] = {" + body + "\n};\n"), 0U);
}

// Braces in strings, characters, raw strings and comments do not count.
TEST(Rules, SeeCodeOnly) {
    const SourceFile file = make_source(
        "a.cpp", "int f() {\n  g(\"}\", '}', R\"({)\", 1'000);  // }\n  /* } */\n}\nint h() {}\n");
    EXPECT_EQ(functions_of(file).size(), 2U);
    EXPECT_EQ(file.line_at(functions_of(file)[0].end), 4U);
}

TEST(Rules, FindHeadersThatDoNotOpen) {
    EXPECT_EQ(found(check_header_openings, "a.hpp", "#pragma once\nint a;\n"), 1U);
    EXPECT_EQ(found(check_header_openings, "a.hpp", "/// A.\nint a;\n"), 1U);
    EXPECT_EQ(found(check_header_openings, "a.hpp", "/// A.\n#pragma once\n"), 0U);
    EXPECT_EQ(found(check_header_openings, "a.cpp", "int a;\n"), 0U);
}

TEST(Rules, FindUnfinishedWords) {
    const std::string word = std::string("TO") + "DO";
    EXPECT_EQ(found(check_words, "a.cpp", "// " + word + ": later\n"), 1U);
    EXPECT_EQ(found(check_words, "a.cpp", "// MAS" + word + "NT\n"), 0U);
}

TEST(Rules, FindBannedNames) {
    EXPECT_EQ(found(check_banned_names, "engine/a.cpp", "std::function<void()> f;\n"), 1U);
    EXPECT_EQ(found(check_banned_names, "proto/a.cpp", "std::shared_ptr<int> p;\n"), 1U);
    EXPECT_EQ(found(check_banned_names, "engine/a.cpp", "int a = rand();\n"), 1U);
    EXPECT_EQ(found(check_banned_names, "engine/a.cpp", "int operand; // rand\n"), 0U);
    EXPECT_EQ(found(check_banned_names, "cmd/a.cpp", "std::function<void()> f;\n"), 0U);
}

TEST(Rules, FindLambdaCoroutines) {
    EXPECT_EQ(found(check_lambda_coroutines, "a.cpp",
                    "void f() { auto g = [&](int a) -> Task<> { co_await h(a); }; }\n"),
              1U);
    EXPECT_EQ(found(check_lambda_coroutines, "a.cpp", "auto g = [] { co_return; };\n"), 1U);
    EXPECT_EQ(
        found(check_lambda_coroutines, "a.cpp",
              "Task<> f(int a[2]) { auto g = [](int b) { return b; };\n co_await h(a[1]); }\n"),
        0U);
}

// The shapes that g++ 12 miscompiles (style, rule 11), and those that are sound.
TEST(Rules, FindAwaitsThatDoNotStandAlone) {
    const auto awaits = [](const std::string& statement) {
        return found(check_awaits, "a.cpp", "Task<int> f(int a) {\n" + statement + "\n}\n");
    };
    EXPECT_GE(awaits("int x = (co_await g()) + co_await h();"), 1U);
    EXPECT_EQ(awaits("use(co_await g());"), 1U);
    EXPECT_EQ(awaits("Pair p{co_await g()};"), 1U);
    EXPECT_EQ(awaits("return Pair{.a = co_await g()};"), 1U);
    EXPECT_EQ(awaits("list.push_back({co_await g()});"), 1U);
    EXPECT_EQ(awaits("const int x = a ? co_await g() : 0;"), 1U);

    EXPECT_EQ(awaits("const int x = co_await g(a, {1});"), 0U);
    EXPECT_EQ(awaits("co_return co_await g();"), 0U);
    EXPECT_EQ(awaits("static_cast<void>(co_await g());"), 0U);
    EXPECT_EQ(awaits("if (a > 0) {\n co_await g();\n} else {\n co_await h();\n}"), 0U);
    EXPECT_EQ(awaits("for (int i = 0; i < a; ++i) {\n co_await g();\n}"), 0U);
    EXPECT_EQ(awaits("while (co_await g()) {\n}"), 0U);
    EXPECT_EQ(awaits("switch (a) {\n case 1: {\n co_await g();\n }\n}"), 0U);
}

}  // namespace
}  // namespace driftless::tidy
