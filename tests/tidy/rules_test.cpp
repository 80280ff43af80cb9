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

TEST(Rules, FindWrongDirectionsAndHeavyHeaders) {
    const auto wrong = [](const char* path, const std::string& name) {
        return found(check_direction, path, ("#include \"" + name + "\"\n").c_str());
    };
    EXPECT_EQ(wrong("proto/core/a.cpp", "engine/base/instant.hpp"), 1U);
    EXPECT_EQ(wrong("engine/io/a.cpp", "cmd/base/values.hpp"), 1U);
    EXPECT_EQ(wrong("engine/base/a.cpp", "engine/io/op.hpp"), 1U);
    EXPECT_EQ(wrong("proto/figures/a.cpp", "engine/record/b.hpp"), 1U);
    EXPECT_EQ(wrong("cmd/base/a.cpp", "cmd/replay/b.hpp"), 1U);
    EXPECT_EQ(wrong("cmd/reading/a.cpp", "engine/replay/b.hpp"), 1U);
    EXPECT_EQ(wrong("cmd/replay/a.cpp", "engine/attic/b.hpp"), 1U);
    EXPECT_EQ(wrong("engine/attic/a.cpp", "proto/core/b.hpp"), 1U);
    EXPECT_EQ(wrong("cmd/replay/a.cpp", "tests/tidy/rules.hpp"), 1U);
    EXPECT_EQ(wrong("engine/replay/a.cpp", "engine/io/op.hpp"), 0U);
    EXPECT_EQ(wrong("engine/record/a.cpp", "engine/plan/plan.hpp"), 0U);
    EXPECT_EQ(wrong("cmd/reading/a.cpp", "engine/history/run.hpp"), 0U);
    EXPECT_EQ(found(check_heavy_headers, "proto/api/a.cpp", "#include <simdjson.h>\n"), 1U);
    EXPECT_EQ(found(check_heavy_headers, "cmd/mock/core.cpp", "#include <CLI/App.hpp>\n"), 1U);
    EXPECT_EQ(found(check_heavy_headers, "proto/json/a.cpp", "#include <unistd.h>\n"), 1U);
    EXPECT_EQ(found(check_heavy_headers, "cmd/mock/options.cpp", "#include <CLI/App.hpp>\n"), 0U);
    EXPECT_EQ(found(check_heavy_headers, "proto/json/a.cpp", "#include <simdjson.h>\n"), 0U);
}

// At the limit, and one beyond.
TEST(Rules, FindWhatIsTooLongStiltedOrWithoutARemedy) {
    const std::string line_100 = "// " + std::string(97, 'x') + "\n";
    EXPECT_EQ(found(check_lines, "a.cpp", line_100), 0U);
    EXPECT_EQ(found(check_lines, "a.cpp", "x" + line_100), 1U);

    const std::string lines_1000(1000, '\n');
    EXPECT_EQ(found(check_file_sizes, "a.cpp", lines_1000), 0U);
    EXPECT_EQ(found(check_file_sizes, "a.cpp", lines_1000 + "\n"), 1U);

    std::string body(69, '\n');
    const std::string head = "namespace n {\nint f(int a)\n    const {";
    EXPECT_EQ(found(check_function_sizes, "a.cpp", head + body + "}\n}"), 0U);
    EXPECT_EQ(found(check_function_sizes, "a.cpp", head + body + "\n}\n}"), 1U);
    EXPECT_EQ(found(check_function_sizes, "a.cpp", "struct S {" + body + "\n};\n"), 0U);
    EXPECT_EQ(found(check_function_sizes, "a.cpp", "int a[] = {" + body + "\n};\n"), 0U);
    EXPECT_EQ(found(check_plain_words, "cmd/a.cpp", "f(\"the run \"\n  \"goes on\");\n"), 1U);
    EXPECT_EQ(found(check_plain_words, "cmd/a.cpp", "f(R\"(written anew)\");\n"), 1U);
    EXPECT_EQ(found(check_plain_words, "cmd/a.cpp", "f(\"the run continues\");  // goes on\n"), 0U);
    EXPECT_EQ(found(check_plain_words, "cmd/mock/a.cpp", "f(\"the run goes on\");\n"), 0U);
    const std::string begin = "return Error{ErrorCode::invalid, 0, \"is not a rate";
    EXPECT_EQ(found(check_remedies, "cmd/rate_values.cpp", begin + "\"};\n"), 1U);
    EXPECT_EQ(found(check_remedies, "cmd/rate_values.cpp", begin + "; use 10\"};\n"), 0U);
    EXPECT_EQ(found(check_remedies, "cmd/options.cpp", "return invalid(\"is empty\");\n"), 1U);
    EXPECT_EQ(found(check_remedies, "cmd/screen.cpp", "show(\"is empty\");\n"), 0U);
    // Braces in strings, characters, raw strings and comments do not count.
    const SourceFile file = make_source(
        "a.cpp", "int f() {\n  g(\"}\", '}', R\"({)\", 1'000);  // }\n  /* } */\n}\nint h() {}\n");
    EXPECT_EQ(functions_of(file).size(), 2U);
    EXPECT_EQ(file.line_at(functions_of(file)[0].end), 4U);
}

TEST(Rules, FindClosedHeadersUnfinishedAndBannedNames) {
    const std::string local = "namespace {\nstruct A {\n    int f() { return 1; }\n};\n";
    const std::string out = "int A::g() {\n}\n";
    const std::string end = "}  // namespace\nint h() {\n}\n";
    EXPECT_EQ(found(check_local_functions, "cmd/a.cpp", local + out + end), 0U);
    EXPECT_EQ(found(check_local_functions, "cmd/a.cpp", local + "int i() {\n}\n" + end), 1U);
    EXPECT_EQ(found(check_local_functions, "tests/a.cpp", local + "int i() {\n}\n" + end), 0U);
    EXPECT_EQ(found(check_header_openings, "a.hpp", "#pragma once\nint a;\n"), 1U);
    EXPECT_EQ(found(check_header_openings, "a.hpp", "/// A.\nint a;\n"), 1U);
    EXPECT_EQ(found(check_header_openings, "a.hpp", "/// A.\n#pragma once\n"), 0U);
    EXPECT_EQ(found(check_header_openings, "a.cpp", "int a;\n"), 0U);
    const std::string word = std::string("TO") + "DO";
    EXPECT_EQ(found(check_words, "a.cpp", "// " + word + ": later\n"), 1U);
    EXPECT_EQ(found(check_words, "a.cpp", "// MAS" + word + "NT\n"), 0U);
    EXPECT_EQ(found(check_banned_names, "engine/a.cpp", "std::function<void()> f;\n"), 1U);
    EXPECT_EQ(found(check_banned_names, "proto/a.cpp", "std::shared_ptr<int> p;\n"), 1U);
    EXPECT_EQ(found(check_banned_names, "engine/a.cpp", "int a = rand();\n"), 1U);
    EXPECT_EQ(found(check_banned_names, "engine/a.cpp", "int operand; // rand\n"), 0U);
    EXPECT_EQ(found(check_banned_names, "cmd/a.cpp", "std::function<void()> f;\n"), 0U);
}

// Two files of one tree: the second is told that the first has the name.
TEST(Rules, FindTwoTypesOfOneName) {
    const auto in_namespace = [](const std::string& text) {
        return "#include <vector>\nnamespace driftless {\n" + text + "}  // namespace driftless\n";
    };
    const auto found_beside = [&](const std::string& first, const std::string& second) {
        return check_type_names({make_source("engine/a.hpp", in_namespace(first)),
                                 make_source("cmd/b.cpp", in_namespace(second))})
            .size();
    };
    const std::string one = "struct Row {\n    int a;\n};\n";
    EXPECT_EQ(found_beside(one, one), 1U);
    EXPECT_EQ(found_beside(one, "class Row final : public Base {\n};\n"), 1U);
    EXPECT_EQ(found_beside(one, "enum class Row : std::uint8_t { first };\n"), 1U);
    EXPECT_EQ(found_beside(one, "enum Row { first };\n"), 1U);
    EXPECT_EQ(found_beside(one, "class alignas(64) [[nodiscard]] Row {};\n"), 1U);
    EXPECT_EQ(found_beside(one, "union Row { int a; };\n"), 1U);
    EXPECT_EQ(found_beside("template <typename T, class U = A<T>>\nclass Row {};\n", one), 1U);
    EXPECT_EQ(found_beside(one, "int f() { return 1; }\nint a = 2;\nstruct Row {};\n"), 1U);
    EXPECT_EQ(found_beside("namespace mock {\nstruct Row {};\n}\n",
                           "}\nnamespace driftless::mock {\nstruct Row {};\n"),
              1U);

    EXPECT_EQ(found_beside(one, "struct Row;\nclass Row;\nenum class Row : int;\n"), 0U);
    EXPECT_EQ(found_beside(one, "struct Table {\n    struct Row {};\n};\n"), 0U);
    EXPECT_EQ(found_beside(one, "struct Table::Row {};\n"), 0U);
    EXPECT_EQ(found_beside(one, "template <>\nstruct Row<int> {};\n"), 0U);
    EXPECT_EQ(found_beside(one, "namespace {\nstruct Row {};\n}\n"), 0U);
    EXPECT_EQ(found_beside(one, "namespace mock {\nstruct Row {};\n}\n"), 0U);
    EXPECT_EQ(found_beside(one, "int f() {\n    struct Row {};\n    return 1;\n}\n"), 0U);
    EXPECT_EQ(found_beside(one, "struct Row f(int a) {\n    return {a};\n}\n"), 0U);
    EXPECT_EQ(found_beside(one, "struct Row a{1};\nusing B = Row;\nRow b{2};\n"), 0U);
    EXPECT_EQ(found_beside(one, "struct {\n    int a;\n} row;\n"), 0U);
    EXPECT_EQ(found_beside(one + "#if A\n" + one + "#endif\n", ""), 0U) << "in one file";

    const SourceFile test = make_source("tests/a_test.cpp", in_namespace(one));
    EXPECT_EQ(check_type_names({make_source("proto/a.hpp", in_namespace(one)), test}).size(), 0U)
        << "a program of its own";
    const Findings findings = check_type_names({make_source("proto/a.hpp", in_namespace(one)),
                                                make_source("proto/b.hpp", in_namespace(one))});
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].file, "proto/b.hpp");
    EXPECT_EQ(findings[0].line, 3U);
    EXPECT_NE(findings[0].problem.find("driftless::Row is another type in proto/a.hpp:3"),
              std::string::npos);
}

TEST(Rules, FindWrongAwaitsLambdasAndNamesThatAreGone) {
    EXPECT_EQ(found(check_lambda_coroutines, "a.cpp",
                    "void f() { auto g = [&](int a) -> Task<> { co_await h(a); }; }\n"),
              1U);
    EXPECT_EQ(found(check_lambda_coroutines, "a.cpp", "auto g = [] { co_return; };\n"), 1U);
    EXPECT_EQ(
        found(check_lambda_coroutines, "a.cpp",
              "Task<> f(int a[2]) { auto g = [](int b) { return b; };\n co_await h(a[1]); }\n"),
        0U);
    // The shapes that g++ 12 miscompiles (style, rule 11), and those that are sound.
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
    EXPECT_EQ(found(check_file_names, "engine/a.cpp", "// As b.hpp says.\n"), 1U);
    EXPECT_EQ(found(check_file_names, "engine/a.cpp", "// As a.cpp says, and llama.cpp.\n"), 0U);
    EXPECT_EQ(found(check_file_names, "engine/a.cpp", "#include <b.hpp>\n"), 0U);
}

}  // namespace
}  // namespace driftless::tidy
