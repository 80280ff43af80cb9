// A dataset's texts come out, however its bytes come in; what is wrong is named with place and
// remedy.
#include "engine/prompt/dataset/reader.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace driftless {
namespace {

using Texts = std::vector<std::string>;

struct Read {
    Texts texts;
    std::string why;
    std::string column;
    bool operator==(const Read&) const = default;
};

Read read(const std::vector<std::string>& pieces, const std::string& column) {
    DatasetReader reader(column);
    Read out;
    Result<void> good;
    for (std::size_t i = 0; good && i < pieces.size(); ++i) {
        good = reader.read(pieces[i], out.texts);
    }
    if (good) {
        good = reader.finish(out.texts);
    }
    EXPECT_EQ(static_cast<bool>(good), reader.why().empty());
    return {out.texts, reader.why(), reader.column()};
}

// Whole, at every split, and byte by byte.
Read read_every_way(const std::string& text, const std::string& column = "") {
    const Read whole = read({text}, column);
    for (std::size_t split = 0; split <= text.size(); ++split) {
        EXPECT_EQ(read({text.substr(0, split), text.substr(split)}, column), whole) << split;
    }
    std::vector<std::string> bytes;
    for (const char byte : text) {
        bytes.emplace_back(1, byte);
    }
    EXPECT_EQ(read(bytes, column), whole);
    return whole;
}

constexpr const char* sharegpt = R"([
  {"id": "a_0", "conversations": [{"from": "human", "value": "Hi there"},
                                  {"from": "gpt", "value": "Hello\n\"you\""}]},
  {"id": "b_0", "conversations": []}, {"id": "c_0", "conversations": [{"value": null}]}
])";

TEST(DatasetReader, ReadsConversations) {
    EXPECT_EQ(read_every_way(sharegpt),
              (Read{{"Hi there", "Hello\n\"you\"", ""}, "", "conversations"}));
    EXPECT_EQ(read_every_way("{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},\"y\"]}\n"),
              (Read{{"x", "y"}, "", "messages"}));
}

TEST(DatasetReader, ReadsLines) {
    EXPECT_EQ(read_every_way("\xEF\xBB\xBF\n {\"id\":1,\"text\":\"a\"}\r\n\n{\"text\":\"\"}"),
              (Read{{"a", ""}, "", "text"}));
    EXPECT_EQ(read_every_way("\"a\"\n\"b\"\n"), (Read{{"a", "b"}, "", ""}));
    EXPECT_EQ(read_every_way("[\"a\", \"b\"]"), (Read{{"a", "b"}, "", ""}));
}

TEST(DatasetReader, ChoosesTheColumn) {
    EXPECT_EQ(read_every_way(R"({"input":"i","instruction":"n","question":"q"})").column,
              "question");
    EXPECT_EQ(read_every_way(R"({"text":3,"prompt":"p"})").texts, Texts{"p"});
    EXPECT_EQ(read_every_way(R"({"text":"t","answer":"x"})", "answer").texts, Texts{"x"});
}

struct Wrong {
    std::string text;
    std::string column;
    std::string says;
};

TEST(DatasetReader, NamesWhatIsWrong) {
    const Wrong wrongs[] = {
        {"", "", "is empty; give a JSON array"},
        {" \n", "", "is empty"},
        {"id,text\n1,a\n", "", "is not a dataset; give a JSON array"},
        {R"([{"text":"a"},{"text":"b")", "", "ends inside its array, in element 2; fetch"},
        {R"([{"text":"a"}] {)", "", "continues after its array"},
        {R"([{"text":"a"},{"text":b}])", "", "element 2 is not JSON (its byte 9)"},
        {"\n\n{\"text\":\"a\"}\n{\"text\":", "", "line 4 ends inside its JSON text; put one"},
        {"{\n\"text\":\"a\"\n}\n", "",
         "line 1 ends inside its JSON text; put one text on each line (jq -c"},
        {"{\"text\":\"\xC3(\"}", "", "line 1 is not UTF-8; convert"},
        {R"({"a":"x","b":1})", "", "line 1 has no column with a usual name (it has a, b); name"},
        {R"({"text":"x"})", "t", "line 1 has no column \"t\" (it has text); name another"},
        {"{\"text\":\"x\"}\n{\"b\":1}", "", "line 2 has no column \"text\" (it has b)"},
        {R"({"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1})", "",
         "(it has a, b, c, d, e, f, g, h, i, j, k, l, ..)"},
        {R"({"text":7})", "text", "has no text in \"text\"; name another"},
        {R"({"text":[{"value":7}]})", "", "has values that are not texts in \"text\""},
        {"\"a\"\n7\n", "", "line 2 is neither a text nor an object"},
        {"\"a\"", "text", "line 1 is not an object and has no column \"text\""},
    };
    for (const Wrong& wrong : wrongs) {
        const std::string why = read_every_way(wrong.text, wrong.column).why;
        EXPECT_NE(why.find(wrong.says), why.npos) << wrong.text << ": " << why;
    }
}

// A line, and an element of an array, that no memory should hold.
TEST(DatasetReader, RefusesEndlessTexts) {
    const std::string mega(1 << 20, 'a');
    std::vector<std::string> pieces(66, mega);
    pieces.front() = "{\"text\":\"";
    EXPECT_NE(read(pieces, "").why.find("line 1 is longer than 64 MiB"), std::string::npos);
    pieces.front() = "[{\"text\":\"";
    EXPECT_NE(read(pieces, "").why.find("element 1 is longer than 64 MiB"), std::string::npos);
}

}  // namespace
}  // namespace driftless
