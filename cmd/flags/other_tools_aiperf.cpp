/// What flags of `aiperf profile` and `genai-perf profile` mean together.

#include <algorithm>
#include <array>

#include "cmd/flags/other_tools.hpp"

namespace driftless {

namespace {

struct Scenario {
    std::string_view name;
    std::string_view rules;
};
constexpr std::array scenarios{Scenario{"inferencex-agentx-mvp", "agentx-mvp"},
                               Scenario{"agentx", "agentx"}};

void finish_scenario(const std::string& name, Line& line) {
    for (const Scenario& one : scenarios) {
        if (one.name == name) {
            add_default(line, "--rules", one.rules);
            line.typed_as.emplace_back("--rules", "--scenario");
            add_note(line, "--scenario " + name + " is taken as --rules " + std::string(one.rules));
            return;
        }
    }
    refuse_line(line, "--scenario " + name +
                          ": is not known here; use inferencex-agentx-mvp or agentx (--rules)");
}

/// The repository of a data set by AIPerf's name for it (0.13.0, plugins.yaml):
/// "semianalysis_cc_traces_weka_062126_256k". Empty: it is not a Weka trace.
std::string repository_of(const std::string& dataset) {
    struct Alias {
        std::string_view name;
        std::string_view stands_for;
    };
    constexpr Alias aliases[] = {{"", "_no_subagents_051826"},
                                 {"_no_subagents", "_no_subagents_051826"},
                                 {"_with_subagents", "_062126"},
                                 {"_with_subagents_256k", "_062126_256k"}};
    constexpr std::string_view begin = "semianalysis_cc_traces_weka";
    if (!dataset.starts_with(begin)) {
        return dataset.find('/') == dataset.npos ? "" : dataset;
    }
    std::string name = dataset.substr(begin.size());
    for (const Alias& one : aliases) {
        if (name == one.name) {
            name = one.stands_for;
            break;
        }
    }
    std::replace(name.begin(), name.end(), '_', '-');
    return "semianalysisai/cc-traces-weka" + name;
}

/// A name of a data set is not a file: it is only believed beside one.
void finish_dataset(Line& line) {
    const bool named = line.has("--hf-weka-dataset");
    const std::string flag = named ? "--hf-weka-dataset" : "--public-dataset";
    const std::string name = line.get(flag);
    if (name.empty()) {
        return;
    }
    const std::string repository = repository_of(name);
    add_note(line, flag + " " + name + " is assumed to apply to the given trace");
    line.trace_missing =
        flag + " " + name + ": driftless downloads nothing; " +
        (repository.empty()
             ? "of AIPerf's data sets it reads the Weka traces; for another one, write its request "
               "bodies to a file, one a line, and add --input-file FILE"
             : "fetch it (hf download --repo-type dataset " + repository +
                   " --local-dir traces), then add --input-file traces");
}

/// `--input-file payload:FILE` of GenAI-Perf is a trace; `synthetic:` is none.
void finish_input_file(Line& line) {
    constexpr std::string_view payload = "payload:";
    for (std::string& one : line.arguments) {
        if (one.starts_with(payload)) {
            one.erase(0, payload.size());
        } else if (one.starts_with("synthetic:")) {
            refuse_line(
                line, "--input-file " + one + ": embeddings and rankings are not sent; remove it");
        }
    }
}

/// `ignore_eos:true`, several of them, or a JSON object.
void finish_inputs(std::string text, Line& line) {
    if (text.starts_with('{')) {
        add_flag(line, "--extra-body", text);
        return;
    }
    std::string members;
    while (!text.empty()) {
        const std::string pair = text.substr(0, text.find_first_of(" ,"));
        text.erase(0, pair.size() + 1);
        const std::size_t colon = pair.find(':');
        if (colon == pair.npos) {
            refuse_line(line,
                        "--extra-inputs \"" + pair + "\": is not NAME:VALUE or a JSON object");
            return;
        }
        if (pair == "ignore_eos:true") {
            add_note(
                line,
                "--extra-inputs ignore_eos:true is ignored: the default, --output exact, sends it");
            continue;
        }
        extend_members(members, pair.substr(0, colon), pair.substr(colon + 1));
    }
    add_members(line, members);
}

void finish_trajectories(Line& line) {
    const bool from = line.has("--trajectory-start-min-ratio");
    const bool to = line.has("--trajectory-start-max-ratio");
    if (!from && !to) {
        return;
    }
    if (from != to && !line.has("--scenario")) {
        refuse_line(line,
                    "--trajectory-start-min-ratio and --trajectory-start-max-ratio are the ends of "
                    "one range; give both");
        return;
    }
    add_flag(line, "--start-within",
             line.get("--trajectory-start-min-ratio", "0") + ":" +
                 line.get("--trajectory-start-max-ratio", "1"));
}

/// The law of its gaps; empty: Poisson, its default.
std::string law_of(Line& line) {
    const std::string_view flag =
        line.has("--arrival-pattern") ? "--arrival-pattern" : "--request-rate-mode";
    const bool smooth = line.has("--arrival-smoothness") && !line.has(flag);
    const std::string pattern = line.get(flag, smooth ? "gamma" : "poisson");
    if (pattern == "gamma") {
        return "gamma:" + line.get("--arrival-smoothness", "1");
    }
    if (pattern != "poisson" && pattern != "constant") {
        refuse_line(line, std::string(flag) + " " + pattern +
                              ": is not known here; use constant, poisson or gamma (--arrivals)");
    }
    return pattern == "poisson" ? "" : pattern;
}

/// Requests a second; its ramp begins near 0.
void finish_aiperf_rate(Line& line) {
    const std::string rate = line.get("--request-rate");
    const std::string ramp = line.get("--request-rate-ramp-duration");
    if (rate.empty() && !ramp.empty()) {
        refuse_line(line, "--request-rate-ramp-duration " + ramp + ": also needs --request-rate");
    }
    if (rate.empty()) {
        note_unused({"--request-rate-mode", "--arrival-pattern", "--arrival-smoothness"},
                    "no --request-rate is given", line);
        return;
    }
    const std::string law = law_of(line);
    if (ramp.empty()) {
        add_flag(line, "--rate", rate);
        line.typed_as.emplace_back("--rate", "--request-rate");
    } else {
        line.typed_as.emplace_back("--ramp", "--request-rate-ramp-duration");
        add_flag(line, "--ramp", "0:" + rate + ":" + ramp);
    }
    if (!law.empty() && rate != "inf") {
        add_default(line, "--arrivals", law);
    }
}

/// Formats whose rows have no sessions that could be live.
bool is_single_turn(const Line& line) {
    return is_one_of("burstgpt|azure", argument_of(line, "--format"));
}

/// A number of sessions, or rows, that are live; beside a schedule or a rate, a cap.
void finish_aiperf_load(Line& line) {
    const bool open = line.has("--fixed-schedule") || line.has("--request-rate");
    const bool closed =
        !open && (line.has("--concurrency") || line.has("--no-fixed-schedule") || line.makes_rows);
    line.goes_round = !line.has("--fixed-schedule") && !line.has("--scenario");
    const std::string users = line.get("--concurrency", "1");
    const char* const loop = is_single_turn(line) || line.makes_rows ? "--concurrency" : "--users";
    finish_aiperf_rate(line);
    if (is_one_of("mooncake-delta|qwen|burstgpt", argument_of(line, "--format")) &&
        !line.has("--fixed-schedule") && !line.has("--no-fixed-schedule") &&
        (line.has("--request-rate") || line.has("--concurrency"))) {
        add_note(line,
                 "AIPerf follows the timestamps of such a trace unless --no-fixed-schedule is "
                 "given; here the load is that of the flags, and --fixed-schedule follows them");
    }
    if (line.has("--fixed-schedule")) {
        add_note(line, "--fixed-schedule is ignored: " + reason_of("recorded_schedule"));
    }
    if (line.has("--no-fixed-schedule")) {
        add_note(line, "--no-fixed-schedule is taken as it is: recorded instants do not count");
    }
    if (users.find(',') != users.npos) {
        refuse_line(
            line, "--concurrency " + users +
                      ": one run has one number of users; give one, and start one run per number");
    } else if (line.has("--concurrency")) {
        const std::string flag = closed ? loop : "--max-inflight";
        const bool is_bound = flag == "--users" && !line.has("--scenario");
        add_flag(line, flag, (is_bound ? ".." : "") + users);
        line.typed_as.emplace_back(flag, "--concurrency");
        const std::string taken =
            flag == "--concurrency" ? "" : " is taken as " + flag + " " + users;
        add_note(line,
                 "--concurrency " + users + taken +
                     (flag == "--users" ? ": that many session trees are live"
                      : flag == "--concurrency"
                          ? ": that many rows are open, and one is sent when another has ended"
                          : ": rows wait while that many are open"));
    } else if (closed) {
        add_flag(line, "--concurrency", users);
        add_note(line,
                 "neither --concurrency nor --request-rate is given: sending one row at a time, as "
                 "AIPerf does");
    }
    if (line.has("--benchmark-duration")) {
        add_flag(line, closed ? "--for" : "--duration", line.get("--benchmark-duration"));
        line.typed_as.emplace_back(closed ? "--for" : "--duration", "--benchmark-duration");
    }
    if (line.has("--benchmark-grace-period")) {
        add_flag(line, closed ? "--drain" : "--grace", line.get("--benchmark-grace-period"));
        line.typed_as.emplace_back("--drain", "--benchmark-grace-period");
    }
}

/// Slices of its results, or how often they are shown: lines of periods.jsonl.
void finish_period(Line& line) {
    const std::string_view typed =
        line.has("--slice-duration") ? "--slice-duration" : "--stats-interval";
    const std::string length = line.get(typed);
    if (is_positive(length)) {
        add_default(line, "--period", length);
        add_note(line, std::string(typed) + " " + length + " is taken as --period " + length);
    } else if (!length.empty()) {
        add_note(line, std::string(typed) + " " + length + " is ignored: it is not a period");
    }
    if (line.has("--slice-duration") && line.has("--stats-interval")) {
        add_note(line, "--stats-interval " + line.get("--stats-interval") +
                           " is ignored: periods.jsonl has a line per --slice-duration");
    }
}

/// How many different prompts there are. Its own synthetic ones come again where there are fewer
/// than requests.
void finish_entries(Line& line) {
    const std::string entries = line.get("--num-dataset-entries");
    if (!entries.empty() && !line.makes_rows) {
        add_flag(line, "--max-trees", entries);
        line.typed_as.emplace_back("--max-trees", "--num-dataset-entries");
    } else if (!entries.empty()) {
        add_note(line,
                 "--num-dataset-entries " + entries +
                     " is ignored: each row has its own prompt; AIPerf's prompts repeat after "
                     "that many requests");
    }
    const std::string order = line.get("--dataset-sampling-strategy", "sequential");
    if (order != "sequential" && !line.makes_rows) {
        refuse_line(line, "--dataset-sampling-strategy " + order +
                              ": rows keep the order of the file, as with sequential; remove it");
    } else if (line.has("--dataset-sampling-strategy")) {
        add_note(line, "--dataset-sampling-strategy " + order +
                           " is ignored: it changes nothing "
                           "here");
    }
}

/// `time_to_first_token:200 inter_token_latency:50`, in ms.
void finish_goodput(std::string limits, Line& line) {
    constexpr std::string_view names[][2] = {{"time_to_first_token", "ttft"},
                                             {"inter_token_latency", "tpot"},
                                             {"request_latency", "e2e"},
                                             {"ttft", "ttft"},
                                             {"tpot", "tpot"},
                                             {"e2e", "e2e"}};
    std::string ours;
    while (!limits.empty()) {
        const std::string limit = limits.substr(0, limits.find(' '));
        limits.erase(0, limit.size() + 1);
        const std::size_t colon = std::min(limit.find(':'), limit.size());
        const auto known = std::find_if(std::begin(names), std::end(names), [&](const auto& one) {
            return one[0] == limit.substr(0, colon);
        });
        if (known == std::end(names)) {
            refuse_line(line,
                        "--goodput \"" + limit +
                            "\" is not known here; use time_to_first_token, inter_token_latency or "
                            "request_latency, in ms, as in time_to_first_token:200");
            return;
        }
        ours += (ours.empty() ? "" : " ") + std::string((*known)[1]) + limit.substr(colon);
    }
    if (!ours.empty()) {
        add_flag(line, "--goodput", ours);
    }
}

/// Connections, readiness, cancelled requests, lengths.
void finish_requests(Line& line) {
    const std::string reuse = line.get("--connection-reuse-strategy", "pooled");
    if (reuse == "never" || reuse == "sticky-user-sessions") {
        add_flag(line, "--connection", reuse == "never" ? "fresh" : "sticky");
    } else if (reuse != "pooled") {
        refuse_line(
            line,
            "--connection-reuse-strategy " + reuse +
                ": is not known here; use pooled, never or sticky-user-sessions (--connection)");
    }
    if (is_positive(line.get("--wait-for-model-timeout"))) {
        add_flag(line, "--wait-ready", line.get("--wait-for-model-timeout"));
    }
    if (is_positive(line.get("--request-cancellation-rate"))) {
        const std::string delay = line.get("--request-cancellation-delay", "0");
        if (!is_positive(delay)) {
            refuse_line(line,
                        "--request-cancellation-rate with a --request-cancellation-delay of " +
                            delay +
                            ": a request cannot be cancelled at once here; give a time above 0");
        }
        add_flag(line, "--abandon",
                 line.get("--request-cancellation-rate") + "%:" + delay + ".." + delay);
    }
    if (!is_positive(line.get("--request-cancellation-rate"))) {
        note_unused({"--request-cancellation-delay"}, "no request is cancelled", line);
    }
    if (line.has("--no-force-min-tokens")) {
        add_default(line, "--output", "cap");
    }
    if (line.has("--use-legacy-max-tokens")) {
        add_default(line, "--length-field", "max_tokens");
    }
}

}  // namespace

void finish_aiperf(Line& line) {
    if (std::count(line.arguments.begin(), line.arguments.end(), "--model") > 1) {
        refuse_line(line, std::string("--model is given 2 times: ") + reason_of("no_adapters"));
    }
    finish_input_file(line);
    finish_requests(line);
    finish_entries(line);
    finish_goodput(line.get("--goodput"), line);
    finish_aiperf_load(line);
    finish_trajectories(line);
    finish_dataset(line);
    finish_inputs(line.get("--extra-inputs"), line);
    finish_tokenizer(line);
    finish_period(line);
    if (line.has("--scenario")) {
        finish_scenario(line.get("--scenario"), line);
    }
    add_default_server(line, "8000");
}

}  // namespace driftless
