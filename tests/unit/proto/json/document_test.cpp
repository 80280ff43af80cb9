// JSON: documents read, cut into values, built as nodes, and written.

#include "proto/json/document.hpp"

#include "proto/core/hash.hpp"
#include "proto/json/nodes.hpp"
#include "proto/json/write.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// JSON is read as RFC 8259 says, values keep their text, and nothing of it can break the reader.

namespace {

using namespace std::string_literals;

// Every text here is valid JSON (RFC 8259, sections 2 to 7), and its root keeps its text.
TEST(JsonDocument, AcceptsEveryKindOfValue) {
    JsonDocument document;
    std::vector<std::string> texts = words_of(
        R"(null true false 0 -0 1.5e-7 1E+2 "" [] {} [[]] [{},[],""] {"":1} {"a":{"b":[null]}} )"
        R"("\u0000\"\\\/\b\f\n\r\t" "{[,:]}" 18446744073709551616 1e999)");
    texts.insert(texts.end(), {"\"\x7F\"", "\"\xE2\x80\xA8\""});
    for (const std::string& text : texts) {
        for (const std::string blank : {"", " ", "\t\r\n "}) {
            const Result<JsonValue> root = document.parse(blank + text + blank);
            ASSERT_TRUE(root) << text;
            EXPECT_EQ(root.value().raw(), text);
            EXPECT_FALSE(root.value().next().present());
        }
    }
}

// None of these is JSON; each is refused with its place.
TEST(JsonDocument, RefusesWhatIsNoJsonWithItsPlace) {
    JsonDocument document;
    std::vector<std::string> texts = words_of(
        R"(nul nulll True [ ] { } [1 [1, [1,] [,1] [1]] {"a"} {"a":} {"a":1,} {a:1} {1:1} {,} )"
        R"({"a":1] [1} ["a":1] 01 - +1 .5 1. 1.e1 1e 1e+ 0x1 1a NaN -Infinity " "a "\" 'a' "\q" )"
        R"("\u12" "\u12g4" "\ "a"b "a""b" 1"a" null, //)");
    texts.insert(texts.end(), {"", " ", "[1 2]", "{\"a\" 1}", "1 2", "{} {}", "true false",
                               "\"\n\"", "\"\t\"", "[1,\f2]", "[1\f2]", "\v1",
                               "\xEF\xBB\xBF"
                               "1"});
    for (const std::string& text : texts) {
        const Result<JsonValue> root = document.parse(text);
        ASSERT_FALSE(root) << text;
        EXPECT_EQ(root.error().code, ErrorCode::bad_json) << text;
        EXPECT_LE(document.error_offset(), text.size()) << text;
    }
    ASSERT_FALSE(document.parse({})) << "no text at all";
    ASSERT_FALSE(document.parse("\"a\0b\""s)) << "NUL inside a string";
    ASSERT_FALSE(document.parse("[1,\0 2]"s)) << "NUL between tokens";
    ASSERT_FALSE(document.parse("1\0"s)) << "NUL after the root";
    // The place of an error is where a person would point.
    JsonDocument other_document;
    const auto offset_of = [&other_document](std::string_view text) {
        EXPECT_FALSE(other_document.parse(text));
        return other_document.error_offset();
    };
    EXPECT_EQ(offset_of(R"({"a":1,"b":x})"), 11u);
    expect_each(offset_of, gives("[1,2", 4u), gives("[1] 2", 4u), gives("[\"a\xFF\"]", 3u),
                gives("[\"a\x01\"]", 3u));
}

// Integers are read exactly up to the ends of 64 bits; what does not fit, or is no integer, gives
// nothing, and its text is kept.
TEST(JsonDocument, ReadsNumbersExactly) {
    JsonDocument document;
    const auto read = [&document](std::string_view text) { return document.parse(text).value(); };
    EXPECT_EQ(read("18446744073709551615").as_u64(), UINT64_MAX);
    EXPECT_EQ(read("18446744073709551615").as_i64(), std::nullopt);
    EXPECT_EQ(read("18446744073709551616").as_u64(), std::nullopt);
    EXPECT_EQ(read("18446744073709551616").raw(), "18446744073709551616");
    EXPECT_EQ(read("9223372036854775807").as_i64(), INT64_MAX);
    EXPECT_EQ(read("9223372036854775808").as_i64(), std::nullopt);
    EXPECT_EQ(read("-9223372036854775808").as_i64(), INT64_MIN);
    EXPECT_EQ(read("-9223372036854775809").as_i64(), std::nullopt);
    EXPECT_EQ(read("-1").as_u64(), std::nullopt);
    EXPECT_EQ(read("0").as_u64(), 0u);
    EXPECT_EQ(read("1.0").as_u64(), std::nullopt);
    EXPECT_EQ(read("1e3").as_i64(), std::nullopt);
    EXPECT_EQ(read("\"1\"").as_u64(), std::nullopt);
    // Doubles are the nearest ones; decimals keep every digit in raw().
    JsonDocument other_document;
    EXPECT_EQ(other_document.parse("0.1").value().as_double(), 0.1);
    EXPECT_EQ(other_document.parse("-2.5E-3").value().as_double(), -0.0025);
    EXPECT_EQ(other_document.parse("18446744073709551616").value().as_double(),
              18446744073709551616.0);
    EXPECT_EQ(other_document.parse("1e999").value().as_double(), std::nullopt);
    EXPECT_EQ(other_document.parse("0.100000000000000000000000001").value().raw(),
              "0.100000000000000000000000001");
}

// Escapes as in RFC 8259 section 7; pairs of surrogates make one code point, lone ones U+FFFD.
TEST(JsonDocument, UnescapesStrings) {
    JsonDocument document;
    const auto text_of = [&document](std::string_view json) {
        return std::string(document.parse(json).value().as_string().value_or("nothing"));
    };
    expect_each(text_of, gives(R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"),
                gives(R"("\u0041\u00e9\u20AC")", "A\xC3\xA9\xE2\x82\xAC"),
                gives(R"("\ud83d\ude00")", "\xF0\x9F\x98\x80"), gives(R"("a\u0000b")", "a\0b"s),
                gives(R"("\ud800\udc00")", "\xF0\x90\x80\x80"),
                gives(R"("\udbff\udfff")", "\xF4\x8F\xBF\xBF"),
                gives(R"("\ud83d")", "\xEF\xBF\xBD"),
                gives(R"("\ude00\ud83d!")", "\xEF\xBF\xBD\xEF\xBF\xBD!"),
                gives(R"("\ud83d\u0041")",
                      "\xEF\xBF\xBD"
                      "A"),
                gives(R"("\ud83d\ud83d\ude00")", "\xEF\xBF\xBD\xF0\x9F\x98\x80"),
                gives("\"\xF0\x9F\x98\x80\"", "\xF0\x9F\x98\x80"), gives("1", "nothing"));
}

// Members by name in any order and any number of times; of equal names the first; names with
// escapes are compared unescaped.
TEST(JsonDocument, FindsMembersInOrder) {
    JsonDocument document;
    const JsonValue root =
        document.parse(R"({"z":1,"a":{"b":[true]},"z":2,"":3,"\u006b\n":4})").value();
    EXPECT_EQ(root.size(), 5u);
    EXPECT_EQ(root.find("a").find("b").at(0).as_bool(), true);
    EXPECT_EQ(std::tuple(root.find("z").as_u64(), root.find("z").as_u64(), root.find("").as_u64()),
              std::tuple(1u, 1u, 3u));
    EXPECT_EQ(root.find("k\n").as_u64(), 4u);
    EXPECT_FALSE(root.find("b").present());
    EXPECT_FALSE(root.find("x").find("y").at(3).first().next().present() || root.at(0).present());
    EXPECT_EQ(root.find("x").as_string(), std::nullopt);
    EXPECT_EQ(root.find("x").raw(), "");
    // A document for traces gives the last of equal names, as the field's tools read them.
    JsonDocument other_document(JsonArrays::packed);
    const JsonValue other_root =
        other_document.parse(R"({"z":1,"a":[1,2],"z":{"b":2},"b":3})").value();
    EXPECT_EQ(other_root.find("z").find("b").as_u64(), 2u);
    EXPECT_EQ(other_root.find("b").as_u64(), 3u);
    EXPECT_EQ(other_root.find("a").integers()->size(), 2u);
    EXPECT_FALSE(other_root.find("x").present());
    // Iteration gives elements and members in document order, nested ones stay inside.
    const JsonText json(R"([ [1,[2]], {"a":[],"b":{}} , "x" ])");
    std::string seen;
    for (JsonValue v = json.root.first(); v.present(); v = v.next()) {
        seen += std::string(v.raw()) + "#" + std::to_string(v.size()) + " ";
        for (JsonValue inner = v.first(); inner.present(); inner = inner.next()) {
            seen += std::string(inner.key()) + "=" + std::string(inner.raw()) + " ";
        }
    }
    EXPECT_EQ(seen, R"([1,[2]]#2 =1 =[2] {"a":[],"b":{}}#2 a=[] b={} "x"#0 )");
    EXPECT_EQ(json.root.key(), "");
}

// Depth at limit - 1, limit, limit + 1; far deeper input is refused as quickly.
TEST(JsonDocument, BoundsTheDepth) {
    JsonDocument document;
    for (const unsigned depth :
         {json_depth_max - 1, json_depth_max, json_depth_max + 1, 100'000u}) {
        for (const auto& [open, close] : {std::pair{"[", "]"}, std::pair{"{\"a\":", "}"}}) {
            std::string text;
            for (unsigned i = 0; i < depth; ++i) {
                text += open;
            }
            text += open[0] == '{' ? "1" : "";
            for (unsigned i = 0; i < depth; ++i) {
                text += close;
            }
            const Result<JsonValue> root = document.parse(text);
            EXPECT_EQ(static_cast<bool>(root), depth <= json_depth_max) << depth;
            if (!root) {
                EXPECT_EQ(root.error().code, ErrorCode::too_large);
            }
        }
    }
}

// A document grows with its texts, is reused for small and large ones alike, and may be moved.
TEST(JsonDocument, IsReusedAndReadsARealTrace) {
    JsonDocument document;
    for (const std::size_t elements : {3u, 100'000u, 1u}) {
        std::string text = "[\"\\n\"";
        for (std::size_t i = 0; i < elements; ++i) {
            text += ',' + std::to_string(i);
        }
        const JsonValue root = document.parse(text + "]").value();
        EXPECT_EQ(std::tuple(root.size(), root.at(elements).as_u64(), root.first().as_string()),
                  std::tuple(elements + 1, elements - 1, "\n"));
    }
    const JsonValue before = document.parse("[7]").value();
    JsonDocument moved = std::move(document);
    EXPECT_EQ(before.at(0).as_u64(), 7u);
    // Bytes that are no UTF-8 are refused: overlong forms, surrogates, cut sequences.
    JsonDocument other_document;
    for (const char* bytes : {"\xFF", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                              "\xF4\x90\x80\x80", "\xE2\x82", "\x80"}) {
        EXPECT_FALSE(other_document.parse("\"" + std::string(bytes) + "\"")) << bytes;
    }
    // Every line of a real trace reads, with the members that its format names.
    std::ifstream file(SHARED_DATA "/traces/mooncake_conversation.jsonl");
    if (!file) {
        GTEST_SKIP() << "no shared trace here";
    }
    JsonDocument third_document;
    std::uint64_t rows = 0;
    std::uint64_t input = 0;
    for (std::string line; std::getline(file, line); ++rows) {
        const JsonValue root = third_document.parse(line).value();
        const std::uint64_t length = root.find("input_length").as_u64().value();
        input += length;
        ASSERT_EQ(root.find("hash_ids").size(), (length + 511) / 512);
    }
    EXPECT_EQ(rows, 12'031u);
    EXPECT_EQ(input, 144'793'823u);  // as the trace's publishers count it
}

std::string found(std::string_view text, std::string_view pointer) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(text);
    const Result<JsonPointer> parsed = JsonPointer::parse(pointer);
    if (!parsed) {
        return name_of(parsed.error().code);
    }
    const JsonValue value = parsed.value().find(root.value());
    return value.present() ? std::string(value.raw()) : "absent";
}

// RFC 6901, section 5, with the document that stands there.
TEST(JsonPointer, LeadsWhereTheStandardSaysOrNowhere) {
    const std::string text = R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,)"
                             R"("i\\j":5,"k\"l":6," ":7,"m~n":8})";
    EXPECT_EQ(found(text, ""), text);
    EXPECT_EQ(found(text, "/foo"), R"(["bar","baz"])");
    expect_each([&](auto in) { return found(text, in); }, gives("/foo/0", "\"bar\""),
                gives("/", "0"), gives("/a~1b", "1"), gives("/c%d", "2"), gives("/e^f", "3"),
                gives("/g|h", "4"), gives("/i\\j", "5"), gives("/k\"l", "6"), gives("/ ", "7"),
                gives("/m~0n", "8"));
    const std::string other_text = R"({"a":[1,{"0":2}],"b":"x","01":3})";
    for (const char* pointer : {"/c", "/a/2", "/a/-", "/a/01", "/a/0/0", "/b/0", "/a/x", "/a/",
                                "/a/99999999999999999999"}) {
        EXPECT_EQ(found(other_text, pointer), "absent") << pointer;
    }
    EXPECT_EQ(found(other_text, "/a/1/0"), "2") << "a member may be named like an index";
    EXPECT_EQ(found(other_text, "/01"), "3");
    EXPECT_FALSE(JsonPointer().find({}).present());
    for (const char* pointer : {"a", "a/b", "#/a", "/~", "/~2", "/a~", "/a/b~/c"}) {
        EXPECT_EQ(found("{}", pointer), "invalid") << pointer;
    }
    EXPECT_EQ(found(R"({"~1":{"/":1}})", "/~01/~1"), "1");
}

// An array's elements come out whole, however its bytes come in; what is no array is known as such.

using State = JsonElements::State;
struct Cut {
    Texts elements;
    State state = State::before;
    bool operator==(const Cut&) const = default;
};

Cut cut(const std::vector<std::string_view>& pieces) {
    JsonElements elements;
    Cut out;
    for (const std::string_view piece : pieces) {
        elements.feed(piece);
        while (const auto element = elements.next()) {
            out.elements.emplace_back(*element);
            EXPECT_EQ(elements.number(), out.elements.size());
        }
    }
    out.state = elements.state();
    return out;
}

// Whole, at every split, and byte by byte.
Cut cut_every_way(const std::string& text) {
    const Cut whole = cut({text});
    each_cut(text, [&](const std::vector<std::string_view>& pieces) {
        EXPECT_EQ(cut(pieces), whole) << text << " " << pieces.front().size();
    });
    return whole;
}

// Without the space around them, and with strings as they are; what is no element is the parser's
// to say. What does not end is inside, what stands outside of the list is wrong.
TEST(JsonElements, AreCutAtTheirCommas) {
    expect_each(cut_every_way,
                gives(" [ {\"a\": [1, 2]} ,\n\"x\", [] ] \n",
                      (Cut{{"{\"a\": [1, 2]}", "\"x\"", "[]"}, State::behind})),
                gives("[1]", (Cut{{"1"}, State::behind})), gives("[]", (Cut{{}, State::behind})),
                gives("[ \n ]\n", (Cut{{}, State::behind})));
    EXPECT_EQ(cut_every_way(R"(["],[", "\"],", "\\", {"}": "{"}])"),
              (Cut{{R"("],[")", R"("\"],")", R"("\\")", R"({"}": "{"})"}, State::behind}));
    expect_each(cut_every_way, gives("[1,,2]", (Cut{{"1", "", "2"}, State::behind})),
                gives("[1,]", (Cut{{"1", ""}, State::behind})),
                gives("[1 2, nul]", (Cut{{"1 2", "nul"}, State::behind})),
                gives("[1, {\"a\": 2}", (Cut{{"1"}, State::inside})),
                gives("[\"]", (Cut{{}, State::inside})), gives("[[1]", (Cut{{}, State::inside})),
                gives(" ", (Cut{{}, State::before})), gives("{}", (Cut{{}, State::wrong})),
                gives("[1] [2]", (Cut{{"1"}, State::wrong})),
                gives("[],", (Cut{{}, State::wrong})));
    const std::string text(json_element_bytes_max, '1');
    EXPECT_EQ(cut({"[", text, "]"}).state, State::behind);
    EXPECT_EQ(cut({"[", text, "1", "]"}).state, State::too_long);
}

// Arrays of integers are read packed, with the values that they have as values, and nothing else
// is.

std::vector<std::uint64_t> packed(const std::string& array) {
    JsonDocument document(JsonArrays::packed);
    const Result<JsonValue> root = document.parse(R"({"a":)" + array + R"(,"b":7})");
    if (!root) {
        return {};
    }
    EXPECT_EQ(root.value().find("a").raw(), array);
    EXPECT_EQ(root.value().find("b").as_u64(), 7U);
    const auto list = root.value().find("a").integers();
    EXPECT_TRUE(!list || root.value().find("a").size() == list->size());
    return list ? std::vector<std::uint64_t>(list->begin(), list->end())
                : std::vector<std::uint64_t>();
}

// Every number of digits, blanks of all kinds, and the ends of the range.
TEST(PackedIntegers, AreReadWhereTheyAreAskedFor) {
    expect_each(
        packed, gives("[0]", (std::vector<std::uint64_t>{0})),
        gives("[ 1 ,\t22,\n333\r]", (std::vector<std::uint64_t>{1, 22, 333})),
        gives("[4444,55555,666666,7777777,88888888,999999999]",
              (std::vector<std::uint64_t>{4444, 55555, 666666, 7777777, 88888888, 999999999})),
        gives("[18446744073709551615, 9223372036854775808]",
              (std::vector<std::uint64_t>{18446744073709551615U, 9223372036854775808U})));
    // Everything else stays an array of values, or is refused as before.
    for (const char* array :
         {"[]", "[-1]", "[1.0]", "[1e3]", "[1,\"2\"]", "[[1]]", "[1,null]", "[1,2.5]",
          "[18446744073709551616]", "[123456789012345678901234567890]"}) {
        EXPECT_EQ(packed(array), std::vector<std::uint64_t>()) << array;
        EXPECT_TRUE(JsonDocument(JsonArrays::packed).parse(array)) << array;
    }
    for (const char* broken : {"[01]", "[1,]", "[,1]", "[1 2]", "[1", "[1,2", "[1,2}", "[1,2]]"}) {
        JsonDocument document(JsonArrays::packed);
        EXPECT_TRUE(document.parse("[1,2,3,4,5,6,7,8,9]")) << "leaves bytes behind the next text";
        EXPECT_FALSE(document.parse(broken)) << broken;
    }
    // The elements of a packed array are numbers only; without the option they are values.
    JsonDocument document(JsonArrays::packed);
    const JsonValue list = document.parse("[1,2]").value();
    EXPECT_FALSE(list.first().present() || list.at(1).present());
    const JsonText values("[1,2]");
    EXPECT_FALSE(values.root.integers());
    EXPECT_EQ(values.root.at(1).as_u64(), 2U);
    // Lists in lists, and two lists one behind the other, keep their own numbers.
    JsonDocument other_document(JsonArrays::packed);
    const JsonValue root = other_document.parse(R"([[1,2],{"x":[3]},[4,"a"],[5]])").value();
    ASSERT_EQ(root.size(), 4U);
    EXPECT_EQ((*root.at(0).integers())[1], 2U);
    EXPECT_EQ((*root.at(1).find("x").integers())[0], 3U);
    EXPECT_FALSE(root.at(2).integers());
    EXPECT_EQ(root.at(2).first().as_u64(), 4U);
    EXPECT_EQ((*root.at(3).integers())[0], 5U);
    // No room, no list: the caller's array is never left.
    std::uint64_t out[3] = {};
    const std::string text = "1,2,3]" + std::string(16, ' ');
    EXPECT_EQ(read_integer_list(text.data(), out, 2).count, 0U);
    EXPECT_EQ(read_integer_list(text.data(), out, 3).count, 3U);
    EXPECT_EQ(*read_integer_list(text.data(), out, 3).end, ']');
}

// Where a JSON text ends: behind the bracket that closes it, and brackets in strings do not count.

/// The texts of these lines, each behind the number of the line in which it begins. One that is not
/// closed comes last.
std::vector<std::string> texts_of(const std::vector<std::string>& lines) {
    JsonTexts texts;
    std::vector<std::string> found;
    const auto note = [&] {
        found.push_back(std::to_string(texts.line()) + " " + std::string(texts.text()));
    };
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::string_view line = lines[i];
        while (texts.take(i + 1, line) == JsonTexts::Found::whole) {
            note();
            texts.clear();
        }
        EXPECT_EQ(line, "") << "a part is taken to the end of its line";
    }
    if (!texts.text().empty()) {
        note();
    }
    return found;
}

TEST(JsonTexts, EndBehindTheClosingBracket) {
    EXPECT_EQ(
        texts_of({"  ", "", R"( {"a": [1, "]}", "\"}", "\\"],)", R"("b": {} } {"c":)", "[]}"}),
        (Texts{"3 {\"a\": [1, \"]}\", \"\\\"}\", \"\\\\\"],\n\"b\": {} }", "4 {\"c\":\n[]}"}));
    EXPECT_EQ(texts_of({"{}[1]"}), (Texts{"1 {}", "1 [1]"}));
    EXPECT_EQ(texts_of({"} {}"}), (Texts{"1 }", "1 {}"})) << "a bracket that closes nothing";
    EXPECT_EQ(texts_of({"{", "1"}), (Texts{"1 {\n1\n"}));
    // A string that is open at the end of a line ends a text that is broken.
    for (const std::string line : {R"({"a)", R"({"a\")", R"({"a\)"}) {
        EXPECT_EQ(texts_of({line, "{}"}), (Texts{"1 " + line, "2 {}"})) << line;
    }
    JsonTexts texts;
    const std::string most(JsonTexts::bytes_max - 1, '[');
    std::string_view line = most;
    EXPECT_EQ(texts.take(1, line), JsonTexts::Found::part);
    line = "]";
    EXPECT_EQ(texts.take(2, line), JsonTexts::Found::too_long);
}

// What is written is JSON: commas, escapes and numbers as RFC 8259 has them.

using namespace std::string_literals;

// Nesting and commas, spelled out.
TEST(JsonWriter, PlacesCommasAndEscapes) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().key("a").begin_array().integer(1).null().begin_array().end_array();
    json.begin_object().end_object().end_array().key("b").boolean(true).key("c").raw("[ ]");
    json.key("")
        .optional(std::optional<std::int64_t>())
        .key("d")
        .optional(std::optional<std::string_view>("x"))
        .end_object();
    EXPECT_EQ(out, R"({"a":[1,null,[],{}],"b":true,"c":[ ],"":null,"d":"x"})");
    // The writer goes on with the string it is given: two documents, two writers, two lines.
    std::string more = "{}\n";
    JsonWriter(more).begin_array().end_array();
    EXPECT_EQ(more, "{}\n[]");
    // Every escape that is needed, none that is not; bytes that are no UTF-8 become U+FFFD one by
    // one.
    const auto escaped = [](std::string_view text) {
        std::string other_out;
        append_json_escaped(other_out, text);
        return other_out;
    };
    EXPECT_EQ(escaped("\"\\/\b\f\n\r\t"), R"(\"\\/\b\f\n\r\t)");
    EXPECT_EQ(std::tuple(escaped("\0\x1F\x7F"s), escaped("h\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80")),
              std::tuple("\\u0000\\u001f\x7F", "h\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"));
    EXPECT_EQ(escaped("a\xFF\xE2\x82z"), "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
    // Ends of the ranges; no number that JSON cannot say.
    std::string other_out;
    JsonWriter other_json(other_out);
    other_json.begin_array().integer(INT64_MIN).integer(INT64_MAX).unsigned_integer(UINT64_MAX);
    other_json.number(0.1).number(1e21).number(-0.0).number(std::nan(""));
    other_json.number(std::numeric_limits<double>::infinity()).end_array();
    EXPECT_EQ(other_out,
              "[-9223372036854775808,9223372036854775807,18446744073709551615,0.1,1e+21,-0,"
              "null,null]");
}

// Any bytes come back from our reader as the text they were, any double as the same double.
TEST(JsonWriter, IsReadBack) {
    Random random(3);
    JsonDocument document;
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        for (std::uint64_t i = random.below(20); i > 0; --i) {
            text += static_cast<char>(random.below(128));
        }
        const double value =
            std::ldexp(random.uniform() - 0.5, static_cast<int>(random.below(600)));
        std::string out;
        JsonWriter(out).begin_object().key(text).number(value).end_object();
        const JsonValue root = document.parse(out).value();
        ASSERT_EQ(root.first().key(), text);
        ASSERT_EQ(root.find(text).as_double(), value);
    }
}

}  // namespace
}  // namespace driftless
