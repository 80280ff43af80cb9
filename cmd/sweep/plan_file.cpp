#include "cmd/sweep/plan_file.hpp"

#include <algorithm>
#include <optional>

#include "cmd/toml_reader.hpp"
#include "cmd/values.hpp"

namespace driftless {

namespace {

/// A duration as a text, or a number of seconds.
void read_limit(TomlReader& reader, const toml::table& table, const char* key, std::int64_t& out) {
    std::vector<std::string> given;
    reader.scalars(table, key, given);
    if (given.empty()) {
        return;
    }
    const Result<std::int64_t> ns = given.size() == 1
                                        ? parse_duration_ns(given[0])
                                        : Result<std::int64_t>(Error{ErrorCode::invalid, 0, ""});
    if (!ns || ns.value() == 0) {
        reader.fail(*table.get(key),
                    std::string(key) + " is not a time above 0; use 90, \"10m\" or \"30s\"");
        return;
    }
    out = ns.value();
}

/// [over], [server]: a list each. In the order of the file, which the library does not keep.
void read_axes(TomlReader& reader, const toml::table& whole, const char* key, bool of_server,
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
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [line, axis] : found) {
        out.axes.push_back(std::move(axis));
    }
}

/// [replay]: flags without dashes; true is a flag without value.
void read_flags(TomlReader& reader, const toml::table& whole, SweepPlan& out) {
    const toml::table* const table = reader.table(whole, "replay");
    if (table == nullptr) {
        return;
    }
    for (const auto& [name, node] : *table) {
        const std::string flag(name.str());
        if (const auto on = node.value_exact<bool>(); on) {
            if (*on) {
                out.arguments.push_back("--" + flag);
            }
            continue;
        }
        std::vector<std::string> values;
        reader.scalars(*table, flag.c_str(), values);
        for (const std::string& value : values) {
            out.arguments.push_back("--" + flag + "=" + value);
        }
    }
}

void read_labels(TomlReader& reader, const toml::table& whole, SweepPlan& out) {
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

void read_hooks(TomlReader& reader, const toml::table& whole, SweepPlan& out) {
    const toml::table* const table = reader.table(whole, "hooks");
    if (table == nullptr) {
        return;
    }
    reader.check_keys(*table, "[hooks] ",
                      {"before", "ready", "after", "before_limit", "ready_limit", "after_limit"});
    reader.text(*table, "before", out.before.command, false);
    reader.text(*table, "ready", out.ready.command, false);
    reader.text(*table, "after", out.after.command, false);
    read_limit(reader, *table, "before_limit", out.before.limit_ns);
    read_limit(reader, *table, "ready_limit", out.ready.limit_ns);
    read_limit(reader, *table, "after_limit", out.after.limit_ns);
}

}  // namespace

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
    read_flags(reader, whole, out);
    read_labels(reader, whole, out);
    read_hooks(reader, whole, out);
    return reader.why();
}

}  // namespace driftless
