/// `inference-endpoint benchmark from-config --config F`: the configuration of MLPerf Endpoints'
/// agentic example (examples/10_Agentic_Inference), as flags of ours. The file is YAML; this is the
/// only place that knows it, and each of its values is taken, noted or refused by its path.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "cmd/flags/other_tools.hpp"

namespace driftless {

namespace {

constexpr ToolFlag flags[] = {
    {"--config", Values::one, Becomes::together},
    {"-c", Values::one, Becomes::together},
    {"--mode", Values::one, Becomes::refused, "driftless does not judge answers; use --mode perf",
     "perf|both"},
};

/// One scalar of the file: "datasets[0].path".
struct Leaf {
    std::string path;
    std::string value;
    int line = 0;
};
using Leaves = std::vector<Leaf>;

/// Nodes wait in a list: nothing recurses over input.
Leaves leaves_of(const YAML::Node& root) {
    std::vector<std::pair<std::string, YAML::Node>> waiting{{"", root}};
    Leaves leaves;
    while (!waiting.empty()) {  // bounded by the nodes of the file: each is taken once
        const auto [path, node] = waiting.back();
        waiting.pop_back();
        if (node.IsScalar()) {
            leaves.push_back({path, node.Scalar(), node.Mark().line + 1});
        }
        std::vector<std::pair<std::string, YAML::Node>> inner;
        for (std::size_t i = 0; node.IsSequence() && i < node.size(); ++i) {
            inner.emplace_back(path + "[" + std::to_string(i) + "]", node[i]);
        }
        for (auto one = node.begin(); node.IsMap() && one != node.end(); ++one) {
            inner.emplace_back((path.empty() ? "" : path + ".") + one->first.as<std::string>(),
                               one->second);
        }
        waiting.insert(waiting.end(), inner.rbegin(), inner.rend());
    }
    return leaves;
}

std::string value_at(const Leaves& leaves, const std::string& path) {
    const auto found = std::find_if(leaves.begin(), leaves.end(),
                                    [&path](const Leaf& one) { return one.path == path; });
    return found == leaves.end() ? "" : found->value;
}

/// "datasets[1].path" as "datasets[].path".
std::string without_numbers_in(std::string path) {
    for (std::size_t open = path.find('['); open != path.npos; open = path.find('[', open + 1)) {
        path.erase(open + 1, path.find(']', open) - open - 1);
    }
    return path;
}

/// Whether a value is of a data set that is not played.
bool is_of_other_set(const Leaves& leaves, const std::string& path) {
    constexpr std::string_view begin = "datasets[";
    if (!path.starts_with(begin)) {
        return false;
    }
    const std::string set = path.substr(0, path.find(']') + 1);
    return value_at(leaves, set + ".type") == "accuracy";
}

enum class Setting : std::uint8_t {
    flag,     ///< ours, `text`
    trace,    ///< the value is a trace
    ms,       ///< ours, from milliseconds; 0: no limit
    member,   ///< of `--extra-body`, `text`
    one_of,   ///< refused unless one of `text`, separated by '|'
    quiet,    ///< says nothing of the load
    noted,    ///< has no counterpart: `text` says why
    by_hand,  ///< below
};
struct KnownSetting {
    std::string_view path;
    Setting setting;
    const char* text = "";
};
constexpr const char* by_the_engine = "the engine manages connections by its own rules";
constexpr KnownSetting settings[] = {
    {"name", Setting::quiet},
    {"version", Setting::quiet},
    {"type", Setting::quiet},
    {"timeout", Setting::noted, "a run ends with its rows, or at max_duration_ms"},
    {"report_dir", Setting::flag, "--out"},
    {"model_params.name", Setting::flag, "--model"},
    {"model_params.tokenizer_name", Setting::noted,
     "words of one token each need no tokenizer; --tokenizer FILE takes the model's own"},
    {"model_params.temperature", Setting::member, "temperature"},
    {"model_params.top_p", Setting::member, "top_p"},
    {"model_params.top_k", Setting::member, "top_k"},
    {"model_params.repetition_penalty", Setting::member, "repetition_penalty"},
    {"model_params.presence_penalty", Setting::member, "presence_penalty"},
    {"model_params.seed", Setting::member, "seed"},
    {"model_params.max_new_tokens", Setting::noted,
     "answers end at the recorded lengths at the latest (--output cap)"},
    {"model_params.streaming", Setting::one_of, "on|auto|true"},
    {"datasets[].name", Setting::quiet},
    {"datasets[].type", Setting::one_of, "performance|accuracy"},
    {"datasets[].path", Setting::trace},
    {"datasets[].parser", Setting::noted, "the format is detected from its keys"},
    {"datasets[].accuracy_config.eval_method", Setting::noted, "driftless does not judge answers"},
    {"datasets[].accuracy_config.num_repeats", Setting::noted, "driftless does not judge answers"},
    {"datasets[].agentic_inference.turn_timeout_s", Setting::flag, "--timeout-total"},
    {"datasets[].agentic_inference.enable_salt", Setting::noted,
     "recorded requests are sent unchanged, as --rules requires"},
    {"datasets[].agentic_inference.inject_tool_delay", Setting::by_hand},
    {"datasets[].agentic_inference.num_trajectories_to_issue", Setting::noted,
     "each trajectory of the trace is replayed once; --rules compares their number"},
    {"datasets[].agentic_inference.stop_issuing_on_first_user_complete", Setting::one_of, "false"},
    {"datasets[].agentic_inference.routing_headers[]", Setting::by_hand},
    {"settings.runtime.min_duration_ms", Setting::noted, "--rules judges the length of a run"},
    {"settings.runtime.max_duration_ms", Setting::ms, "--for"},
    {"settings.runtime.max_issue_duration_ms", Setting::ms, "--for"},
    {"settings.runtime.scheduler_random_seed", Setting::flag, "--seed"},
    {"settings.runtime.dataloader_random_seed", Setting::noted, "there is one seed for everything"},
    {"settings.load_pattern.type", Setting::quiet},
    {"settings.load_pattern.target_concurrency", Setting::flag, "--users"},
    {"settings.client.warmup_connections", Setting::noted, by_the_engine},
    {"settings.client.max_idle_time", Setting::noted, by_the_engine},
    {"settings.client.max_connections", Setting::noted, by_the_engine},
    {"settings.client.num_workers", Setting::noted, "one thread sends everything"},
    {"settings.drain.performance_timeout_s", Setting::by_hand},
    {"settings.warmup.enabled", Setting::one_of, "false"},
    {"settings.early_stopping.enabled", Setting::noted, "a run's length is set by flags"},
    {"endpoint_config.endpoints[]", Setting::flag, "--url"},
    {"endpoint_config.api_type", Setting::one_of, "openai"},
    {"endpoint_config.api_key", Setting::flag, "--api-key"},
};
constexpr std::string_view template_arguments = "model_params.chat_template_kwargs.";
constexpr const char* only_agents =
    " is not translated, only online runs of agentic_inference; use driftless replay DATASET --url "
    "URL with --rate inf (offline), --rate QPS (poisson) or --concurrency N";

/// Reads one file; collects what several of its values say together.
class Config {
  public:
    Config(std::string file, const Leaves& leaves, Spelled& out)
        : file_(std::move(file)), leaves_(leaves), out_(out) {}

    void translate() {
        const std::string type = value_at(leaves_, "type");
        const std::string pattern = value_at(leaves_, "settings.load_pattern.type");
        if (type != "online" || pattern != "agentic_inference") {
            refuse_line(out_, file_ + ": type " + type + " with load pattern \"" + pattern + "\"" +
                                  only_agents);
        }
        for (const Leaf& leaf : leaves_) {
            is_of_other_set(leaves_, leaf.path) ? note(leaf, "driftless does not judge answers")
                                                : take(leaf);
        }
        if (!arguments_.empty()) {
            members_ +=
                (members_.empty() ? "" : ",") + ("\"chat_template_kwargs\":{" + arguments_ + "}");
        }
        add_members(out_, members_);
        if (!drain_.empty() && has_argument(out_, "--for")) {
            add_default(out_, "--drain", drain_);
        }
        for (const std::string& name : headers_) {
            add_flag(out_, "--header", name + ": {session}");
        }
        if (headers_.empty()) {
            add_flag(out_, "--header", "X-Session-ID: {session}");
        }
        add_default(out_, "--api", "openai-chat");
        add_default(out_, "--output", "cap");
        add_default(out_, "--rules", "mlperf-agentic");
    }

  private:
    std::string place(const Leaf& leaf) const {
        return file_ + ": line " + std::to_string(leaf.line) + ": " + leaf.path + ": " + leaf.value;
    }
    void note(const Leaf& leaf, const std::string& why) {
        add_note(out_, leaf.path + ": " + leaf.value + " is ignored: " + why);
    }

    void take(const Leaf& leaf) {
        if (leaf.path.starts_with(template_arguments)) {
            extend_members(arguments_, leaf.path.substr(template_arguments.size()), leaf.value);
            return;
        }
        const std::string path = without_numbers_in(leaf.path);
        const auto known =
            std::find_if(std::begin(settings), std::end(settings),
                         [&path](const KnownSetting& one) { return one.path == path; });
        if (known == std::end(settings)) {
            refuse_line(out_, place(leaf) +
                                  ": is not known here; remove it, or give the equivalent "
                                  "driftless flag after --config");
            return;
        }
        apply(leaf, *known);
    }

    void apply(const Leaf& leaf, const KnownSetting& known) {
        switch (known.setting) {
            case Setting::flag:
                add_setting(known.text, leaf.value);
                return;
            case Setting::trace:
                out_.arguments.push_back(leaf.value);
                return;
            case Setting::ms:
                if (is_positive(leaf.value)) {
                    add_default(out_, known.text, leaf.value + "ms");
                }
                return;
            case Setting::member:
                extend_members(members_, known.text, leaf.value);
                return;
            case Setting::one_of:
                if (("|" + std::string(known.text) + "|").find("|" + leaf.value + "|") ==
                    std::string::npos) {
                    refuse_line(out_,
                                place(leaf) + ": is not supported here; it must be " + known.text);
                }
                return;
            case Setting::quiet:
                return;
            case Setting::noted:
                note(leaf, known.text);
                return;
            case Setting::by_hand:
                apply_by_hand(leaf);
                return;
        }
    }

    /// Several servers are several flags; all else is given once.
    void add_setting(const std::string& flag, const std::string& value) {
        const bool given = flag == "--url" ? has_own_url_ : has_argument(out_, flag);
        if (!given) {
            add_flag(out_, flag, value);
        }
    }

    void apply_by_hand(const Leaf& leaf) {
        if (leaf.path.ends_with("inject_tool_delay")) {
            add_default(out_, "--gap", leaf.value == "true" ? "end-to-start" : "none");
        } else if (leaf.path.ends_with("performance_timeout_s")) {
            drain_ = leaf.value;
        } else {
            headers_.push_back(leaf.value);
        }
    }

    std::string file_;
    const Leaves& leaves_;
    Spelled& out_;
    bool has_own_url_ = has_argument(out_, "--url");
    std::string members_;
    std::string arguments_;  ///< of the chat template
    std::string drain_;
    std::vector<std::string> headers_;
};

/// The library throws; nothing else here does. Empty where the file is read, else what is wrong.
std::string read_leaves(const std::string& file, Leaves& leaves) {
    try {
        leaves = leaves_of(YAML::LoadFile(file));
    } catch (const YAML::BadFile&) {
        return " cannot be read";
    } catch (const YAML::Exception& error) {
        return ": line " + std::to_string(error.mark.line + 1) + ": " + error.msg;
    }
    return "";
}

void finish(const KeptFlags& kept, Spelled& out) {
    const std::string file = kept.has("--config") ? kept.get("--config") : kept.get("-c");
    if (file.empty()) {
        refuse_line(out, "inference-endpoint: --config FILE is missing; give it");
        return;
    }
    Leaves leaves;
    if (const std::string why = read_leaves(file, leaves); !why.empty()) {
        refuse_line(out, "--config " + file + why);
        return;
    }
    Config(file, leaves, out).translate();
}

}  // namespace

const ToolTable& mlperf_table() {
    static constexpr ToolTable table{flags, finish};
    return table;
}

}  // namespace driftless
