#include "cmd/rules/rule_file.hpp"

#include <algorithm>
#include <array>

#include "cmd/toml_reader.hpp"

namespace driftless {

namespace {

void read_flag(const toml::table& table, TomlReader& reader, RuleSet& out) {
    reader.check_keys(table, "[[flag]] ",
                      {"name", "value", "switch", "required", "absent", "other", "why"});
    FixedFlag& flag = out.flags.emplace_back();
    std::string value;
    std::string other = "violated";
    reader.text(table, "name", flag.name, true);
    reader.text(table, "value", value, false);
    reader.text(table, "other", other, false);
    reader.text(table, "why", flag.why, false);
    reader.boolean(table, "switch", flag.is_switch);
    reader.boolean(table, "required", flag.required);
    reader.boolean(table, "absent", flag.absent);
    if (table.contains("value")) {
        flag.value = value;
    }
    const int meanings = (flag.value ? 1 : 0) + (flag.is_switch && !flag.absent ? 1 : 0) +
                         (flag.required ? 1 : 0) + (flag.absent ? 1 : 0);
    if (!flag.name.starts_with("--")) {
        reader.fail(table, "[[flag]] name \"" + flag.name + "\" does not begin with --");
    } else if (meanings != 1) {
        reader.fail(table,
                    "[[flag]] " + flag.name + " needs one of value, switch, required, absent");
    }
    constexpr std::array<std::pair<std::string_view, OtherValue>, 3> others{
        {{"allowed", OtherValue::allowed},
         {"violated", OtherValue::violated},
         {"refused", OtherValue::refused}}};
    const auto found = std::find_if(others.begin(), others.end(),
                                    [&other](const auto& one) { return one.first == other; });
    if (found == others.end()) {
        reader.fail(table,
                    "[[flag]] other \"" + other + "\" is not one of allowed, violated, refused");
    } else {
        flag.other = found->second;
    }
}

void read_rule(const toml::table& table, TomlReader& reader, RuleSet& out) {
    reader.check_keys(
        table, "[[rule]] ",
        {"name", "measure", "min", "max", "equals", "exempt_below_s", "published", "why"});
    Rule& rule = out.rules.emplace_back();
    std::string name;
    reader.text(table, "name", rule.name, true);
    reader.text(table, "measure", name, true);
    reader.text(table, "equals", rule.equals, false);
    reader.text(table, "why", rule.why, false);
    reader.number(table, "min", rule.min);
    reader.number(table, "max", rule.max);
    reader.number(table, "exempt_below_s", rule.exempt_below_s);
    reader.boolean(table, "published", rule.published);
    const std::optional<Measure> found = measure_of(name);
    if (!found) {
        reader.fail(table, "[[rule]] measure \"" + name +
                               "\" is not known; driftless help rules.md lists all");
        return;
    }
    rule.measure = *found;
    if (is_text(rule.measure) ? rule.min || rule.max : !rule.equals.empty()) {
        reader.fail(
            table,
            "[[rule]] " + rule.name +
                ": use equals for the measures digest and barrier, min and max for all others");
    }
    if (rule.measure == Measure::unchecked && rule.why.empty()) {
        reader.fail(table, "[[rule]] " + rule.name + ": measure unchecked needs a why; add it");
    }
}

/// [[flag]] or [[rule]]: an array of tables.
void read_tables(const toml::table& whole, const char* key, TomlReader& reader, RuleSet& out,
                 void (*read)(const toml::table&, TomlReader&, RuleSet&)) {
    const toml::node* node = whole.get(key);
    if (node == nullptr) {
        return;
    }
    const toml::array* const array = node->as_array();
    if (array == nullptr) {
        reader.fail(*node, std::string(key) + " is not written as [[" + key + "]]");
        return;
    }
    for (const toml::node& one : *array) {
        if (const toml::table* const table = one.as_table(); table != nullptr) {
            read(*table, reader, out);
        } else {
            reader.fail(one, std::string(key) + " is not written as [[" + key + "]]");
        }
    }
}

}  // namespace

std::string read_rule_set(std::string_view text, RuleSet& out) {
    toml::table whole;
    if (std::string why = parse_toml(text, whole); !why.empty()) {
        return why;
    }
    TomlReader reader;
    reader.check_keys(whole, "", {"name", "version", "source", "commit", "flag", "rule"});
    std::string commit;
    reader.text(whole, "name", out.name, true);
    reader.text(whole, "version", out.version, true);
    reader.text(whole, "source", out.source, true);
    reader.text(whole, "commit", commit, false);
    out.source += commit.empty() ? "" : " @" + commit;
    read_tables(whole, "flag", reader, out, read_flag);
    read_tables(whole, "rule", reader, out, read_rule);
    return reader.why();
}

}  // namespace driftless
