// Bodies of requests: placeholders, a trace's own words, and answers of this run.

#include "proto/api/request_body.hpp"

#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

/// Filled with R for {row}, the number 7 for {kept.a}, and nothing for {session}.
std::string filled(const std::string& object) {
    std::string unknown;
    const BodyTemplate body = parse_body_template(object, unknown);
    EXPECT_EQ(unknown, "");
    const std::string made = body.fill([](const FieldTemplate& field) {
        std::string text;
        for (const TemplatePiece& piece : field.pieces) {
            if (piece.placeholder == Placeholder::session) {
                return std::optional<std::string>();
            }
            text += piece.placeholder == Placeholder::none  ? piece.text
                    : piece.placeholder == Placeholder::row ? "R"
                                                            : "7";
        }
        return std::optional(field.pieces.size() == 1 ? text : "\"" + text + "\"");
    });
    JsonDocument document;
    EXPECT_TRUE(document.parse(made)) << made;
    return made;
}

TEST(BodyTemplate, FillsTextsAtAnyDepth) {
    EXPECT_EQ(filled(R"({ "a" : "{kept.a}", "b": ["x{row}", {"c": "{kept.a}"}], "d": 1 })"),
              R"({"a":7,"b":["xR",{"c":7}],"d":1})");
    EXPECT_EQ(filled("{}"), "{}");
    EXPECT_EQ(filled(R"({"a": "{session}"})"), "{}");
    EXPECT_EQ(filled(R"({"a": "{session}", "b": 1})"), R"({"b":1})");
    EXPECT_EQ(filled(R"({"b": 1, "a": "{session}"})"), R"({"b":1})");
    EXPECT_EQ(filled(R"({"b": 1, "a": "x{session}", "c": {"d": "{session}"}, "e": "{kept.a}"})"),
              R"({"b":1,"c":{},"e":7})");
    EXPECT_EQ(filled(R"({"a": "{session}", "b": "{session}", "c": "{kept.a}"})"), R"({"c":7})");
    EXPECT_EQ(filled(R"({"a": ["{session}", "{kept.a}", "{session}"]})"), R"({"a":[7]})");
    // Names, other braces, regular expressions and Jinja stay; doubled braces are single ones.
    for (const char* text :
         {R"({"{row}":1})", R"({"a":"\"{x"})", R"({"re":"[a-z]{3}\\d{2,5}"})",
          R"({"t":"{% if x %}{{x}}{row}{% endif %}"})", R"({"j":"{\"a\":{\"b\":1}}"})"}) {
        EXPECT_EQ(filled(text), text);
    }
    EXPECT_EQ(filled(R"({"a":"{{row}}"})"), R"({"a":"{row}"})");
    std::string unknown;
    (void)parse_body_template(R"({"a": "{rwo}"})", unknown);
    EXPECT_EQ(unknown, "rwo");
}

// Recorded requests as bodies: the words go out as they were recorded, fixed where servers refuse.

BodySpec spec_of(OutputRule output = OutputRule::exact) {
    return {.model = "m", .output = output};
}

struct Made {
    std::string body;
    RecordedFixes fixes;
    std::string error;
};

Made make(std::string_view recorded, std::uint32_t output_length, const BodySpec& spec = spec_of(),
          const char* api = "openai-chat") {
    RecordedComposer composer(*find_dialect(api), spec);
    Made made;
    const Result<void> done = composer.compose(recorded, output_length, made.body);
    made.fixes = composer.fixes();
    made.error = done ? "" : done.error().doing;
    JsonDocument document;
    EXPECT_TRUE(!done || document.parse(made.body)) << made.body;
    return made;
}

// A prompt as text is what the frame of the dialect makes of it, escapes and all.
TEST(Recorded, SendsTextMessagesAndTools) {
    EXPECT_EQ(make(R"({"text_input":"a \"b\"\n"})", 5).body,
              R"({"model":"m","messages":[{"role":"user","content":"a \"b\"\n"}],)"
              R"("max_completion_tokens":5,"stream":true,"stream_options":{"include_usage":true},)"
              R"("temperature":0,"ignore_eos":true})");
    EXPECT_EQ(make(R"({"text_input":"x","extra":{"top_p":0.5,"temperature":1}})", 5, spec_of(),
                   "openai-completions")
                  .body,
              R"({"model":"m","prompt":"x","max_tokens":5,"stream":true,)"
              R"("stream_options":{"include_usage":true},"temperature":1,"ignore_eos":true,)"
              R"("top_p":0.5})");
    // Without a recorded length the answer has no limit of ours, and may end when it likes.
    EXPECT_EQ(make(R"({"text_input":"x"})", 0).body,
              R"({"model":"m","messages":[{"role":"user","content":"x"}],"stream":true,)"
              R"("stream_options":{"include_usage":true},"temperature":0})");
    EXPECT_EQ(
        make(R"({"payload":{"prompt":"x","max_tokens":9}})", 0, spec_of(), "openai-completions")
            .body,
        R"({"prompt":"x","max_tokens":9,"model":"m","stream":true,)"
        R"("stream_options":{"include_usage":true}})");
    const Made made = make(
        R"({"messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":)"
        R"({"name":"f","parameters":{"a":{"default":null,"x":null}}}}]})",
        7);
    EXPECT_EQ(made.body,
              R"({"messages":[{"role":"user","content":"q"}],"tools":[{"type":"function",)"
              R"("function":{"name":"f","parameters":{"a":{"default":null}}}}],"temperature":0,)"
              R"("model":"m","stream":true,"stream_options":{"include_usage":true},)"
              R"("max_completion_tokens":7,"ignore_eos":true})");
    EXPECT_EQ(made.fixes.nulls, 1U);
}

// trace-formats 11.4, line by line.
TEST(Recorded, FixesWhatServersRefuse) {
    const Made made =
        make(R"({"payload":{"model":"theirs","stream":false,"max_tokens":3,"tool_choice":null,)"
             R"("messages":[{"role":"developer","content":"be brief","name":null},)"
             R"({"role":"assistant","content":null,"tool_calls":[{"id":null,"type":"function",)"
             R"("function":{"name":"f","arguments":{"a": null}}}]},)"
             R"({"role":"tool","content":"null","tool_call_id":null}]}})",
             4);
    EXPECT_EQ(made.body,
              R"({"model":"m","stream":true,"messages":[{"role":"system","content":"be brief"},)"
              R"({"role":"assistant","content":null,"tool_calls":[{"id":"call_1_0",)"
              R"("type":"function","function":{"name":"f","arguments":"{\"a\": null}"}}]},)"
              R"({"role":"tool","content":"null","tool_call_id":"call_1_0"}],)"
              R"("stream_options":{"include_usage":true},"max_completion_tokens":4,)"
              R"("ignore_eos":true})");
    EXPECT_EQ(made.fixes.nulls, 3U);  // tool_choice, name, tool_call_id
    EXPECT_EQ(std::tuple(made.fixes.roles, made.fixes.arguments), std::tuple(1U, 1U));
    EXPECT_EQ(std::tuple(made.fixes.call_ids, made.fixes.models), std::tuple(2U, 1U));
    EXPECT_EQ(made.fixes.lengths, 1U);
    // Servers refuse an empty list of tools, and a choice from none: it means that there are none.
    const Made other_made =
        make(R"({"payload":{"messages":[{"role":"user","content":"q"}],"tools":[],)"
             R"("tool_choice":"auto","max_tokens":5}})",
             0);
    EXPECT_FALSE(says(other_made.body, "tool"));
    EXPECT_TRUE(says(other_made.body, R"("max_tokens":5)"));
    // A grammar and ignore_eos together crash servers.
    for (const char* bound :
         {R"("response_format":{"type":"json_object"})", R"("tool_choice":"required")",
          R"("tool_choice":{"type":"function"})"}) {
        const Made third_made = make(R"({"payload":{"messages":[{"role":"user","content":"q"}],)" +
                                         std::string(bound) + R"(,"ignore_eos":true}})",
                                     4);
        EXPECT_FALSE(says(third_made.body, "ignore_eos"));
        EXPECT_TRUE(says(third_made.body, R"("max_completion_tokens":4)"));
        EXPECT_EQ(third_made.fixes.constrained, 1U);
    }
    EXPECT_EQ(make(R"({"payload":{"messages":[{"role":"user","content":"q"}],)"
                   R"("tool_choice":"auto"}})",
                   4)
                  .fixes.constrained,
              0U);
}

// The row's own members go before those of the command line; a null removes.
TEST(Recorded, MergesExtrasOfMessagesAndText) {
    BodySpec spec = spec_of(OutputRule::cap);
    spec.extra_body = R"({"top_p":0.1,"seed":1})";
    EXPECT_EQ(make(R"({"messages":[{"role":"user","content":"q"}],)"
                   R"("extra":{"top_p":0.2,"temperature":null,"nvext":{"priority":9}}})",
                   4, spec)
                  .body,
              R"({"messages":[{"role":"user","content":"q"}],"model":"m","stream":true,)"
              R"("stream_options":{"include_usage":true},"top_p":0.2,"seed":1,)"
              R"("nvext":{"priority":9},"max_completion_tokens":4})");
    // Beside a prompt as text as beside messages; members that are none add nothing.
    spec = spec_of(OutputRule::free);
    spec.stream = false;
    const auto body = [&spec](const std::string& extra) {
        return make(R"({"text_input":"x","extra":)" + extra + "}", 4, spec, "openai-completions")
            .body;
    };
    const std::string begin = R"({"model":"m","prompt":"x")";
    EXPECT_EQ(body("{}"), begin + R"(,"temperature":0})");
    EXPECT_EQ(body(R"({"temperature":null})"), begin + "}");
    EXPECT_EQ(body(R"({"absent":null})"), begin + R"(,"temperature":0})");
    spec.extra_body = R"({"top_p":0.1,"seed":1})";
    EXPECT_EQ(body(R"({"top_p":null})"), begin + R"(,"temperature":0,"seed":1})");
    EXPECT_EQ(body(R"({"top_p":0.2})"), begin + R"(,"temperature":0,"top_p":0.2,"seed":1})");
}

// What the command line adds is an object, and takes no prompt away: the error is the frame's.
TEST(Recorded, RefusesExtrasAndLeavesTheModel) {
    BodySpec spec = spec_of();
    for (const char* extra : {"[]", "{", R"({"prompt":"y"})"}) {
        spec.extra_body = extra;
        EXPECT_NE(make(R"({"text_input":"x"})", 4, spec, "openai-completions").error, "") << extra;
    }
    for (const char* extra : {"[]", "{"}) {
        spec.extra_body = extra;
        for (const char* request : {R"({"messages":[{"role":"user","content":"q"}]})",
                                    R"({"text_input":"x","extra":{}})"}) {
            EXPECT_EQ(make(request, 4, spec).error, "read the extra body, a JSON object") << extra;
        }
    }
    // Logs hold calls, messages and payloads that are no objects: they go out as they are. A call
    // without arguments has none, and its other nulls go.
    const Made made = make(
        R"({"payload":{"messages":["hi",{"role":"assistant","content":null,"tool_calls":)"
        R"(["c",{"id":"i","index":null,"function":{"name":"f","arguments":null,"strict":null}}]}],)"
        R"("tools":[{"type":"function"}]}})",
        0);
    EXPECT_EQ(made.body, R"({"messages":["hi",{"role":"assistant","content":null,"tool_calls":)"
                         R"(["c",{"id":"i","function":{"name":"f","arguments":"{}"}}]}],)"
                         R"("tools":[{"type":"function"}],"model":"m","stream":true,)"
                         R"("stream_options":{"include_usage":true}})");
    EXPECT_EQ(std::tuple(made.fixes.nulls, made.fixes.arguments), std::tuple(2U, 1U));
    // Without a model of ours the recorded one stays.
    spec = spec_of(OutputRule::free);
    spec.model = "";
    const Made other_made = make(R"({"payload":{"model":"theirs","messages":[]}})", 0, spec);
    EXPECT_TRUE(says(other_made.body, R"("model":"theirs")"));
    EXPECT_EQ(other_made.fixes.models, 0U);
    EXPECT_EQ(make(R"({"messages":[{"role":"user"}]})", 1, spec_of(), "anthropic").error,
              "send recorded messages or payloads, use --api openai-chat");
    EXPECT_TRUE(says(make(R"({"payload":{"prompt":"x"}})", 1).error, "openai-completions"));
    EXPECT_TRUE(
        says(make(R"({"messages":[{"role":"user"}]})", 1, spec_of(), "openai-completions").error,
             "openai-chat"));
    EXPECT_NE(make(R"({"payload":{"input":"x"}})", 1).error, "");
    EXPECT_NE(make("[]", 1).error, "");
    EXPECT_NE(make("{", 1).error, "");
}

void take(SaidCalls& calls, const std::string& json) {
    JsonDocument document;
    calls.take(document.parse(json).value());
}

// As servers stream them: name and id first, arguments in pieces, calls side by side.
TEST(SaidCalls, PutsPartsTogetherByTheirIndexOrPlace) {
    SaidCalls calls;
    take(calls,
         R"([{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}])");
    take(calls, R"([{"index":0,"function":{"arguments":"{\"x\""}}])");
    take(calls, R"([{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}])");
    take(calls, R"([{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}])");
    ASSERT_EQ(calls.all().size(), 2u);
    EXPECT_EQ(std::tuple(calls.all()[0].id, calls.all()[0].name), std::tuple("a", "f"));
    EXPECT_EQ(calls.all()[0].arguments, R"({"x":1})");
    EXPECT_EQ(calls.all()[1].name, "g");
    EXPECT_FALSE(calls.is_cut());
    // Of a whole answer, whose calls have no index.
    SaidCalls placed;
    take(placed, R"([{"id":"a","function":{"name":"f"}},{"id":"b","function":{"name":"g"}}, 3])");
    ASSERT_EQ(placed.all().size(), 2u);
    EXPECT_EQ(placed.all()[1].name, "g");
}

// What servers do beside the rules.
TEST(SaidCalls, AreInOrderByTheirIdsAndBounded) {
    SaidCalls calls;
    take(calls, R"([{"index":0,"id":"a","function":null}])");
    take(calls, R"([{"index":0,"function":{"name":"fo","arguments":"{"}}])");
    take(calls, R"([{"index":0,"function":{"name":"o","arguments":"}"}}])");
    take(calls, R"([{"index":0,"id":"b","function":{"name":"g","arguments":{"x":[1]}}}])");
    take(calls, R"([{"id":"c","function":{"name":"h","arguments":"1"}}])");
    take(calls, R"([{"function":{"arguments":"2"}}])");
    take(calls, R"([{"function":{"name":"k","arguments":"3"}}])");
    ASSERT_EQ(calls.all().size(), 4u);
    EXPECT_EQ(std::tuple(calls.all()[0].id, calls.all()[0].name), std::tuple("a", "foo"));
    EXPECT_EQ(calls.all()[0].arguments, "{}");
    EXPECT_EQ(calls.all()[1].arguments, R"({"x":[1]})");
    EXPECT_EQ(std::tuple(calls.all()[2].arguments, calls.all()[3].name), std::tuple("12", "k"));
    SaidCalls other_calls;
    take(
        other_calls,
        R"([{"index":1,"id":"b","function":{"name":"g"}},{"index":0,"id":"a","function":{"name":"f"}}])");
    std::string message;
    append_answer_message(message, "", "", other_calls.all(), {});
    EXPECT_LT(message.find("\"a\""), message.find("\"b\""));
    SaidCalls third_calls;
    std::string many = "[";
    for (int i = 0; i < 300; ++i) {
        many += (i > 0 ? ",{\"index\":" : "{\"index\":") + std::to_string(i) + "}";
    }
    take(third_calls, many + "]");
    EXPECT_EQ(third_calls.all().size(), 256u);
    EXPECT_TRUE(third_calls.is_cut());
    third_calls.clear();
    EXPECT_FALSE(third_calls.is_cut());
    const std::string large(std::size_t{3} << 20, 'x');
    take(third_calls, R"([{"index":0,"function":{"arguments":")" + large + "\"}}]");
    EXPECT_FALSE(third_calls.is_cut());
    take(third_calls, R"([{"index":0,"function":{"arguments":")" + large + "\"}}]");
    EXPECT_TRUE(third_calls.is_cut());
    EXPECT_EQ(third_calls.all()[0].arguments.size(), std::size_t{4} << 20);
}

}  // namespace
}  // namespace driftless
