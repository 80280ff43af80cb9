#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "cmd/base/secrets.hpp"
#include "cmd/base/toml_reader.hpp"
#include "cmd/base/values.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/runs/sweep.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static constexpr std::size_t folder_bytes_max = 80;

/// The name of a flag as it is in an argument; empty: it is none.
static std::string_view flag_name(std::string_view argument) {
    return argument.starts_with("--") ? argument.substr(2, argument.find('=') - 2)
                                      : std::string_view();
}

/// For all cells.
static bool is_given(const SweepPlan& plan, std::string_view name) {
    return std::ranges::find(plan.arguments, name, flag_name) != plan.arguments.end();
}

static bool has_flag(const SweepPlan& plan, std::string_view name) {
    return is_given(plan, name) || std::ranges::any_of(plan.axes, [name](const SweepAxis& axis) {
               return !axis.of_server && axis.name == name;
           });
}

static std::string check_arguments(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments) {
        if (const std::string_view name = flag_name(argument); is_flag_of_sweep(name)) {
            return "--" + std::string(name) + " cannot be a flag of a cell; remove it";
        }
        if (argument == "-") {
            return "the trace is read once per cell, but standard input can be read only once; "
                   "name a file";
        }
    }
    if (mask_command(arguments) != arguments) {
        return "sweep.json would contain a secret from these flags; give it as env:NAME or in "
               "OPENAI_API_KEY";
    }
    return "";
}

/// TOML has texts that no command line has.
static bool has_nul(const SweepPlan& plan) {
    std::vector<std::string> texts = plan.arguments;
    for (const SweepAxis& axis : plan.axes) {
        texts.insert(texts.end(), axis.values.begin(), axis.values.end());
    }
    for (const auto& [key, value] : plan.labels) {
        texts.insert(texts.end(), {key, value});
    }
    texts.insert(texts.end(), {plan.before.command, plan.ready.command, plan.after.command});
    return std::ranges::any_of(
        texts, [](const std::string& text) { return text.find('\0') != text.npos; });
}

/// Of a flag, of a label and, with DRIFTLESS_ before it, of a variable.
static bool is_axis_name(std::string_view name) {
    return !name.empty() &&
           name.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == name.npos;
}

static std::string check_axis(const SweepPlan& plan, const SweepAxis& axis) {
    const char* const flag = axis.of_server ? "--server " : "--over ";
    if (!is_axis_name(axis.name)) {
        return flag + ("\"" + axis.name) + "\" is not a name; use letters, digits, - and _";
    }
    if (std::ranges::count(plan.axes, axis.name, &SweepAxis::name) > 1) {
        return flag + axis.name + ": the name is given twice; put all values into one list";
    }
    for (const auto& [key, value] : plan.labels) {
        if (key == axis.name) {
            return "--label " + key + ": each cell already has its value of " + key +
                   " as a label; remove this one";
        }
    }
    for (const std::string& value : axis.values) {
        const std::string argument = axis.name + "=" + value;
        if (mask_command({"--" + argument}).front() != "--" + argument ||
            !secrets_in_text(argument).empty()) {
            return flag + axis.name + ": sweep.json would contain a secret; give it as env:NAME";
        }
    }
    std::set<std::string> seen;
    for (const std::string& value : axis.values) {
        if (!seen.insert(value).second) {
            return flag + axis.name + ": " + value +
                   " appears twice; to repeat cells use --repeat N";
        }
    }
    if (axis.of_server) {
        const bool taken = axis.name == "url" || axis.name == "cell" || axis.name == "run";
        return taken ? flag + axis.name +
                           ": hooks already get another value of this name; choose another name"
                     : "";
    }
    if (axis.name == "url" && is_given(plan, "url")) {
        return "--over url: --url is also given and would get half of the rows of each cell; "
               "remove it";
    }
    if (is_flag_of_sweep(axis.name) || axis.name == "label") {
        return flag + axis.name +
               (axis.name == "label"
                    ? ": this flag cannot be varied: each cell has its values as labels; remove it"
                    : ": this flag cannot be varied: where a cell is written, what is shown of it, "
                      "and that it is a new run, is for the sweep to say; remove it");
    }
    if (!replay_flags().named("--" + axis.name).is_repeatable() && is_given(plan, axis.name)) {
        return flag + axis.name + ": --" + axis.name +
               " is given 2 times, here and for all cells; remove one";
    }
    return "";
}

/// A text as a part of a file's name.
static std::string slug(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool plain =
            std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '=' || c == '_';
        out += plain ? c : '-';
    }
    return out.substr(0, folder_bytes_max);
}

/// The combination of that number, as digits of the axes.
static PlannedCell combination(const SweepPlan& plan, std::size_t number) {
    PlannedCell cell;
    cell.values.resize(plan.axes.size());
    for (std::size_t i = plan.axes.size(); i-- > 0;) {
        const SweepAxis& axis = plan.axes[i];
        cell.values[i] = {axis.name, axis.values[number % axis.values.size()]};
        number /= axis.values.size();
    }
    cell.name = joined(cell.values, " ", &CellValue::text);
    return cell;
}

static std::size_t combinations_of(const SweepPlan& plan) {
    std::size_t count = 1;
    for (const SweepAxis& axis : plan.axes) {
        count = std::min(count * axis.values.size(), cells_max + 1);
    }
    return count;
}

Result<SweepAxis> parse_axis(std::string_view text) {
    const std::size_t equals = text.find('=');
    std::string_view name = text.substr(0, equals);
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    if (equals == text.npos || !is_axis_name(name)) {
        return invalid("is not NAME=VALUE,..; use a flag of replay, as in speed=1,2,4");
    }
    const Result<std::vector<std::string>> values = parse_list(text.substr(equals + 1));
    if (!values) {
        return invalid("has an empty value; separate values by single commas, as in speed=1,2,4");
    }
    return SweepAxis{std::string(name), values.value(), false};
}

std::string check_plan(const SweepPlan& plan) {
    if (plan.axes.empty()) {
        return "the plan varies nothing; give --over speed=1,2,4, or --repeat and --over with one "
               "value";
    }
    if (plan.repeat == 0) {
        return "the plan repeats each cell 0 times; use 1 or more";
    }
    if (has_nul(plan)) {
        return "the plan has a text with the character U+0000, which a command line cannot "
               "contain; remove it";
    }
    if (std::string why = check_arguments(plan.arguments); !why.empty()) {
        return why;
    }
    for (const Hook* const hook : {&plan.before, &plan.ready, &plan.after}) {
        if (!secrets_in_command(hook->command).empty()) {
            return "--" + std::string(hook->name) +
                   " has a key in it, which sweep.json would keep; put the key into the "
                   "environment, and $NAME into the command";
        }
    }
    for (const SweepAxis& axis : plan.axes) {
        if (axis.values.empty()) {
            return "--over " + axis.name + " has no values; give at least one";
        }
        if (std::string why = check_axis(plan, axis); !why.empty()) {
            return why;
        }
    }
    const bool of_server = std::ranges::any_of(plan.axes, &SweepAxis::of_server);
    if (of_server && plan.before.command.empty()) {
        return "--server needs a hook that sets up the server: --before CMD";
    }
    if (combinations_of(plan) > cells_max || plan.repeat > cells_max / combinations_of(plan)) {
        return "the sweep has more than " + std::to_string(cells_max) +
               " cells; give fewer values, or fewer repeats";
    }
    return "";
}

bool needs_salt(const SweepPlan& plan) {
    return plan.before.command.empty() && !has_flag(plan, "cache-salt") &&
           !has_flag(plan, "reset-cache");
}

std::vector<PlannedCell> plan_cells(const SweepPlan& plan) {
    const std::size_t each = combinations_of(plan);
    const std::size_t digits = std::to_string(each * plan.repeat).size();
    std::vector<PlannedCell> cells;
    for (std::uint64_t repeat = 1; repeat <= plan.repeat; ++repeat) {
        for (std::size_t i = 0; i < each; ++i) {
            PlannedCell cell = combination(plan, repeat % 2 == 1 ? i : each - 1 - i);
            cell.repeat = repeat;
            cell.folder = fmt::format("{:0{}}-{}", cells.size() + 1,
                                      std::max<std::size_t>(digits, 2), slug(cell.name));
            cells.push_back(std::move(cell));
        }
    }
    return cells;
}

std::vector<std::string> arguments_of(const SweepPlan& plan, const PlannedCell& cell) {
    std::vector<std::string> arguments = plan.arguments;
    for (std::size_t i = 0; i < cell.values.size(); ++i) {
        const auto& [name, value] = cell.values[i];
        if (!plan.axes[i].of_server && value != "false") {
            arguments.push_back(value == "true" ? "--" + name : "--" + name + "=" + value);
        }
        arguments.push_back("--label=" + name + "=" + value);
    }
    for (const auto& [key, value] : plan.labels) {
        arguments.push_back("--label=" + key + "=" + value);
    }
    if (plan.salted) {
        arguments.emplace_back("--cache-salt=random");
    }
    return arguments;
}

/// A duration as a text, or a number of seconds.
static void read_limit(TomlReader& reader, const toml::table& table, const char* key,
                       std::int64_t& out) {
    std::vector<std::string> given;
    reader.scalars(table, key, given);
    if (given.empty()) {
        return;
    }
    const Result<std::int64_t> ns =
        given.size() == 1 ? parse_duration_ns(given[0]) : Result<std::int64_t>(invalid(""));
    if (!ns || ns.value() == 0) {
        reader.fail(*table.get(key),
                    std::string(key) + " is not a time above 0; use 90, \"10m\" or \"30s\"");
        return;
    }
    out = ns.value();
}

/// [over], [server]: a list each. In the order of the file, which the library does not keep.
static void read_axes(TomlReader& reader, const toml::table& whole, const char* key, bool of_server,
                      SweepPlan& out) {
    const toml::table* const table = reader.table(whole, key);
    if (table == nullptr) {
        return;
    }
    std::vector<std::pair<toml::source_index, SweepAxis>> found;
    for (const auto& [name, node] : *table) {
        SweepAxis axis{std::string(name.str()), {}, of_server};
        reader.scalars(*table, axis.name.c_str(), axis.values);
        found.emplace_back(node.source().begin.line, std::move(axis));
    }
    std::ranges::stable_sort(found, {}, [](const auto& one) { return one.first; });
    for (auto& [line, axis] : found) {
        out.axes.push_back(std::move(axis));
    }
}

static void read_labels(TomlReader& reader, const toml::table& whole, SweepPlan& out) {
    const toml::table* const table = reader.table(whole, "labels");
    if (table == nullptr) {
        return;
    }
    for (const auto& [name, node] : *table) {
        std::vector<std::string> values;
        reader.scalars(*table, std::string(name.str()).c_str(), values);
        if (values.size() != 1) {
            reader.fail(node, "[labels] " + std::string(name.str()) +
                                  " is not a single value; use one text or number");
        } else {
            out.labels.emplace_back(name.str(), values[0]);
        }
    }
}

static void read_hooks(TomlReader& reader, const toml::table& whole, SweepPlan& out) {
    const toml::table* const table = reader.table(whole, "hooks");
    if (table == nullptr) {
        return;
    }
    reader.check_keys(*table, "[hooks] ",
                      {"before", "ready", "after", "before_limit", "ready_limit", "after_limit"});
    for (Hook* const hook : {&out.before, &out.ready, &out.after}) {
        reader.text(*table, hook->name, hook->command, false);
        read_limit(reader, *table, (std::string(hook->name) + "_limit").c_str(), hook->limit_ns);
    }
}

std::string read_plan_file(std::string_view text, SweepPlan& out) {
    toml::table whole;
    if (std::string why = parse_toml(text, whole); !why.empty()) {
        return why;
    }
    TomlReader reader;
    reader.check_keys(
        whole, "",
        {"trace", "url", "repeat", "idle_limit", "over", "server", "replay", "labels", "hooks"});
    reader.scalars(whole, "trace", out.arguments);
    std::vector<std::string> urls;
    reader.scalars(whole, "url", urls);
    for (const std::string& url : urls) {
        out.arguments.push_back("--url=" + url);
    }
    std::vector<std::string> repeats;
    reader.scalars(whole, "repeat", repeats);
    if (!repeats.empty()) {
        const Result<std::uint64_t> repeat = parse_positive_count(repeats[0]);
        repeat&& repeats.size() == 1
            ? void(out.repeat = repeat.value())
            : reader.fail(*whole.get("repeat"), "repeat is not a whole number of 1 or more");
    }
    read_limit(reader, whole, "idle_limit", out.idle_limit_ns);
    read_axes(reader, whole, "over", false, out);
    read_axes(reader, whole, "server", true, out);
    if (const toml::table* const flags = reader.table(whole, "replay"); flags != nullptr) {
        reader.flags(*flags, {}, out.arguments);
    }
    read_labels(reader, whole, out);
    read_hooks(reader, whole, out);
    return reader.why();
}

}  // namespace driftless
