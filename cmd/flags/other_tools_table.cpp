/// The table of one named tool at work: which flag is taken, noted, refused or kept, and the parts
/// that the tables share.

#include <algorithm>
#include <optional>
#include <utility>

#include "cmd/base/secrets.hpp"
#include "cmd/flags/other_tools.hpp"
#include "proto/core/numbers.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

/// A number may be negative; a flag begins with a letter behind its dashes.
bool is_flag(std::string_view argument) {
    return argument.size() > 1 && argument.front() == '-' &&
           (argument[1] < '0' || argument[1] > '9') && argument[1] != '.';
}

std::size_t count_values(std::span<const std::string> behind) {
    return static_cast<std::size_t>(std::find_if(behind.begin(), behind.end(), is_flag) -
                                    behind.begin());
}

/// Not its name on a hub.
bool is_path(std::string_view text) {
    return text.starts_with('/') || text.starts_with("./") || text.starts_with("../") ||
           text.ends_with(".json") || text.ends_with(".tiktoken") || text.ends_with(".model");
}

/// `text` is the flag of ours, perhaps with its value behind a space.
void add_renamed(const ToolFlag& flag, std::string_view typed, std::string_view value,
                 Spelled& out) {
    const std::string_view ours = flag.text;
    const std::size_t space = ours.find(' ');
    const std::string name(ours.substr(0, space));
    if (!name.empty()) {
        out.typed_as.emplace_back(name, typed);
    }
    do {  // each turn takes a value off
        const std::size_t end =
            flag.values == Values::many ? value.find_first_of(" ,") : value.npos;
        if (!name.empty()) {
            out.arguments.push_back(name);
        }
        if (space != ours.npos || flag.values != Values::none) {
            out.arguments.emplace_back(space != ours.npos ? ours.substr(space + 1)
                                                          : value.substr(0, end));
        }
        value = end == value.npos ? "" : value.substr(end + 1);
    } while (!value.empty());
}

}  // namespace

bool is_one_of(std::string_view list, std::string_view value) {
    while (!list.empty()) {
        const std::string_view one = list.substr(0, list.find('|'));
        if (one == value) {
            return true;
        }
        list.remove_prefix(std::min(one.size() + 1, list.size()));
    }
    return false;
}

const ToolTable* table_of(ForeignTool tool) {
    switch (tool) {
        case ForeignTool::kv_cache_tester:
            return &kv_cache_tester_table();
        case ForeignTool::aiperf:
            return &aiperf_table();
        case ForeignTool::mlperf:
            return &mlperf_table();
        case ForeignTool::vllm:
            return &vllm_table();
        case ForeignTool::sglang:
            return &sglang_table();
        case ForeignTool::guidellm:
            return &guidellm_table();
        case ForeignTool::none:
        case ForeignTool::other:
            break;
    }
    return nullptr;
}

const ToolFlag* ToolFlags::find(std::string_view typed) const {
    const ToolTable own = table_ == nullptr ? ToolTable{} : *table_;
    for (const std::span<const ToolFlag> flags : {own.flags, own.others, common_flags()}) {
        for (const ToolFlag& one : flags) {
            if (is_one_of(one.typed, typed)) {
                return &one;
            }
        }
    }
    return nullptr;
}

std::optional<std::size_t> ToolFlags::take(std::string_view typed, const std::string* value,
                                           std::span<const std::string> behind, Spelled& out) {
    const ToolFlag* const flag = find(typed);
    if (flag == nullptr) {
        return std::nullopt;
    }
    if (flag->values == Values::none) {
        apply(*flag, typed, "", out);
        return 0;
    }
    if (flag->values == Values::many) {
        const std::size_t count = value != nullptr ? 0 : count_values(behind);
        std::string all = value != nullptr ? *value : "";
        for (const std::string& one : behind.subspan(0, count)) {
            all += (all.empty() ? "" : " ") + one;
        }
        apply(*flag, typed, all, out);
        return count;
    }
    if (value == nullptr && behind.empty()) {
        refuse_line(out, std::string(typed) + ": needs a value");
        return 0;
    }
    apply(*flag, typed, value != nullptr ? *value : behind.front(), out);
    return value != nullptr ? 0 : 1;
}

void ToolFlags::apply(const ToolFlag& flag, std::string_view typed, std::string_view value,
                      Spelled& out) {
    const std::string shown =
        std::string(typed) + (value.empty() ? "" : " " + mask_value(typed, value));
    switch (flag.becomes) {
        case Becomes::flag:
            add_renamed(flag, typed, value, out);
            return;
        case Becomes::nothing:
            add_note(out, shown + " is ignored: " + flag.text);
            return;
        case Becomes::refused:
            if (is_one_of(flag.neutral, value) && flag.values != Values::none) {
                add_note(out, shown + " is ignored: it changes nothing here");
            } else {
                refuse_line(out, shown + ": " + flag.text);
            }
            return;
        case Becomes::together:
            kept_.keep(flag.typed.substr(0, flag.typed.find('|')), value, flag.values);
            return;
    }
}

void ToolFlags::finish(Spelled& out) const {
    if (table_ != nullptr && out.refused.empty()) {
        table_->finish(kept_, out);
    }
}

void add_flag(Spelled& out, std::string_view flag, std::string_view value) {
    out.arguments.emplace_back(flag);
    out.arguments.emplace_back(value);
}

bool has_argument(const Spelled& out, std::string_view flag) {
    return std::find(out.arguments.begin(), out.arguments.end(), flag) != out.arguments.end();
}

void add_default(Spelled& out, std::string_view flag, std::string_view value) {
    if (!has_argument(out, flag)) {
        add_flag(out, flag, value);
    }
}

void add_note(Spelled& out, std::string note) {
    out.notes.push_back(std::move(note));
}

void refuse_line(Spelled& out, std::string why) {
    if (out.refused.empty()) {
        out.refused = std::move(why);
    }
}

void extend_members(std::string& members, std::string_view name, std::string_view value) {
    const bool literal =
        value == "true" || value == "false" || value == "null" || scan_decimal(value).has_value();
    std::string member;
    JsonWriter json(member);
    json.begin_object().key(name);
    literal ? json.raw(value) : json.string(value);
    json.end_object();
    members += (members.empty() ? "" : ",") + member.substr(1, member.size() - 2);
}

void add_members(Spelled& out, const std::string& members) {
    if (!members.empty()) {
        add_flag(out, "--extra-body", "{" + members + "}");
    }
}

void add_members_beside(Spelled& out, const std::string& members, const std::string& object) {
    JsonDocument document;
    const Result<JsonValue> given = document.parse(object);
    JsonDocument others;
    const Result<JsonValue> added = others.parse("{" + members + "}");
    if (object.empty() || !added || !given || !given.value().is(JsonType::object)) {
        add_members(out, members);
        if (!object.empty()) {
            add_flag(out, "--extra-body", object);  // what is wrong with it, its own parser says
        }
        return;
    }
    std::vector<std::string> names;
    for (JsonValue one = given.value().first(); one.present(); one = one.next()) {
        names.emplace_back(one.key());
    }
    std::string all = object.substr(0, object.rfind('}'));
    for (JsonValue one = added.value().first(); one.present(); one = one.next()) {
        if (std::find(names.begin(), names.end(), one.key()) == names.end()) {
            all += (names.empty() ? "\"" : ",\"") + std::string(one.key()) +
                   "\":" + std::string(one.raw());
            names.emplace_back(one.key());
        }
    }
    add_flag(out, "--extra-body", all + "}");
}

std::string argument_of(const Spelled& out, std::string_view flag) {
    const auto found = std::find(out.arguments.begin(), out.arguments.end(), flag);
    return found == out.arguments.end() || found + 1 == out.arguments.end() ? "" : *(found + 1);
}

void note_unused(const KeptFlags& kept, std::initializer_list<std::string_view> flags,
                 const char* why, Spelled& out) {
    for (const std::string_view flag : flags) {
        if (kept.has(flag)) {
            add_note(out, std::string(flag) + " is ignored: " + why);
        }
    }
}

void set_argument(Spelled& out, std::string_view flag, std::string_view value) {
    const auto found = std::find(out.arguments.begin(), out.arguments.end(), flag);
    if (found == out.arguments.end() || found + 1 == out.arguments.end()) {
        add_flag(out, flag, value);
    } else {
        *(found + 1) = value;
    }
}

void add_headers(Spelled& out, std::string_view pairs) {
    while (!pairs.empty()) {
        const std::string_view pair = pairs.substr(0, pairs.find(' '));
        pairs.remove_prefix(std::min(pair.size() + 1, pairs.size()));
        const std::size_t equals = pair.find('=');
        if (equals == pair.npos) {
            refuse_line(out, "--header \"" + mask_value("--header", pair) +
                                 "\": is not NAME=VALUE, as this tool takes it; put --header "
                                 "NAME:VALUE before the tool's own words");
            return;
        }
        add_flag(out, "--header",
                 std::string(pair.substr(0, equals)) + ": " + std::string(pair.substr(equals + 1)));
    }
}

void add_default_server(Spelled& out, std::string_view port) {
    if (has_argument(out, "--url") || has_argument(out, "--host") ||
        has_argument(out, "--endpoint") || has_argument(out, "--from") ||
        has_argument(out, "--resume")) {
        return;
    }
    add_flag(out, "--host", "127.0.0.1");
    add_default(out, "--port", port);
    add_note(out, "no server is named: using 127.0.0.1:" + argument_of(out, "--port") +
                      ", the tool's default");
}

bool is_positive(std::string_view text) {
    const auto decimal = scan_decimal(text);
    if (!decimal || decimal->negative) {
        return false;
    }
    const Result<Scaled> scaled = scale(*decimal, 9);
    return !scaled || scaled.value().value > 0;
}

void finish_tokenizer(const KeptFlags& kept, Spelled& out) {
    const std::string name = kept.get("--tokenizer");
    if (is_path(name)) {
        add_flag(out, "--tokenizer", name);
    } else if (!name.empty()) {
        add_note(out, "--tokenizer " + name +
                          " is ignored: words of one token each need no tokenizer; --tokenizer "
                          "FILE takes the model's own");
    }
}

void finish_serving(const KeptFlags& kept, Spelled& out) {
    add_headers(out, kept.get("--header"));
    finish_tokenizer(kept, out);
    if (kept.has("--served-model-name")) {
        set_argument(out, "--model", kept.get("--served-model-name"));
    }
    const std::string length = kept.get("--custom-output-len", kept.get("--sharegpt-output-len"));
    if (out.makes_rows) {
        note_unused(kept, {"--custom-output-len", "--sharegpt-output-len"},
                    "synthetic answers have a length of their own", out);
    } else if (!length.empty()) {
        add_default(out, "--default-output", length);
    }
}

namespace {

constexpr std::uint64_t billion = 1'000'000'000;

/// `value` / 10^`digits` as a decimal without trailing zeros.
std::string decimal_text(std::uint64_t value, std::size_t digits) {
    const std::string all = std::to_string(value);
    const std::string padded =
        all.size() > digits ? all : std::string(digits + 1 - all.size(), '0') + all;
    const std::string whole = padded.substr(0, padded.size() - digits);
    const std::string part = padded.substr(padded.size() - digits);
    const std::size_t last = part.find_last_not_of('0');
    return last == part.npos ? whole : whole + "." + part.substr(0, last + 1);
}

}  // namespace

std::vector<ConfigPart> config_parts(std::string_view text) {
    std::vector<ConfigPart> parts;
    JsonDocument document;
    if (const Result<JsonValue> root = document.parse(text);
        root && root.value().is(JsonType::object)) {
        std::vector<std::pair<std::string, JsonValue>> inner{{"", root.value()}};
        for (std::size_t i = 0; i < inner.size(); ++i) {  // bounded by the document's objects
            const std::string prefix = inner[i].first;
            for (JsonValue one = inner[i].second.first(); one.present(); one = one.next()) {
                const std::string key = prefix + std::string(one.key());
                if (one.is(JsonType::object)) {
                    inner.emplace_back(key + ".", one);
                } else {
                    parts.push_back({key, std::string(one.as_string().value_or(one.raw()))});
                }
            }
        }
        return parts;
    }
    while (!text.empty()) {  // each turn takes a part off
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        const std::size_t equals = std::min(part.find('='), part.size());
        parts.push_back({std::string(part.substr(0, equals)),
                         std::string(part.substr(std::min(equals + 1, part.size())))});
    }
    return parts;
}

std::string config_value(std::string_view text, std::string_view key) {
    const std::vector<ConfigPart> parts = config_parts(text);
    const auto found = std::find_if(parts.begin(), parts.end(),
                                    [key](const ConfigPart& one) { return one.key == key; });
    return found == parts.end() ? "" : found->value;
}

std::uint64_t nano_of(std::string_view text) {
    const std::optional<Decimal> decimal = scan_decimal(text);
    const Result<Scaled> nano = decimal ? scale(*decimal, 9) : Result<Scaled>(Scaled{});
    const bool good = decimal && !decimal->negative && nano && nano.value().exact;
    return good ? nano.value().value : 0;
}

std::string inverse_text(std::uint64_t nano) {
    const bool exact = nano != 0 && billion * billion % nano == 0;
    return exact ? decimal_text(billion * billion / nano, 9) : "";
}

std::string milliseconds_text(std::string_view seconds) {
    const std::uint64_t nano = nano_of(seconds);
    return nano == 0 ? std::string(seconds) : decimal_text(nano, 6);
}

std::string interval_text(std::string_view per_second) {
    const std::uint64_t nano = nano_of(per_second);
    return nano == 0 ? std::string(per_second) : decimal_text(billion * billion / nano, 6);
}

// Flags that mean the same in every tool that has them: names for a flag of ours, flags that
// change no request here, flags that would change the load.

namespace {

constexpr const char* own_thread = "the engine thread builds prompts ahead of time";
constexpr const char* write_rate =
    "--rate R sends R requests per second; without it, requests are sent at their recorded "
    "instants";

constexpr ToolFlag shared_flags[] = {
    {trace_flags, Values::one, Becomes::flag, ""},
    {"--base-url|-u|--target", Values::one, Becomes::flag, "--url"},
    {"--endpoint-type|--request-type", Values::one, Becomes::flag, "--api"},
    {"--model-name|-m", Values::one, Becomes::flag, "--model"},
    {"--scale-factor", Values::one, Becomes::flag, "--speed"},
    {"--num-prompts|--max-requests|--request-count|--num-requests|--data-samples", Values::one,
     Becomes::flag, "--limit"},
    {"--time-in-secs|-t|--max-seconds|--benchmark-duration|--run-time", Values::one, Becomes::flag,
     "--duration"},
    {"--benchmark-grace-period", Values::one, Becomes::flag, "--grace"},
    {"-o|--output-dir|--artifact-dir|--output-artifact-dir", Values::one, Becomes::flag, "--out"},
    {"--random-seed", Values::one, Becomes::flag, "--seed"},
    {"--isl-block-size|--prompt-input-tokens-block-size", Values::one, Becomes::flag,
     "--block-size"},
    {"--request-timeout-seconds|--request-timeout", Values::one, Becomes::flag, "--timeout-total"},
    {"--max-delay|--inter-turn-delay-cap-seconds", Values::one, Becomes::flag, "--gap-cap"},
    {"--timing-strategy", Values::one, Becomes::flag, "--gap"},
    {"--fixed-schedule|--fixed-schedule-auto-offset|--use-trace-timestamps", Values::none,
     Becomes::nothing, recorded_schedule_reason},
    {"--mooncake-workload", Values::one, Becomes::nothing, "the trace is the given file"},
    {"--streaming|--stream", Values::none, Becomes::nothing,
     "answers are streamed unless --no-stream is given"},
    {"--save-result|--save-detailed|--append-result", Values::none, Becomes::nothing,
     in_the_folder},
    {"--summary-path|--outputs|--result-dir|--result-filename|--profile-export-prefix|"
     "--export-level",
     Values::one, Becomes::nothing, in_the_folder},
    {"--num-producer|--channel-capacity|--threads|--workers-max", Values::one, Becomes::nothing,
     own_thread},
    {"--tokenizer-config", Values::one, Becomes::nothing, "tokenizer.json has all that is needed"},
    {"--processor", Values::one, Becomes::nothing,
     "words of one token each need no tokenizer; --tokenizer FILE takes the model's own"},
    {"--metric-percentile|--metric-percentiles|--percentile-metrics", Values::one, Becomes::nothing,
     "the summary has P25 to P99.9 of every metric"},
    {"--ignore-eos", Values::none, Becomes::nothing, "the default, --output exact, sends it"},
    {"--trust-remote-code", Values::none, Becomes::nothing,
     "driftless runs no code from a model's repository"},
    {"--disable-tqdm", Values::none, Becomes::nothing, "use --no-progress"},
    {"--ttft-slo|--tpot-slo", Values::one, Becomes::nothing, "use --goodput \"ttft:MS tpot:MS\""},
    {"--early-stop-error-threshold", Values::one, Becomes::nothing,
     "failures are counted, and the run continues"},
    {"--ui|--ui-type", Values::one, Becomes::nothing,
     "progress is one line; --no-progress turns it off"},
    {"--ignore-trace-delays", Values::none, Becomes::flag, "--gap none"},
    {"--use-end-to-start-delays|--use-think-time-only", Values::none, Becomes::flag,
     "--gap end-to-start"},
    {"--no-open-loop-replay", Values::none, Becomes::flag, "--sessions closed"},
    {"--num-users", Values::none, Becomes::refused,
     "its meaning differs between tools; --users N keeps N sessions with their sub-agents live, "
     "each turn sent when the last one has ended; --concurrency N keeps N single rows open; "
     "--max-inflight N holds rows back while N are open"},
    {"--no-fixed-schedule", Values::none, Becomes::refused,
     "requests follow the recorded schedule; --rate R sends them at a rate, --speed X changes the "
     "recorded pace (2 is twice as fast)"},
    {"--time-scale", Values::none, Becomes::refused,
     "means slower in one tool and faster in another; use --speed X, where 2 is twice as fast"},
    {"--temperature", Values::none, Becomes::refused,
     "use --extra-body '{\"temperature\":0.7}', which adds members to every body"},
    {"--top-p", Values::none, Becomes::refused,
     "use --extra-body '{\"top_p\":0.9}', which adds members to every body"},
    {"--extra-inputs", Values::none, Becomes::refused,
     "use --extra-body JSON, which adds members to every body"},
    {"--spawn-rate", Values::none, Becomes::refused,
     "use --user-ramp T, the time until all --users have begun"},
    {"--qps|--rps", Values::none, Becomes::refused, write_rate},
    {"--user-centric-rate", Values::none, Becomes::refused,
     "it spaces the turns of each user; --rate R sends R requests per second, --users N keeps N "
     "sessions live"},
};

}  // namespace

std::span<const ToolFlag> common_flags() {
    return shared_flags;
}

}  // namespace driftless
