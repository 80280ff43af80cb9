/// What every parser does: reads words into values, prints its help, gives its flag table.

#include "cmd/flags/options_parser.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>

#include "cmd/base/secrets.hpp"
#include "cmd/flags/help_flags.hpp"
#include "proto/core/text.hpp"

namespace driftless {

/// One line about the first argument that no flag took, with the name that may have been meant; or
/// the empty text.
static std::string unknown_argument(const CommandParser& parser) {
    const std::vector<std::string> extras = parser.app->remaining();
    if (extras.empty()) {
        return "";
    }
    if (!extras[0].starts_with("-")) {
        return "unexpected argument " + extras[0] + parser.argument_hint;
    }
    const std::string typed = extras[0].substr(0, extras[0].find('='));  // the value may be a key
    if (typed == "--version" || typed == "-V") {
        return "unknown flag " + typed + "; use driftless --version" + parser.flag_hint;
    }
    std::vector<std::string> names;
    for (const CLI::Option* option : parser.app->get_options()) {
        if (!option->get_group().empty()) {
            names.push_back(option->get_name());
        }
    }
    const std::string nearest = nearest_name(typed, names);
    return "unknown flag " + typed + (nearest.empty() ? "" : "; did you mean " + nearest + "?") +
           parser.flag_hint;
}

/// What is wrong with a command line, for its error; where CLI11 says it in its own way, in ours.
static std::string reason_of(const CLI::ParseError& error) {
    // "--url: 1 required URL missing"
    const std::string text = error.what();
    constexpr std::string_view before = ": 1 required ";
    constexpr std::string_view behind = " missing";
    const std::size_t at = text.find(before);
    if (error.get_name() != "ArgumentMismatch" || at == text.npos || !text.ends_with(behind)) {
        return text;
    }
    const std::size_t begin = at + before.size();
    return text.substr(0, at) + " needs a value (" +
           text.substr(begin, text.size() - behind.size() - begin) + ")";
}

/// The headings of the flags, but for that of --help alone.
static std::vector<std::string> groups_of(const CommandParser& parser) {
    std::vector<std::string> groups = parser.app->get_groups();
    std::erase_if(groups, [&parser](const std::string& group) {
        return group.empty() || group == parser.app->get_help_ptr()->get_group();
    });
    return groups;
}

/// `text`, then the headings with commas between them.
static std::string list_of_groups(const CommandParser& parser, std::string text,
                                  std::size_t columns_max) {
    for (const std::string& group : groups_of(parser)) {
        const std::size_t begin = text.rfind('\n') + 1;  // 0 in the first line
        text += text.size() - begin + group.size() + 2 > columns_max ? "\n" : " ";
        text += group + ",";
    }
    text.pop_back();
    return text;
}

static std::shared_ptr<CLI::Formatter> formatter_of(const CommandParser& parser) {
    return std::static_pointer_cast<CLI::Formatter>(parser.app->get_formatter());
}

/// The help of one screen: the flags of most runs, and the first examples.
static std::string overview_of(const CommandParser& parser) {
    constexpr std::size_t examples_max = 3;
    const auto formatter = formatter_of(parser);
    std::vector<const CLI::Option*> used;
    for (const char* const name : parser.most_used) {
        used.push_back(parser.app->get_option(name));
    }
    const std::string footer = parser.app->get_footer();
    const std::size_t begin = std::min(footer.find("Examples:\n"), footer.size());
    std::size_t end = footer.find('\n', begin);
    for (std::size_t i = 0; i < examples_max && end != footer.npos; ++i) {
        end = footer.find('\n', end + 1);
    }
    const std::string asked = "driftless " + parser.command + " --help ";
    return formatter->make_description(parser.app.get()) +
           formatter->make_usage(parser.app.get(), parser.app->get_name()) +
           formatter->make_positionals(parser.app.get()) +
           formatter->make_group("Most used flags", false, used) + "\n" +
           footer.substr(begin, end == footer.npos ? end : end + 1 - begin) + "\n" +
           list_of_groups(parser, "Groups of flags:", 100) + "\n" + asked + "GROUP: its flags; " +
           asked + "WORD: those about it\n" + asked +
           "all: every flag, more examples, exit codes\n";
}

/// Whether a paragraph of the footer names the flag.
static bool names_flag(std::string_view paragraph, const std::string& name) {
    for (std::size_t at = paragraph.find(name); at != paragraph.npos;
         at = paragraph.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        if (end == paragraph.size() || (paragraph[end] != '-' && lower(paragraph[end]) < 'a')) {
            return true;
        }
    }
    return false;
}

/// The flags of the group that is called so, by its name or its first word; else those with the
/// topic in their names or texts. Behind them, what the footer says of them. Empty: there are none.
static std::string help_about(const CommandParser& parser, const std::string& topic) {
    const CLI::App& app = *parser.app;  // its options are const, too
    const std::vector<std::string> groups = groups_of(parser);
    const auto called = std::find_if(groups.begin(), groups.end(), [&topic](const auto& group) {
        const std::string name = lower(group);
        return topic == name || topic == name.substr(0, name.find_first_of(" ,"));
    });
    std::string text;
    std::string footer = parser.app->get_footer() + "\n\n";
    std::vector<const CLI::Option*> all;
    for (const std::string& group : groups) {
        const auto options = app.get_options([&](const CLI::Option* option) {
            const std::string said =
                option->get_name(false, true) + " " + option->get_description();
            return option->nonpositional() && option->get_group() == group &&
                   (called != groups.end() ? group == *called
                                           : lower(said).find(topic) != said.npos);
        });
        all.insert(all.end(), options.begin(), options.end());
        text += options.empty() ? "" : formatter_of(parser)->make_group(group, false, options);
    }
    for (std::size_t end = footer.find("\n\n"); end != footer.npos; end = footer.find("\n\n")) {
        const std::string paragraph = footer.substr(0, end);
        footer.erase(0, end + 2);
        const bool named = std::any_of(all.begin(), all.end(), [&paragraph](const auto* option) {
            return names_flag(paragraph, option->get_name());
        });
        if (named && !paragraph.starts_with("Examples:") && !paragraph.starts_with("Exit codes")) {
            text += "\n" + paragraph + "\n";
        }
    }
    return text.substr(std::min<std::size_t>(text.size(), 1));
}

/// CLI11's help, with one empty line between groups instead of two.
static std::string whole_help_of(const CommandParser& parser) {
    std::string text = parser.app->help();
    for (std::size_t at = text.find("\n\n\n"); at != text.npos; at = text.find("\n\n\n", at)) {
        text.erase(at, 1);
    }
    return text;
}

/// The help about a topic, in lower case. Where tables are asked for (AskedTables) the flags go
/// there, and the text is empty.
static std::string help_of(const CommandParser& parser, const std::string& topic) {
    if (AskedTables* asked = AskedTables::current(); asked != nullptr) {
        asked->add(parser.table());
        return "";
    }
    const bool is_short = topic != "all" && !parser.most_used.empty();
    std::string text = topic.empty() || topic == "all" ? "" : help_about(parser, topic);
    if (text.empty()) {
        const bool is_unknown = !topic.empty() && topic != "all";
        text = is_unknown ? "No flag has \"" + topic + "\" in its name or text.\n\n" : "";
        text += is_short ? overview_of(parser) : whole_help_of(parser);
    }
    return text;
}

void Flags::argument(const char* name, const char* help, std::string& target) {
    app_.add_option(name, target, help);
}

void Flags::argument(const char* name, const char* help, std::vector<std::string>& target) {
    app_.add_option(name, target, help);
}

Flags::Words Flags::Row::all_words() const {
    Words all = words.empty() ? unit_words(unit) : words;
    const Result<void> refused = read(unlisted_word, false);
    if (all.empty() && !refused) {
        all = possible_values(refused.error().doing);
        std::erase_if(all, [this](const std::string& word) { return !read(word, false); });
    }
    return all;
}

std::string Flags::Row::told_default() const {
    constexpr std::string_view behind = "; repeatable";
    const std::string told = help.substr(0, help.size() - (repeats ? behind.size() : 0));
    return standard != nullptr || same ? make_flag({}, "", told, "").standard : "";
}

/// A default that is typed changes nothing. A refusal is `FLAG "VALUE" is not one of A, B or C; did
/// you mean B?`, with the nearest word.
void Flags::Row::take(const std::string& text) const {
    const std::string unset = told_default();
    const bool is_as_unset =
        standard == nullptr && !repeats && same && (text == unset || same(text, unset));
    const Result<void> taken = is_as_unset ? Result<void>() : read(text, true);
    if (taken) {
        return;
    }
    const std::string shown = mask_refused(traits.mask, text);
    const std::string_view why = taken.error().doing;
    const bool is_said = why.find("did you mean") != why.npos || read(unlisted_word, false);
    const std::string nearest = nearest_name(shown, is_said ? Words() : all_words());
    throw CLI::ValidationError(name + " \"" + shown + "\" " + taken.error().doing +
                               (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

void Flags::add(Row row) {
    row.traits = of_group_ | row.traits;
    if (row.standard != nullptr) {
        CHECK(row.read(row.standard, true));
        row.help += std::string(" [") + row.standard + "]";
    }
    if (const std::size_t at = row.help.find("{}"); at != row.help.npos) {
        row.help.replace(at, 2, joined(row.all_words()));
    }
    row.help += row.repeats ? "; repeatable" : "";
    const std::string name = row.name;
    const Row& kept =
        rows_.insert_or_assign(name.substr(name.find("--")), std::move(row)).first->second;
    const auto take = [&kept](const CLI::results_t& given) {
        if (given.size() > 1 && !kept.repeats) {
            throw CLI::ValidationError(kept.name + " is given " + std::to_string(given.size()) +
                                       " times; give it once");
        }
        for (const std::string& text : given) {
            kept.take(text);
        }
        return true;
    };
    CLI::Option* const option = app_.add_option(name, take, kept.help);
    option->type_name(kept.unit)->group(group_)->multi_option_policy(
        CLI::MultiOptionPolicy::TakeAll);
}

void Flags::switch_to(bool meaning, const char* name, const char* help, bool& target,
                      FlagTraits traits) {
    rows_[name].traits = of_group_ | traits;
    app_.add_flag_callback(name, [&target, meaning] { target = meaning; }, help)->group(group_);
}

FlagTable Flags::table() const {
    FlagTable table;
    for (const CLI::Option* option : app_.get_options()) {
        if (option->get_positional()) {
            table.arguments.push_back(
                make_flag({option->get_name(true)}, "", option->get_description(), ""));
            continue;
        }
        std::vector<std::string> names;
        for (const std::string& name : option->get_snames()) {
            names.push_back("-" + name);
        }
        for (const std::string& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
        const bool has_value = option->get_expected_max() > 0;
        const auto row = rows_.find(names.back());
        Flag flag = make_flag(std::move(names), has_value ? option->get_type_name() : "",
                              option->get_description(), option->get_group());
        flag.choices = has_value ? row->second.all_words() : Words();
        flag.traits = row != rows_.end() ? row->second.traits : of_sweep;  // --help
        if (has_value) {
            flag.same = row->second.same;
            flag.unset = row->second.told_default();
        }
        (flag.group.empty() ? table.hidden : table.flags).push_back(std::move(flag));
    }
    return table;
}

std::vector<std::string> Flags::given(const char* name) const {
    return app_.get_option(name)->results();
}

std::vector<std::string> Flags::given() const {
    std::vector<std::string> given;
    for (const CLI::Option* option : app_.get_options()) {
        if (option->count() == 0 || !option->nonpositional()) {
            continue;
        }
        // get_name() has none where the help does not show it.
        const std::string name = "--" + option->get_lnames().front();
        if (option->get_expected_max() == 0) {
            given.push_back(name);
            continue;
        }
        for (const std::string& value : option->results()) {
            given.push_back(name + "=" + value);
        }
    }
    return given;
}

CommandParser::CommandParser(std::string named, const char* description, std::string footer,
                             std::size_t column_width)
    : command(std::move(named)),
      app(std::make_unique<CLI::App>(description, "driftless " + command)),
      flags(*app) {
    app->footer(std::move(footer));
    app->get_formatter()->column_width(column_width);
    app->allow_extras();
    app->set_help_flag("-h,--help", "print this help and exit");
}

CommandParser::CommandParser(CommandParser&&) = default;
CommandParser::~CommandParser() = default;

FlagTable CommandParser::table() const {
    FlagTable table = flags.table();
    table.command = command;
    table.description = app->get_description();
    table.footer = app->get_footer();
    return table;
}

std::optional<std::string> help_topic(const std::vector<std::string>& arguments) {
    const auto bar = std::find(arguments.begin(), arguments.end(), "--");
    const auto asks = [](const std::string& one) {
        return one == "--help" || one == "-h" || one.starts_with("--help=");
    };
    const auto asked = std::find_if(arguments.begin(), bar, asks);
    if (asked == bar) {
        return std::nullopt;
    }
    if (asked->starts_with("--help=")) {
        return lower(asked->substr(asked->find('=') + 1));
    }
    const bool has_topic = asked + 1 != arguments.end() && !asks(*(asked + 1));
    const std::string topic = has_topic ? lower(*(asked + 1)) : "";
    return topic.substr(0, topic.find('='));  // a flag without its value, which may be a key
}

std::string CommandParser::parse(const std::vector<std::string>& arguments, CommandLine& line) {
    if (const std::optional<std::string> topic = help_topic(arguments)) {
        line.kind = CommandLine::Kind::help;
        line.text = help_of(*this, *topic);
        return "";
    }
    try {
        app->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
        return unknown_argument(*this);
    } catch (const CLI::ParseError& error) {
        return reason_of(error);
    }
}

void CommandParser::read(const std::vector<std::string>& arguments, CommandLine& line,
                         const std::function<std::string()>& complete) {
    std::string why = parse(arguments, line);
    if (why.empty() && line.kind == CommandLine::Kind::run && complete) {
        why = complete();
    }
    if (!why.empty()) {
        line.refuse(command, why);
    }
}

void add_ci_flags(Flags& flags, CiFiles& files, Result<std::string> (&parse)(std::string_view)) {
    flags.value("--markdown", "FILE", "one page, for example for a GitHub job summary", parse,
                files.markdown, of_its_end | of_sweep | no_probe(": there are many"));
    flags.value("--junit", "FILE", "a test case for the verdict, or the work, and each --fail-if",
                parse, files.junit, of_its_end | of_sweep | no_probe(": there are many"));
    flags.on_off("--force", "these files, and other exports, may replace what is there",
                 files.force, of_its_end);
}

void add_trace_argument(Flags& flags, TraceFiles& files) {
    flags.argument("TRACE", "trace files, a directory, or - (compressed or not)", files.paths);
}

void add_trace_flags(Flags& flags, TraceFiles& files) {
    flags.value("--format", "NAME", "format of the trace [detected]", parse_trace_format,
                files.format, not_setting, names_in(trace_formats()));
    flags.value("--time-unit", "UNIT", "unit of the trace's times: {} [the format's]",
                parse_time_unit, files.time_unit, of_load);
    flags.value("--block-size", "TOKENS", "tokens per block [the format's]", parse_positive_u32,
                files.block_size, of_load);
    flags.value("--map", "K=COLUMN,..",
                "name the columns: time, in, out, hashes, session, turn, delay;\n"
                "in replay also model",
                parse_map, files.map);
    flags.value("--sessions", "HOW",
                "when turns are sent: recorded (recorded instants), open (recorded\n"
                "gaps if they have no instants), closed (when what they wait for\n"
                "has ended)",
                "recorded", session_choices, files.sessions, not_setting);
    flags.value("--flat-agents", "HOW",
                "agents recorded in one line of a closed trace: chains (each waits\n"
                "for its own answers) or keep",
                "chains", flat_agents_choices, files.flat_agents, of_load);
    flags.value("--hash-scope", "SCOPE",
                "equal block ids share inside a file, everywhere (all), or inside a\n"
                "session [the format's]",
                hash_scope_choices, files.id_scope, of_load);
    flags.value("--default-output", "N", "output tokens of rows that record none [refused]",
                parse_positive_u32, files.default_output);
    flags.on_off("--lenient",
                 "repair and count contradictions if possible instead of refusing them",
                 files.lenient);
}

void add_range_flags(Flags& flags, PlanOptions& plan, FlagTraits traits) {
    flags.value("--start", "T", "rows from this trace time on, counted from the first row [0]",
                parse_duration_ns, plan.start_ns, traits);
    flags.value("--end", "T", "rows before this trace time [the end]", parse_duration_ns,
                plan.end_ns, traits);
    flags.value("--limit", "N", "at most N rows, counted after sorting [all]", parse_positive_count,
                plan.limit, traits);
}

void add_load_flags(Flags& flags, LoadOptions& load) {
    flags.value("--share", "WHAT",
                "rows without block ids share a prefix within a session, or all do",
                sharing_choices, load.share, of_corpus);
    flags.value("--max-context", "N",
                "leave out trees that have a request of more tokens, in plus out [none]",
                parse_positive_count, load.admission.context_max, of_corpus);
    flags.value("--max-trees", "N", "then use the first N session trees of the trace [all]",
                parse_positive_u32, load.admission.trees_max, of_corpus);
    flags.value("--sample-sessions", "SHARE",
                "keep this share of the sessions, each as a whole: 0.1 or 10%", "1", parse_sample,
                load.sample, of_corpus);
    flags.value("--replicate", "N",
                "overlay N copies that share nothing and start at different times;\n"
                "rows:N copies one after another until there are N rows",
                "1", parse_copies, load.copies, of_load);
    flags.value("--replicate-within", "T",
                "copies start within T of the first [60s, or a tenth of the trace]",
                parse_duration_ns, load.within_ns, of_load);
}

}  // namespace driftless
