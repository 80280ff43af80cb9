#include "cmd/replay/flags/foreign_rates.hpp"

#include <algorithm>
#include <array>

#include "cmd/replay/flags/foreign_values.hpp"
#include "cmd/replay/flags/rate_values.hpp"
#include "cmd/replay/flags/tools/tool_flags.hpp"

namespace driftless {

namespace {

constexpr std::array<std::string_view, 9> names{"--request-rate",
                                                "--burstiness",
                                                "--max-concurrency",
                                                "--rate",
                                                "--ramp-up-strategy",
                                                "--ramp-up-start-rps",
                                                "--ramp-up-end-rps",
                                                "--num-concurrency",
                                                "--rampup"};
/// GuideLLM's, where no bound is given: settings.py, max_concurrency, of 0.8.1.
constexpr const char* throughput_places = "10240";

constexpr std::array<std::string_view, 7> profiles{
    "replay", "constant", "async", "poisson", "concurrent", "synchronous", "throughput"};

bool is_known(std::string_view profile) {
    return std::find(profiles.begin(), profiles.end(), profile) != profiles.end();
}

}  // namespace

std::string ForeignRates::get(std::string_view name) const {
    const auto found = said_.find(name);
    return found == said_.end() ? "" : found->second;
}

std::optional<std::size_t> ForeignRates::take(std::string_view typed, const std::string* next,
                                              Spelled& out) {
    const auto name = std::find(names.begin(), names.end(), typed);
    if (name == names.end()) {
        return std::nullopt;
    }
    if (next == nullptr) {
        refuse_line(out, std::string(typed) + ": needs a value");
        return 0;
    }
    if (next->empty()) {
        refuse_line(out, std::string(typed) + " \"\" is empty; give it a value, or remove it");
    } else if (typed == "--burstiness" && !parse_arrivals("gamma:" + *next)) {
        refuse_line(out, "--burstiness \"" + *next +
                             "\" is not a number from 0.01 to 1000000; 1 is poisson, less is "
                             "burstier");
    }
    if (!said_.emplace(*name, *next).second) {
        refuse_line(out, std::string(typed) + ": is given 2 times; give it once");
    }
    return 1;
}

/// "poisson", or "kind=poisson,rate=16,rampup_duration=10".
void ForeignRates::take_profile(const std::string& flag, std::string_view value, Spelled& out) {
    profile_flag_ = flag + " " + std::string(value);
    const bool is_config = value.starts_with("kind=") || value.starts_with('{');
    profile_ = is_config ? config_value(value, "kind") : value;
    refuse_unknown(flag, out);
    for (const auto& [key, text] : config_parts(is_config ? value : "")) {
        if (is_one_of("rate|streams|time_scale", key)) {
            said_["--rate"] = text;
        } else if (key == "max_concurrency") {
            said_["--max-concurrency"] = text;
        } else if (key == "rampup_duration") {
            said_["--rampup"] = text;
        } else if (key == "kind") {
            continue;
        } else if (key == "warmup" || key == "cooldown") {
            add_note(out,
                     flag + " " + key + "=" + text + " is ignored: the figures cover every row");
        } else {
            refuse_line(out, flag + " \"" + key + "=" + text + "\": is not known here; see --rate");
        }
    }
}

void ForeignRates::refuse_unknown(const std::string& flag, Spelled& out) const {
    if (!is_known(profile_)) {
        refuse_line(out,
                    flag + " \"" + profile_ +
                        "\": has no counterpart; use replay, constant, poisson, concurrent, "
                        "synchronous or throughput, with one rate per run; driftless find --over "
                        "rate searches for a server's limit, driftless sweep runs several rates");
    }
}

void ForeignRates::add_cap(Spelled& out, const std::string& cap, const char* why) {
    add_note(out, "--max-concurrency " + cap + " is taken as --max-inflight " + cap + ": " + why +
                      ", and wait while that many are open");
    add_flag(out, "--max-inflight", cap);
    out.typed_as.emplace_back("--max-inflight", "--max-concurrency");
}

void ForeignRates::add_rate(Spelled& out, const std::string& rate, const std::string& law) {
    arrive_ = true;
    add_flag(out, "--rate", rate);
    if (has("--request-rate")) {
        out.typed_as.emplace_back("--rate", "--request-rate");
    }
    if (rate != "inf" && law != "poisson" && !law.empty()) {
        add_default(out, "--arrivals", law);
    }
}

/// A time bounds what is due, and there is no due before an end.
void ForeignRates::add_loop(Spelled& out, const std::string& open) {
    arrive_ = true;
    add_flag(out, "--concurrency", open);
    std::replace(out.arguments.begin(), out.arguments.end(), std::string("--duration"),
                 std::string("--for"));
}

/// vllm bench stretches what it has drawn to the exact mean, but on ramps.
std::string ForeignRates::drawn_law(bool scales) const {
    const std::string shape = get("--burstiness");
    const bool poisson = shape.empty() || shape == "1" || shape == "1.0";
    const std::string law = poisson ? "poisson" : "gamma:" + shape;
    return law + (scales && tool_ == ForeignTool::vllm ? ":scaled" : "");
}

/// Each gap at the rate of its row, from the first row to the last.
void ForeignRates::finish_ramp(Spelled& out) {
    out.typed_as.emplace_back("--ramp", "--ramp-up-strategy");
    const std::string from = get("--ramp-up-start-rps");
    const std::string to = get("--ramp-up-end-rps");
    if (from.empty() || to.empty()) {
        refuse_line(out, "--ramp-up-strategy " + get("--ramp-up-strategy") +
                             ": also needs --ramp-up-start-rps and --ramp-up-end-rps; for a ramp "
                             "over a time use --ramp FROM:TO:OVER");
        return;
    }
    arrive_ = true;
    add_flag(out, "--ramp", from + ":" + to + ":rows:" + get("--ramp-up-strategy"));
    if (const std::string law = drawn_law(false); law != "poisson") {
        add_default(out, "--arrivals", law);
    }
}

/// vllm bench, SGLang, and whoever writes --request-rate.
void ForeignRates::finish_rate(Spelled& out) {
    std::string rate = has("--request-rate") ? get("--request-rate") : get("--rate");
    const std::string cap = get("--max-concurrency");
    const bool by_default = rate.empty() && out.lacks_times && !has("--ramp-up-strategy") &&
                            (tool_ == ForeignTool::vllm || tool_ == ForeignTool::sglang);
    if (by_default) {
        add_note(out, "no --request-rate is given: using inf, the tool's default");
        rate = "inf";
    }
    if (rate == "inf" && has("--burstiness") && tool_ == ForeignTool::vllm) {
        add_note(out, "--burstiness " + get("--burstiness") +
                          " is ignored: an infinite rate has no gaps");
    }
    for (const char* const end : {"--ramp-up-start-rps", "--ramp-up-end-rps"}) {
        if (has(end) && !has("--ramp-up-strategy")) {
            refuse_line(out, std::string(end) + " " + get(end) + ": also needs --ramp-up-strategy");
        }
    }
    if (has("--request-rate") && has("--rate")) {
        refuse_line(out, "--request-rate and --rate both set the rate; remove one");
    } else if (has("--ramp-up-strategy")) {
        finish_ramp(out);
    } else if (rate == "inf" && !cap.empty()) {
        add_note(out, "--max-concurrency " + cap +
                          " with an infinite rate is taken as "
                          "--concurrency " +
                          cap + ": a row is sent when one of that many has ended");
        add_loop(out, cap);
        return;
    } else if (!rate.empty()) {
        add_rate(out, rate, drawn_law(true));
    } else if (has("--burstiness")) {
        const std::string law = drawn_law(false);
        add_default(out, "--arrivals", law);
    }
    if (!cap.empty()) {
        add_cap(out, cap,
                arrive_ ? "rows arrive at the rate" : "rows are sent at their recorded instants");
    }
}

/// A loop of so many places. `--max-seconds`, which bounds it, has become `--duration`.
void ForeignRates::finish_loop(Spelled& out, const std::string& rate) {
    if (profile_ == "throughput" && rate.empty()) {
        add_note(out, profile_flag_ + ": no limit of open requests is given: using " +
                          throughput_places + ", GuideLLM's default");
    }
    add_loop(out, rate.empty() ? throughput_places : rate);
    out.typed_as.emplace_back("--concurrency", profile_flag_);
    if (is_positive(get("--rampup"))) {
        add_flag(out, "--user-ramp", get("--rampup"));
    }
}

/// Requests a second. GuideLLM's Poisson process has no ramp.
void ForeignRates::finish_arrivals(Spelled& out, const std::string& rate) {
    const bool poisson = profile_ == "poisson";
    if (poisson && has("--rampup")) {
        add_note(out,
                 "a ramp of " + get("--rampup") + " s is ignored: GuideLLM's poisson has no ramp");
    } else if (is_positive(get("--rampup"))) {
        arrive_ = true;
        add_flag(out, "--ramp", "0:" + rate + ":" + get("--rampup"));
        add_flag(out, "--arrivals", "constant");
        return;
    }
    add_rate(out, rate, poisson ? "poisson" : "constant");
}

/// GuideLLM: one number means a rate, requests that are open at once, or how far a trace stretches.
void ForeignRates::finish_profile(Spelled& out) {
    const std::string rate = get("--rate");
    const std::string cap = get("--max-concurrency");
    if (rate.find_first_of(",[") != rate.npos) {
        refuse_line(out,
                    "--rate " + rate +
                        ": one run has one rate; start one run per rate, or use driftless sweep");
        return;
    }
    out.goes_round = profile_ != "replay";
    if (profile_ == "replay") {
        add_note(out, profile_flag_ + " is ignored: " + recorded_schedule_reason);
        stretch_ = rate;
    } else if (profile_ == "throughput") {
        finish_loop(out, cap.empty() ? rate : cap);
        return;
    } else if (profile_ == "synchronous") {
        finish_loop(out, "1");
    } else if (rate.empty()) {
        refuse_line(out, profile_flag_ + ": needs a --rate");
    } else if (profile_ == "concurrent") {
        finish_loop(out, rate);
    } else {
        finish_arrivals(out, rate);
    }
    if (!cap.empty()) {
        add_cap(out, cap, arrive_ ? "rows arrive" : "rows are sent at their recorded instants");
    }
}

void ForeignRates::finish(Spelled& out) {
    if (has("--burstiness") && has_argument(out, "--arrivals")) {
        refuse_line(out, "--burstiness " + get("--burstiness") +
                             ": --arrivals also sets how rows arrive; remove one");
    }
    if (has("--num-concurrency")) {
        add_loop(out, get("--num-concurrency"));
    }
    if (!profile_.empty()) {
        finish_profile(out);
        return;
    }
    if (tool_ == ForeignTool::guidellm && has("--rate")) {
        refuse_line(out, "--rate " + get("--rate") +
                             ": its meaning depends on GuideLLM's --profile; add --profile "
                             "constant, poisson, concurrent or replay");
        return;
    }
    if (tool_ == ForeignTool::guidellm && !has_argument(out, "--from") &&
        !has_argument(out, "--resume")) {
        refuse_line(
            out,
            "--profile is missing, and GuideLLM's default, sweep, runs ten loads; give --profile "
            "constant --rate R or another profile with one load; driftless find --over rate "
            "searches for a server's limit, driftless sweep runs several rates");
        return;
    }
    finish_rate(out);
}

}  // namespace driftless
