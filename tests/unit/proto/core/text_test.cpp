// Texts: letters' case, counts as people read them, UTF-8, and what is safe to show.

#include "proto/core/text.hpp"

#include "proto/json/document.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

TEST(LetterCase, FoldsAsciiOnly) {
    EXPECT_TRUE(equal_ignoring_case("Keep-Alive", "kEEP-aLIVE"));
    EXPECT_FALSE(equal_ignoring_case("keep", "keep-alive") || equal_ignoring_case("[", "{"));
    EXPECT_EQ(lower("TTFT \xC3\x84"), "ttft \xC3\x84");
}

TEST(TakeUntil, TakesThePartAndItsEnd) {
    std::string_view text = "a,;b";
    EXPECT_EQ(take_until(text, ",;"), "a");
    EXPECT_EQ(text, ";b");
    EXPECT_EQ(take_until(text, ",;"), "");
    EXPECT_EQ(take_until(text, ",;"), "b");
    EXPECT_EQ(take_until(text, ",;"), "") << "nothing is left";
}

TEST(WordsIn, LeavesOutWhatIsEmpty) {
    EXPECT_EQ(words_in(" a, b,,c ", " ,"), (std::vector<std::string_view>{"a", "b", "c"}));
    EXPECT_TRUE(words_in(" ,", " ,").empty() && words_in("", " ").empty());
}

TEST(Joined, KeepsEmptyTexts) {
    EXPECT_EQ(joined(std::vector<std::string>{"", "a", "", ""}, "|"), "|a||");
    EXPECT_EQ(joined(std::vector<std::string>{}, "|"), "");
}

TEST(NearestName, IsNearOrFinishesWhatWasBegun) {
    const std::vector<std::string> names{"--speed", "--seed", "--out"};
    expect_each([&](auto in) { return nearest_name(in, names); }, gives("--sped", "--speed"),
                gives("--sed", "--seed"), gives("--spe", "--speed"), gives("--sp", ""),
                gives("--tokenizer", ""));
    EXPECT_EQ(nearest_name("--qps", {"--api", "--cpu"}), "") << "another word, not a slip";
    EXPECT_EQ(nearest_name("--pai", {"--pin"}), "--pin");
    EXPECT_EQ(nearest_name("--pai", {"--pin", "--api"}), "--api");
    EXPECT_EQ(nearest_name("--ulr", {"--user", "--url"}), "--url");
    EXPECT_EQ(nearest_name("rpelyaxx", {"replay"}), "") << "two swaps and two letters more";
    EXPECT_EQ(nearest_name("rpelya", {"replay"}), "replay") << "two swaps";
    const std::vector<std::string> other_names{"--timeout-idle", "--timeout-total", "--tokenizer"};
    EXPECT_EQ(nearest_name("--timeout", other_names), "--timeout-idle or --timeout-total");
    EXPECT_EQ(nearest_name("--token", other_names), "--tokenizer");
    EXPECT_EQ(nearest_name("--to", other_names), "") << "too short to say what was meant";
    EXPECT_EQ(nearest_name("calib", {"calibrate", "convert"}), "calibrate");
    EXPECT_EQ(nearest_name("--tim",
                           {"--tim-aaaa", "--tim-bbbb", "--tim-cccc", "--tim-dddd", "--tim-eeee"}),
              "")
        << "five are no answer";
    EXPECT_EQ(nearest_name("--tim", {"--tim-eins", "--tim-zwei", "--tim-drei"}),
              "--tim-eins, --tim-zwei or --tim-drei");
    EXPECT_EQ(nearest_name("min", {"ms", "us"}), "");
    EXPECT_EQ(nearest_name("m", {"ms", "us"}), "ms");
}

TEST(DidYouMean, ReadsAListForPeople) {
    EXPECT_EQ(did_you_mean("spn", "spin, hybrid, sleep"), "; did you mean spin?");
    EXPECT_EQ(did_you_mean("retyr:2", "end-tree, or retry:N with N from 1 to 30"),
              "; did you mean retry:N?");
    EXPECT_EQ(did_you_mean("moncake", "mooncake, qwen"), "; did you mean mooncake?");
    EXPECT_EQ(did_you_mean("chan", "keep; chain is another"), "") << "behind the list";
    EXPECT_EQ(did_you_mean("htm", "html, none"), "; did you mean html?");
    EXPECT_EQ(did_you_mean("pdf", "html, none"), "");
    EXPECT_EQ(did_you_mean("", "html, none"), "");
}

// No byte of a server's reaches the terminal that does more there than show a letter.

TEST(Printable, EscapesWhatControlsTurnsHidesOrBreaksText) {
    EXPECT_EQ(printable("\x1B]0;owned\x07\x1B[2Jbad\nkey"),
              R"(\u001b]0;owned\u0007\u001b[2Jbad\u000akey)");
    EXPECT_EQ(printable(std::string_view("\0\x1F \x7E\x7F", 5)), R"(\u0000\u001f ~\u007f)");
    EXPECT_EQ(printable("\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0"), "\\u0080\\u009b\\u009f\xC2\xA0");
    EXPECT_EQ(printable("a\x9B\x31m\xC2"), "a\xEF\xBF\xBD\x31m\xEF\xBF\xBD");
    // The neighbours of each range are shown as they are.
    for (const std::uint32_t code :
         {0x00ADu, 0x061Cu, 0x180Eu, 0x200Bu, 0x200Cu, 0x200Du, 0x200Eu,  0x200Fu,  0x2028u,
          0x2029u, 0x202Au, 0x202Bu, 0x202Cu, 0x202Du, 0x202Eu, 0x2060u,  0x2066u,  0x2067u,
          0x2068u, 0x2069u, 0x206Fu, 0xFEFFu, 0xFFF9u, 0xFFFBu, 0xE0001u, 0xE0000u, 0xE007Fu}) {
        char bytes[4];
        const std::string text(bytes, write_utf8(bytes, code));
        char expected[16];
        std::snprintf(expected, sizeof expected, code > 0xFFFF ? "a\\U%08xb" : "a\\u%04xb", code);
        EXPECT_EQ(printable("a" + text + "b"), expected);
        EXPECT_EQ(printable_lines("a" + text + "b"), expected);
    }
    for (const std::uint32_t code : {0x7Eu,   0xA0u,   0xACu,   0xAEu,   0x61Bu,   0x61Du,  0x180Du,
                                     0x180Fu, 0x200Au, 0x2010u, 0x2027u, 0x202Fu,  0x205Fu, 0x2070u,
                                     0xFEFEu, 0xFF00u, 0xFFF8u, 0xFFFCu, 0xDFFFFu, 0xE0080u}) {
        char bytes[4];
        const std::string text(bytes, write_utf8(bytes, code));
        EXPECT_EQ(printable(text), text) << code;
    }
}

// In JSON files what is unprintable is escaped as JSON has it, in keys and values of any source;
// what is read back is the same text.
TEST(Printable, EscapesInsideJsonAndLeavesOurLines) {
    std::string json =
        "before\xE2\x80\xAE{\"k\xE2\x80\xA8\":\n\"\xC2\x85\x7F\xC3\xA9 "
        "0123456789\xE2\x80\xAEx\xF3\xA0\x80\x81\xF0\x9F\x9A\x80\"}";
    escape_unprintable_json(json, 9);
    EXPECT_EQ(json,
              "before\xE2\x80\xAE{\"k\\u2028\":\n\"\\u0085\\u007f\xC3\xA9 "
              "0123456789\\u202ex\\udb40\\udc01\xF0\x9F\x9A\x80\"}");
    JsonDocument document;
    EXPECT_EQ(document.parse(std::string_view(json).substr(9)).value().first().as_string(),
              "\xC2\x85\x7F\xC3\xA9 0123456789\xE2\x80\xAEx\xF3\xA0\x80\x81\xF0\x9F\x9A\x80");
    for (std::size_t blanks = 0; blanks < 20; ++blanks) {  // at each place of a word of 8 bytes
        std::string text = std::string(blanks, ' ') + "\xC2\x9B\x7F";
        escape_unprintable_json(text, 0);
        EXPECT_EQ(text, std::string(blanks, ' ') + "\\u009b\\u007f");
    }
    for (const char* kept : {"", "{}", "\"\xE4\xBD\xA0\xE5\xA5\xBD\"", "\xFF\xC2", "a\xE2\x80"}) {
        std::string text = kept;
        escape_unprintable_json(text, 0);
        EXPECT_EQ(text, kept);
    }
    EXPECT_EQ(printable_lines("a\nb\tc\r\n"), "a\nb\\u0009c\\u000d\n");
    EXPECT_EQ(printable("a\nb"), "a\\u000ab");
    for (const char* words :
         {"", "a \"quoted\" \\ word", "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x9A\x80"}) {
        EXPECT_EQ(printable(words), words);
    }
}

// UTF-8 is judged and cut as RFC 3629 defines it.

// Every code point that exists is written and read back with its length; RFC 3629 section 3 gives
// the borders between lengths.
TEST(Utf8, WritesEveryCodePointAndRefusesOtherBytes) {
    for (std::uint32_t point = 0; point <= 0x10FFFF; ++point) {
        if (point >= 0xD800 && point <= 0xDFFF) {
            continue;
        }
        char out[4];
        const auto length = static_cast<std::size_t>(write_utf8(out, point) - out);
        const std::size_t expected = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        ASSERT_EQ(length, expected);
        ASSERT_EQ(utf8_length({out, length}), length) << point;
        ASSERT_EQ(utf8_length({out, length - 1}), 0u) << point;
    }
    // Bytes that no code point has.
    for (const char* bytes :
         {"\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3(", "\xE2\x82("}) {
        EXPECT_EQ(utf8_length(bytes), 0u);
    }
    EXPECT_EQ(utf8_valid_prefix("ab\xC3\xA9\xFF"), 4u);
    EXPECT_EQ(utf8_valid_prefix("ab"), 2u);
    // Cut at most at the limit, never inside a code point; bytes that are no UTF-8 are cut
    // anywhere.
    const std::string euro = "a\xE2\x82\xAC!";
    expect_each([&](auto in) { return cut_at_code_point(euro, in); }, gives(0, ""), gives(1, "a"),
                gives(2, "a"), gives(3, "a"), gives(4, "a\xE2\x82\xAC"), gives(5, euro));
    EXPECT_EQ(cut_at_code_point("\x80\x80\x80\x80\x80\x80", 5).size(), 5u);
    // Bytes that are no UTF-8 become one U+FFFD each; text that is valid is handed back uncopied.
    std::string storage;
    const std::string_view valid = "a\xE2\x82\xAC";
    EXPECT_EQ(to_valid_utf8(valid, storage).data(), valid.data());
    EXPECT_EQ(to_valid_utf8("a\xFF\xE2\x82z", storage), "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
}

// Others' words leave the program without secrets, whole, cut or one inside the other.

TEST(Masked, LeavesNoSecret) {
    const Texts secrets = {"sk-abc123", ""};
    EXPECT_EQ(masked("key sk-abc123 and sk-abc123", secrets, 256), "key *** and ***");
    EXPECT_EQ(masked("sk-abc123sk-abc123", secrets, 256), "******");
    EXPECT_EQ(masked("", secrets, 256), "");
    EXPECT_EQ(masked("a longer-key", {"longer-key", "longer"}, 256), "a ***");
    EXPECT_EQ(masked("****", {"****"}, 256), "***");
    // A secret across the cut is replaced first, at every offset.
    const std::string secret = "sk-0123456789abcdefghij";
    for (std::size_t before = 0; before < 40; ++before) {
        const std::string head(before, 'x');
        const std::string whole = masked(head + secret + " tail", {secret}, 32);
        EXPECT_EQ(whole, (head + "*** tail").substr(0, 32)) << before;
    }
    for (std::size_t left = 1; left < secret.size(); ++left) {
        const std::string cut = masked("is " + secret.substr(0, left), {secret}, 256);
        EXPECT_EQ(cut, left < secret_bytes_min ? "is " + secret.substr(0, left) : "is ***") << left;
    }
}

// JSON, JSON within JSON, URLs, URLs within URLs, HTML, and a mix of them.
TEST(Masked, LeavesNoSecretThatIsEscapedAndCutsAtCodePoints) {
    const Texts secrets = {"abcd/Top\"se&cret1/ef gh=="};
    for (const std::string_view spelled : {
             R"(abcd\/Top\"se&cret1\/ef gh\u003d\u003D)",
             R"(abcd\\\/Top\\\"se&cret1/ef gh\\u003d=)",
             R"(abcd%2FTop%22se%26cret1%2fef+gh%3D%3d)",
             R"(abcd%252FTop%2522se%2526cret1%252fef%2520gh%253D%253d)",
             R"(abcd/Top&quot;se&amp;cret1&#47;ef gh&#x3D;&#61;)",
             R"(\u0061bcd\x2fTop"se\u0026cret1/ef%20gh==)",
         }) {
        const std::string text = "key " + std::string(spelled) + " and more";
        EXPECT_EQ(masked(text, secrets, 256), "key *** and more") << spelled;
        for (std::size_t left = 24; left < text.size() - 9; ++left) {  // cut, inside escapes too
            EXPECT_EQ(masked(text.substr(0, left), secrets, 256), "key ***") << text << left;
        }
    }
    EXPECT_EQ(masked(R"(a\\\\b)", {R"(a\\b)"}, 256), "***");
    EXPECT_EQ(masked(R"(a\\bcd)", {R"(a\bcd)"}, 256), "***");
    EXPECT_EQ(masked("\\u00e4bcd \xC3\xA4"
                     "bcd",
                     {"\xC3\xA4"
                      "bcd"},
                     256),
              "*** ***");
    EXPECT_EQ(masked("a%25%2Fb%25252Fcd a%252Fb", {"a%/b/cd", "a%2Fb"}, 256), "*** ***");
    EXPECT_EQ(masked("50% of \\ & + abcx", {"abcd%\\"}, 256), "50% of \\ & + abcx");
    const std::string text = std::string(255, 'x') + "\xC3\xA4";
    EXPECT_EQ(masked(text, {}, 256), std::string(255, 'x'));
    EXPECT_EQ(masked(text, {}, 257), text);
    EXPECT_EQ(masked(std::string(256, 'x'), {}, 256).size(), 256u);
}

}  // namespace
}  // namespace driftless
