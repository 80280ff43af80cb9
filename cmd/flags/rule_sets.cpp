#include "cmd/flags/rule_sets.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "cmd/base/files.hpp"
#include "cmd/base/toml_reader.hpp"
#include "cmd/base/values.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

using Words = std::vector<std::string>;

}  // namespace

/// The word behind a flag of the user's; nothing where it was not given.
static std::optional<std::string> given_value(const Words& arguments, std::string_view flag) {
    const auto at = std::find(arguments.begin(), arguments.end(), flag);
    if (at == arguments.end()) {
        return std::nullopt;
    }
    return at + 1 == arguments.end() ? std::string() : at[1];
}

static std::string because(const FixedFlag& flag) {
    return flag.why.empty() ? "" : " (" + flag.why + ")";
}

namespace {

/// Adds the flags of one set after another.
class Adder {
  public:
    Adder(const Words& given, Words& notes) : given_(given), notes_(notes) {}

    std::string add(const RuleSet& set) {
        std::string told;
        for (const FixedFlag& flag : set.flags) {
            if (const std::string why = add(set, flag, told); !why.empty()) {
                return "--rules " + set.name + ": " + why;
            }
        }
        notes_.push_back("--rules " + set.name + " (" + set.version + ") sets" +
                         (told.empty() ? " nothing: all its flags were given" : told));
        return "";
    }
    const Words& added() const { return added_; }

  private:
    struct Added {
        std::string set;
        std::string value;
    };

    std::string add(const RuleSet& set, const FixedFlag& flag, std::string& told) {
        const std::optional<std::string> given = given_value(given_, flag.name);
        if (flag.required) {
            return given ? "" : "needs " + flag.name + because(flag);
        }
        if (flag.absent) {
            return given && flag.other == OtherValue::refused
                       ? flag.name + " is not allowed" + because(flag) + "; remove it"
                       : "";
        }
        if (given) {
            const bool same = flag.is_switch || same_value(*given, flag.value.value_or(""));
            return same || flag.other != OtherValue::refused
                       ? ""
                       : flag.name + " is " + *flag.value + " in these rules, not " + *given +
                             because(flag) + "; remove it";
        }
        return set_flag(set, flag, told);
    }

    std::string set_flag(const RuleSet& set, const FixedFlag& flag, std::string& told) {
        const std::string value = flag.value.value_or("");
        const auto [place, is_new] = by_flag_.try_emplace(flag.name, Added{set.name, value});
        if (!is_new) {
            return same_value(place->second.value, value)
                       ? ""
                       : flag.name + " is " + value + " there and " + place->second.value + " in " +
                             place->second.set + "; give the flag yourself, or use only one set";
        }
        added_.push_back(flag.name);
        told += " " + flag.name;
        if (!flag.is_switch) {
            added_.push_back(value);
            told += " " + value;
        }
        return "";
    }

    const Words& given_;
    Words& notes_;
    Words added_;
    std::map<std::string, Added> by_flag_;
};

}  // namespace

std::string apply_rules(std::vector<std::string>& arguments, std::vector<std::string>& notes,
                        RuleSets& out) {
    for (std::size_t i = 0; i + 1 < arguments.size() && arguments[i] != "--"; ++i) {
        if (arguments[i] != "--rules") {
            continue;
        }
        for (const std::string& name : parts_of(arguments[i + 1])) {
            if (std::string why = add_rule_set(name, out); !why.empty()) {
                return why;
            }
        }
    }
    Adder adder(arguments, notes);
    for (const RuleSet& set : out.sets) {
        if (std::string why = adder.add(set); !why.empty()) {
            return why;
        }
    }
    // In front: behind "--" nothing is a flag.
    const Words added = adder.added();
    arguments.insert(arguments.begin(), added.begin(), added.end());
    return "";
}

static void read_flag(const toml::table& table, TomlReader& reader, RuleSet& out) {
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
    constexpr Choices<OtherValue> others{{"allowed", OtherValue::allowed},
                                         {"violated", OtherValue::violated},
                                         {"refused", OtherValue::refused}};
    const Result<OtherValue> found = others(other);
    if (!found) {
        reader.fail(table, "[[flag]] other \"" + other + "\" " + found.error().doing);
        return;
    }
    flag.other = found.value();
}

static void read_rule(const toml::table& table, TomlReader& reader, RuleSet& out) {
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
    const std::optional<Measure> found = from_name<Measure>(name);
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
    reader.tables(whole, "flag", [&](const toml::table& one) { read_flag(one, reader, out); });
    reader.tables(whole, "rule", [&](const toml::table& one) { read_rule(one, reader, out); });
    return reader.why();
}

/// A number or a time, in ns; a share may be in percent.
static std::optional<std::int64_t> number_of(std::string_view part) {
    const bool in_percent = part.ends_with('%');
    part.remove_suffix(in_percent ? 1 : 0);
    const Result<std::int64_t> ns = parse_duration_ns(part);
    return ns ? std::optional(ns.value() / (in_percent ? 100 : 1)) : std::nullopt;
}

static bool same_part(std::string_view a, std::string_view b) {
    const std::optional<std::int64_t> number = number_of(a);
    return a == b || (number && number == number_of(b));
}

std::vector<std::string> parts_of(std::string_view list) {
    std::vector<std::string> parts;
    while (!list.empty()) {
        parts.emplace_back(take_until(list, ","));
    }
    return parts;
}

bool is_rule_file(std::string_view name) {
    return name.find('/') != name.npos || name.ends_with(".toml");
}

std::string add_rule_text(const std::string& text, const std::string& place, RuleSets& out) {
    RuleSet set;
    if (const std::string why = read_rule_set(text, set); !why.empty()) {
        return place + ": " + why;
    }
    const auto has_name = [&set](const RuleSet& one) { return one.name == set.name; };
    if (std::any_of(out.sets.begin(), out.sets.end(), has_name)) {
        return place + ": the set " + set.name + " is given twice; remove one";
    }
    out.sets.push_back(std::move(set));
    out.texts.push_back(text);
    return "";
}

std::string add_rule_set(const std::string& name, RuleSets& out) {
    if (is_rule_file(name)) {
        const Result<std::string> text = read_whole_file(name);
        return text ? add_rule_text(text.value(), "--rules " + name, out)
                    : "--rules " + name + " cannot be read: " + reason_of(text.error());
    }
    for (const ShippedRules& one : shipped_rules()) {
        if (one.name == name) {
            return add_rule_text(std::string(one.text), "--rules " + name, out);
        }
    }
    const std::string shipped = joined(shipped_rules(), ", ", &ShippedRules::name);
    return "--rules \"" + name + "\" is not one of " + shipped + ", or a file (FILE.toml)" +
           did_you_mean(name, shipped);
}

bool same_value(std::string_view a, std::string_view b) {
    constexpr std::string_view between = ":, ";
    const std::size_t end_a = std::min(a.find_first_of(between), a.find(".."));
    const std::size_t end_b = std::min(b.find_first_of(between), b.find(".."));
    if (end_a == a.npos || end_b == b.npos) {
        return same_part(a, b);
    }
    const std::size_t length = a[end_a] == '.' ? 2 : 1;
    return a.substr(end_a, length) == b.substr(end_b, length) &&
           same_part(a.substr(0, end_a), b.substr(0, end_b)) &&
           same_value(a.substr(end_a + length), b.substr(end_b + length));
}

}  // namespace driftless
