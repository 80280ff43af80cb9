/// The parser of `driftless replay`: its flags, group by group, and what follows from them.

#include <algorithm>
#include <string>

#include "cmd/base/values.hpp"
#include "cmd/flags/checks.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/options_parser.hpp"
#include "cmd/flags/other_tools.hpp"
#include "cmd/flags/replay_options.hpp"
#include "cmd/flags/replay_values.hpp"
#include "cmd/flags/rule_sets.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/flags/summary_values.hpp"
#include "proto/api/dialect.hpp"

namespace driftless {

// The flags of timed events.

static void add_event_flags(Flags& flags, EventFlags& events) {
    flags.group("Events", watching);
    flags.values("--event", "WHAT", "\"+90s post URL\", \"+2m run COMMAND\", \"+10m label TEXT\"",
                 parse_event, events.typed, acts | hides(mask_event));
    flags.value("--events", "FILE", "such lines [none]", parse_text, events.file, acts);
    flags.value("--event-timeout", "T", "time limit of one event", "60s",
                parse_positive_duration_ns, events.timeout_ns);
}

// The flags of a replay on several machines.

static void add_machine_flags(Flags& flags, ShardFlags& shard) {
    flags.group("Several machines", not_setting);
    flags.value("--shard", "I/N",
                "send share I (from 0) of N; all N processes get the same flags.\n"
                "none: send all [as Slurm, MPI or DRIFTLESS_SHARDS says, else none]",
                parse_shard, shard.typed,
                no_probe(": a probe is judged by all of its rows, and a shard has a part of them"),
                {"none"});
    flags.value("--meet", "HOST:PORT",
                "begin all shards at one instant: shard 0 listens at PORT, the others\n"
                "connect to HOST; they compare plans and clocks. No authentication",
                parse_meet_place, shard.meet,
                of_one_run | no_probe(": it is for shards, and a probe is one run"));
    flags.value("--meet-timeout", "T",
                "a shard that is later than this is named, and nothing is sent", "5m",
                parse_positive_duration_ns, shard.meet_timeout_ns, of_one_run);
    flags.value("--start-at", "UTC", "time 0, as in 2026-11-26T05:30:00Z [when all is ready]",
                parse_utc_ns, shard.start_at_utc_ns,
                of_one_run | no_probe(": all probes would have that one instant; to begin at a "
                                      "load, give --start-at before --"));
    flags.value("--clock-error-max", "T",
                "warn if the offset to shard 0's clock is not known to within T", "1ms",
                parse_positive_duration_ns, shard.clock_error_max_ns);
}

// The flags of metrics: the servers' own, and the run's.

static void add_metrics_flags(Flags& flags, MetricsFlags& metrics) {
    flags.group("Metrics", watching);
    flags.values("--metrics", "URL|auto|none",
                 "metrics pages to read during the run; auto: /metrics of each --url\n"
                 "that answers [auto]",
                 parse_metrics_place, metrics.places, resumable | hides(mask_url));
    flags.value("--metrics-period", "T", "time between two readings", "1s", parse_metrics_period,
                metrics.period_ns, resumable);
    flags.values("--metrics-table", "FILE", "TOML of an engine's names, before the known ones",
                 metrics.table_files);
    flags.value("--listen", "ADDRESS:PORT", "serve the run's own live /metrics here [none]",
                parse_listen_place, metrics.listen, resumable | not_setting);
}

// The flags of rates.

static void add_rate_flags(Flags& flags, ReplayOptions& options) {
    RateFlags& rates = options.workload.rates;
    flags.group("Rate");
    flags.value("--rate", "R",
                "rows per second (10, 2.5/s, 600/m), in file order, instead of recorded\n"
                "instants; with --sessions open or closed, sessions per second;\n"
                "inf: all at time 0, capped by --max-inflight [as recorded]",
                parse_rate, rates.rate, not_setting, {"inf"});
    flags.value("--arrivals", "LAW",
                "gaps of the rate: constant, poisson, gamma:K (K below 1 is burstier),\n"
                "or recorded (the recorded gaps, scaled to the rate)\n"
                "[of a rate: poisson]",
                parse_arrivals, rates.arrivals, not_setting, arrival_choices.words());
    flags.value("--ramp", "FROM:TO:OVER",
                "a rate that changes over a time, then stays: 1:20:60s, optionally\n"
                "followed by :linear, :exponential or :steps=N [none]",
                parse_ramp, rates.ramp, not_setting);
    flags.value("--shape", "FILE",
                "rate from lines of SECONDS,RATE, linear between; the last stays [none]",
                rates.shape_file, not_setting);
    flags.value("--abandon", "P:T1..T2",
                "10%:2s..10s: clients give up this share of the requests, at a seeded\n"
                "time after the fire; they count as abandoned, not as failed [none]",
                parse_abandon, options.sending.abandon);
}

// The flags of users, and of what they do between requests.

static void add_user_flags(Flags& flags, ReplayOptions& options) {
    WorkloadFlags& workload = options.workload;
    UserRules& users = workload.users;
    flags.group("Users");
    flags.value("--users", "N",
                "N live session trees at any time, or up to N (..N); implies\n"
                "--sessions closed",
                parse_user_count, workload.user_count, not_setting);
    flags.value("--concurrency", "N",
                "a closed loop of rows, without sessions: N are open, and the next one\n"
                "in file order is due when one ends [none]",
                parse_positive_u32, workload.concurrency);
    flags.value("--grow", "METRIC:LIMIT",
                "with --users A..B: begin with A and add users up to B at the end of a\n"
                "--period while ttft:p95:2s (or the like) holds with room; not for\n"
                "published figures [none]",
                parse_grow_rules, workload.grow, no_probe(": it changes the load within a run"));
    flags.value("--user-ramp", "T", "users begin within this time, at seeded instants", "0s",
                parse_duration_ns, users.ramp_ns);
    flags.value("--session-order", "HOW", "order in which trees are played: {}", "file",
                tree_choices, users.order);
    flags.on_off("--recycle", "repeat the trace when it is used up, sharing no blocks with before",
                 users.recycle);
    flags.value("--recycle-share", "WHAT",
                "what passes share: none, or system (system and tool blocks)", "none",
                share_system_choices, users.shares_system);
    flags.value("--barrier", "WHAT",
                "a turn waits for its stream and its joins (stream), or also for all\n"
                "of its tree that ended before it in the recording (tree)",
                "stream", tree_barrier_choices, users.tree_barrier);
    flags.value("--for", "T", "nothing is due after this time [to the end]",
                parse_positive_duration_ns, users.for_ns, not_setting);
    flags.value("--drain", "T", "after --for, time for open answers to end [60s]",
                parse_duration_ns, users.drain_ns);
    flags.value("--on-failure", "RULE",
                "turns after a failed one: end-tree (not sent), continue (sent), or\n"
                "retry:N (the failed one is sent again, at most N times) [end-tree]",
                parse_failure_rules, workload.on_failure, {}, failure_choices.words());
    flags.value("--on-429", "HOW", "record a 429 as a failure, or wait and send the row again",
                "record", wait_for_429_choices, users.failures.waits_for_429);
    flags.value(
        "--tree-idle-cap", "T",
        "longest time without a request of a tree in flight, before --speed\ndivides it [none]",
        parse_duration_ns, users.idle.tree_ns);
    flags.value("--system-idle-cap", "T", "longest time without any request in flight [none]",
                parse_duration_ns, users.idle.system_ns);
    flags.value("--start-within", "A:B",
                "first trees begin inside their recordings, between these shares of\n"
                "them; the warm-up sends the turn before [0:0]",
                parse_start_within, workload.start_within);
    flags.value("--start-by", "WHAT", "what --start-within divides: {}", "timeline",
                start_by_turns_choices, users.start.by_turns);
    flags.value("--prime", "LENGTH", "answers of the warm-up: exact, or one-token", "exact",
                prime_one_token_choices, users.start.prime_one_token);
    flags.value("--warmup-requests", "N", "one-token requests per user before the measurement", "0",
                parse_u32, users.start.warmup_requests);
}

// The text of `driftless replay --help all` behind its flags.

static constexpr const char* before_apis =
    R"(Durations are 90, 1.5s, 250ms, 5us, 10m, 2h or 1h30m; a bare number is seconds.

Standard output gets the chosen settings, then the result; standard error gets progress, warnings
and errors. --quiet omits the settings and progress, and says the result in two lines.

APIs:
)";

static constexpr const char* behind_apis = R"(
Headers of rows: a --header can contain values of the row: {row}, {session}, {tree} (the session
at the root of its tree), {parent} (the session that spawned its session), {turn}, {pass} (0, or the
pass of --recycle), {user} (of --users) and {kept.COLUMN}. If the row has no such value, it is sent
without that header, because routers take an empty header for a session. Values that could begin
another header are refused. With the same seed, a request has the same headers in each run, except
{user}: the user that is free first sends it. --session-headers agentx sends {session}-{pass} as
X-Correlation-ID, X-Session-ID, X-Session-Affinity, X-SMG-Routing-Key and X-Dynamo-Session-ID, and
for sub-agents {parent}-{pass} as X-Dynamo-Parent-Session-ID; a --header of the same name wins.

Flags of vLLM's and SGLang's benchmarks, AIPerf, GuideLLM, UCM and others are understood, too. Lines
"flags: .." say what becomes of those that mean something else here.

Examples:
  driftless replay trace.jsonl --url http://127.0.0.1:8000
  driftless replay trace.jsonl --url http://10.0.0.7:8000 --model llama --speed 2.5 --end 10m
  driftless replay trace.jsonl --url http://a:8000 --url http://b:8000 --api openai-completions
  driftless replay trace.jsonl --url http://a:8000 --goodput "ttft:200 tpot:50" --label run=7
  driftless replay trace.jsonl --url http://a:8000 --fail-if "ttft:p99 > 2s"
  driftless replay trace.jsonl --url https://llm.example.com/v1 --ca our-ca.pem
  driftless replay trace.jsonl --url http://a:8000 --header "X-Session: {session}"
  driftless replay trace.jsonl --dry-run
  driftless replay --resume runs/20261121T062957Z-trace
  driftless replay --from runs/20261121T062957Z-trace --url http://b:8000

Exit codes: 0 done (failed requests are data), 2 usage, 3 input refused, 4 preflight failed,
5 no request got a complete answer, 6 not certified, or a rule violated, when that was required,
7 the host lacks something or fails, 8 a --fail-if or --stop-when holds, 130 interrupted.)";

/// What durations are, the APIs with a line each, headers of rows, and exit codes.
std::string replay_help_footer() {
    constexpr std::size_t name_width = 20;
    std::string text = before_apis;
    for (const Dialect* dialect : dialects()) {
        std::string line = std::string("  ") + dialect->name;
        line.resize(std::max(line.size(), 2 + name_width), ' ');
        text += line + dialect->help + "\n";
    }
    return text + behind_apis;
}

static constexpr const char* description =
    "Replays a request trace against an inference server: every request is sent at its\n"
    "recorded instant, and every streamed token gets a time stamp.\n";

static void add_trace_flags(Flags& flags, ReplayOptions& options) {
    PlanOptions& plan = options.workload.plan;
    flags.group("Trace");
    add_trace_flags(flags, options.workload.files);
    flags.value("--keep", "A,B", "trace columns to keep in every record [none]", parse_list,
                options.workload.files.keep, watching);
    add_range_flags(flags, plan, not_setting);
    flags.value("--duration", "T", "only rows that are due within the first T of the run [all]",
                parse_positive_duration_ns, plan.duration_ns, not_setting);
    add_load_flags(flags, options.workload.load);
}

static void add_server_flags(Flags& flags, TypedServer& server, ReplayOptions& options) {
    RequestFlags& request = options.request;
    ServerFlags& probed = options.server;
    TlsClientOptions& tls = options.server.tls;
    flags.group("Server");
    flags.values("--url", "URL", "http://HOST:PORT/BASE, https:// or unix:PATH", parse_url,
                 server.urls, names_server | resumable | not_setting | hides(mask_url));
    flags.value("--balance", "RULE",
                "several --url: turn (row by row), or session (each to one URL)", "turn",
                balance_choices, options.sending.balance);
    flags.value("--against", "URL", "second server, which gets each row at the same instant [none]",
                parse_url, server.against, resumable | not_setting | hides(mask_url));
    flags.value("--against-model", "NAME",
                "model of --against [--model, else the first that it lists]",
                request.against_model);
    flags.value("--connect-to", "PLACE",
                "HOST:PORT or unix:PATH instead; Host and SNI stay the URL's", parse_place,
                probed.connect_to, resumable | hides(mask_url));
    flags.value("--endpoint", "PATH", "path after the URL [the API's]", server.endpoint,
                resumable | not_setting | hides(mask_url));
    flags.value("--api", "NAME", "API of the server; the names are below", "openai-chat", parse_api,
                request.dialect, not_setting, names_in(dialects()));
    flags.value("--template", "FILE", "JSON that describes the server for --api template",
                request.template_file);
    flags.value("--routing-strategy", "NAME", "header of that name; for aibrix [the gateway's]",
                request.routing_strategy);
    flags.value("--user", "NAME", "header of that name; for aibrix [none]", request.user);
    flags.value("--model", "NAME", "model, or \"{kept.COLUMN}\" per row [first of /v1/models]",
                request.model, not_setting);
    flags.values("--header", "K:V", "header of every request, or K:env:NAME; see below",
                 parse_added_header, request.headers, hides(mask_header));
    flags.value("--session-headers", "FAMILY",
                "session headers of a tool: agentx (what AIPerf sends), or none", "none",
                session_header_choices, request.session_headers);
    flags.on_off("--traceparent", "send a sampled trace id with each row: work for the server",
                 request.traceparent);
    flags.values("--record-header", "NAME",
                 "response header to keep in every record, up to 256 bytes", parse_header_name,
                 request.record_headers, watching);
    flags.value("--extra-body", "JSON", "object whose members are added to every body [none]",
                parse_extra_body, request.extra_body, hides(mask_json));
    flags.value("--api-key", "KEY", "bearer token, never printed, or env:NAME [env OPENAI_API_KEY]",
                server.api_key, resumable | not_setting | hides(mask_key));
    flags.value("--ca", "FILE", "PEM of the authorities to trust for https [the system's]",
                tls.ca_file);
    flags.off("--insecure", "do not check the server's certificate for https", tls.verify);
    flags.value("--cert", "FILE", "PEM chain of a client certificate for https [none]",
                tls.cert_file);
    flags.value("--key", "FILE", "PEM of its key [in --cert]", tls.key_file);
    flags.value("--wait-ready", "T", "time to wait for the server to be ready [0]",
                parse_duration_ns, probed.wait_ready_ns, resumable | watching);
    flags.off("--no-preflight", "send no probes; needs --model", probed.preflight);
    flags.value("--overhead", "PRE,POST", "tokens that the server adds around a prompt [probed]",
                parse_overhead, probed.overhead, not_setting);
    flags.value("--server-block", "TOKENS",
                "the server's cache blocks: hits are also forecast in them [probed]",
                parse_positive_u32, probed.server_block, watching);
    flags.off("--no-warm-probe", "do not check for a cache warm from an earlier run",
              probed.warm_probe);
    flags.on_off("--reset-cache", "empty the server's prefix cache first, and check that",
                 probed.reset_cache, asks_server);
    flags.group("");  // not in the help: the spelling of other tools
    flags.value("--host", "NAME", "", server.host,
                names_server | resumable | not_setting | hides(mask_url));
    flags.value("--port", "N", "", "8000", parse_positive_u32, server.port,
                names_server | resumable | not_setting);
}

static void add_prompt_flags(Flags& flags, ReplayOptions& options) {
    RequestFlags& request = options.request;
    PromptFlags& prompts = options.prompts;
    flags.group("Prompts and answers");
    flags.value("--prompt", "KIND", "text, or ids (arrays of token ids)", "text", prompt_choices,
                request.prompt, not_setting);
    flags.value("--tokenizer", "FILE|DIR",
                "for words and ids: tokenizer.json, tekken.json, tiktoken [built-in]",
                prompts.tokenizer, not_setting);
    flags.value("--dataset", "FILE",
                "prompts of its text: ShareGPT or JSON lines; needs --tokenizer [words]",
                prompts.dataset, not_setting | of_corpus);
    flags.value("--dataset-column", "NAME",
                "text column of --dataset [conversations, messages, text, prompt, ..]",
                prompts.dataset_column, of_corpus);
    flags.value("--ids-from", "N", "first of the 4,096 token ids that --prompt ids uses", "1000",
                parse_u32, prompts.ids_from);
    flags.value("--verify-prompts", "N",
                "rows first held against the server's /tokenize, ids against usage", "0", parse_u32,
                options.server.verify_prompts, watching | asks_server);
    flags.value("--save-prompts", "FILE",
                "new file for the exact bodies, which can be replayed [none]", prompts.save_prompts,
                of_one_run | of_sweep |
                    no_probe(": each probe would write the same file; use driftless replay "
                             "--dry-run --save-prompts"));
    flags.value("--block-cache", "BYTES", "memory for prompt blocks; changes speed, never bytes",
                "1M", parse_bytes, prompts.block_cache_bytes);
    flags.value("--cache-salt", "TEXT|random",
                "text that makes this run's prompts differ from other runs' [no text]",
                prompts.cache_salt, not_setting);
    flags.value("--output", "RULE", "exact: the recorded length; cap: at most that; free: no limit",
                "exact", output_choices, request.output, not_setting);
    flags.value("--assistant", "WHOSE",
                "answers in conversations: recorded, or live (the server's own)\n"
                "[recorded; live if the trace has no answers]",
                assistant_choices, request.assistant, of_corpus);
    flags.value("--live-keep", "A,B", "parts of a live answer to keep: text, tools, reasoning",
                "text,tools", parse_kept_words, request.live_keep, of_corpus, kept_choices.words());
    flags.value("--length-field", "NAME", "bounds answers: {}", "auto", length_field_choices,
                request.length_member);
    flags.on_off("--continuous-usage", "ask for token counts on every chunk",
                 request.continuous_usage);
    flags.off("--no-stream", "ask for unstreamed answers: no first token, no chunks",
              request.stream);
    flags.value("--seed", "N", "seed of prompts, --spread and load flags", "0", parse_count,
                options.workload.plan.seed, not_setting | no_probe("; give it before --"));
}

static void add_schedule_flags(Flags& flags, ReplayOptions& options) {
    SendingFlags& sending = options.sending;
    flags.group("Schedule");
    flags.value("--speed", "X", "2 is twice as fast", "1", parse_text, options.workload.speed_text,
                not_setting);
    flags.value("--gap", "RULE",
                "gaps of closed sessions: end-to-start (the recorded gap after the\n"
                "answer), start-to-start (the recorded distance of the starts, minus\n"
                "the time of the answer), or none [end-to-start]",
                parse_gap_rule, options.workload.gap, of_load, gap_choices.words());
    flags.value("--gap-cap", "T", "longest gap before a turn, before --speed divides it [none]",
                parse_duration_ns, options.workload.gap_cap_ns, of_load);
    flags.on_off("--spread", "spread rows that share an instant over the gap to the next",
                 options.workload.plan.spread, not_setting);
    flags.value("--arm-ahead", "T|all", "how far ahead prompts are built", "2s", parse_arm_ahead,
                sending.arm_ahead, watching);
    flags.value("--max-inflight", "N", "most requests open at once [file limit - 64]",
                parse_positive_u32, sending.inflight_max);
    flags.value("--budget-input", "N/m",
                "input tokens per minute (/s, /h): rows wait for a token bucket of that\n"
                "size, full at first; N/m:uncached: only tokens not expected in a cache\n"
                "[none]",
                parse_input_budget, sending.budget_input);
    flags.value("--budget-output", "N/m", "the same for recorded output tokens [none]",
                parse_output_budget, sending.budget_output);
    flags.value("--connections", "N", "connections kept open [as the schedule needs]",
                parse_positive_u32, sending.connections);
    flags.value("--connection", "RULE",
                "reuse; fresh: one per row; sticky: one per session while idle", "reuse",
                connection_choices, sending.connection);
    flags.value("--timeout-connect", "T", "time until a connection is established", "5s",
                parse_positive_duration_ns, sending.timeouts.connect.ns);
    flags.value("--timeout-first-byte", "T", "time from the fire to the first byte of the answer",
                "600s", parse_positive_duration_ns, sending.timeouts.first_byte.ns);
    flags.value("--timeout-idle", "T", "longest pause inside an answer", "120s",
                parse_positive_duration_ns, sending.timeouts.idle.ns);
    flags.value("--timeout-total", "T", "time from the fire to the end of the answer", "3600s",
                parse_positive_duration_ns, sending.timeouts.total.ns);
    flags.value("--grace", "T", "after an interrupt, time for open answers to end", "5s",
                parse_duration_ns, sending.grace_ns, resumable);
    flags.on_off("--dry-run", "do everything except sending", options.dry_run,
                 of_one_run | of_sweep | no_probe(": a probe must send requests"));
}

static void add_output_flags(Flags& flags, ReplayOptions& options) {
    ResultFlags& results = options.results;
    flags.group("Output");
    flags.value("--out", "DIR", "folder of the run [runs/<UTC time>-<trace name>]", parse_folder,
                results.out, of_one_run | of_sweep | no_probe("; give it before --"));
    flags.value("--output-path", "FILE", "file for the records [requests.jsonl in the folder]",
                results.records_path,
                of_one_run | of_sweep | no_probe("; records are in the probes' folders"));
    flags.value("--chunks", "KIND", "chunk arrays in the records: {}", "full", chunk_choices,
                results.chunks, watching);
    flags.value("--save-responses", "N|all", "answers to keep in responses.jsonl", "0",
                parse_save_responses, results.save_responses, watching);
    flags.values("--goodput", "LIMITS",
                 "in ms: \"ttft:200 tpot:50\"; for some rows only:\n"
                 "\"tier=gold ttft:99\"",
                 parse_goodput_rule, results.goodput);
    flags.value("--period", "T|none", "write a line of sums to periods.jsonl every T", "10s",
                parse_period, results.period_ns, watching);
    flags.value("--report", "KIND",
                "html: write a page of charts, report.html, at the end; or none", "html",
                page_choices, results.page, of_one_run | resumable);
    add_ci_flags(flags, results.ci, parse_path_on_disk);
    flags.values("--label", "K=V", "label for run.json and the summary", parse_label,
                 results.labels, not_setting);
    flags.value("--table", "KIND", "the summary on the screen: short, or full (every figure)",
                "short", table_choices, results.table, of_one_run | resumable);
    flags.off("--no-progress", "no progress on standard error (a line; in logs one every 30 s)",
              results.progress, of_one_run | resumable);
    flags.on_off("--quiet", "the result in two lines, warnings and errors only", results.quiet,
                 of_one_run | resumable | of_sweep);
}

static void add_host_flags(Flags& flags, ReplayOptions& options) {
    HostFlags& host = options.host;
    flags.group("Host");
    flags.value("--engines", "N|auto",
                "threads that send, each on its own CPU; auto: a core each, but one", "1",
                parse_engines, host.engines, watching);
    flags.value("--cpu", "N", "CPU of the first engine [the quietest of those allowed]", parse_u32,
                host.cpu, resumable | not_setting);
    flags.value("--writer-cpu", "N|beside|apart|auto",
                "CPU of the writer; beside: the engine's, apart: all others; auto:\n"
                "beside if this host has the server and few CPUs, else apart",
                "auto", parse_writer_cpu, host.writer_cpu, resumable | not_setting);
    flags.value("--wait", "HOW", "spin, hybrid, sleep or auto (spin with 2 CPUs to spare)", "auto",
                wait_choices, host.wait, resumable | watching);
    flags.value("--scheduling", "HOW",
                "ordinary, slice (short time slices, if Linux grants them), kept (and\n"
                "the engine's CPU never looks idle) or auto (kept beside a server of\n"
                "this host that shares two or three CPUs, else slice)",
                "auto", scheduling_choices, host.scheduling, resumable | watching);
    flags.on_off("--realtime",
                 "run the engine before all ordinary threads (SCHED_FIFO; not with spin)",
                 host.realtime, resumable | watching);
    flags.on_off("--warm-send",
                 "send a loopback byte 0.1 ms before isolated requests to warm the path",
                 host.warm_sends, watching);
    flags.value("--receive-buffers", "N",
                "receive buffers of 4 KiB each, a power of two\n"
                "[8 for each connection, from 256 to 4096]",
                parse_buffer_count, host.receive_buffers, watching);
    flags.value("--driver", "WHICH",
                "io_uring, epoll (costs more CPU time) or auto: epoll only where the\n"
                "kernel or a container forbids io_uring",
                "auto", driver_choices, host.driver, resumable | not_setting);
    flags.value("--stamps", "WHICH", "kernel stamps: full, wire (only of sent data) or none",
                "full", stamp_choices, host.stamps, watching);
    flags.value("--calibration", "auto|none|FILE",
                "figures of this host; auto: those of driftless calibrate, or of an\n"
                "earlier run, or else measured for a second before time 0",
                "auto", parse_text, options.calibration.source, not_setting);
    flags.value("--certify-within", "T",
                "taint each row later than this: 5ms, or sent:5ms read:5ms; error:1ms\n"
                "limits the client's error of a figure, where 1 % of it is less",
                "5ms", parse_certify_within, options.calibration.certify_within);
    flags.on_off("--require-certified", "exit with 6 unless the verdict is certified",
                 options.calibration.require_certified, resumable | watching);
}

static void add_rule_flags(Flags& flags, RuleFlags& rules, ResultFlags& results) {
    flags.group("Rules");
    flags.values("--rules", "NAME|FILE", "published rules: sets what they fix and judges the run",
                 parse_text, rules.typed, watching, names_in(shipped_rules()));
    flags.on_off("--require-rules", "exit with 6 if a rule is violated", rules.required, resumable);
    flags.values("--fail-if", "COND",
                 "exit with 8 if it holds: \"ttft:p99 > 2s\", \"errors > 0.1 %\"", parse_fail_if,
                 results.fail_if, not_setting | no_probe("; use --slo"));
    flags.values("--stop-when", "COND",
                 "end early with exit 8 when this holds at the end of a --period:\n"
                 "\"errors > 5 %\", \"ttft:p99 > 10s for 30s\" (of 20 requests at least),\n"
                 "or \"failed > 10\"",
                 parse_stop_rule, results.stop_when);
}

static void add_again_flags(Flags& flags, ReplayOptions& options) {
    AgainFlags& again = options.again;
    flags.group("Again", of_one_run | of_again | of_sweep);
    flags.value("--resume", "RUN", "continue a killed run, in its own folder", again.resume,
                resumable | no_probe(": each probe is a new run"));
    flags.on_off("--resend", "with --resume: send rows again that were sent but have no record",
                 again.resend, resumable);
    flags.value("--from", "RUN", "repeat a run; refused if schedule or prompts differ", again.from,
                no_probe(": each probe is a new run"));
    flags.value("--config", "FILE",
                "flags as TOML (speed = 2, header = [..], trace = ..), as in a run's\n"
                "run.toml; a flag on the command line replaces its key (--header: the\n"
                "one of its name)",
                again.config, no_probe(": put its keys behind --"));
}

/// An earlier run, or a file, has flags of its own, and rules are applied to all of them together.
static bool takes_up(const std::vector<std::string>& arguments) {
    return std::ranges::any_of(arguments, [](const auto& one) { return takes_up_flags(one); });
}

/// What is wrong, with the names that were typed for those of our flags that it begins with or has.
static std::string in_typed_names(const std::string& why, const Spelled& spelled) {
    std::string names;
    for (const auto& [ours, typed] : spelled.typed_as) {
        const std::size_t at = why.find(ours);
        const std::size_t end = at == why.npos ? at : at + ours.size();
        const bool whole = at != why.npos && (end == why.size() || why[end] == ' ' ||
                                              why[end] == ':' || why[end] == ',');
        if (whole && why.find(typed) == why.npos && names.find(typed) == names.npos) {
            names += (names.empty() ? "" : ", ") + ours + " was typed as " + typed;
        }
    }
    return names.empty() ? why : why + " (" + names + ")";
}

CommandParser replay_parser(TypedServer& server, ReplayOptions& options) {
    CommandParser parser("replay", description, replay_help_footer());
    parser.most_used = {"--url",   "--model",   "--tokenizer", "--speed",   "--end",
                        "--limit", "--rate",    "--users",     "--goodput", "--out",
                        "--label", "--fail-if", "--dry-run",   "--resume"};
    add_trace_argument(parser.flags, options.workload.files);
    Flags& flags = parser.flags;
    add_trace_flags(flags, options);
    add_server_flags(flags, server, options);
    add_prompt_flags(flags, options);
    add_schedule_flags(flags, options);
    add_rate_flags(flags, options);
    add_user_flags(flags, options);
    add_output_flags(flags, options);
    add_event_flags(flags, options.events);
    add_metrics_flags(flags, options.metrics);
    add_host_flags(flags, options);
    add_rule_flags(flags, options.rules, options.results);
    add_again_flags(flags, options);
    add_machine_flags(flags, options.shard);
    return parser;
}

const FlagTable& replay_flags(const CommandParser* declared) {
    static const FlagTable table = [declared] {
        if (declared != nullptr) {
            return declared->table();
        }
        TypedServer server;
        ReplayOptions options;
        return replay_parser(server, options).table();
    }();
    return table;
}

ReplayCommandLine parse_replay_options(const std::vector<std::string>& arguments,
                                       const std::string& api_key) {
    ReplayCommandLine line;
    ReplayOptions& options = line.options;
    TypedServer server;
    CommandParser parser = replay_parser(server, options);
    const bool asks_help = help_topic(arguments).has_value();
    Spelled spelled;
    if (asks_help) {
        spelled.arguments = arguments;
    } else {
        (void)replay_flags(&parser);
        spelled = spell(arguments);
    }
    if (!spelled.refused.empty()) {
        line.refuse("replay", in_typed_names(spelled.refused, spelled));
        return line;
    }
    if (!asks_help && !takes_up(spelled.arguments)) {
        const std::string why = apply_rules(spelled.arguments, spelled.notes, options.rules.chosen);
        if (!why.empty()) {
            line.refuse("replay", in_typed_names(why, spelled));
            return line;
        }
    }
    line.notes = spelled.notes;
    std::string why = parser.parse(spelled.arguments, line);
    if (line.kind == ReplayCommandLine::Kind::help) {
        return line;
    }
    if (why.empty()) {
        note_api(parser.flags.given("--api"), *options.request.dialect, line.notes);
        line.arguments = options.workload.files.paths;  // TRACE.., then flags
        const std::vector<std::string> given = parser.flags.given();
        line.arguments.insert(line.arguments.end(), given.begin(), given.end());
    }
    if (why.empty() && options.workload.files.paths.empty()) {
        why = spelled.trace_missing;
    }
    if (why.empty() && !options.again.any()) {
        why = complete(server, api_key, options);
        if (options.request.key_of_environment) {
            line.arguments.push_back("--api-key=" + api_key);  // kept as one that was typed
        }
    }
    if (why.empty() && spelled.makes_rows && options.workload.files.paths.size() > 1) {
        why = spelled.last_word + ": the data set of this line is generated; remove it";
    }
    if (!why.empty()) {
        line.refuse("replay", in_typed_names(why, spelled));
    }
    return line;
}

}  // namespace driftless
