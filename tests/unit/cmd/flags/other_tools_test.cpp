// Other tools' command lines in our flags.

#include "cmd/flags/other_tools.hpp"

#include "cmd/flags/replay_options.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

/// Our line. All of theirs is known, and our parser takes it.
std::string spelled(const Words& arguments) {
    const Spelled out = spell(arguments);
    EXPECT_EQ(out.refused, "");
    const ReplayCommandLine line = parse_replay_options(arguments, "");
    EXPECT_TRUE(line.kind == ReplayCommandLine::Kind::run) << line.text;
    return line_of_words(out.arguments);
}
std::string spelled_line(const std::string& line) {
    return spelled(words_of(line));
}

/// Our line, which need not be a whole one.
std::string ours(const std::string& line) {
    return line_of_words(spell(words_of(line)).arguments);
}

std::string refusal(const std::string& line) {
    return spell(words_of(line)).refused;
}

/// What stands behind this beginning.
std::string after(const std::string& begin, const std::string& line) {
    EXPECT_TRUE(line.starts_with(begin)) << line;
    return line.substr(std::min(begin.size(), line.size()));
}

/// What our parser says of it.
std::string reply_to(const std::string& line) {
    return parse_replay_options(words_of(line), "").text;
}

// `--rate` is requests a second; GuideLLM's replay profile alone stretches a trace by it.
TEST(ForeignRates, RatesOfEachTool) {
    EXPECT_EQ(spelled_line("t --url h --rate 10"), "t --url h --rate 10");
    EXPECT_EQ(spelled_line("t --url h --rate 10 --profile replay"), "t --url h --speed 0.1");
    EXPECT_EQ(spelled_line("t --url h --rate-type=replay --rate 0.5"), "t --url h --speed 2");
    EXPECT_EQ(refusal("guidellm benchmark --data t --rate 10"),
              "--rate 10: its meaning depends on GuideLLM's --profile; add --profile constant, "
              "poisson, concurrent or replay");
    EXPECT_TRUE(refusal("t --rate-type sweep").starts_with("--rate-type \"sweep\": "));
    EXPECT_NE(refusal("t --url h --user-centric-rate=2"), "");
    EXPECT_NE(refusal("t --rate 1 --request-rate 1"), "");
    // vllm bench: gaps that are stretched to the exact mean; with an infinite rate a closed loop.
    const auto vllm = [](const std::string& flags) {
        const std::string line =
            "vllm bench serve --url h --dataset-path t --backend openai " + flags;
        return after("--url h t --api openai ", spelled_line(line));
    };
    EXPECT_EQ(vllm("--request-rate 10"), "--rate 10 --arrivals poisson:scaled");
    EXPECT_EQ(vllm("--request-rate 10 --burstiness 0.5 --max-concurrency 64"),
              "--rate 10 --arrivals gamma:0.5:scaled --max-inflight 64");
    EXPECT_EQ(vllm("--request-rate inf"), "--rate inf");
    EXPECT_EQ(vllm("--request-rate inf --max-concurrency 8"), "--concurrency 8");
    EXPECT_EQ(vllm("--max-concurrency 8"), "--max-inflight 8");
    EXPECT_EQ(vllm("--ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 20"),
              "--ramp 1:20:rows:linear");
    EXPECT_NE(refusal("vllm bench serve --ramp-up-strategy linear"), "");
    // SGLang's gaps are not stretched; nor are those of a command line without a tool.
    EXPECT_EQ(spelled_line("python3 -m sglang.bench_serving --url h --dataset-path t "
                           "--request-rate 8 --max-concurrency 64"),
              "--url h t --api sglang --rate 8 --max-inflight 64");
    EXPECT_EQ(spelled_line("t --url=h --request-rate 8 --burstiness 2"),
              "t --url h --rate 8 --arrivals gamma:2");
    EXPECT_EQ(spelled_line("t --url h --num-concurrency 8"), "t --url h --concurrency 8");
    // GuideLLM: the profile says what its number is.
    const auto guidellm = [](const std::string& flags) {
        return after("--url h t ", spelled_line("guidellm run --target h --data t " + flags));
    };
    EXPECT_EQ(guidellm("--profile kind=poisson,rate=16 --constraint kind=max_duration,seconds=60"),
              "--duration 60 --rate 16 --replicate rows:1217");
    EXPECT_EQ(guidellm("--rate-type constant --rate 5"), "--rate 5 --arrivals constant");
    EXPECT_EQ(guidellm("--profile kind=constant,rate=5,rampup_duration=10"),
              "--ramp 0:5:10 --arrivals constant");
    EXPECT_EQ(guidellm("--profile concurrent --rate 4 --max-seconds 30"),
              "--for 30 --concurrency 4 --recycle");
    EXPECT_EQ(guidellm("--profile synchronous"), "--concurrency 1");
    EXPECT_EQ(guidellm("--profile kind=throughput,max_concurrency=9"), "--concurrency 9");
    EXPECT_NE(refusal("guidellm run --data t --profile constant"), "");
    EXPECT_NE(refusal("guidellm run --data t --profile poisson --rate 1,2"), "");
    EXPECT_NE(refusal("guidellm run --data t --profile kind=poisson,x=1"), "");
}

// As `--rate "$RATE"` is where RATE was never set.
TEST(ForeignRates, SayWhatIsWrongAndWhatIsOurs) {
    EXPECT_EQ(spell({"t", "--url", "h", "--rate", ""}).refused,
              "--rate \"\" is empty; give it a value, or remove it");
    EXPECT_EQ(refusal("t --url h --max-concurrency="),
              "--max-concurrency \"\" is empty; give it a value, or remove it");
    EXPECT_EQ(refusal("t --url h --rate 1 --rate 2"), "--rate: is given 2 times; give it once");
    EXPECT_EQ(refusal("t --url h --rate 1 --burstiness 2 --arrivals constant"),
              "--burstiness 2: --arrivals also sets how rows arrive; remove one");
    for (const char* shape : {"0", "-1", "nan", "x"}) {
        const std::string why = refusal(std::string("t --url h --burstiness ") + shape);
        EXPECT_TRUE(why.starts_with(std::string("--burstiness \"") + shape + "\" is not")) << why;
    }
    // A closed loop is --concurrency, not a cap; a cap of vllm bench is --max-inflight.
    EXPECT_EQ(spelled_line("t --url h --concurrency 20"), "t --url h --concurrency 20");
    EXPECT_EQ(
        refusal("t --url h --num-users 3").find("--num-users: its meaning differs between tools; "),
        0U);
    const Spelled capped = spell({"t", "--url", "h", "--max-concurrency=20"});
    ASSERT_EQ(capped.notes.size(), 1U);
    EXPECT_TRUE(
        capped.notes[0].starts_with("--max-concurrency 20 is taken as --max-inflight 20: "));
    // A refusal of our flag says under which name it was typed.
    const auto why = [](Words flags) {
        flags.insert(flags.begin(), {"vllm", "bench", "serve", "--url", "h"});
        return parse_replay_options(flags, "").text;
    };
    EXPECT_TRUE(says(why({"--request-rate", "0"}), "(--rate was typed as --request-rate)"));
    EXPECT_TRUE(says(why({"--num-prompts", "0"}), "(--rows was typed as --num-prompts)"));
    EXPECT_FALSE(says(reply_to("t --url h --rate 0"), "typed as"));
}

// Sampling parameters are members of the body; those of --extra-body go first.
TEST(ForeignRates, VllmSamplingSharegptAndGoodput) {
    const std::string line = spelled({"vllm", "bench", "serve", "--url", "h", "--dataset-path", "t",
                                      "--top-p", "0.9", "--temperature", "0.5", "--extra-body",
                                      R"({"top_p":1})", "--request-rate", "inf"});
    EXPECT_TRUE(says(line, R"( {"top_p":1,"temperature":0.5} )"));
    // Conversations of a file have no times: all at once, or in a loop, as SGLang sends them.
    EXPECT_EQ(spelled_line(
                  "sglang.bench_serving --base-url h --backend vllm-chat --dataset-name sharegpt "
                  "--dataset-path s.json --sharegpt-output-len 64 --max-concurrency 4"),
              "--url h --api vllm-chat --format sharegpt s.json --default-output 64 "
              "--concurrency 4");
    EXPECT_TRUE(says(reply_to("sglang.bench_serving --base-url h"), "--dataset-name random"));
    // Good requests are those within limits, which must be said.
    const Words other_line{"t", "--url", "h", "--fail-if", "good < 100 %"};
    EXPECT_TRUE(says(parse_replay_options(other_line, "").text, "add --goodput"));
    Words limited = other_line;
    limited.insert(limited.end(), {"--goodput", "ttft:200"});
    EXPECT_EQ(parse_replay_options(limited, "").kind, ReplayCommandLine::Kind::run);
}

bool notes(const Spelled& spelled, const char* flag) {
    return std::ranges::any_of(spelled.notes, [flag](const std::string& note) {
        return note.starts_with(flag) && note.find(" is ignored: ") != note.npos;
    });
}

// blitz-serving/trace-replayer, README.md.
TEST(Foreign, TraceReplayer) {
    const Words command = words_of(
        "--tokenizer /m/tokenizer.json --tokenizer-config /m/tokenizer_config.json --endpoint "
        "http://localhost:8080/v1/chat/completions --api openai --dataset bailian --dataset-path "
        "/t/qwen_traceA_blksz_16.jsonl --scale-factor 1.5 --time-in-secs 1200 --num-producer 32 "
        "--channel-capacity 40960 --output-path /o/client.jsonl --model-name M");
    EXPECT_EQ(
        spelled(command),
        "--tokenizer /m/tokenizer.json --endpoint http://localhost:8080/v1/chat/completions "
        "--api openai-chat --format qwen /t/qwen_traceA_blksz_16.jsonl --speed 1.5 --duration "
        "1200 --output-path /o/client.jsonl --model M");
    const Spelled out = spell(command);
    EXPECT_EQ(out.notes.size(), 3U);
    EXPECT_TRUE(notes(out, "--tokenizer-config"));
    EXPECT_TRUE(notes(out, "--num-producer"));
    EXPECT_TRUE(notes(out, "--channel-capacity"));
    // Its short flags, and the route of AIBrix as the header that its gateway reads.
    EXPECT_EQ(spelled_line("-d mooncake --dataset-path=t.jsonl -a openai -t 60 --aibrix-route "
                           "prefix-cache --endpoint http://h:1"),
              "--format mooncake t.jsonl --api openai-chat --duration 60 --header "
              "'routing-strategy: prefix-cache' --endpoint http://h:1");
    // --dataset is trace-replayer's only beside --dataset-path; alone it is left as it is.
    EXPECT_EQ(ours("t.jsonl --dataset bailian"), "t.jsonl --dataset bailian");
}

// ModelEngine-Group/unified-cache-management, benchmarks/trace_replay.py.
TEST(Foreign, UcmTraceReplayAndAiperf) {
    const Words command = words_of(
        "--model /m --backend vllm --trace-path /t/c.jsonl --trace-mode trace --host 127.0.0.1 "
        "--port 7800 --save-result --save-prompts --max-concurrency 20");
    EXPECT_EQ(spelled(command),
              "--model /m --api vllm /t/c.jsonl --host 127.0.0.1 --port 7800 --max-inflight 20");
    const Spelled out = spell(command);
    EXPECT_EQ(out.notes.size(), 4U) << "--max-concurrency, too";
    EXPECT_TRUE(notes(out, "--save-result"));
    EXPECT_TRUE(notes(out, "--save-prompts"));
    EXPECT_NE(refusal("t --trace-mode benchmark"), "");
    EXPECT_EQ(ours("t --save-prompts f.jsonl"), "t --save-prompts f.jsonl");
    // ai-dynamo/aiperf, docs/benchmark-modes/trace-replay.md.
    const Words other_command = words_of(
        "--model Qwen/Qwen3-0.6B --endpoint-type chat --streaming --url localhost:8000 "
        "--input-file custom_trace.jsonl --custom-dataset-type mooncake_trace --fixed-schedule");
    EXPECT_EQ(spelled(other_command),
              "--model Qwen/Qwen3-0.6B --api chat --url localhost:8000 "
              "custom_trace.jsonl --format mooncake-delta");
    EXPECT_EQ(spell(other_command).notes.size(), 2U);
    EXPECT_EQ(spelled_line("t --url h --fixed-schedule-start-offset 2000 "
                           "--fixed-schedule-end-offset=4000 --random-seed 7"),
              "t --url h --start 2000ms --end 4000ms --seed 7");
    EXPECT_NE(refusal("t --no-fixed-schedule"), "");
}

// A path is on the tool's default server, a whole URL names another.
TEST(Foreign, AnEndpointIsNoServer) {
    const std::string line = "vllm bench serve --dataset-name random --num-prompts 5 --endpoint ";
    EXPECT_TRUE(says(ours(line + "/v1/chat/completions"), "--host 127.0.0.1 --port 8000"));
    EXPECT_FALSE(says(ours(line + "http://h/v1/chat/completions"), "--host"));
}

// vllm-project/guidellm, docs/guides/trace_replay.md: seconds, and no ids even where there are.
TEST(Foreign, Guidellm) {
    EXPECT_EQ(
        spelled_line(
            "--backend kind=openai_http,target=http://localhost:8000 --profile kind=replay --data "
            "kind=trace_synthetic,source.kind=json_file,source.path=replay.jsonl,time_scale=1.0"),
        "--url http://localhost:8000 replay.jsonl --map "
        "time=timestamp,in=input_length,out=output_length --time-unit s");
    EXPECT_EQ(spelled_line(
                  "--backend kind=openai_http,target=h:1 --profile kind=replay --data "
                  "kind=trace_synthetic,source.kind=json_file,source.path=r.jsonl,timestamp_column="
                  "ts,prompt_tokens_column=input_tokens,output_tokens_column=generated_tokens,time_"
                  "scale=0.5 --constraint kind=max_requests,count=30"),
              "--url h:1 r.jsonl --limit 30 --map time=ts,in=input_tokens,out=generated_tokens "
              "--time-unit s --speed 2");
    // The same of 0.7 and 0.8, as pairs or as JSON; rows that are asked for beyond the file's are
    // passes.
    EXPECT_EQ(spelled_line("guidellm run --backend kind=openai_http,target=http://h:8000 "
                           "--profile kind=replay --data kind=trace_synthetic,path=r.jsonl"),
              "--url http://h:8000 r.jsonl --map "
              "time=timestamp,in=input_length,out=output_length --time-unit s");
    EXPECT_EQ(
        spelled_line(
            "guidellm run --backend kind=openai_http,target=http://h:8000 --profile kind=replay "
            "--data kind=trace_mooncake,source.kind=json_file,source.path=t.jsonl --data-loader "
            "kind=pytorch,samples=100"),
        "--url http://h:8000 t.jsonl --limit 100 --format mooncake --time-unit s");
    EXPECT_EQ(
        spelled_line("guidellm run --backend "
                     R"({"kind":"openai_http","target":"h:1","extras":{"body":{"top_p":0.9}}} )"
                     R"(--profile {"kind":"constant","rate":16} )"
                     R"(--data {"kind":"mooncake","path":"t.jsonl","hash_ids_column":"ids"} )"
                     R"(--constraint {"kind":"max_requests","count":30})"),
        R"(--url h:1 --extra-body {"top_p":0.9} t.jsonl --limit 30 --rate 16 --arrivals )"
        "constant --map time=timestamp,in=input_length,out=output_length,hashes=ids "
        "--block-size 512 --replicate rows:30");
    EXPECT_TRUE(notes(spell(words_of("guidellm run --target h:1 --data kind=mooncake,path=t "
                                     "--profile synchronous --rate 4")),
                      "--rate 4"));
    EXPECT_TRUE(says(
        spelled({"guidellm", "run", "--target", "h:1", "--data", "prompt_tokens=8, output_tokens=3",
                 "--profile", "synchronous", "--max-requests", "2"}),
        "--in 8 --out-tokens 3"));
    EXPECT_TRUE(says(refusal("guidellm run --target h:1 --data kind=mooncake,path=t --profile "
                             R"({"kind":"constant","rate":[16,32]})"),
                     "one run has one rate"));
}

// As it was spelled at first.
TEST(Foreign, GuidellmBeforeAndNamesOfManyTools) {
    EXPECT_EQ(spelled({"--target", "http://localhost:8000", "--data", "path/to/trace.jsonl",
                       "--data-args", R"({"type_": "trace_synthetic"})", "--profile", "replay",
                       "--rate", "1.0"}),
              "--url http://localhost:8000 path/to/trace.jsonl --map "
              "time=timestamp,in=input_length,out=output_length --time-unit s");
    EXPECT_NE(refusal(R"(--data-args {"type_":"trace_synthetic","x":1})"), "");
    EXPECT_NE(refusal("--profile sweep"), "");
    // Its scale is in seconds per unit: 0.001 says that the file has milliseconds, as Mooncake's
    // does.
    EXPECT_EQ(spelled_line("--data kind=mooncake,source.path=t.jsonl,time_scale=0.001 --target h"),
              "t.jsonl --url h --format mooncake --time-unit ms");
    EXPECT_NE(refusal("--data kind=mooncake,source.path=t,time_scale=0.3"), "");
    EXPECT_NE(refusal("--data kind=mooncake,source.path=t,time_scale=0"), "");
    // Names for a rate, and for the trace, that many tools share: no other flag is guessed at.
    for (const char* flag : {"--qps", "--rps"}) {
        EXPECT_TRUE(says(refusal("t --url h " + std::string(flag) + " 10"),
                         "--rate R sends R requests per second"))
            << flag;
    }
    EXPECT_EQ(spelled_line("--trace t.jsonl --url=h"), "t.jsonl --url h");
    EXPECT_EQ(spelled_line("--trace=t.jsonl --url=h"), "t.jsonl --url h");
}

// The short flags of AIPerf and of genai-perf before it.
TEST(Foreign, AiperfShortSglangAndProgramWords) {
    for (const char* tool : {"aiperf", "genai-perf"}) {
        EXPECT_EQ(spelled({tool, "profile", "-m", "M", "-u", "h:8000", "--input-file", "t.jsonl"}),
                  "--model M --url h:8000 t.jsonl");
    }
    // sgl-project/sglang, python/sglang/bench_serving.py: its replay of Mooncake's traces.
    const Words command = words_of(
        "python3 -m sglang.bench_serving --backend sglang-oai --host h --port 8000 --dataset-name "
        "mooncake --dataset-path t.jsonl --mooncake-slowdown-factor 2.0 --mooncake-num-rounds 1 "
        "--mooncake-workload conversation --use-trace-timestamps --num-prompts 100");
    EXPECT_EQ(spelled(command),
              "--api sglang-oai --host h --port 8000 --format mooncake "
              "t.jsonl --speed 0.5 --limit 100");
    EXPECT_EQ(spelled_line("t --url h --mooncake-slowdown-factor 1.0"), "t --url h");
    EXPECT_NE(refusal("t --mooncake-slowdown-factor 0.3"), "");
    EXPECT_NE(refusal("t --mooncake-num-rounds 3"), "");
    // Whole command lines, program words included.
    for (const std::string program :
         {"aiperf profile", "vllm bench serve", "vllm-bench", "genai-perf profile",
          "python3 trace_replay.py", "python3.12 -u benchmarks/trace_replay.py",
          "/usr/bin/python -m aiperf profile", "python -m vllm.entrypoints.cli.main bench serve",
          "./trace_replay.py", "uv run aiperf profile", "sglang.bench_serving",
          "python3 -m sglang.benchmark.serving", "vllm.benchmarks.serve",
          "python -m vllm.benchmarks.serve", "CUDA_VISIBLE_DEVICES=0 vllm bench serve",
          "nohup /opt/venv/bin/aiperf profile", "cargo run --release --bin client --"}) {
        const std::string line = program + " --url localhost:8000 --input-file t.jsonl --api chat";
        EXPECT_EQ(spelled_line(line), "--url localhost:8000 t.jsonl --api chat") << program;
        EXPECT_GE(spell(words_of(line)).notes.size(), 1U) << program;
    }
    for (const std::string program :
         {"guidellm benchmark", "guidellm benchmark run", "uvx guidellm benchmark"}) {
        EXPECT_EQ(spelled_line(program + " --url h --data t --profile synchronous"),
                  "--url h t --concurrency 1");
    }
    EXPECT_EQ(spelled_line("target/release/client --dataset-path t.jsonl --url h"),
              "t.jsonl --url h");
}

// A key of the shell that the command was pasted from is not shown.
TEST(Foreign, KeysAreMaskedAndOurOwnTracesStay) {
    const Spelled out = spell({"OPENAI_API_KEY=sk-1", "vllm", "bench", "serve", "--model", "m"});
    ASSERT_GE(out.notes.size(), 1U);
    EXPECT_EQ(
        out.notes[0],
        "\"OPENAI_API_KEY=*** vllm bench serve\" is ignored: driftless takes the tool's place");
    EXPECT_EQ(ours("API_KEY=sk-1 t.jsonl --url h"), "t.jsonl --url h");
    // GuideLLM's backend may have the key.
    EXPECT_EQ(spelled_line("t --backend kind=openai_http,target=h:1,api_key=sk-1"),
              "t --url h:1 --api-key sk-1");
    const std::string why = refusal("--backend kind=openai_http,extra_key=sk-1");
    EXPECT_TRUE(says(why, "extra_key=***"));
    EXPECT_FALSE(says(why, "sk-1"));
    for (const char* typed :
         {R"(--backend-args {"api_key":"hunter2"})", "--backend-kwargs api_key=hunter2",
          R"(--request-formatter-kwargs {Authorization:"hunter2"})"}) {
        const std::string refused = refusal("guidellm benchmark " + std::string(typed));
        EXPECT_TRUE(says(refused, "***") && !says(refused, "hunter2")) << refused;
    }
    // Traces that are named as programs are stay traces.
    EXPECT_EQ(ours("python.jsonl java.jsonl"), "python.jsonl java.jsonl");
    for (const char* trace :
         {"client", "t.jsonl", "profile", "bench.jsonl", "runs/python.jsonl.d/x", "python.jsonl",
          "python", "python3.jsonl", "srv.py", "./runs/trace.py", "traces/vllm", "traces/aiperf",
          "./guidellm"}) {
        EXPECT_EQ(ours(std::string(trace) + " --url h"), std::string(trace) + " --url h");
        EXPECT_TRUE(spell({trace, "--url", "h"}).notes.empty());
    }
    EXPECT_TRUE(spell({}).arguments.empty());
    EXPECT_EQ(ours("A=b"), "A=b");
    EXPECT_EQ(ours("t aiperf"), "t aiperf");
}

// vllm bench serve: what names a dataset without arrival times is refused.
TEST(Foreign, VllmBenchAndWhatHasNoCounterpart) {
    EXPECT_EQ(spelled_line(
                  "vllm bench serve --backend vllm --model m --host h --port 8000 --dataset-name "
                  "mooncake --dataset-path t.jsonl --num-prompts 50 --ignore-eos "
                  "--percentile-metrics ttft,tpot --metric-percentiles 50,99 --save-result "
                  "--result-dir r --ready-check-timeout-sec 600 --goodput ttft:200 tpot:50"),
              "--api vllm --model m --host h --port 8000 --format mooncake t.jsonl --limit 50 "
              "--wait-ready 600 --goodput 'ttft:200 tpot:50'");
    EXPECT_TRUE(says(refusal("--dataset-name hf --dataset-path s.json"), "is not supported"));
    // `_` is `-`; a value with blanks stays one; a switch has none; what is wrong is named as
    // typed.
    const Words begin = words_of("vllm bench serve --host h --port 1 --dataset_path t");
    const auto with = [&begin](Words flags) {
        flags.insert(flags.begin(), begin.begin(), begin.end());
        return flags;
    };
    EXPECT_EQ(spelled(with({"--num_prompts", "3", "--header", "Authorization=Bearer S", "X-A=b c",
                            "--metadata", "a=b", "c=d e"})),
              "--host h --port 1 t --limit 3 --label a=b --label 'c=d e' --header 'Authorization: "
              "Bearer S' --header 'X-A: b c' --api openai-completions");
    const std::pair<Words, const char*> wrong[] = {
        {{"--header", "X-A: b"}, "write --header \"NAME=VALUE\""},
        {{"--ignore-eos=false"},
         "--ignore-eos: is on or off and takes no value; remove \"=false\""},
        {{"--request-rat", "3"}, "unknown flag --request-rat; did you mean --request-rate?"},
        {{"--dataset-name", "random"}, "--dataset-path t: the data set of this line is generated"},
        {{"--max-concurrency=0"}, "(--max-inflight was typed as --max-concurrency)"},
    };
    for (const auto& [flags, why] : wrong) {
        EXPECT_TRUE(says(parse_replay_options(with(flags), "").text, why)) << why;
    }
    const std::string random = "vllm bench serve --host h --dataset-name random ";
    EXPECT_TRUE(
        says(reply_to(random + "--goodput ttft:200 bogus:3"), "\"bogus:3\" behind --goodput"));
    EXPECT_TRUE(says(reply_to(random + "--random-input-len -8"), "typed as --random-input-len"));
    EXPECT_TRUE(says(reply_to("vllm bench serve --host 127.0.0.1:8000"),
                     "use --host 127.0.0.1 --port 8000"));
    EXPECT_TRUE(says(reply_to("k6 run script.js"), "only those of vllm bench serve"));
    // What would change the load, and what cannot be fetched, is refused and not ignored.
    for (const std::string& data :
         words_of("kind=mooncake,source.kind=huggingface,source.source=a/b "
                  "kind=mooncake,path=t,min_concurrent_sessions=3 "
                  "kind=weka,path=t,conversation_id_column=x kind=huggingface,source=a/b")) {
        EXPECT_NE(refusal("--data " + data), "") << data;
    }
    EXPECT_NE(refusal("--constraint kind=min_requests,count=3"), "");
    EXPECT_NE(refusal("--backend kind=vllm_python"), "");
    EXPECT_NE(refusal("--data"), "");
}

/// A line of a tool's own pages, and our arguments, or a part of the refusal.
struct DocumentedLine {
    const char* line;
    const char* becomes;
};

// Guides of GuideLLM (0.7.3, main of 2026-08), tutorials of AIPerf and GenAI-Perf, vLLM's
// docs/benchmarking/cli.md: what was unknown, or was taken for a trace.
TEST(Foreign, DocumentedLines) {
    constexpr DocumentedLine lines[] = {
        {"guidellm run --target h:1 --data kind=trace_minimal,path=t --profile kind=replay",
         "--url h:1 t --map time=timestamp,in=input_length,out=output_length --time-unit s"},
        {"guidellm run --target h:1 --data kind=weka,path=t,max_wait=30 --profile kind=replay "
         "--sessions closed",
         "--url h:1 t --gap-cap 30 --sessions closed --format weka"},
        {"guidellm run --target h:1 --data kind=json_file,path=t,load_kwargs.split=train --profile "
         "kind=synchronous",
         "--url h:1 t --concurrency 1"},
        {"guidellm run --target h:1 --data kind=huggingface,source=t.jsonl --profile "
         "kind=poisson,rate=16 "
         "--seed kind=static,value=42",
         "--url h:1 t.jsonl --seed 42 --rate 16"},
        {"guidellm run --backend "
         "kind=openai_http,target=https://h:1,verify=false,timeout_connect=5,"
         "validate_backend=false --data kind=json_file,path=t --profile kind=replay",
         "--url https://h:1 --insecure --timeout-connect 5 t"},
        {"aiperf profile -u h:1 --input-file t --custom-dataset-type single_turn --osl 200 "
         "--concurrency 2",
         "--url h:1 t --users ..2 --default-output 200"},
        {"aiperf profile -m m --url h:1 h:2 --input-file t --num-conversations 8 "
         "--session-concurrency 4",
         "--model m --url h:1 --url h:2 t --users ..4 --max-trees 8"},
        {"aiperf profile --urls h:1,h:2 --input-file t --custom-dataset-type mooncake_trace "
         "--no-open-loop-replay",
         "--url h:1 --url h:2 t --format mooncake-delta --sessions closed"},
        {"aiperf profile -u h:1 --input-file t --extra-inputs a:1 --extra-inputs b:2 c:3",
         "--url h:1 t --extra-body {\"a\":1,\"b\":2,\"c\":3}"},
        {"genai-perf profile -u h:1 --service-kind openai --input-file payload:t.jsonl",
         "--url h:1 t.jsonl"},
        {"vllm bench serve --host h --dataset-name burstgpt --dataset-path t --num-prompts 10",
         "--host h --format burstgpt t --limit 10 --api openai-completions --rate inf --replicate "
         "rows:10"},
    };
    for (const auto& [line, becomes] : lines) {
        EXPECT_EQ(spelled_line(line), becomes) << line;
    }
}

// One sentence names what cannot be translated, and the way that works.
TEST(Foreign, DocumentedLinesRefusedAndDataSetsFetched) {
    constexpr DocumentedLine lines[] = {
        {"guidellm run --config chat", "scenario files are not read"},
        {"guidellm run --profile kind=sweep,sweep_size=10", "--profile \"sweep\": has no counter"},
        {"guidellm benchmark from-file b.json", "driftless report RUN reads runs"},
        {"guidellm run --backend kind=vllm_python,model=m", "start vllm serve and use kind=openai"},
        {"guidellm run --data kind=synthetic_text,prompt_tokens=9,turns=3 --profile kind=replay",
         "driftless synth chat"},
        {"guidellm run --data kind=synthetic_image,width=1280,height=720", "images and video"},
        {"guidellm run --data kind=otel,path=t", "driftless convert --from-logs"},
        {"aiperf profile -m a b", "give one with --model NAME, or one per row"},
        {"aiperf profile --model a --model b", "give one with --model NAME, or one per row"},
        {"aiperf profile --input-file t --custom-dataset-type random_pool", "use single_turn"},
        {"aiperf profile --input-file t --session-delay-ratio 0.5", "--gap-cap T limits them"},
        {"aiperf analyze-trace t.jsonl", "driftless inspect FILE describes a trace"},
        {"genai-perf profile --input-file synthetic:queries", "rankings are not sent"},
        {"genai-perf profile -m m -- --max-threads=256", "Perf Analyzer"},
        {"vllm bench throughput --model m", "only bench serve is translated"},
        {"python benchmark_serving_multi_turn.py --num-clients 2", "driftless replay FILE --users"},
        {"uv run inference-endpoint -v benchmark offline --endpoints h", "--rate inf (offline)"},
        {"evalscope perf --parallel 4 --url h", "\"evalscope perf\": is not translated; use"},
        {"inference-perf --config_file c.yml", "--rate R or --concurrency N"},
        {"inference-endpoint probe --endpoints h", "only benchmark from-config is translated"},
    };
    for (const auto& [line, part] : lines) {
        const std::string why = refusal(line);
        EXPECT_TRUE(says(why, part)) << line << ": " << why;
    }
    // A data set's name is not a file: the way to get it is that of the name.
    constexpr DocumentedLine other_lines[] = {
        {"aiperf profile --public-dataset weka_hf --hf-weka-dataset a/b",
         "--repo-type dataset a/b"},
        {"aiperf profile --public-dataset sharegpt", "one a line, and add --input-file FILE"},
        {"python3 -m sglang.bench_serving --dataset-name mooncake", "add --dataset-path FILE"},
    };
    for (const auto& [line, part] : other_lines) {
        const std::string why = spell(words_of(line)).trace_missing;
        EXPECT_TRUE(says(why, part)) << line << ": " << why;
    }
}

// Synthetic data sets of other tools become the workload that has their lengths.

std::string workload(const std::string& line) {
    const Spelled spelled = spell(words_of(line));
    EXPECT_EQ(spelled.refused, "") << line;
    for (const std::string& argument : spelled.arguments) {
        if (argument.starts_with("synth:")) {
            return argument;
        }
    }
    return "";
}

TEST(Synthetic, Vllm) {
    // The defaults are vllm's: 1,000 prompts of 1,024 tokens, 128 tokens out.
    EXPECT_EQ(workload("vllm bench serve --dataset-name random"),
              "synth:random --rows 1000 --in 1024 --out-tokens 128 --rate inf");
    EXPECT_EQ(
        workload("vllm bench serve --dataset-name random --random-input-len 10 "
                 "--random-output-len=5 --random-range-ratio 0.25 --num-prompts 7 --seed 3"),
        "synth:random --rows 7 --in uniform:7..13 --out-tokens uniform:3..7 --rate inf --seed 3");
    EXPECT_EQ(workload("vllm bench serve --dataset-name random --random-prefix-len 64 "
                       "--random-range-ratio {\"input\":0.5}"),
              "synth:prefix --rows 1000 --groups 1 --prefix 64 --suffix uniform:512..1536 "
              "--out-tokens 128 --rate inf");
    EXPECT_NE(refusal("vllm bench serve --dataset-name random --random-range-ratio 1"), "");
    // The general lengths, and the data set that it has where none is named.
    EXPECT_EQ(workload("vllm bench serve --model m --num-prompts 100 --request-rate 50"),
              "synth:random --rows 100 --in 1024 --out-tokens 128 --rate inf");
    EXPECT_EQ(workload("vllm bench serve --dataset-name random --input-len 100 --output-len 16 "
                       "--random-input-len 5"),
              "synth:random --rows 1000 --in 100 --out-tokens 16 --rate inf");
    EXPECT_EQ(workload("vllm bench serve --dataset-path t.jsonl --num-prompts 100"), "");
    EXPECT_TRUE(ours("vllm bench serve --max-concurrency 4")
                    .starts_with(
                        "--api openai-completions --host 127.0.0.1 --port 8000 --concurrency 4 '"));
    EXPECT_EQ(workload("python -m vllm.entrypoints.cli.main bench serve --dataset-name "
                       "prefix_repetition --prefix-repetition-num-prefixes 5 --num-prompts 53"),
              "synth:prefix --rows 50 --groups 5 --prefix 256 --suffix 256 --out-tokens 128 "
              "--popularity equal --rate inf");
    EXPECT_NE(refusal("vllm bench serve --dataset-name prefix_repetition --num-prompts 5"), "");
    EXPECT_NE(refusal("vllm bench serve --dataset-name prefix_repetition "
                      "--prefix-repetition-num-prefixes 0"),
              "");
}

TEST(Synthetic, SglangAndAiperf) {
    const std::string tool = "python3 -m sglang.bench_serving --dataset-name ";
    // A ratio of 0, the default, means from 1 on; 1 means fixed.
    EXPECT_EQ(workload(tool + "random --num-prompts 50 --random-input-len 512"),
              "synth:random --rows 50 --in uniform:1..512 --out-tokens uniform:1..1024 --rate inf");
    EXPECT_EQ(workload(tool + "random --random-range-ratio 1 --random-input 512"),
              "synth:random --rows 1000 --in 512 --out-tokens 1024 --rate inf");
    EXPECT_EQ(
        workload(tool + "random-ids --random-range-ratio 0.5 --random-input 5"),
        "synth:random --rows 1000 --in uniform:2..5 --out-tokens uniform:512..1024 --rate inf");
    EXPECT_EQ(workload(tool + "generated-shared-prefix --gsp-num-groups 4 --num-prompts 3 "
                              "--gsp-prompts-per-group 5 --gsp-group-distribution zipf "
                              "--gsp-zipf-alpha 1.2"),
              "synth:prefix --rows 20 --groups 4 --prefix 2048 --suffix 128 --out-tokens 256 "
              "--popularity zipf:1.2 --rate inf");
    EXPECT_TRUE(says(refusal(tool + "generated-shared-prefix --gsp-num-turns 3"), "synth chat"));
    const std::string line =
        "aiperf profile --model M --synthetic-input-tokens-mean 550 "
        "--synthetic-input-tokens-stddev "
        "40 --output-tokens-mean 128 --request-count 100";
    EXPECT_EQ(workload(line),
              "synth:random --rows 100 --in normal:550:40 --out-tokens 128 --rate inf");
    EXPECT_EQ(ours(line + " --url h --concurrency 8"),
              "--model M --limit 100 --url h --concurrency 8 "
              "'synth:random --rows 100 --in normal:550:40 --out-tokens 128 --rate inf'");
    EXPECT_EQ(
        workload("aiperf profile --isl 100 --osl 5 --num-requests 9 --prefix-prompt-length 64 "
                 "--prefix-prompt-pool-size 3"),
        "synth:prefix --rows 9 --groups 3 --prefix 64 --suffix 100 --out-tokens 5 --rate inf");
    EXPECT_EQ(workload("aiperf profile --isl 100 --osl 50 --random-range-ratio 0.5 --num-sessions "
                       "4"),
              "synth:random --rows 4 --in uniform:50..150 --out-tokens uniform:25..75 --rate inf");
    EXPECT_EQ(workload("aiperf profile --input-file t.jsonl --concurrency 4"), "");
    // Its default number of requests, and its default lengths: cli_config.py of AIPerf 0.13.0.
    EXPECT_EQ(workload("aiperf profile --model m --url h"),
              "synth:random --rows 10 --in 550 --out-tokens 128 --rate inf");
    EXPECT_EQ(workload("aiperf profile --model m --url h --concurrency 30 --osl 9"),
              "synth:random --rows 60 --in 550 --out-tokens 9 --rate inf");
    EXPECT_TRUE(ours("aiperf profile --url h --isl 5")
                    .starts_with("--url h --concurrency 1 --output free 'synth:"));
}

// A rate and a time: the rows that are due by then, for a random process with some to spare.
TEST(Synthetic, RowsOfARateAndATime) {
    EXPECT_EQ(workload("aiperf profile --osl 5 --request-rate 100 --arrival-pattern constant "
                       "--benchmark-duration 60"),
              "synth:random --rows 6001 --in 550 --out-tokens 5 --rate inf");
    EXPECT_EQ(workload("guidellm benchmark --profile constant --rate 600 --max-seconds 3 --data "
                       "prompt_tokens=64,output_tokens=8"),
              "synth:random --rows 1801 --in 64 --out-tokens 8 --rate inf");
    EXPECT_EQ(workload("guidellm benchmark --profile poisson --rate 100 --max-seconds 100 --data "
                       "prompt_tokens=64,output_tokens=8"),
              "synth:random --rows 10809 --in 64 --out-tokens 8 --rate inf")
        << "10000 and 8 deviations of 100, and 8";
    EXPECT_EQ(workload("guidellm benchmark --profile constant --rate 10 --rampup 10 --max-seconds "
                       "30 --data prompt_tokens=64,output_tokens=8"),
              "synth:random --rows 251 --in 64 --out-tokens 8 --rate inf")
        << "50 on the ramp, 200 behind it";
    EXPECT_EQ(workload("guidellm benchmark --profile constant --rate 600 --max-seconds 3 "
                       "--max-requests 7 --data prompt_tokens=64,output_tokens=8"),
              "synth:random --rows 7 --in 64 --out-tokens 8 --rate inf");
    EXPECT_TRUE(
        says(refusal("guidellm benchmark --profile constant --rate 1e8 --max-seconds 10 --data "
                     "prompt_tokens=64,output_tokens=8"),
             "100 million"));
}

// A closed loop until a time has prompts without an end, as the tool's.
TEST(Synthetic, RowsOfALoopAndGuidellm) {
    const std::string data = " --data prompt_tokens=64,output_tokens=8";
    const std::string tool = "guidellm benchmark --target h --profile ";
    EXPECT_EQ(ours(tool + "concurrent --rate 8 --max-seconds 3" + data),
              "--url h --for 3 --concurrency 8 --recycle "
              "'synth:random --rows 10000 --in 64 --out-tokens 8 --rate inf'");
    EXPECT_EQ(ours(tool + "throughput --max-requests 9" + data),
              "--url h --limit 9 --concurrency 10240 "
              "'synth:random --rows 9 --in 64 --out-tokens 8 --rate inf'");
    EXPECT_TRUE(says(refusal(tool + "synchronous" + data),
                     "without end; end the run with --max-requests N"));
    EXPECT_TRUE(
        refusal("guidellm benchmark --target h" + data).starts_with("--profile is missing"));
    const std::string other_tool =
        "guidellm benchmark --profile synchronous --max-requests 30 --data ";
    EXPECT_EQ(workload(other_tool + "prompt_tokens=256,output_tokens=128"),
              "synth:random --rows 30 --in 256 --out-tokens 128 --rate inf");
    EXPECT_EQ(
        workload(other_tool + "kind=synthetic_text,prompt_tokens=256,prompt_tokens_stdev=10,"
                              "output_tokens=128,output_tokens_min=100,output_tokens_max=200"),
        "synth:random --rows 30 --in normal:256:10:206..306 --out-tokens uniform:100..200 "
        "--rate inf");
    EXPECT_EQ(
        workload(other_tool + "{\"prompt_tokens\":64,\"output_tokens\":8,\"prefix_tokens\":32}"),
        "synth:prefix --rows 30 --groups 1 --prefix 32 --suffix 64 --out-tokens 8 --rate inf");
    EXPECT_EQ(workload(other_tool + "prompt_tokens=256"),
              "synth:random --rows 30 --in 256 --out-tokens 128 --rate inf")
        << "with --output free";
    EXPECT_TRUE(
        says(refusal(other_tool + "prompt_tokens=256,output_tokens=1,turns=3"), "\"turns\""));
}

TEST(Spelling, ReplacesAliasesAndLeavesTheRestAlone) {
    EXPECT_EQ(ours("t.jsonl --base-url u --scale-factor=2 -o d"),
              "t.jsonl --url u --speed 2 --out d");
    // Only the first '=' separates: headers and labels keep theirs.
    EXPECT_EQ(ours("--label=a=b --header K=V"), "--label a=b --header K=V");
    // vllm bench takes the limits as separate words; a trace that follows is not one of them.
    EXPECT_EQ(ours("--goodput ttft:200 tpot:50 e2el:3000 t.jsonl"),
              "--goodput 'ttft:200 tpot:50 e2el:3000' t.jsonl");
    EXPECT_EQ(ours("--goodput=ttft:200 tpot:50 --seed 1"), "--goodput 'ttft:200 tpot:50' --seed 1");
    EXPECT_EQ(ours("ttft:200 tpot:50"), "ttft:200 tpot:50");
    EXPECT_EQ(ours("- -- --base-url a=b"), "- -- --base-url a=b");
    EXPECT_TRUE(says(refusal("t.jsonl --time-scale 2"), "--speed X, where 2 is twice as fast"));
}

}  // namespace
}  // namespace driftless
