/// `driftless help WORD`: where a word is in what the program can tell, most exact hits first.

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "cmd/help/help.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// What the summaries of the schemas begin with; behind it is the file that they describe.
static constexpr std::string_view summary_of_schema = "schema of ";

namespace {

/// How well something fits, best first.
enum class Fit : std::uint8_t { whole_name, word_of_name, part_of_name, word_of_text, none };

struct Hit {
    Fit fit;
    std::string place;  ///< what to type for more, or the file; with the name
    std::string text;
};

}  // namespace

/// Lower case, with `_` between words: `host-noisy`, `kept up` and `kept_up` are found alike.
static std::string plain_of(std::string_view text) {
    std::string plain = lower(text);
    std::replace_if(plain.begin(), plain.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
    plain.erase(0, std::min(plain.find_first_not_of('_'), plain.size()));
    return plain;
}

static bool has_word(const std::string& text, const std::string& word) {
    const auto ends = [&text](std::size_t at) {
        return at >= text.size() || text[at] < '0' || (text[at] > '9' && text[at] < 'a') ||
               text[at] > 'z' || text[at] == '_';
    };
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
        if ((at == 0 || ends(at - 1)) && ends(at + word.size())) {
            return true;
        }
    }
    return false;
}

namespace {

/// Collects what fits a word.
class Hits {
  public:
    explicit Hits(std::string_view word) : word_(plain_of(word)) {}

    void add(std::string_view name, std::string place, std::string text) {
        const Fit fit =
            std::min(fit_of(plain_of(name), plain_of(text), word_),
                     word_.ends_with('s') ? std::max(Fit::word_of_name, of_one(name)) : Fit::none);
        if (fit != Fit::none) {
            std::replace(text.begin(), text.end(), '\n', ' ');
            hits_.push_back({fit, std::move(place), std::move(text)});
        }
    }

    std::vector<Hit> take() {
        std::stable_sort(hits_.begin(), hits_.end(),
                         [](const Hit& a, const Hit& b) { return a.fit < b.fit; });
        return std::move(hits_);
    }

  private:
    static Fit fit_of(const std::string& name, const std::string& text, const std::string& word) {
        return name == word                   ? Fit::whole_name
               : has_word(name, word)         ? Fit::word_of_name
               : name.find(word) != name.npos ? Fit::part_of_name
               : has_word(text, word)         ? Fit::word_of_text
                                              : Fit::none;
    }
    /// Of the word without its plural s: a name alone fits it.
    Fit of_one(std::string_view name) const {
        return fit_of(plain_of(name), "", word_.substr(0, word_.size() - 1));
    }

    std::string word_;
    std::vector<Hit> hits_;
};

}  // namespace

static void add_flags_of(const std::vector<CommandPages>& commands, Hits& hits) {
    std::vector<std::pair<const Flag*, std::string>> flags;  // with the commands that have it
    std::set<std::string> groups;  // of a command; its kinds have many of the same
    for (const CommandPages& command : commands) {
        hits.add("", "driftless " + command.name, command.summary);
        for (const FlagTable& table : command.tables) {
            for (const Flag& flag : table.flags) {
                const std::string first =
                    lower(flag.group.substr(0, flag.group.find_first_of(" ,")));
                if (flag.names.back() != "--help" &&
                    groups.insert(command.name + " " + first).second) {
                    hits.add(first, "driftless " + table.command + " --help " + first,
                             "the flags of " + flag.group);
                }
                const auto same = std::find_if(flags.begin(), flags.end(), [&](const auto& one) {
                    return one.first->names == flag.names && one.first->help == flag.help;
                });
                if (same == flags.end()) {
                    flags.emplace_back(&flag, table.command);
                } else if (!same->second.ends_with(table.command)) {
                    same->second += ", " + table.command;
                }
            }
        }
    }
    for (const auto& [flag, where] : flags) {
        hits.add(flag->names.back(),
                 "driftless " + where + " " + flag->names.back() +
                     (flag->unit.empty() ? "" : " " + flag->unit),
                 flag->help + (flag->standard.empty() ? "" : " [" + flag->standard + "]"));
    }
}

static void add_keys_of(const ShippedFile& schema, Hits& hits) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(schema.text);
    CHECK(root);
    std::vector<std::pair<JsonValue, std::string>> pending{{root.value(), ""}};
    while (!pending.empty()) {  // bounded by the members of the schema
        const auto [above, path] = std::move(pending.back());
        pending.pop_back();
        for (JsonValue one = above.first(); one.present(); one = one.next()) {
            const std::string key(one.key());
            if (key != "properties") {
                pending.emplace_back(one, path);
                continue;
            }
            for (JsonValue member = one.first(); member.present(); member = member.next()) {
                const std::string name(member.key());
                const std::string whole = path + (path.empty() ? "" : ".") + name;
                const auto said = member.find("description").as_string();
                hits.add(
                    name,
                    std::string(schema.summary.substr(summary_of_schema.size())) + ": " + whole,
                    std::string(said.value_or("")));
                pending.emplace_back(member, whole);
            }
        }
    }
}

/// Headings, and the rows of tables whose first cell is a name: `host-noisy`.
static void add_page(const ShippedFile& page, Hits& hits) {
    const std::string place = "driftless help " + std::string(page.name) + ": ";
    for (std::string_view rest = page.text; !rest.empty();) {
        std::string_view line = take_until(rest, "\n");
        if (line.starts_with('#')) {
            line.remove_prefix(std::min(line.find_first_not_of("# "), line.size()));
            hits.add(line, place + std::string(line), "");
        } else if (line.starts_with("| `") && line.ends_with(" |")) {
            line = line.substr(2, line.size() - 4);
            const std::size_t end = std::min(line.find(" | "), line.size() - 3);
            std::string cells(line.substr(end + 3));
            cells.erase(0, cells.starts_with("| ") ? 2 : 0);  // a name without a unit
            for (std::size_t at = cells.find(" | "); at != cells.npos; at = cells.find(" | ")) {
                cells.replace(at, 3, "; ");
            }
            std::string names(line.substr(0, end));
            std::erase(names, '`');
            hits.add(names, place + names, cells);
        }
    }
}

namespace {

/// Words that no flag, key or page has for its name, and what to say of them.
struct Topic {
    std::string_view word;
    const char* place;
    const char* text;
};

}  // namespace

static constexpr Topic topics[] = {
    {"units", "units",
     "durations are 90, 1.5s, 250ms, 5us, 10m, 2h or 1h30m, a bare number is seconds; limits of "
     "--goodput are ms without a unit; where a number could mean two things it is refused, and "
     "both "
     "spellings are named"},
    {"tenant", "driftless replay --keep NAME",
     "a column of the trace goes into the records; then --by kept.tenant, --goodput \"tenant=gold "
     "ttft:200\" and --fail-if \"tenant=gold ttft:p95 > 500ms\""},
    {"overload", "summary.json: kept_up",
     "whether the server kept up; driftless find has the knee"},
    {"keep up", "summary.json: kept_up", "whether the server kept up; driftless find has the knee"},
    {"prometheus", "driftless replay --metrics URL",
     "the servers' own metrics, read during the run"},
    {"gpu", "driftless replay --metrics URL", "the servers' own metrics, read during the run"},
    {"ssl", "driftless replay --ca, --cert, --key, --insecure", "https"},
    {"proxy", "driftless replay --connect-to PLACE",
     "where the connection goes instead of the URL's"},
    {"docker", "driftless help containers.md", "how to run it in a container"},
};

/// Lines of 100 columns at most: all of a text whose name is the word, the first line of others.
static void append_lines(const Hit& hit, std::vector<std::string>& lines) {
    constexpr std::size_t columns_max = 100;
    std::string text = hit.place + (hit.text.empty() ? "" : "  " + hit.text);
    while (text.size() > columns_max) {
        const bool whole = hit.fit == Fit::whole_name;
        const std::size_t cut = text.rfind(' ', columns_max - (whole ? 0 : 3));
        if (cut == text.npos || cut < 4) {
            break;  // one long word behind the indent
        }
        lines.push_back(text.substr(0, cut) + (whole ? "" : " .."));
        if (!whole) {
            return;
        }
        text = "   " + text.substr(cut);
    }
    lines.push_back(text);
}

std::string command_of_other_tools(std::string_view typed) {
    for (const char* const word : {"run", "bench", "benchmark", "profile", "play", "load"}) {
        if (typed == word) {
            return "replay";
        }
    }
    return typed == "serve" || typed == "server" ? "mock" : "";
}

std::vector<std::string> find_word(const std::vector<CommandPages>& commands,
                                   std::span<const ShippedFile> shipped, std::string_view word,
                                   bool is_typo) {
    constexpr std::size_t lines_max = 30;
    Hits hits(word);
    if (const std::string ours = command_of_other_tools(word); !ours.empty()) {
        hits.add(word, "driftless " + ours, "what other tools call " + std::string(word));
    }
    add_flags_of(commands, hits);
    for (std::string_view rest = exit_codes; !rest.empty();) {
        const std::string_view line = take_until(rest, "\n");
        const std::string code(line.substr(2, line.find(' ', 2) - 2));
        const std::string plain = plain_of(word);
        const bool is_all = plain == "exit" || plain == "exit_code" || plain == "exit_codes";
        const bool is_one = plain.starts_with("exit_code_");
        const std::string name = is_all ? std::string(word) : (is_one ? "exit code " : "") + code;
        hits.add(name, "exit code " + code, std::string(line.substr(7)));
    }
    for (const Topic& topic : topics) {
        hits.add(topic.word, topic.place, topic.text);
    }
    for (const ShippedFile& file : shipped) {
        hits.add(file.name.substr(0, file.name.find('.')),
                 "driftless help " + std::string(file.name), std::string(file.summary));
        if (file.summary.starts_with(summary_of_schema)) {
            add_keys_of(file, hits);
        } else if (file.name.ends_with(".md")) {
            add_page(file, hits);
        }
    }
    std::vector<std::string> lines;
    for (const Hit& hit : hits.take()) {
        if (is_typo && lines.empty() && hit.fit != Fit::whole_name) {
            return {};
        }
        append_lines(hit, lines);
    }
    if (lines.size() > lines_max) {
        const std::size_t left_out = lines.size() - lines_max + 1;
        lines.resize(lines_max - 1);
        lines.push_back(".. and " + std::to_string(left_out) + " lines more");
    }
    return lines;
}

}  // namespace driftless
