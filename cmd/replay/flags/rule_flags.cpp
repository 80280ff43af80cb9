#include "cmd/replay/flags/rule_flags.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace driftless {

namespace {

using Words = std::vector<std::string>;

/// The word behind a flag of the user's; nothing where it was not given.
std::optional<std::string> given_value(const Words& arguments, std::string_view flag) {
    const auto at = std::find(arguments.begin(), arguments.end(), flag);
    if (at == arguments.end()) {
        return std::nullopt;
    }
    return at + 1 == arguments.end() ? std::string() : at[1];
}

std::string because(const FixedFlag& flag) {
    return flag.why.empty() ? "" : " (" + flag.why + ")";
}

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

}  // namespace driftless
