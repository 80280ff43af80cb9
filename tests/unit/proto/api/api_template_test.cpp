// A template makes the bodies that it describes, and each fault of one is told with its remedy.
#include "proto/api/api_template.hpp"

#include <gtest/gtest.h>

#include "tests/golden/cases.hpp"
#include "tests/unit/proto/api/body_of.hpp"

namespace driftless {
namespace {

std::string template_of(std::string_view body) {
    return R"({"path":"/p","body":)" + std::string(body) + R"(,"event":{"content":"/t"}})";
}

// What the reader says of a template; "" where it is good.
std::string fault_of(std::string_view text) {
    std::string why;
    return read_api_template(text, why) ? "" : why;
}

std::string body_of_text(std::string_view body, const BodySpec& spec, std::string_view prompt) {
    std::string why;
    Result<ApiTemplate> form = read_api_template(template_of(body), why);
    EXPECT_TRUE(form) << why;
    return body_of(dialect_of(form.value()), spec, prompt);
}

// The body of a dialect of ours and that of the template which describes it are the same bytes.
TEST(ApiTemplate, SpellsTheDialectsThatItDescribes) {
    const ApiTemplate form = sample_template("llamacpp");
    const Dialect& ours = dialect_of(Api::llamacpp);
    for (const PromptKind prompt : {PromptKind::text, PromptKind::ids}) {
        const BodySpec spec{.model = "m", .prompt = prompt};
        const Result<BodyFrame> frame = ours.frame(spec);
        ASSERT_TRUE(frame);
        EXPECT_EQ(body_of(dialect_of(form), spec, "1,2"),
                  frame.value().before + "1,2" + frame.value().between + "4" + frame.value().after);
    }
    EXPECT_EQ(dialect_of(form).default_path, std::string(ours.default_path));
    EXPECT_FALSE(dialect_of(form).names_model);
    EXPECT_TRUE(dialect_of(sample_template("chat")).names_model);
    EXPECT_EQ(dialect_of(sample_template("ollama")).framing, Framing::lines);
    EXPECT_FALSE(dialect_of(sample_template("ollama")).has_ignore_eos);
}

TEST(ApiTemplate, FillsItsPlaceholders) {
    const std::string_view body =
        R"({"m":"{model}","a":[{"p":"{prompt}"},[],{}],"x":null,)"
        R"("o":{"n":"{output_length}"},"s":"{stream}","e":"{ignore_eos}"})";
    EXPECT_EQ(body_of_text(body, {.model = "a\"b"}, "hi"),
              R"({"m":"a\"b","a":[{"p":"hi"},[],{}],"x":null,"o":{"n":4},"s":true,"e":true})");
    EXPECT_EQ(
        body_of_text(body, {.prompt = PromptKind::ids, .output = OutputRule::cap, .stream = false},
                     "7,8"),
        R"({"m":"","a":[{"p":[7,8]},[],{}],"x":null,"o":{"n":4},"s":false,"e":false})");
    EXPECT_EQ(body_of_text(body, {.output = OutputRule::free}, "hi"),
              R"({"m":"","a":[{"p":"hi"},[],{}],"x":null,"o":{},"s":true,"e":false})");
    const std::string_view said = R"({"t":"U: \"{prompt}\"\nB:","n":"{output_length}","k":"{}"})";
    EXPECT_EQ(body_of_text(said, {}, "hi"), R"({"t":"U: \"hi\"\nB:","n":4,"k":"{}"})");
    EXPECT_EQ(body_of_text(said, {.prompt = PromptKind::ids}, "1"), "invalid");
}

TEST(ApiTemplate, TakesTheExtraBody) {
    const auto with = [](std::string extra) {
        return body_of_text(R"({"p":"{prompt}","n":"{output_length}","k":1})",
                            {.extra_body = std::move(extra)}, "hi");
    };
    EXPECT_EQ(with(R"({"k":2,"new":{"a":"{prompt}"}})"),
              R"({"p":"hi","n":4,"k":2,"new":{"a":"{prompt}"}})");
    EXPECT_EQ(with(R"({"k":null})"), R"({"p":"hi","n":4})");
    EXPECT_EQ(with(R"({"n":9})"), R"({"p":"hi","n":9,"k":1})");
    EXPECT_EQ(with(R"({"p":"x"})"), "invalid");
    EXPECT_EQ(with(R"({"p":null})"), "invalid");
    EXPECT_EQ(with("[1]"), "invalid");
    EXPECT_EQ(with("{"), "bad_json");
}

// What a nest holds besides stays: another limit does not unbound the answers.
TEST(ApiTemplate, MergesTheExtraBodyMemberByMember) {
    const auto with = [](std::string extra, OutputRule output = OutputRule::exact) {
        return body_of_text(
            R"({"a":[{"p":"{prompt}"}],"o":{"n":"{output_length}","k":1,"q":{"r":2}}})",
            {.output = output, .extra_body = std::move(extra)}, "hi");
    };
    EXPECT_EQ(with(R"({"o":{"top_k":3}})"),
              R"({"a":[{"p":"hi"}],"o":{"n":4,"k":1,"q":{"r":2},"top_k":3}})");
    EXPECT_EQ(with(R"({"x":{"y":null},"o":{"k":null,"q":{"r":[5],"s":{}}}})"),
              R"({"a":[{"p":"hi"}],"o":{"n":4,"q":{"r":[5],"s":{}}},"x":{"y":null}})");
    EXPECT_EQ(with(R"({"o":{"q":7,"q":8,"z":1,"z":2}})"),
              R"({"a":[{"p":"hi"}],"o":{"n":4,"k":1,"q":7,"z":1}})");
    EXPECT_EQ(with(R"({"o":{"n":9}})"), R"({"a":[{"p":"hi"}],"o":{"n":9,"k":1,"q":{"r":2}}})");
    EXPECT_EQ(with(R"({"o":{"n":null}})"), R"({"a":[{"p":"hi"}],"o":{"k":1,"q":{"r":2}}})");
    EXPECT_EQ(with(R"({"o":{"k":2}})", OutputRule::free),
              R"({"a":[{"p":"hi"}],"o":{"k":2,"q":{"r":2}}})");
    for (const char* const unfit :
         {R"({"o":null})", R"({"o":1})", R"({"o":[]})", R"({"a":{}})", R"({"a":null})"}) {
        EXPECT_EQ(with(unfit), "invalid") << unfit;
    }
}

// Blanks around the end of a stream are none of it: payloads are read without theirs.
TEST(ApiTemplate, TrimsItsEnd) {
    std::string why;
    const std::string text = template_of(R"({"p":"{prompt}","n":"{output_length}"})");
    const Result<ApiTemplate> form =
        read_api_template(R"({"end":" <END>\n",)" + text.substr(1), why);
    ASSERT_TRUE(form) << why;
    JsonDocument document;
    EXPECT_EQ(dialect_of(form.value()).read(document, "", "<END>").kind, EventReading::Kind::done);
}

// What goes for a described server and for the dialect of ours is the same.
TEST(ApiTemplate, MergesLikeTheDialectThatItDescribes) {
    const BodySpec spec{.extra_body = R"({"sampling_params":{"top_p":1,"temperature":0.5}})"};
    const Result<BodyFrame> ours = dialect_of(Api::sglang).frame(spec);
    ASSERT_TRUE(ours);
    EXPECT_EQ(body_of(dialect_of(sample_template("sglang")), spec, "hi"),
              ours.value().before + "hi" + ours.value().between + "4" + ours.value().after);
}

TEST(ApiTemplate, NamesEachFault) {
    struct Case {
        std::string text;
        const char* said;
    };
    const std::string body = R"({"p":"{prompt}","n":"{output_length}"})";
    const Case cases[] = {
        {"{\n\n", "line 3 is not a JSON object; correct the file"},
        {"[1]", "line 1 is not a JSON object; correct the file"},
        {"{}", "path is missing; write it as in \"/generate\""},
        {R"({"path":"p"})", "path: \"p\" is not a path; write it as in \"/v1/generate\""},
        {R"({"path":"/a b"})", "path: \"/a b\" is not a path; write it as in \"/v1/generate\""},
        {R"({"path":"/v2/{model}/generate"})",
         "path: \"/v2/{model}/generate\" has a placeholder, which is not filled there; write the "
         "text itself"},
        {R"({"path":"/p"})",
         R"(body is missing; write it as in {"prompt": "{prompt}", "max_tokens": "{output_length}"})"},
        {R"({"path":"/p","body":)" + body + "}",
         "event.content is missing; write it as in \"/choices/0/text\""},
        {R"({"paht":"/p"})",
         "paht: \"/p\" is not known; the members are path, body, event, "
         "framing, end, repeats_text"},
        {R"({"framing":"raw"})", "framing: \"raw\" is not one of \"sse\", \"ndjson\""},
        {R"({"end":1})", R"(end: 1 is not a string such as "[END]")"},
        {R"({"end":" \n"})", R"(end: " \n" is not a string such as "[END]")"},
        {R"({"repeats_text":1})", "repeats_text: 1 is not true or false"},
        {R"({"event":"/t"})",
         R"(event: "/t" is not an object; write it as in {"content": "/text"})"},
        {R"({"event":{"content":"t"}})",
         "event.content: \"t\" is not a JSON pointer; write it as in \"/choices/0\""},
        {R"({"event":{"content":1}})",
         "event.content: 1 is not a JSON pointer; write it as in \"/choices/0\""},
        {R"({"event":{"error":"/~a"}})",
         "event.error: \"/~a\" has a ~ without 0 or 1 after it; write ~0 for ~ and ~1 for /"},
        {R"({"event":{"text":"/t"}})",
         "event.text: \"/t\" is not known; the members are content, reasoning, finish_reason, "
         "prompt_tokens, completion_tokens, cached_tokens, response_id, error"},
        {R"({"body":[]})", R"(body: [] is not an object; write it as in {"text": "{prompt}"})"},
        {R"({"body":{"p":["{promt}"]}})",
         "\"{promt}\" in body is not a placeholder; the placeholders are {prompt}, "
         "{output_length}, {model}, "
         "{stream}, {ignore_eos}"},
    };
    for (const Case& one : cases) {
        EXPECT_EQ(fault_of(one.text), one.said);
    }
    EXPECT_EQ(fault_of(template_of(body)), "");
}

TEST(ApiTemplate, HoldsOnePromptAndOneLengthBehindIt) {
    const char* const prompt =
        "body has no {prompt}, or more than one; write \"{prompt}\" once, where the prompt goes";
    const char* const length =
        "body has no \"{output_length}\" after its {prompt}, or more than one; write it once, as "
        "the limit of output tokens";
    EXPECT_EQ(fault_of(template_of(R"({"n":"{output_length}"})")), prompt);
    EXPECT_EQ(fault_of(template_of(R"({"p":"{prompt}{prompt}","n":"{output_length}"})")), prompt);
    EXPECT_EQ(fault_of(template_of(R"({"p":"{prompt}","q":"{prompt}","n":1})")), prompt);
    EXPECT_EQ(fault_of(template_of(R"({"p":"{prompt}"})")), length);
    EXPECT_EQ(fault_of(template_of(R"({"n":"{output_length}","p":"{prompt}"})")), length);
    EXPECT_EQ(
        fault_of(template_of(R"({"p":"{prompt}","a":["{output_length}","{output_length}"]})")),
        length);
}

// Placeholders are filled where they are the whole text; elsewhere they would go out as they stand.
TEST(ApiTemplate, RefusesPlaceholdersInsideLongerTexts) {
    for (const char* const name : {"org/{model}", "{model}:v1 {stream}", "<{ignore_eos}",
                                   "{output_length} ", "{prompt} {model}"}) {
        const std::string text = '"' + std::string(name) + '"';
        const bool prompts = text.find("{prompt}") != std::string::npos;
        EXPECT_EQ(
            fault_of(template_of(R"({"m":[)" + text + (prompts ? "]" : R"(],"p":"{prompt}")") +
                                 R"(,"n":"{output_length}"})")),
            text +
                " in body has a placeholder inside a longer text, where only {prompt} is filled; "
                "make the placeholder the whole text, or write the value itself");
    }
    EXPECT_EQ(
        fault_of(template_of(R"({"m":"{ model } {x}","p":"{prompt}","n":"{output_length}"})")), "");
}

// Another file, another digest; a server without its file is none.
TEST(ApiTemplate, IsNamedByItsDigest) {
    const std::string text = template_of(R"({"p":"{prompt}","n":"{output_length}"})");
    std::string why;
    const std::uint64_t digest = read_api_template(text, why).value().digest;
    EXPECT_EQ(read_api_template(text, why).value().digest, digest);
    EXPECT_NE(read_api_template(text + "\n", why).value().digest, digest);
    EXPECT_FALSE(dialect_of(Api::user_template).frame({}));
    EXPECT_EQ(find_dialect("template"), &dialect_of(Api::user_template));
}

}  // namespace
}  // namespace driftless
