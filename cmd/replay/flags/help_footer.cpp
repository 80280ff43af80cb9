#include "cmd/replay/flags/help_footer.hpp"

#include <algorithm>

#include "proto/api/dialect.hpp"

namespace driftless {

namespace {

constexpr const char* before_apis =
    R"(Durations are 90, 1.5s, 250ms, 5us, 10m, 2h or 1h30m; a bare number is seconds.

Standard output gets the chosen settings, then the result; standard error gets progress, warnings
and errors. --quiet omits the settings and progress.

APIs:
)";

constexpr const char* behind_apis = R"(
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

}  // namespace

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

}  // namespace driftless
