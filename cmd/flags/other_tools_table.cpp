/// other_tools.txt: its rows, and the rules that say what kept flags become together.

#include <algorithm>
#include <span>

#include "cmd/base/program.hpp"
#include "cmd/base/secrets.hpp"
#include "cmd/flags/other_tools.hpp"
#include "cmd/flags/settings.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"

namespace driftless {

/// Takes what is before `between` off the front, and that itself.
static std::string cut(std::string& text, std::string_view between) {
    const std::size_t end = std::min(text.find(between), text.size());
    std::string part = text.substr(0, end);
    text.erase(0, end + between.size());
    return part;
}

namespace {

struct Table {
    std::map<std::string, std::string, std::less<>> reasons;
    std::map<std::string, std::string, std::less<>> names;  ///< "formats bailian": "qwen"
    std::vector<ToolRow> rows;
    std::vector<ToolProgram> programs;

    /// "$name": the reason; any other text as it is.
    std::string text_of(const std::string& text) const {
        const auto reason = reasons.find(text.starts_with('$') ? text.substr(1) : "");
        CHECK(reason != reasons.end() || !text.starts_with('$'));
        return reason == reasons.end() ? text : reason->second;
    }
};

}  // namespace

static constexpr std::string_view verbs =
    "is|adds|ignored|refused|read|member|sets|once|code|gives|ms|means";
static constexpr std::string_view effects =
    "flag|default|set|trace|note|unused|refuse|missing|typed|let|member|array|members|body|words|"
    "list|parts|server|do";

/// "if COND: EFFECT", "also [if COND]: EFFECT", "else [if COND]: EFFECT", "always: EFFECT".
static ToolRule read_rule(std::string text) {
    ToolRule rule;
    const std::size_t colon = text.find(": ");
    CHECK(colon != text.npos);
    rule.effect = text.substr(colon + 2);
    text.erase(colon);
    rule.joint = cut(text, " ");
    rule.condition = text.starts_with("if ") ? text.substr(3) : text;
    const std::string_view verb = std::string_view(rule.effect).substr(0, rule.effect.find(' '));
    CHECK(verb.starts_with("--") || is_one_of(effects, verb));
    return rule;
}

/// "--flag X  verb text", "--flag  refused unless 0|1: text", "--flag X  read, or 3".
static ToolRow read_row(std::string_view section, std::string text, const Table& table) {
    ToolRow row{std::string(section), cut(text, " "), "", "", "", "", "", {}};
    text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
    if (text.starts_with("X")) {
        row.values = cut(text, " ");
        text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
    }
    row.verb = cut(text, " ");
    if (text.starts_with("unless ")) {
        (void)cut(text, " ");
        row.unless = cut(text, ": ");
    }
    if (row.verb.ends_with(':') || row.verb.ends_with(',')) {
        row.verb.pop_back();
    }
    if (const std::size_t at = text.find("or "); row.verb == "read" && at != text.npos) {
        row.standard = text.substr(at + 3);
        text.erase(at == 0 ? 0 : at - 2);
    }
    if (row.verb == "read" && !text.empty()) {
        (void)cut(text, " ");  // "as"
    }
    CHECK(row.typed == "finally" || is_one_of(verbs, row.verb));
    row.text = table.text_of(text);
    return row;
}

/// "program NAME WORDS not OTHERS: INSTEAD", "script NAME not: INSTEAD".
static ToolProgram read_program(std::string_view section, std::string text, const Table& table) {
    ToolProgram program{std::string(section), cut(text, " "), cut(text, " "), "", "", ""};
    program.words = text.starts_with("not") ? "" : cut(text, " ");
    program.others = cut(text, ": ");
    program.others.erase(0, std::min<std::size_t>(program.others.size(), 4));
    program.instead = table.text_of(text);
    return program;
}

static void read_line(std::string line, std::string& section, Table& table) {
    const std::string_view word = std::string_view(line).substr(0, line.find_first_of(" :"));
    if (line.empty() || line.starts_with('#')) {
        return;
    }
    if (line.starts_with('[')) {
        section = line.substr(1, line.find_first_of(" ,:]") - 1);
    } else if (line.starts_with('$')) {
        const std::string name = cut(line, "  ").substr(1);
        table.reasons[name] = line;
    } else if (line.starts_with('%')) {
        const std::string name = cut(line, "  ").substr(1);
        while (!line.empty()) {  // each turn takes a word off
            std::string pair = cut(line, " ");
            const std::string typed = pair.find('=') == pair.npos ? pair : cut(pair, "=");
            table.names[name + " " + typed] = pair;
        }
    } else if (is_one_of("program|script|module", word)) {
        table.programs.push_back(read_program(section, std::move(line), table));
    } else if (is_one_of("if|also|else|always", word)) {
        table.rows.back().rules.push_back(read_rule(std::move(line)));
    } else {
        table.rows.push_back(read_row(section, std::move(line), table));
    }
}

/// A line that begins with a space continues the one before it.
static Table read_table(std::string_view text) {
    Table table;
    std::string section;
    while (!text.empty()) {  // each turn takes a line off
        std::string line;
        do {
            const std::string_view part = take_until(text, "\n");
            line += line.empty() || line.ends_with('|') ? "" : " ";
            line += part.substr(std::min(part.find_first_not_of(' '), part.size()));
        } while (text.starts_with(' '));
        read_line(std::move(line), section, table);
    }
    return table;
}

static const Table& tool_table() {
    static const Table table = read_table(find_shipped_file("other_tools.txt")->text);
    return table;
}

const ToolProgram* find_program(std::string_view kind, std::string_view name) {
    for (const ToolProgram& program : tool_table().programs) {
        if (program.kind == kind && program.name == name) {
            return &program;
        }
    }
    return nullptr;
}

const ToolRow* find_row(std::string_view section, std::string_view typed) {
    for (const ToolRow& row : tool_table().rows) {
        if (row.section == section && is_one_of(row.typed, typed)) {
            return &row;
        }
    }
    return nullptr;
}

std::vector<std::string> flags_of_tool(std::string_view section) {
    std::vector<std::string> flags = names_of(replay_flags().flags);
    for (const ToolRow& row : tool_table().rows) {
        const bool is_here = row.section == section || row.section == "any";
        for (std::string names = row.typed; is_here && names.starts_with('-');) {
            flags.push_back(cut(names, "|"));
        }
    }
    return flags;
}

std::string_view our_flag(std::string_view typed) {
    for (const ToolRow& row : tool_table().rows) {
        if (row.verb == "is" && is_one_of(row.typed, typed)) {
            return row.text;
        }
    }
    return "";
}

const std::string& reason_of(std::string_view name) {
    const auto found = tool_table().reasons.find(name);
    CHECK(found != tool_table().reasons.end());
    return found->second;
}

std::string our_name(std::string_view list, std::string_view typed) {
    const auto found = tool_table().names.find(std::string(list) + " " + std::string(typed));
    return found == tool_table().names.end() ? "" : found->second;
}

bool Line::has(std::string_view name) {
    const auto found = kept.find(name);
    if (found != kept.end()) {
        found->second.read = true;
    }
    return found != kept.end();
}

std::string Line::get(std::string_view name, std::string_view standard) {
    if (has(name)) {
        return kept.find(name)->second.value;
    }
    const ToolRow* const row = standard.empty() ? find_row(tool, name) : nullptr;
    return row != nullptr ? row->standard : std::string(standard);
}

/// What the rows of the tool with the verb "member" were given.
static std::string members_of(Line& line) {
    std::string members;
    for (const ToolRow& row : tool_table().rows) {
        const bool is_member = row.section == line.tool && row.verb == "member";
        for (const std::string_view typed :
             words_in(is_member ? std::string_view(row.typed) : "", "|")) {
            if (line.has(typed)) {
                std::string name(typed.substr(2));
                std::replace(name.begin(), name.end(), '-', '_');
                extend_members(members, name, line.get(typed));
            }
        }
    }
    return members;
}

/// "--a", "ours --url", "ms --a", "KEY in --a", "--a or --b" (the first that was given),
/// "formats X" (our name, or the typed one), "$reason".
static std::string value_named(std::string text, Line& line) {
    if (text.starts_with('$')) {
        return reason_of(text.substr(1));
    }
    constexpr std::string_view in = " in ";
    constexpr std::string_view behind = " behind ";
    if (const std::size_t at = text.find(behind); at != text.npos) {
        return line.get(text.substr(0, at)).substr(text.size() - at - behind.size());
    }
    if (const std::size_t at = text.find(in); at != text.npos) {
        return config_value(line.get(text.substr(at + in.size())), text.substr(0, at));
    }
    const std::size_t space = text.find(' ');
    const std::size_t either = text.find(" or ");
    if (space == text.npos || space == either) {
        while (text.find(" or ") != text.npos) {  // each turn takes a name off
            if (const std::string name = cut(text, " or "); line.has(name)) {
                return line.get(name);
            }
        }
        return line.get(text);
    }
    const std::string word = cut(text, " ");
    std::string value = line.get(text);
    if (word == "count") {
        return std::to_string(std::count(line.arguments.begin(), line.arguments.end(), text));
    }
    if (word == "quoted") {
        return value.empty() ? "" : " \"" + value + "\"";
    }
    if (word == "dashed") {
        std::replace(value.begin(), value.end(), '_', '-');
        return value;
    }
    if (const std::optional<std::string> number = converted(word, value)) {
        return *number;
    }
    const std::string ours = our_name(word, value);
    return word == "ours"            ? argument_of(line, text)
           : word == "masked_header" ? mask_value(mask_header, value)
           : word == "masked_part"   ? mask_any(value)
           : ours.empty()            ? value
                                     : ours;
}

/// Puts values in the place of "{..}".
static std::string expand(std::string text, Line& line) {
    std::string all;
    while (text.find('}') != text.npos) {  // each turn takes a value off
        all += cut(text, "{");
        all += value_named(cut(text, "}"), line);
    }
    return all + text;
}

static bool is_given(std::string_view names, Line& line) {
    return names.starts_with("ours ")
               ? has_argument(line, names.substr(names.find(' ') + 1))
               : std::ranges::any_of(words_in(names, "|"),
                                     [&line](std::string_view name) { return line.has(name); });
}

/// Whether the value begins, or ends, with one of a list.
static bool meets_one(std::string_view value, std::string_view list, bool begins) {
    return std::ranges::any_of(words_in(list, "|"), [&](std::string_view one) {
        return begins ? value.starts_with(one) : value.ends_with(one);
    });
}

/// One of "--a|--b" (either is given), "ours --url", "{..}" (not empty), "{..} is A|B",
/// "{..} is not A|B", "{..} above 0", "{..} begins A|B", "{..} ends A|B", "{..} has A", "{..} in
/// LIST" or "{..} in parts", each perhaps behind "no".
static bool holds_term(std::string text, Line& line) {
    const bool wanted = !text.starts_with("no ");
    text.erase(0, wanted ? 0 : 3);
    if (!text.starts_with('{')) {
        return is_given(text, line) == wanted;
    }
    std::string operand = cut(text, "}");
    const std::string value = expand(operand + "}", line);
    if (text.empty()) {
        return value.empty() != wanted;
    }
    text.erase(0, 1);
    const std::string verb = cut(text, " ");
    const bool negated = verb == "is" && text.starts_with("not ");
    const std::string other = expand(negated ? text.substr(4) : text, line);
    const bool holds =
        verb == "is"      ? (value.empty() ? other.empty() : is_one_of(other, value)) != negated
        : verb == "above" ? is_positive(value)
        : verb == "begins" || verb == "ends" ? meets_one(value, other, verb == "begins")
        : verb == "has"                      ? value.find(other) != value.npos
        : other == "parts"                   ? is_config(value)
                                             : !our_name(other, value).empty();
    return holds == wanted;
}

static bool holds(std::string condition, Line& line) {
    while (!condition.empty()) {  // each turn takes a term off
        if (!holds_term(cut(condition, " and "), line)) {
            return false;
        }
    }
    return true;
}

/// The rules of a section for one word, whose key ends at `end`.
static void apply_to_part(std::string_view section, const std::string& word, std::size_t end,
                          Line& line) {
    end = std::min(end, word.size());
    line.kept["word"].value = word;
    line.kept["key"].value = word.substr(0, end);
    line.kept["rest"].value = word.substr(end);
    line.kept["value"].value = word.substr(std::min(end + 1, word.size()));
    run_rules(find_row(section, "finally")->rules, line);
}

/// Takes the first word off the front; blanks between braces end none.
static std::string cut_word(std::string& text) {
    const std::size_t from = text.starts_with('{') ? text.find('}') : 0;
    const std::size_t end = std::min(text.find(' ', from), text.size());
    std::string word = text.substr(0, end);
    text.erase(0, end + 1);
    return word;
}

static void apply_effect(std::string text, Line& line) {
    const std::string verb = cut(text, " ");
    if (verb == "unused") {
        const std::string why = text.substr(text.find(": ") + 2);
        for (std::string flags = text.substr(0, text.find(": ")); !flags.empty();) {
            if (const std::string flag = cut(flags, " "); line.has(flag)) {
                add_note(line, flag + " is ignored: " + expand(why, line));
            }
        }
        return;
    }
    const bool has_value = !text.empty();
    const std::string all = expand(text, line);
    const std::string name = expand(cut_word(text), line);
    text = expand(text, line);
    if (verb.starts_with("--")) {
        line.arguments.push_back(verb);
        if (has_value) {
            line.arguments.push_back(all);
        }
    } else if (verb == "flag") {
        add_flag(line, name, text);
    } else if (verb == "default") {
        add_default(line, name, text);
    } else if (verb == "set") {
        set_argument(line, name, text);
    } else if (verb == "trace") {
        line.arguments.push_back(all);
    } else if (verb == "note") {
        add_note(line, all);
    } else if (verb == "refuse") {
        refuse_line(line, all);
    } else if (verb == "missing") {
        line.trace_missing = all;
    } else if (verb == "typed") {
        line.typed_as.emplace_back(name, text);
    } else if (verb == "let") {
        line.kept[name].value = text.substr(std::min(text.find_first_not_of(' '), text.size()));
    } else if (verb == "member") {
        extend_members(line.kept["members"].value, name, text);
    } else if (verb == "array") {
        std::string& members = line.kept["members"].value;
        std::replace(text.begin(), text.end(), between_values[0], ',');
        members += (members.empty() ? "\"" : ",\"") + name + "\":[" + text + "]";
    } else if (verb == "members" || verb == "body") {
        add_members(line, verb == "body" ? members_of(line) : line.get("members"), all);
        line.kept.erase("members");
    } else if (verb == "words" || verb == "list") {
        const std::string separator = cut(text, " ");
        while (!text.empty()) {  // each turn takes a word off
            const std::string word =
                text.substr(0, text.find_first_of(verb == "list" ? " ,\x1f" : between_values));
            text.erase(0, word.size() + 1);
            apply_to_part(name, word, word.find(separator), line);
        }
    } else if (verb == "parts") {
        for (const auto& [key, value] : config_parts(text)) {
            apply_to_part(name, key + "=" + value, key.size(), line);
        }
    } else if (verb == "server") {
        add_default_server(line, all);
    } else if (const ToolRow* const row = find_row(name, "finally"); row != nullptr) {
        line.kept["given"].value = text;
        run_rules(row->rules, line);
    } else {
        take_by_code(name, text, line);
    }
}

void run_rules(const std::vector<ToolRule>& rules, Line& line) {
    bool on = false;    // the last "if", "else" or "always" held
    bool done = false;  // since the last "if" one has held
    for (const ToolRule& rule : rules) {
        const bool also = rule.joint == "also";
        if (also ? !on : rule.joint == "else" && done) {
            on = on && also;
            continue;
        }
        const bool now = holds(rule.condition, line);
        if (!also) {
            on = now;
            done = now || (done && rule.joint == "else");
        }
        if (now) {
            apply_effect(rule.effect, line);
        }
    }
}

}  // namespace driftless
