// Dialects: their bodies and events, and those that a template describes.

#include "proto/api/dialect.hpp"

#include "tests/golden/cases.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

/// With prompt bytes `prompt` and 4 asked tokens; checked to be JSON. Of a spec that the dialect
/// refuses, the name of the error.
inline std::string body_of(const Dialect& dialect, const BodySpec& spec, std::string_view prompt) {
    const Result<BodyFrame> frame = dialect.frame(spec);
    if (!frame) {
        return name_of(frame.error().code);
    }
    const BodyFrame& parts = frame.value();
    std::string body = parts.before + std::string(prompt) + parts.between;
    body += (parts.has_length ? "4" : "") + parts.after;
    JsonDocument document;
    EXPECT_TRUE(document.parse(body)) << body;
    return body;
}

namespace {

std::string body(Api api, const BodySpec& spec, std::string_view prompt) {
    return body_of(dialect_of(api), spec, prompt);
}

// The exact-length bodies that vLLM, SGLang and llama.cpp take.
TEST(Dialect, WritesExactBodiesAndFollowsTheSpec) {
    EXPECT_EQ(body(Api::openai_chat, {.model = "m"}, "hi"),
              R"({"model":"m","messages":[{"role":"user","content":"hi"}],)"
              R"("max_completion_tokens":4,"stream":true,"stream_options":{"include_usage":true},)"
              R"("temperature":0,"ignore_eos":true})");
    EXPECT_EQ(body(Api::openai_completions, {.model = "m", .prompt = PromptKind::ids}, "1,2,3"),
              R"({"model":"m","prompt":[1,2,3],"max_tokens":4,"stream":true,)"
              R"("stream_options":{"include_usage":true},"temperature":0,"ignore_eos":true})");
    EXPECT_EQ(body(Api::openai_completions, {.model = "a\"b"}, "hi"),
              R"({"model":"a\"b","prompt":"hi","max_tokens":4,"stream":true,)"
              R"("stream_options":{"include_usage":true},"temperature":0,"ignore_eos":true})");
    // ignore_eos only under exact; no length under free; usage of every chunk on request; not
    // streamed.
    const Api api = Api::openai_completions;
    const std::string begin = R"({"model":"m","prompt":"p")";
    EXPECT_EQ(body(api, {.model = "m", .output = OutputRule::cap}, "p"),
              begin + R"(,"max_tokens":4,"stream":true,"stream_options":{"include_usage":true},)"
                      R"("temperature":0})");
    EXPECT_EQ(body(api, {.model = "m", .output = OutputRule::free}, "p"),
              begin + R"(,"stream":true,"stream_options":{"include_usage":true},"temperature":0})");
    EXPECT_EQ(body(api, {.model = "m", .ignore_eos = false, .continuous_usage = true}, "p"),
              begin + R"(,"max_tokens":4,"stream":true,"stream_options":{"include_usage":true,)"
                      R"("continuous_usage_stats":true},"temperature":0})");
    EXPECT_EQ(body(api, {.model = "", .ignore_eos = false, .stream = false}, "p"),
              R"({"prompt":"p","max_tokens":4,"temperature":0})");
    // --length-field names the member that bounds the answer, where servers of the API differ in
    // it.
    for (const Api kind : {Api::openai_chat, Api::openai_completions, Api::aibrix, Api::dynamo}) {
        EXPECT_TRUE(dialect_of(kind).has_two_length_names);
        for (const char* name : {"max_tokens", "max_completion_tokens"}) {
            const std::string text = body(kind, {.model = "m", .length_member = name}, "p");
            EXPECT_TRUE(says(text, ",\"" + std::string(name) + "\":4,"));
            const bool is_old = std::string(name) == "max_tokens";
            EXPECT_FALSE(says(text, is_old ? "max_completion" : "max_tokens"));
        }
    }
    EXPECT_FALSE(dialect_of(Api::anthropic).has_two_length_names);
}

// --extra-body adds, replaces in place, and removes by null; the length may be taken over.
TEST(Dialect, AppliesTheExtraBodyAndWritesLlamaCppBodies) {
    const auto with = [](std::string extra) {
        return body(Api::openai_completions,
                    {.model = "m", .stream = false, .extra_body = std::move(extra)}, "p");
    };
    const std::string begin = R"({"model":"m","prompt":"p","max_tokens":4)";
    EXPECT_EQ(with(R"({"top_k":1,"x":{"y":[null]}})"),
              begin + R"(,"temperature":0,"ignore_eos":true,"top_k":1,"x":{"y":[null]}})");
    EXPECT_EQ(with(R"({"temperature":0.5,"ignore_eos":null,"absent":null})"),
              begin + R"(,"temperature":0.5})");
    EXPECT_EQ(with(R"({"model":"other"})"),
              R"({"model":"other","prompt":"p","max_tokens":4,"temperature":0,"ignore_eos":true})");
    EXPECT_EQ(with(R"({"max_tokens":9})"),
              R"({"model":"m","prompt":"p","temperature":0,"ignore_eos":true,"max_tokens":9})");
    EXPECT_EQ(with(R"({"max_tokens":null,"model":null})"),
              R"({"prompt":"p","temperature":0,"ignore_eos":true})");
    EXPECT_EQ(with(R"({"a\n":1})"), begin + R"(,"temperature":0,"ignore_eos":true,"a\n":1})");
    EXPECT_EQ(with("{}"), begin + R"(,"temperature":0,"ignore_eos":true})");
    // llama.cpp's own API: its name of the length, no model, no template; ids where asked.
    EXPECT_EQ(body(Api::llamacpp, {.model = "m"}, "hi"),
              R"({"prompt":"hi","n_predict":4,"stream":true,"temperature":0,)"
              R"("cache_prompt":true,"ignore_eos":true})");
    EXPECT_EQ(body(Api::llamacpp,
                   {.prompt = PromptKind::ids,
                    .output = OutputRule::free,
                    .stream = false,
                    .extra_body = R"({"cache_prompt":false})"},
                   "1,2"),
              R"({"prompt":[1,2],"temperature":0,"cache_prompt":false})");
}

// The exact-length bodies that the other servers' documentation asks for.
TEST(Dialect, WritesTheBodiesOfEachServer) {
    const auto text = [](Api api) { return body(api, {.model = "m"}, "hi"); };
    const auto ids = [](Api api) {
        return body(api, {.model = "m", .prompt = PromptKind::ids}, "1,2");
    };
    const std::string chat =
        R"({"model":"m","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":4,)"
        R"("stream":true,"stream_options":{"include_usage":true},"temperature":0,)"
        R"("ignore_eos":true)";
    EXPECT_EQ(text(Api::aibrix), chat + "}");
    EXPECT_EQ(text(Api::dynamo), chat + R"(,"nvext":{"extra_fields":["worker_id","timing"]}})");
    EXPECT_EQ(ids(Api::dynamo),
              R"({"model":"m","messages":[{"role":"user","content":"-"}],)"
              R"("nvext":{"extra_fields":["worker_id","timing"],)"
              R"("token_data":[1,2]},"max_completion_tokens":4,"stream":true,)"
              R"("stream_options":{"include_usage":true},"temperature":0,"ignore_eos":true})");
    EXPECT_EQ(text(Api::openai_responses),
              R"({"model":"m","input":"hi","max_output_tokens":4,"stream":true,)"
              R"("temperature":0,"ignore_eos":true})");
    EXPECT_EQ(text(Api::anthropic),
              R"({"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":4,)"
              R"("stream":true,"temperature":0,"ignore_eos":true})");
    EXPECT_EQ(text(Api::sglang),
              R"({"text":"hi","sampling_params":{"max_new_tokens":4,"temperature":0,)"
              R"("ignore_eos":true},"stream":true})");
    EXPECT_EQ(ids(Api::sglang),
              R"({"input_ids":[1,2],"sampling_params":{"max_new_tokens":4,"temperature":0,)"
              R"("ignore_eos":true},"stream":true})");
    EXPECT_EQ(text(Api::tgi), R"({"inputs":"hi","parameters":{"max_new_tokens":4,"details":true,)"
                              R"("do_sample":false}})");
    EXPECT_EQ(text(Api::ollama),
              R"({"model":"m","prompt":"hi","options":{"num_predict":4,"temperature":0},)"
              R"("raw":true,"stream":true})");
    EXPECT_EQ(text(Api::triton), R"({"text_input":"hi","max_tokens":4,"stream":true})");
    for (const Api api :
         {Api::openai_responses, Api::anthropic, Api::tgi, Api::ollama, Api::triton, Api::aibrix}) {
        EXPECT_EQ(ids(api), "invalid") << dialect_of(api).name;
    }
}

// Where the length stands in an object, extra members go into it one by one, and it is never `{,`.
TEST(Dialect, AppliesTheExtraBodyInsideTheNestAndKnowsPaths) {
    const auto with = [](OutputRule output, std::string extra) {
        return body(Api::tgi, {.output = output, .extra_body = std::move(extra)}, "p");
    };
    const std::string begin = R"({"inputs":"p","parameters":{)";
    EXPECT_EQ(with(OutputRule::exact, R"({"parameters":{"details":null,"seed":3},"x":1})"),
              begin + R"("max_new_tokens":4,"do_sample":false,"seed":3},"x":1})");
    EXPECT_EQ(with(OutputRule::exact, R"({"parameters":{"max_new_tokens":9}})"),
              begin + R"("details":true,"do_sample":false,"max_new_tokens":9}})");
    EXPECT_EQ(with(OutputRule::free, "{}"), begin + R"("details":true,"do_sample":false}})");
    EXPECT_EQ(with(OutputRule::free, R"({"parameters":{"details":null,"do_sample":null}})"),
              begin + "}}");
    EXPECT_EQ(
        with(OutputRule::exact, R"({"max_new_tokens":9})"),
        begin + R"("max_new_tokens":4,"details":true,"do_sample":false},"max_new_tokens":9})");
    EXPECT_EQ(with(OutputRule::exact, R"({"parameters":1})"), "invalid");
    // Whole answers come from a path of their own where a server has one.
    EXPECT_EQ(path_of(dialect_of(Api::tgi), true), std::string("/generate_stream"));
    EXPECT_EQ(path_of(dialect_of(Api::tgi), false), std::string("/generate"));
    EXPECT_EQ(path_of(dialect_of(Api::ollama), false), std::string("/api/generate"));
}

// Whole answers, as each server gives them: text, counts and a reason in one event.
TEST(Dialect, ReadsWholeAnswers) {
    JsonDocument document;
    const auto read = [&document](Api api, std::string_view body) {
        const EventReading reading = dialect_of(api).read(document, "", body);
        EXPECT_EQ(reading.kind, EventReading::Kind::delta);
        EXPECT_TRUE(reading.token_bearing);
        return std::string(reading.content) + "|" + std::to_string(reading.prompt_tokens) + "/" +
               std::to_string(reading.completion_tokens) + "/" +
               std::to_string(reading.cached_tokens) + "|" + std::string(reading.finish_reason);
    };
    EXPECT_EQ(read(Api::openai_chat,
                   R"({"choices":[{"message":{"role":"assistant","content":"hi"},)"
                   R"("finish_reason":"length"}],"usage":{"prompt_tokens":3,)"
                   R"("completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}})"),
              "hi|3/2/1|length");
    EXPECT_EQ(read(Api::tgi, R"({"generated_text":"hi","details":{"finish_reason":"length",)"
                             R"("generated_tokens":2,"seed":null,"prefill":[],"tokens":[]}})"),
              "hi|-1/2/-1|length");
    EXPECT_EQ(read(Api::sglang, R"({"text":"hi","output_ids":[1,2],"meta_info":{"finish_reason":)"
                                R"({"type":"stop"},"prompt_tokens":3,"completion_tokens":2,)"
                                R"("cached_tokens":0}})"),
              "hi|3/2/0|stop");
    EXPECT_EQ(read(Api::llamacpp, R"({"content":"hi","tokens":[],"stop":true,"stop_type":"limit",)"
                                  R"("tokens_predicted":2,"tokens_evaluated":3})"),
              "hi|3/2/-1|limit");
    EXPECT_EQ(read(Api::ollama, R"({"response":"hi","done":true,"done_reason":"length",)"
                                R"("prompt_eval_count":3,"eval_count":2})"),
              "hi|3/2/-1|length");
    EXPECT_EQ(read(Api::anthropic,
                   R"({"id":"x","type":"message","content":[{"type":"text","text":"hi"}],)"
                   R"("stop_reason":"max_tokens","usage":{"input_tokens":2,)"
                   R"("cache_read_input_tokens":1,"output_tokens":2}})"),
              "hi|3/2/1|max_tokens");
    EXPECT_EQ(
        read(Api::openai_responses,
             R"({"id":"r","object":"response","error":null,"status":"incomplete",)"
             R"("incomplete_details":{"reason":"max_output_tokens"},)"
             R"("output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}],)"
             R"("usage":{"input_tokens":3,"output_tokens":2}})"),
        "hi|3/2/-1|max_output_tokens");
    EXPECT_EQ(read(Api::triton, R"({"text_output":"hi"})"), "hi|-1/-1/-1|");
}

// What cannot be said is refused: no JSON, no object, the prompt itself, ids in a chat.
TEST(Dialect, RefusesImpossibleBodiesAndHasAWholeTable) {
    const auto with = [](Api api, std::string extra) {
        return body(api, {.extra_body = std::move(extra)}, "p");
    };
    EXPECT_EQ(with(Api::openai_chat, "{"), "bad_json");
    EXPECT_EQ(with(Api::openai_chat, "[1]"), "invalid");
    EXPECT_EQ(with(Api::openai_chat, R"({"messages":[]})"), "invalid");
    EXPECT_EQ(with(Api::openai_completions, R"({"prompt":"x"})"), "invalid");
    EXPECT_EQ(body(Api::openai_chat, {.prompt = PromptKind::ids}, "1"), "invalid");
    // By our names, by the habits of other tools, and not at all.
    EXPECT_EQ(find_dialect("openai-chat")->default_path, std::string("/v1/chat/completions"));
    EXPECT_EQ(find_dialect("vllm")->default_path, std::string("/v1/completions"));
    EXPECT_EQ(find_dialect("chat"), &dialect_of(Api::openai_chat));
    EXPECT_EQ(find_dialect("grpc"), nullptr);
    EXPECT_EQ(find_dialect(""), nullptr);
    EXPECT_FALSE(dialect_of(Api::openai_chat).takes_ids);
    EXPECT_TRUE(dialect_of(Api::openai_completions).takes_ids);
    // What others ask the table for stands in each of its rows, and no name leads to two of them.
    std::set<std::string_view> names;
    for (const Dialect* dialect : dialects()) {
        const std::string_view name = dialect->name;
        EXPECT_EQ(&dialect_of(dialect->api), dialect) << name;
        EXPECT_EQ(find_dialect(name), dialect);
        EXPECT_NE(std::string_view(dialect->help), "") << name;
        EXPECT_EQ(dialect->default_path[0], dialect->described_by_file ? '\0' : '/') << name;
        EXPECT_TRUE(dialect->make_body_frame != nullptr && dialect->read_event != nullptr) << name;
        EXPECT_TRUE(names.insert(name).second) << name;
        for (const std::string_view alias : dialect->aliases) {
            EXPECT_EQ(find_dialect(alias), dialect) << alias;
            EXPECT_TRUE(names.insert(alias).second) << alias;
        }
        EXPECT_TRUE(says(dialect_names(), name));
    }
}

// One body of each server that the wire-format notes list.
TEST(ErrorMessage, IsFoundInEveryShapeAndCutAtACodePoint) {
    JsonDocument document;
    const auto message = [&document](std::string_view body) {
        return error_message_of(document, body, 64);
    };
    EXPECT_EQ(message(R"({"error":{"message":"no such model","type":"NotFoundError","code":404}})"),
              "no such model");
    EXPECT_EQ(message(R"({"error":"Unauthorized"})"), "Unauthorized");
    EXPECT_EQ(message(R"({"object":"error","message":"bad","type":"BadRequestError"})"), "bad");
    EXPECT_EQ(message(R"({"detail":"Not Found"})"), "Not Found");
    EXPECT_EQ(message(R"({"detail":[{"loc":["body"],"msg":"Field required"}]})"), "Field required");
    EXPECT_EQ(message(R"({"error":{"code":3},"message":"m"})"), "m");
    EXPECT_EQ(message(R"({"error":null,"x":1})"), R"({"error":null,"x":1})");
    expect_each(message, gives("<html>502</html>", "502"),
                gives("<html> <p class=x>\nForbidden </p>", "Forbidden"), gives("<html", "<html"),
                gives("<html>\r\n<head><title>502 Bad Gateway</title></head>", "502 Bad Gateway"),
                gives("<html><title>502", "502"),
                gives("not <title>a page</title>", "not <title>a page</title>"),
                gives("<html><title></title>", "<html><title></title>"), gives("", ""),
                gives("17", "17"));
    // Cut at limit, inside a code point before it.
    EXPECT_EQ(error_message_of(document, "{\"error\":\"ab\xE2\x82\xAC\"}", 5), "ab\xE2\x82\xAC");
    EXPECT_EQ(error_message_of(document, "{\"error\":\"ab\xE2\x82\xAC\"}", 4), "ab");
    EXPECT_EQ(error_message_of(document, "ab\xE2\x82\xAC", 3), "ab");
}

// Missing is not zero, and what is no count is missing.
TEST(Usage, TellsMissingFromZeroAndBelievesNoImpossibleCount) {
    JsonDocument document;
    const auto read = [&document](std::string_view json) {
        EventReading usage;
        read_usage(document.parse(json).value(), usage);
        return std::to_string(usage.prompt_tokens) + " " + std::to_string(usage.completion_tokens) +
               " " + std::to_string(usage.cached_tokens);
    };
    EXPECT_EQ(read(R"({"prompt_tokens":0,"completion_tokens":1,"prompt_tokens_details":{}})"),
              "0 1 -1");
    EXPECT_EQ(read(R"({"prompt_tokens_details":{"cached_tokens":0}})"), "-1 -1 0");
    EXPECT_EQ(read(R"({"prompt_tokens":"3","completion_tokens":-7})"), "-1 -1 -1");
    EXPECT_EQ(read("null"), "-1 -1 -1");
    // What no row can have is not believed: sums and differences of counts stay far from overflow.
    const auto other_read = [&document](std::string_view count) {
        EventReading usage;
        read_usage(document.parse(R"({"prompt_tokens":)" + std::string(count) + "}").value(),
                   usage);
        return usage.prompt_tokens;
    };
    EXPECT_EQ(other_read("134217727"), 134217727);
    EXPECT_EQ(other_read("134217728"), tokens_reported_max);
    for (const char* count : {"134217729", "4294967300", "9223372036854775807", "1e3", "-1"}) {
        EXPECT_EQ(other_read(count), -1) << count;
        EXPECT_EQ(count_in(count), -1) << count;
    }
    EXPECT_EQ(std::tuple(count_in("134217728"), count_in("0")), std::tuple(tokens_reported_max, 0));
    for (const char* other : {"", "-5", "+5", "5 ", "5x", "0x5"}) {
        EXPECT_EQ(count_in(other), -1) << other;
    }
}

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
TEST(ApiTemplate, SpellsItsDialectPlaceholdersAndExtraBody) {
    const ApiTemplate form = sample_template("llamacpp");
    const Dialect& ours = dialect_of(Api::llamacpp);
    for (const PromptKind prompt : {PromptKind::text, PromptKind::ids}) {
        const BodySpec spec{.model = "m", .prompt = prompt};
        const BodyFrame frame = ours.frame(spec).value();
        EXPECT_EQ(body_of(dialect_of(form), spec, "1,2"),
                  frame.before + "1,2" + frame.between + "4" + frame.after);
    }
    EXPECT_EQ(dialect_of(form).default_path, std::string(ours.default_path));
    EXPECT_FALSE(dialect_of(form).names_model);
    EXPECT_TRUE(dialect_of(sample_template("chat")).names_model);
    EXPECT_EQ(dialect_of(sample_template("ollama")).framing, Framing::lines);
    EXPECT_FALSE(dialect_of(sample_template("ollama")).has_ignore_eos);
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
    const auto with = [](std::string extra) {
        return body_of_text(R"({"p":"{prompt}","n":"{output_length}","k":1})",
                            {.extra_body = std::move(extra)}, "hi");
    };
    expect_each(with,
                gives(R"({"k":2,"new":{"a":"{prompt}"}})",
                      R"({"p":"hi","n":4,"k":2,"new":{"a":"{prompt}"}})"),
                gives(R"({"k":null})", R"({"p":"hi","n":4})"),
                gives(R"({"n":9})", R"({"p":"hi","n":9,"k":1})"), gives(R"({"p":"x"})", "invalid"),
                gives(R"({"p":null})", "invalid"), gives("[1]", "invalid"), gives("{", "bad_json"));
}

// What a nest holds besides stays: another limit does not unbound the answers.
TEST(ApiTemplate, MergesTheExtraBodyAsItsDialect) {
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
    // Blanks around the end of a stream are none of it: payloads are read without theirs.
    std::string why;
    const std::string text = template_of(R"({"p":"{prompt}","n":"{output_length}"})");
    const Result<ApiTemplate> form =
        read_api_template(R"({"end":" <END>\n",)" + text.substr(1), why);
    ASSERT_TRUE(form) << why;
    JsonDocument document;
    EXPECT_EQ(dialect_of(form.value()).read(document, "", "<END>").kind, EventReading::Kind::done);
    // What goes for a described server and for the dialect of ours is the same.
    const BodySpec spec{.extra_body = R"({"sampling_params":{"top_p":1,"temperature":0.5}})"};
    const BodyFrame ours = dialect_of(Api::sglang).frame(spec).value();
    EXPECT_EQ(body_of(dialect_of(sample_template("sglang")), spec, "hi"),
              ours.before + "hi" + ours.between + "4" + ours.after);
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

TEST(ApiTemplate, HoldsOnePromptAndHasADigest) {
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
    // Placeholders are filled where they are the whole text; elsewhere they would go out as they
    // stand.
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
    // Another file, another digest; a server without its file is none.
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
