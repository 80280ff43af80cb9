// Each flag of other tools.

#include "cmd/flags/other_tools.hpp"
#include "cmd/flags/replay_options.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// Every flag of the parsers of five tools becomes ours, is noted, or is refused with its name: none
// is unknown, and none is dropped without a word. Lists of 2026-11-24, read from vLLM 0.32.0,
// SGLang 0.5.23, AIPerf 0.13.0, genai-perf 0.0.16, GuideLLM 0.8.1 and 0.5, each with a value.

namespace {

constexpr const char* vllm_flags = R"(
--trust-remote-code; --seed 1; --num-prompts 7; --dataset-name prefix_repetition; --no-stream;
--no-oversample; --skip-chat-template; --enable-multimodal-chat; --disable-shuffle;
--custom-output-len 256; --custom-ensure-client-side-data; --spec-bench-output-len 256;
--spec-bench-category x; --sharegpt-output-len 1; --timed-trace-chunk-hash-size 16;
--timed-trace-sec-multiplier 1; --timed-trace-label-timestamp x;
--timed-trace-label-input-length x; --timed-trace-label-output-length x;
--timed-trace-label-hash-ids x; --blazedit-min-distance 0.0; --blazedit-max-distance 1.0;
--asr-max-audio-len-sec 1; --asr-min-audio-len-sec 0.0; --hf-subset x; --hf-split x; --hf-name x;
--hf-output-len 1; --bfcl-categories a; --prefix-repetition-prefix-len 256;
--prefix-repetition-suffix-len 256; --prefix-repetition-num-prefixes 10;
--prefix-repetition-output-len 128; --speed-bench-dataset-subset qualitative;
--speed-bench-output-len 4096; --speed-bench-category x; --random-input-len 7;
--random-output-len 7; --random-range-ratio 0.5; --random-prefix-len 7; --random-batch-size 1;
--no-reranker; --random-mm-base-items-per-request 1; --random-mm-num-mm-items-range-ratio 1;
--random-mm-limit-mm-per-prompt {}; --random-mm-bucket-config {}; --label x;
--backend openai-chat; --base-url h:1; --host h; --port 9; --endpoint /v1/x; --header A=b C=d;
--max-concurrency 4; --model m; --input-len 1; --output-len 1; --tokenizer org/name;
--tokenizer-mode x; --use-beam-search; --logprobs 1; --request-rate 5; --burstiness 0.5;
--probe-request-rate 0.0; --disable-tqdm; --num-warmups 5; --profile; --save-result;
--save-detailed; --append-result; --metadata a=1 b=2; --result-dir x; --result-filename x;
--ignore-eos; --self-timed; --no-self-timed; --percentile-metrics x; --metric-percentiles 99;
--goodput ttft:200 tpot:50; --request-id-prefix x; --top-p 1; --top-k 1; --min-p 1;
--temperature 0.0; --frequency-penalty 1; --presence-penalty 1; --repetition-penalty 1;
--served-model-name s; --lora-modules a b; --lora-assignment random; --ramp-up-strategy linear;
--ramp-up-start-rps 1; --ramp-up-end-rps 1; --ready-check-timeout-sec 5;
--chat-template-kwargs {"a":1}; --extra-body {"a":1}; --skip-tokenizer-init; --insecure;
--plot-timeline; --timeline-itl-thresholds x; --plot-dataset-stats)";
constexpr const char* sglang_flags = R"(
--backend sglang-oai; --base-url h:1; --host h; --port 9; --ready-check-timeout-sec 5;
--dataset-name generated-shared-prefix; --dataset-offset 0; --agentic-max-turns 1;
--speed-bench-category low_entropy; --speed-bench-output-len 512; --model m;
--served-model-name s; --tokenizer org/name; --num-prompts 7; --sharegpt-output-len 1;
--sharegpt-context-len 1; --random-input-len 7; --random-output-len 7; --random-range-ratio 0.5;
--image-count 1; --image-resolution x; --random-image-count; --image-format x; --image-content x;
--request-rate 5; --use-trace-timestamps; --max-concurrency 4; --output-file x; --output-details;
--goodput ttft:200 tpot:50; --print-requests; --disable-tqdm; --disable-stream; --return-logprob;
--top-logprobs-num 0; --token-ids-logprob 1 2; --logprob-start-len 1; --return-routed-experts;
--cache-report; --seed 1; --disable-ignore-eos; --temperature 0.0; --top-p 1.0;
--extra-request-body {"a":1}; --apply-chat-template; --profile; --plot-throughput;
--profile-activities CPU GPU; --profile-start-step 1; --profile-steps 1; --profile-num-steps 1;
--profile-by-stage; --profile-stages a b; --profile-output-dir x; --profile-prefix x;
--lora-name a b; --lora-request-distribution uniform; --lora-zipf-alpha 1.5; --prompt-suffix x;
--pd-separated; --profile-prefill-url h:2; --profile-decode-url h:2; --flush-cache;
--flush-cache-timeout 1; --warmup-requests 1; --tokenize-prompt; --gsp-num-groups 7;
--gsp-prompts-per-group 16; --gsp-system-prompt-len 2048; --gsp-question-len 128;
--gsp-output-len 256; --gsp-range-ratio 0.5; --gsp-fast-prepare; --gsp-send-routing-key;
--gsp-num-turns 1; --gsp-ordered; --gsp-group-distribution zipf; --gsp-zipf-alpha 1.1;
--mooncake-slowdown-factor 2; --mooncake-num-rounds 2; --mooncake-workload conversation;
--fake-prefill; --tag x; --header A=b C=d; --rust-client; --rust-worker-threads 1)";
constexpr const char* aiperf_flags = R"(
--model-names m; --model m; -m m; --model-selection-strategy round_robin;
--custom-endpoint /v1/x; --endpoint /v1/x; --endpoint-type chat; --streaming; --url h:1; -u h:1;
--url-strategy round_robin; --request-timeout-seconds 5; --wait-for-model-timeout 5;
--wait-for-model-mode models; --wait-for-model-interval 5.0; --reset-kv-cache;
--reset-kv-cache-timeout-seconds 5; --reset-kv-cache-path x; --server-profiler;
--server-profiler-timeout-seconds 5; --server-profiler-start-path x;
--server-profiler-stop-path x; --api-key abcdefghijkl; --transport http; --transport-type http;
--use-legacy-max-tokens; --use-server-token-count; --per-chunk-usage;
--connection-reuse-strategy never; --download-video-content;
--request-content-type application/json; --session-header X-S; --uuid-and-strip;
--tokenizer org/name; --tokenizer-revision x; --tokenizer-trust-remote-code;
--apply-chat-template; --extra-inputs a:1; --header A:b; -H A:b; --public-dataset x;
--hf-subset x; --hf-weka-dataset x; --dataset-filter x y; --custom-dataset-type mooncake_trace;
--ignore-trace-delays; --use-think-time-only; --max-context-length 5;
--dataset-sampling-strategy random; --allow-dataset-wrap; --random-seed 5;
--trace-session-sample-ratio 0.5; --config x; -f x; --fixed-schedule; --no-fixed-schedule;
--fixed-schedule-auto-offset; --fixed-schedule-start-offset 5; --fixed-schedule-end-offset 5;
--goodput time_to_first_token:200 inter_token_latency:50; --conversation-num 5;
--num-conversations 5; --num-sessions 5; --num-dataset-entries 100; --num-prompts 7;
--conversation-turn-mean 1; --session-turns-mean 1; --conversation-turn-stddev 0;
--session-turns-stddev 0; --conversation-turn-delay-mean 5; --session-turn-delay-mean 5;
--conversation-turn-delay-stddev 5; --session-turn-delay-stddev 5;
--conversation-turn-delay-ratio 1.0; --session-delay-ratio 1.0; --inter-turn-delay-cap-seconds 5;
--max-idle-gap-cap-seconds 5; --replay-speedup 5; --open-loop-replay; --open-loop-strict;
--omit-kv-hints; --force-min-tokens; --prompt-batch-size 1; --batch-size-text 1; --batch-size 1;
-b 1; --prompt-corpus x; --cache-bust none; --system-prompt x; --system-prompt-file x;
--prompt-prefix-pool-size 5; --prefix-prompt-pool-size 5; --num-prefix-prompts 5;
--prompt-prefix-length 5; --prefix-prompt-length 5; --shared-system-prompt-length 5;
--user-context-prompt-length 5; --prompt-input-tokens-mean 7; --synthetic-input-tokens-mean 7;
--isl 7; --prompt-input-tokens-stddev 5; --synthetic-input-tokens-stddev 5; --isl-stddev 5;
--prompt-input-tokens-block-size 5; --synthetic-input-tokens-block-size 5; --isl-block-size 5;
--seq-dist x; --sequence-distribution x; --random-range-ratio 0.5; --random-corpus-style vllm;
--prompt-output-tokens-mean 5; --output-tokens-mean 5; --osl 5; --prompt-output-tokens-stddev 5;
--output-tokens-stddev 5; --osl-stddev 5; --audio-batch-size 1; --batch-size-audio 1;
--audio-length-mean 5; --audio-length-stddev 5; --audio-format x; --audio-depths x y;
--audio-sample-rates x y; --audio-num-channels 1; --image-width-mean 5; --image-width-stddev 5;
--image-height-mean 5; --image-height-stddev 5; --image-batch-size 1; --batch-size-image 1;
--image-format x; --image-source x; --image-source-sampling x; --video-batch-size 1;
--batch-size-video 1; --video-duration 5.0; --video-fps 4; --video-width 5; --video-height 5;
--video-synth-type x; --video-format x; --video-codec x; --video-audio-sample-rate 44100;
--video-audio-num-channels 5; --video-audio-codec x; --video-audio-depth 16;
--rankings-passages-mean 1; --rankings-passages-stddev 5;
--rankings-passages-prompt-token-mean 550; --rankings-passages-prompt-token-stddev 5;
--rankings-query-prompt-token-mean 550; --rankings-query-prompt-token-stddev 5;
--synthesis-speedup-ratio 1.0; --synthesis-prefix-len-multiplier 1.0;
--synthesis-prefix-root-multiplier 1; --synthesis-prompt-len-multiplier 1.0;
--synthesis-output-len-multiplier 1.0; --synthesis-max-isl 5; --synthesis-max-osl 5;
--benchmark-duration 5; --benchmark-grace-period 30.0; --concurrency 5; --prefill-concurrency 5;
--request-rate 5; --arrival-pattern constant; --request-rate-mode poisson;
--arrival-smoothness 5; --vllm-burstiness 5; --request-count 5; --num-requests 5;
--concurrency-ramp-duration 5; --prefill-concurrency-ramp-duration 5;
--request-rate-ramp-duration 5; --request-rate-series x; --failed-request-threshold 5;
--trajectory-start-min-ratio 0.25; --trajectory-start-max-ratio 0.75; --burst-phase-starts;
--trace-idle-gap-cap-seconds 5; --system-idle-gap-cap-seconds 5; --scenario agentx;
--unsafe-override; --warmup-request-count 5; --num-warmup-requests 5; --warmup-duration 5;
--agentic-cache-warmup-duration 5; --agentic-warmup-grace-period 5; --num-warmup-sessions 5;
--warmup-concurrency 5; --warmup-prefill-concurrency 5; --warmup-request-rate 5;
--warmup-arrival-pattern x; --warmup-grace-period 5; --warmup-concurrency-ramp-duration 5;
--warmup-prefill-concurrency-ramp-duration 5; --warmup-request-rate-ramp-duration 5;
--user-centric-rate 5; --num-users 5; --request-cancellation-rate 5;
--request-cancellation-delay 5; --output-artifact-dir D; --artifact-dir D;
--profile-export-prefix x; --profile-export-file x; --export-level summary;
--profile-export-level x; --slice-duration 5; --plot-required; --export-outputs-json;
--otel-url x; --stream x y; --otel-resource-attributes x y; --gen-ai-provider x;
--mlflow-tracking-uri x; --mlflow-experiment x; --mlflow-run-name x; --mlflow-tag x y;
--mlflow-parent-run-id x; --mlflow-artifact-glob x y; --wandb-project x; --wandb-entity x;
--wandb-run-name x; --wandb-tag x y; --export-http-trace; --show-trace-timing;
--server-metrics h:2/metrics x; --no-server-metrics; --server-metrics-formats x y;
--network-latency-automatic; --network-latency-mean 5; --network-latency-ping-interval 5;
--gpu-telemetry a b; --no-gpu-telemetry; --ui-type x; --ui x; --num-profile-runs 1;
--profile-run-cooldown-seconds 5; --confidence-level 0.95; --convergence-metric x;
--convergence-stat x; --convergence-threshold 5; --convergence-mode x;
--parameter-sweep-cooldown-seconds 5; --parameter-sweep-mode x; --sweep-type x; --no-sweep-table;
--search-space x y; --search-metric x; --search-stat x; --search-direction x;
--search-max-iterations 5; --search-initial-points 5; --search-random-seed 5; --search-planner x;
--optuna-sampler x; --optuna-acquisition x; --optuna-terminator x; --search-percentile-pooling x;
--bo-constraint-mode x; --variant x y; --sweep-variant x y; --search-sla x y;
--search-sla-tier x y; --search-recipe x; --ttft-sla-ms 5; --isl-osl-pairs x; --itl-sla-ms 5;
--tpot-sla-ms 5; --e2e-sla-ms 5; --error-rate-sla 5; --slo-attainment-fraction 5;
--search-style x; --degradation-threshold 5; --degradation-metric-tag x; --degradation-stat x;
--isl-min 5; --isl-max 5; --isl-steps 5; --concurrency-min 5; --concurrency-max 5;
--concurrency-steps 5; --osl-min 5; --osl-max 5; --osl-steps 5; --accuracy-benchmark x;
--accuracy-tasks x y; --accuracy-n-shots 5; --accuracy-enable-cot; --accuracy-grader x;
--accuracy-system-prompt x; --accuracy-verbose; --log-level x; --verbose; -v; --extra-verbose;
-vv; --record-processor-service-count 5; --record-processors 5; --api-port 5; --api-host x;
--stats-interval 5; --workers-max 5; --max-workers 5; --zmq-host x; --zmq-ipc-path x;
--zmq-dual-bind)";
constexpr const char* genai_perf_flags = R"(
--sweep-range 5; --sweep-list 5; --backend vllm; --server-metrics-url 5; --server-metrics-urls 5;
-g time_to_first_token:200; --output-tokens-mean-deterministic; --grpc-method 5;
--checkpoint-dir 5; --generate-plots; --enable-checkpointing; --input-directory 5; -d 5;
--measurement-interval 5; -p 5000; -s 50; --stability-percentage 5; --session-concurrency 5)";
constexpr const char* guidellm_flags = R"(
--config x; --scenario x; -c x; --label a=b; -l a=b; --backend kind=openai_http,target=h:1;
--profile kind=constant,rate=5; --constraint kind=max_requests,count=9;
--constraint kind=max_errors,count=9; --constraint kind=max_error_rate,rate=0.1;
--constraint kind=max_global_error_rate,rate=0.1; --constraint kind=over_saturation;
--constraint kind=min_requests,count=9; --tokenizer kind=huggingface_auto; --data t.jsonl;
--data-column-mapper kind=generative_column_mapper; --data-preprocessor kind=encode_media;
--data-finalizer kind=generative; --data-loader kind=pytorch; --seed kind=static,value=42;
--output kind=json,path=x; --metrics kind=generative; --override profile.rate 1,2;
--disable-console; --disable-console-outputs; --disable-console-interactive; --disable-progress)";
constexpr const char* old_guidellm_flags = R"(
--target h:1; --rate-type poisson; --rate 5; --backend openai_http; --backend-type openai_http;
--backend-kwargs {}; --backend-args {}; --model m; --request-type chat_completions;
--request-formatter-kwargs {}; --processor x; --processor-args {};
--data-args {"type_":"trace_synthetic"}; --data-samples 7; --data-sampler shuffle;
--data-num-workers 1; --dataloader-kwargs {}; --random-seed 7; --output-dir D; --outputs json;
--output-path x.json; --warmup 0.1; --warmup-percent 0.1; --cooldown 0.1; --cooldown-percent 0.1;
--rampup 5; --sample-requests 5; --output-sampling 5; --max-seconds 5; --max-requests 5;
--max-errors 5; --max-error-rate 0.1; --max-global-error-rate 0.1; --over-saturation {};
--detect-saturation; --default-over-saturation; --per-constraints {})";

Words joined(Words first, const Words& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

/// A flag that takes more than its values would take `--dry-run`, too; one that takes less would
/// leave a word that is a second trace.
void check(const std::string& program, const std::string& rest, const std::string& line) {
    SCOPED_TRACE(line);
    const Words words = joined(words_of(program + " " + rest), words_of(line + " --dry-run"));
    const Words bare = joined(words_of(program + " " + rest), {"--dry-run"});
    const std::string flag = line.substr(0, line.find(' '));
    const ReplayCommandLine parsed = parse_replay_options(words, "");
    if (parsed.kind == ReplayCommandLine::Kind::refused) {
        EXPECT_FALSE(says(parsed.text, "unknown flag"));
        EXPECT_TRUE(says(parsed.text, flag));
        return;
    }
    EXPECT_TRUE(parsed.options.dry_run);
    EXPECT_EQ(parsed.options.workload.files.paths.size(), 1U);
    const Spelled with = spell(words);
    const Spelled without = spell(bare);
    EXPECT_TRUE(with.arguments != without.arguments || with.notes != without.notes)
        << "it is dropped without a word";
}

/// `lines`: separated by ';'.
void check_all(const std::string& program, const std::string& rest, const std::string& lines) {
    std::istringstream text(lines);
    for (std::string line; std::getline(text, line, ';');) {
        check(program, rest, line.substr(line.find_first_not_of(" \n")));
    }
}

TEST(AllToolFlags, OfVllmAndSglang) {
    check_all("vllm bench serve", "", vllm_flags);
    check_all("python3 -m sglang.bench_serving", "--dataset-name random-ids", sglang_flags);
}

TEST(AllToolFlags, OfAiperf) {
    check_all("aiperf profile", "", aiperf_flags);
}

TEST(AllToolFlags, OfGenaiPerfAndGuidellm) {
    check_all("genai-perf profile", "", aiperf_flags);
    check_all("genai-perf profile", "", genai_perf_flags);
    const std::string data = "--data prompt_tokens=8,output_tokens=8 --profile constant --rate 3";
    check_all("guidellm benchmark run", "--max-seconds 9 --target h:2 " + data, guidellm_flags);
    check_all("guidellm benchmark", "--max-seconds 9 --target h:2 " + data, old_guidellm_flags);
}

// AIPerf's AgentX scenario runs as its tutorial and InferenceX spell it.

Spelled profile(const std::string& flags) {
    return spell(words_of("aiperf profile " + flags));
}

ReplayCommandLine replayed(const std::string& flags) {
    return parse_replay_options(words_of("aiperf profile " + flags), "");
}

/// Without the server that is looked for where none is named.
std::string own_words(const std::string& flags) {
    std::string line = line_of_words(profile(flags).arguments);
    const std::string server = "--host 127.0.0.1 --port 8000";
    const std::size_t at = line.find(server);
    return at == line.npos ? line : line.erase(at == 0 ? 0 : at - 1, server.size() + 1);
}

bool has_note(const Spelled& out, const std::string& begin) {
    return std::any_of(out.notes.begin(), out.notes.end(),
                       [&](const std::string& note) { return note.starts_with(begin); });
}

// ai-dynamo/aiperf, docs/tutorials/agentx-mvp.md, with the corpus as a folder.
const std::string tutorial =
    "--scenario inferencex-agentx-mvp --url localhost:8000 --model M --max-context-length 128000 "
    "--endpoint-type chat --public-dataset semianalysis_cc_traces_weka_with_subagents "
    "--concurrency 32 --use-server-token-count --streaming --extra-inputs ignore_eos:true "
    "--cache-bust first_turn_prefix --system-idle-gap-cap-seconds 10 --trajectory-start-min-ratio "
    "0.0 --trajectory-start-max-ratio 1.0 --benchmark-duration 1800 --random-seed 20260707 --ui "
    "simple";

TEST(Aiperf, AgentxTutorialAndDataSets) {
    const std::string command = tutorial + " --input-file traces";
    const Spelled out = profile(command);
    EXPECT_EQ(out.refused, "");
    EXPECT_EQ(line_of_words(out.arguments),
              "--url localhost:8000 --model M --max-context 128000 --api "
              "chat --system-idle-cap 10 --seed 20260707 traces --users 32 "
              "--for 1800 --start-within 0.0:1.0 --rules agentx-mvp");
    for (const char* flag :
         {"--concurrency 32 is taken as --users 32", "--public-dataset", "--extra-inputs",
          "--cache-bust", "--use-server-token-count", "--streaming is ignored", "--ui"}) {
        EXPECT_TRUE(has_note(out, flag)) << flag;
    }
    const ReplayCommandLine line = replayed(command);
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.options.workload.users.users, 32U);
    EXPECT_TRUE(line.options.workload.users.recycle);
    // The name of a data set is not a file: where none is given, it is said how to get one.
    const ReplayCommandLine other_line = replayed(tutorial);
    ASSERT_EQ(other_line.kind, ReplayCommandLine::Kind::refused);
    EXPECT_TRUE(says(other_line.text, "semianalysisai/cc-traces-weka-062126 --local-dir traces"));
    EXPECT_TRUE(says(other_line.text, "--input-file traces"));
    const auto missing = [](const std::string& flag, const std::string& name) {
        return profile(flag + " " + name).trace_missing;
    };
    EXPECT_TRUE(says(missing("--public-dataset", "semianalysis_cc_traces_weka_061526_256k"),
                     "semianalysisai/cc-traces-weka-061526-256k "));
    const std::string oldest = "semianalysisai/cc-traces-weka-no-subagents-051826 ";
    EXPECT_TRUE(says(missing("--public-dataset", "semianalysis_cc_traces_weka"), oldest));
    EXPECT_TRUE(
        says(missing("--public-dataset", "semianalysis_cc_traces_weka_no_subagents"), oldest));
    EXPECT_TRUE(says(missing("--hf-weka-dataset", "me/mine"), "dataset me/mine "));
    for (const char* other : {"sharegpt", "exgentic_v2", "h_cua_perf"}) {
        EXPECT_FALSE(says(missing("--public-dataset", other), "hf download"));
        EXPECT_TRUE(says(missing("--public-dataset", other), "--input-file FILE"));
    }
}

// SemiAnalysisAI/InferenceX, benchmarks/benchmark_lib.sh, build_replay_cmd; the trace comes first.
TEST(Aiperf, InferencexReplayCommand) {
    const std::string command =
        "traces --scenario inferencex-agentx-mvp --url http://localhost:8888 --endpoint "
        "/v1/chat/completions --endpoint-type chat --streaming --model SERVED --tokenizer org/HF "
        "--concurrency 8 --benchmark-duration 3600 --stats-interval 30 --random-seed 42 "
        "--failed-request-threshold 0.10 --trajectory-start-min-ratio 0.25 "
        "--trajectory-start-max-ratio 0.75 --warmup-requests-per-lane 10 "
        "--trace-idle-gap-cap-seconds 300 --warmup-grace-period 1800 --use-server-token-count "
        "--no-gpu-telemetry --tokenizer-trust-remote-code --max-context-length 131072 "
        "--num-dataset-entries 393 --slice-duration 1.0 --server-metrics http://a:1/metrics "
        "http://b:1/metrics --output-artifact-dir D/aiperf_artifacts --unsafe-override "
        "--public-dataset semianalysis_cc_traces_weka_062126";
    EXPECT_EQ(line_of_words(profile(command).arguments),
              "traces --url http://localhost:8888 --endpoint /v1/chat/completions --api "
              "chat --model SERVED --seed 42 --warmup-requests 10 --tree-idle-cap 300 "
              "--max-context 131072 --out D/aiperf_artifacts --max-trees 393 --users 8 "
              "--for 3600 --start-within 0.25:0.75 --period 1.0 --rules agentx-mvp");
    const ReplayCommandLine line = replayed(command);
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
}

// InferenceX pull request 993 on LMCache's traces: no scenario, users all the same.
TEST(Aiperf, ConcurrencyIsUsersAndRatesHaveCaps) {
    EXPECT_EQ(own_words("--input-file F --custom-dataset-type mooncake_trace --concurrency 4 "
                        "--benchmark-duration 60 --benchmark-grace-period 0"),
              "F --format mooncake-delta --users ..4 --for 60 --drain 0 --recycle");
    EXPECT_EQ(own_words("--input-file F --fixed-schedule --concurrency=4 --benchmark-duration 60"),
              "F --max-inflight 4 --duration 60");
    EXPECT_NE(profile("--concurrency 4,8").refused, "");
    EXPECT_EQ(spell(words_of("t --concurrency 4")).arguments, words_of("t --concurrency 4"))
        << "no tool is named";
    EXPECT_EQ(own_words("--input-file F --custom-dataset-type raw_payload"), "F --format mooncake");
    EXPECT_EQ(own_words("--input-file F --custom-dataset-type burst_gpt_trace --concurrency 4"),
              "F --format burstgpt --concurrency 4")
        << "rows without sessions";
    // docs/tutorials/arrival-patterns.md, ramping.md: beside a rate the number of requests is a
    // cap.
    EXPECT_EQ(
        own_words("--input-file F --request-rate 50 --arrival-pattern gamma --arrival-smoothness "
                  "0.5 --concurrency 100 --benchmark-duration 60 --random-seed 42"),
        "F --seed 42 --rate 50 --arrivals gamma:0.5 --max-inflight 100 --duration "
        "60 --replicate rows:3637");
    EXPECT_EQ(own_words("F --request-rate 5"), "F --rate 5");
    EXPECT_EQ(
        own_words(
            "F --request-rate 5 --request-rate-mode constant --request-rate-ramp-duration 10"),
        "F --ramp 0:5:10 --arrivals constant");
    EXPECT_NE(profile("--request-rate 5 --arrival-pattern other").refused, "");
}

// Slices of its results, or how often they are shown; ours beside them stands.
TEST(Aiperf, SlicesArePeriodsAndDataGoesRound) {
    EXPECT_EQ(own_words("F --stats-interval 30"), "F --period 30");
    const Spelled both = profile("F --url h --stats-interval 30 --slice-duration 1.0 --no-stream");
    EXPECT_EQ(line_of_words(both.arguments), "F --url h --no-stream --period 1.0");
    EXPECT_TRUE(says(both.notes.back(), "--stats-interval 30 is ignored"));
    EXPECT_EQ(own_words("F --period 5s --slice-duration 1"), "F --period 5s");
    EXPECT_EQ(own_words("F --stats-interval 0"), "F");
    for (const std::string flags :
         {"--scenario other", "--cache-bust none", "--synthesis-max-isl 9",
          "--agentic-cache-warmup-duration 9", "--burst-phase-starts",
          "--use-dynamo-conv-aware-routing", "--extra-inputs nothing",
          "--request-rate-ramp-duration 3", "--trajectory-start-min-ratio 0.5"}) {
        EXPECT_TRUE(profile(flags).refused.starts_with(words_of(flags)[0])) << flags;
    }
    EXPECT_EQ(own_words("F --extra-inputs a:1 b:x --streaming"),
              R"(F --extra-body {"a":1,"b":"x"})");
    EXPECT_TRUE(says(profile("--extra-inputs a:1 {}").refused, "put all members into the JSON"));
    const char* const whole = "AIPerf asks for whole answers";
    EXPECT_TRUE(says(profile("F --url h:1").notes.back(), whole));
    EXPECT_FALSE(says(profile("F --url h:1 --streaming").notes.back(), whole));
    // A data set that is too short is gone through again, with and without an end by time.
    const auto with = [](const std::string& flags) {
        return own_words("--input-file t.jsonl --custom-dataset-type mooncake_trace " + flags);
    };
    const std::string begin = "t.jsonl --format mooncake-delta ";
    EXPECT_EQ(with("--request-rate 50 --request-count 100"),
              begin + "--limit 100 --rate 50 --replicate rows:100");
    EXPECT_EQ(with("--no-fixed-schedule --concurrency 4 --request-count 100"),
              begin + "--limit 100 --users ..4 --replicate rows:100");
    EXPECT_EQ(with("--concurrency 4 --benchmark-duration 2"),
              begin + "--users ..4 --for 2 --recycle");
    EXPECT_EQ(with("--request-rate 50 --request-rate-mode constant --benchmark-duration 2"),
              begin + "--rate 50 --arrivals constant --duration 2 --replicate rows:101");
    EXPECT_EQ(with("--no-fixed-schedule"), begin + "--concurrency 1");
    EXPECT_EQ(with("--fixed-schedule --request-count 100"), begin + "--limit 100");
}

// Each flag of kv-cache-tester's trace_replay_tester.py is one of ours, noted, or refused.

/// Behind the program and what it cannot do without.
Spelled spelled_with(Words flags) {
    Words command{"python", "trace_replay_tester.py", "--start-users", "4", "--max-users", "4"};
    command.insert(command.end(), flags.begin(), flags.end());
    return spell(command);
}

bool has_pair(const Words& arguments, const std::string& flag, const std::string& value) {
    const auto at = std::find(arguments.begin(), arguments.end(), flag);
    return at != arguments.end() && at + 1 != arguments.end() && at[1] == value;
}

struct Expected {
    const char* typed;
    const char* value;  ///< nullptr: it takes none
    const char* flag;   ///< ours; nullptr: it is noted; "refused"
    const char* ours = nullptr;
};

// agentic.md 2.2, in the order of the tool's own --help.
constexpr Expected of_main[] = {
    {"--api-endpoint", "http://h:1", "--url", "http://h:1"},
    {"--trace-directory", "traces", "traces", nullptr},
    {"--output-dir", "results", "--out", "results"},
    {"--max-ttft", "9999", nullptr},
    {"--ttft-metric", "p95", nullptr},
    {"--min-output-tokens-per-req", "10", nullptr},
    {"--start-users", "4", "--users", "4"},
    {"--max-users", "4", "--users", "4"},
    {"--recycle", nullptr, "--recycle"},
    {"--max-new-tokens-per-period", "999999999", nullptr},
    {"--max-working-set-tokens", "1000000", "refused"},
    {"--min-requests", "3", "refused"},
    {"--max-delay", "60", "--gap-cap", "60"},
    {"--time-scale", "0.5", "--speed", "2"},
    {"--timing-strategy", "think-only", "--gap", "end-to-start"},
    {"--api-time-scale", "0.2", nullptr},
    {"--test-duration", "1800", "--for", "1800"},
    {"--assessment-period", "30", "--period", "30"},
    {"--max-context", "128000", "refused"},
    {"--tokenizer", "Qwen/Qwen2.5-Coder-32B-Instruct", nullptr},
    {"--chunk-size", "64", nullptr},
    {"--no-color", nullptr, nullptr},
    {"--verbose", nullptr, nullptr},
    {"--skip-graphs", nullptr, nullptr},
    {"--seed", "42", "--seed", "42"},
    {"--trace-seed", "7", "--seed", "7"},
    {"--prompt-seed", "8", "--seed", "8"},
    {"--temperature", "0.7", "--extra-body", R"({"temperature":0.7})"},
    {"--top-p", "0.8", "--extra-body", R"({"top_p":0.8})"},
    {"--top-k", "20", "--extra-body", R"({"top_k":20})"},
    {"--repetition-penalty", "1.05", "--extra-body", R"({"repetition_penalty":1.05})"},
    {"--ttft-window", "3", nullptr},
    {"--rate-limit-backoff", "30", nullptr},
    {"--max-concurrent-requests", "20", "--max-inflight", "20"},
    {"--max-prefill-concurrent", "4", "refused"},
    {"--max-decode-concurrent", "4", "refused"},
    {"--otpm-budget", "1000", "--budget-output", "1000/m"},
    {"--itpm-budget", "1000", "--budget-input", "1000/m:uncached"},
    {"--slo-ttft", "5.0", "--goodput", "ttft:5000"},
    {"--slo-decode-tps", "30", "--goodput", "tpot:33.333333"},
    {"--fairness-window", "60", nullptr},
    {"--cache-max-age", "600", nullptr},
    {"--warm-prefix-pct", "0.5", "refused"},
    {"--advance-min", "0.1", nullptr},  // with --advance-max only
    {"--advance-max", "0.7", "--start-within", "0:0.7"},
    {"--advance-all-users", nullptr, nullptr},
    {"--max-consecutive-errors", "10", nullptr},
    {"--circuit-breaker-window", "30", nullptr},
};
constexpr Expected of_branches[] = {
    {"--hf-dataset", "semianalysisai/cc-traces-weka-042026", "refused"},
    {"--hf-split", "train", nullptr},
    {"--hash-block-mode", nullptr, nullptr},
    {"--debug-trace", nullptr, "--save-responses", "all"},
    {"--warmup-enabled", nullptr, nullptr},
    {"--metrics-output-prefix", "p", nullptr},
    {"--no-max-tokens", nullptr, "--output", "free"},
    {"--ignore-eos", nullptr, nullptr},
    {"--enable-request-rate-limiting", nullptr, "refused"},
};

void expect_each(std::span<const Expected> flags) {
    for (const Expected& one : flags) {
        const Spelled out =
            spelled_with(one.value == nullptr ? Words{one.typed} : Words{one.typed, one.value});
        const std::string flag = one.flag == nullptr ? "" : one.flag;
        if (flag == "refused") {
            EXPECT_TRUE(out.refused.starts_with(one.typed)) << one.typed << ": " << out.refused;
            continue;
        }
        EXPECT_EQ(out.refused, "") << one.typed;
        if (flag.empty()) {
            EXPECT_TRUE(std::find(out.arguments.begin(), out.arguments.end(), one.typed) ==
                        out.arguments.end())
                << one.typed;
            continue;
        }
        EXPECT_TRUE(one.ours == nullptr ? std::find(out.arguments.begin(), out.arguments.end(),
                                                    flag) != out.arguments.end()
                                        : has_pair(out.arguments, flag, one.ours))
            << one.typed << ": " << testing::PrintToString(out.arguments);
    }
}

TEST(KvCacheTester, TakesEachFlagAndPullRequest993) {
    EXPECT_EQ(std::size(of_main), 48U);
    expect_each(of_main);
    expect_each(of_branches);
    // Nothing that has no effect goes without a line.
    for (const Expected& one : of_main) {
        const std::string typed = one.typed;
        if (one.flag != nullptr || typed.starts_with("--advance")) {
            continue;  // these say something together, below
        }
        const Spelled out =
            spelled_with(one.value == nullptr ? Words{typed} : Words{typed, one.value});
        EXPECT_TRUE(has_note(out, typed)) << typed;
    }
    // InferenceX pull request 993, benchmarks/single_node/multiturn_fp8_h200_trace_replay.sh.
    const Words command = words_of(
        "python3 /kv/trace_replay_tester.py --api-endpoint http://localhost:8888 --trace-directory "
        "traces_neon --timing-strategy think-only --output-dir R/trace_replay --start-users 8 "
        "--max-users 8 --max-ttft 9999 --test-duration 1800 --recycle --max-delay 60 "
        "--max-concurrent-requests 0 --max-new-tokens-per-period 999999999 --advance-min 0.0 "
        "--advance-max 0.7 --seed 42 --no-color --ignore-eos --hash-block-mode");
    EXPECT_EQ(
        spell(command).arguments,
        words_of("--url http://localhost:8888 traces_neon --out R/trace_replay --for 1800 "
                 "--recycle --gap-cap 60 --users 8 --seed 42 --start-within 0.0:0.7 --start-by "
                 "turns --gap end-to-start --session-order shuffle --on-failure continue"));
    EXPECT_EQ(spell(command).refused, "");
    const ReplayCommandLine line = parse_replay_options(command, "");
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.options.workload.users.users, 8U);
}

// Users that are added while the run goes on, as the tool adds them.
TEST(KvCacheTester, AddsUsersAndFlagsSaySomethingTogether) {
    const Words grown = spell({"trace_replay_tester.py", "--start-users", "2"}).arguments;
    EXPECT_TRUE(has_pair(grown, "--users", "2..50"));
    EXPECT_TRUE(has_pair(grown, "--grow", "ttft:avg:2.0s"));
    EXPECT_TRUE(has_pair(grown, "--period", "30s"));
    const ReplayCommandLine line = parse_replay_options(
        words_of(
            "trace_replay_tester.py --api-endpoint http://a:1 --trace-directory t --start-users=10 "
            "--max-users=100 --ttft-metric p95 --max-ttft 1.5 --assessment-period 15"),
        "");
    ASSERT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.options.workload.users.users, 100U);
    EXPECT_EQ(line.options.workload.users.users_first, 10U);
    EXPECT_EQ(text_of(*line.options.workload.grow), "ttft:p95:1500ms");
    EXPECT_EQ(line.options.results.period_ns, 15'000'000'000);
    EXPECT_TRUE(has_pair(spelled_with({"--slo-ttft", "0.5", "--slo-decode-tps", "100"}).arguments,
                         "--goodput", "ttft:500 tpot:10"));
    EXPECT_TRUE(has_pair(spelled_with({"--temperature", "0.7", "--top-k=20"}).arguments,
                         "--extra-body", R"({"temperature":0.7,"top_k":20})"));
    EXPECT_NE(spelled_with({"--trace-seed", "1", "--prompt-seed", "2"}).refused, "");
    EXPECT_NE(spelled_with({"--advance-max", "0.7", "--advance-all-users"}).refused, "");
    EXPECT_NE(spelled_with({"--time-scale", "0.3"}).refused, "");
    EXPECT_TRUE(has_pair(spelled_with({}).arguments, "--gap-cap", "600"));
    EXPECT_TRUE(has_pair(spelled_with({"--tokenizer", "/m/tokenizer.json"}).arguments,
                         "--tokenizer", "/m/tokenizer.json"));
    // The same names without the program are as ever.
    EXPECT_NE(spell({"t", "--time-scale", "2"}).refused, "");
    EXPECT_EQ(line_of_words(spell({"t", "--seed", "1"}).arguments), "t --seed 1");
    EXPECT_EQ(line_of_words(spell({"t", "--max-context", "9"}).arguments), "t --max-context 9");
    EXPECT_NE(spell({"other.py", "--trace-path", "t", "--time-scale", "2"}).refused, "");
}

}  // namespace
}  // namespace driftless
