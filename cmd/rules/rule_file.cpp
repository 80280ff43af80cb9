#include "cmd/rules/rule_file.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <sstream>

namespace driftless {

namespace {

/// Reads members of one table after another and keeps the first thing that is wrong.
class Reader {
  public:
    const std::string& why() const { return why_; }

    /// Each key is one of `known`.
    void check_keys(const toml::table& table, const char* place,
                    std::initializer_list<std::string_view> known) {
        for (const auto& [key, value] : table) {
            if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
                fail(value, std::string(place) + std::string(key.str()) + " is not known");
            }
        }
    }
    void text(const toml::table& table, const char* key, std::string& out, bool needed) {
        const toml::node* node = table.get(key);
        if (node == nullptr) {
            needed ? fail(table, std::string(key) + " is missing") : void();
        } else if (const auto value = node->value_exact<std::string>(); value) {
            out = *value;
        } else {
            fail(*node, std::string(key) + " is not a text");
        }
    }
    void number(const toml::table& table, const char* key, std::optional<double>& out) {
        const toml::node* node = table.get(key);
        if (node == nullptr) {
            return;
        }
        out = node->is_number() ? node->value<double>() : std::nullopt;
        if (!out) {
            fail(*node, std::string(key) + " is not a number");
        }
    }
    void boolean(const toml::table& table, const char* key, bool& out) {
        const toml::node* node = table.get(key);
        if (node == nullptr) {
            return;
        }
        if (const auto value = node->value_exact<bool>(); value) {
            out = *value;
        } else {
            fail(*node, std::string(key) + " is not true or false");
        }
    }
    void fail(const toml::node& node, const std::string& what) {
        if (why_.empty()) {
            std::ostringstream line;
            line << "line " << node.source().begin.line << ": " << what;
            why_ = line.str();
        }
    }

  private:
    std::string why_;
};

void read_flag(const toml::table& table, Reader& reader, RuleSet& out) {
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
                    "[[flag]] " + flag.name + " needs one of: value, switch, required, absent");
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

void read_rule(const toml::table& table, Reader& reader, RuleSet& out) {
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
        reader.fail(table,
                    "[[rule]] measure \"" + name + "\" is not known; see cmd/rules/README.md");
        return;
    }
    rule.measure = *found;
    if (is_text(rule.measure) ? rule.min || rule.max : !rule.equals.empty()) {
        reader.fail(
            table,
            "[[rule]] " + rule.name +
                ": equals goes with the measures digest and barrier, min and max with all others");
    }
    if (rule.measure == Measure::unchecked && rule.why.empty()) {
        reader.fail(table, "[[rule]] " + rule.name + ": measure unchecked needs a why");
    }
}

/// [[flag]] or [[rule]]: an array of tables.
void read_tables(const toml::table& whole, const char* key, Reader& reader, RuleSet& out,
                 void (*read)(const toml::table&, Reader&, RuleSet&)) {
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

/// The library throws; nothing else here does. Empty where it is read, else what is wrong.
std::string parse_toml(std::string_view text, toml::table& out) {
    try {
        out = toml::parse(text);
    } catch (const toml::parse_error& error) {
        std::ostringstream line;
        line << "line " << error.source().begin.line << ": " << error.description();
        return line.str();
    }
    return "";
}

}  // namespace

std::string read_rule_set(std::string_view text, RuleSet& out) {
    toml::table whole;
    if (std::string why = parse_toml(text, whole); !why.empty()) {
        return why;
    }
    Reader reader;
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
