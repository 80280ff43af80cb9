/// `inference-endpoint benchmark from-config --config F`: the configuration of MLPerf Endpoints'
/// agentic example (examples/10_Agentic_Inference), as flags of ours. The file is YAML; this is the
/// only place that knows it, and each of its values is taken, noted or refused by its path.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cmd/flags/other_tools.hpp"

namespace driftless {

namespace {

/// One scalar of the file: "datasets[0].path".
struct Leaf {
    std::string path;
    std::string value;
    int line = 0;
};
using Leaves = std::vector<Leaf>;

}  // namespace

/// Nodes wait in a list: nothing recurses over input.
static Leaves leaves_of(const YAML::Node& root) {
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

static std::string value_at(const Leaves& leaves, const std::string& path) {
    const auto found = std::ranges::find(leaves, path, &Leaf::path);
    return found == leaves.end() ? "" : found->value;
}

/// "datasets[1].path" as "datasets[].path".
static std::string without_numbers_in(std::string path) {
    for (std::size_t open = path.find('['); open != path.npos; open = path.find('[', open + 1)) {
        path.erase(open + 1, path.find(']', open) - open - 1);
    }
    return path;
}

/// Whether a value is of a data set that is not played.
static bool is_of_other_set(const Leaves& leaves, const std::string& path) {
    constexpr std::string_view begin = "datasets[";
    if (!path.starts_with(begin)) {
        return false;
    }
    const std::string set = path.substr(0, path.find(']') + 1);
    return value_at(leaves, set + ".type") == "accuracy";
}

static constexpr std::string_view template_arguments = "model_params.chat_template_kwargs.";
static constexpr const char* only_agents =
    " is not translated, only online runs of agentic_inference; use driftless replay DATASET --url "
    "URL with --rate inf (offline), --rate QPS (poisson) or --concurrency N";

/// One value of the file, by its row.
static void take(const Leaf& leaf, const std::string& place, bool has_own_url, Line& line) {
    const std::string path = without_numbers_in(leaf.path);
    const ToolRow* const row = find_row("mlperf_file", path);
    if (row == nullptr) {
        refuse_line(line, place +
                              ": is not known here; remove it, or give the equivalent driftless "
                              "flag after --config");
    } else if (row->verb == "refused" && !is_one_of(row->unless, leaf.value)) {
        refuse_line(line, place + ": is not supported here; it must be " + row->unless);
    } else if (row->verb == "member") {
        extend_members(line.kept["members"].value, path.substr(path.rfind('.') + 1), leaf.value);
    } else if (row->text == "--url") {  // several servers are several flags
        has_own_url ? void() : add_flag(line, row->text, leaf.value);
    } else if (row->text == "the trace") {
        line.arguments.push_back(leaf.value);
    } else {
        apply_row(*row, path, leaf.value, leaf.path + ": " + leaf.value, line);
    }
}

static void translate(const std::string& file, const Leaves& leaves, Line& line) {
    const std::string type = value_at(leaves, "type");
    const std::string pattern = value_at(leaves, "settings.load_pattern.type");
    if (type != "online" || pattern != "agentic_inference") {
        refuse_line(
            line, file + ": type " + type + " with load pattern \"" + pattern + "\"" + only_agents);
    }
    const bool has_own_url = has_argument(line, "--url");
    std::string arguments;  // of the chat template
    for (const Leaf& leaf : leaves) {
        if (is_of_other_set(leaves, leaf.path)) {
            add_note(line,
                     leaf.path + ": " + leaf.value + " is ignored: " + reason_of("not_judged"));
        } else if (leaf.path.starts_with(template_arguments)) {
            extend_members(arguments, leaf.path.substr(template_arguments.size()), leaf.value);
        } else {
            take(
                leaf,
                file + ": line " + std::to_string(leaf.line) + ": " + leaf.path + ": " + leaf.value,
                has_own_url, line);
        }
    }
    std::string& members = line.kept["members"].value;
    if (!arguments.empty()) {
        members += (members.empty() ? "" : ",") + ("\"chat_template_kwargs\":{" + arguments + "}");
    }
}

/// The library throws; nothing else here does. Empty where the file is read, else what is wrong.
static std::string read_leaves(const std::string& file, Leaves& leaves) {
    try {
        leaves = leaves_of(YAML::LoadFile(file));
    } catch (const YAML::BadFile&) {
        return " cannot be read";
    } catch (const YAML::Exception& error) {
        return ": line " + std::to_string(error.mark.line + 1) + ": " + error.msg;
    }
    return "";
}

void finish_mlperf(std::string_view /*value*/, Line& line) {
    const std::string file = line.get("--config");
    if (file.empty()) {
        refuse_line(line, "inference-endpoint: --config FILE is missing; give it");
        return;
    }
    Leaves leaves;
    if (const std::string why = read_leaves(file, leaves); !why.empty()) {
        refuse_line(line, "--config " + file + why);
        return;
    }
    translate(file, leaves, line);
}

}  // namespace driftless
