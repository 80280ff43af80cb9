#include <array>

#include "cmd/base/values.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/options_parser.hpp"
#include "cmd/flags/synth_values.hpp"
#include "proto/trace/formats.hpp"

namespace driftless {

namespace {

constexpr const char* kinds_help =
    "Makes a synthetic workload and writes it as a trace.\n\n"
    "Usage: driftless synth KIND [FLAGS]\n\nKinds:\n"
    "  random               rows that share nothing\n"
    "  prefix               groups of rows that begin with one prefix\n"
    "  chat                 conversations that grow turn by turn\n"
    "  agents               trees of agents with sub-agents, tool pauses and compaction\n"
    "  like TRACE           whole trees of a real trace, to another length, rate or user count\n"
    "  stress reuse         a set share of each prompt is in the prefix cache\n"
    "  stress working-set   a working set that grows past the size of a cache\n"
    "  stress offload       a working set that fits a cache, one that does not, and the first\n"
    "  stress compaction    conversations that are summarised repeatedly\n"
    "  stress reactivation  conversations that continue after a long pause\n"
    "  stress fan-out       many rows continue one prompt at one instant\n\n"
    "`driftless synth KIND --help` lists the flags of a kind. Lengths and times are laws: 512,\n"
    "uniform:100..900, normal:512:100, lognormal:512:0.8 (median, sigma), exponential:512, or\n"
    "file:PATH, a histogram with lines of value,weight (values of times are milliseconds).\n\n"
    "Examples:\n"
    "  driftless synth random --in 1024 --out-tokens 128 --rows 1000 --rate 10 | driftless "
    "replay - --url http://a:8000\n"
    "  driftless synth chat --sessions 200 --turns uniform:2..12 --gap lognormal:8s:1 -o "
    "chat.jsonl\n"
    "  driftless synth stress reuse --hit 80 --working-set 2000000 -o reuse.jsonl.zst\n\n"
    "Exit codes: 0 done, 2 usage (or the output file exists), 3 input refused, 7 the host "
    "fails.\n";

constexpr const char* footer =
    R"(Laws: 512, uniform:100..900, normal:512:100 (mean, deviation), lognormal:512:0.8 (median,
sigma), exponential:512, file:PATH (a histogram: lines of value,weight; times in ms). Bounds
can follow the middle three: normal:512:100:1..4096. Values outside are drawn again.
Durations are 90, 1.5s, 250ms, 10m or 2h; a bare number is seconds.)";

struct KindRow {
    const char* name;
    SynthKind kind;
    const char* description;
};
constexpr std::array kinds{
    KindRow{"random", SynthKind::random, "Makes rows that share nothing.\n"},
    KindRow{"prefix", SynthKind::prefix,
            "Makes groups of rows; the rows of a group begin with one prefix.\n"},
    KindRow{"chat", SynthKind::chat,
            "Makes conversations: each turn's prompt is the one before, its answer, and new "
            "tokens.\n"},
    KindRow{"agents", SynthKind::agents,
            "Makes trees: an agent starts sub-agents, waits for them, and is summarised when its\n"
            "context is full. Replay them with --sessions closed or --users N.\n"},
    KindRow{"stress-reuse", SynthKind::stress_reuse,
            "Makes rows with a set share of tokens in the cache, after rows that fill it.\n"},
    KindRow{"stress-working-set", SynthKind::stress_working_set,
            "Makes passes over a working set that grows in steps.\n"},
    KindRow{"stress-offload", SynthKind::stress_offload,
            "Makes passes over a working set of 80 %, 125 % and again 80 % of a cache.\n"},
    KindRow{"stress-compaction", SynthKind::stress_compaction,
            "Makes conversations that grow, ask for a summary, and continue from it.\n"},
    KindRow{"stress-reactivation", SynthKind::stress_reactivation,
            "Makes conversations that pause for a long time before each turn.\n"},
    KindRow{"stress-fan-out", SynthKind::stress_fan_out,
            "Makes prompts that many rows continue at one instant.\n"},
};

/// A pattern of stress is a word of its own: "stress reuse".
std::string typed_kind(std::string name) {
    if (name.starts_with("stress-")) {
        name[std::string_view("stress").size()] = ' ';
    }
    return name;
}

Result<std::uint32_t> parse_block_size(std::string_view text) {
    const Result<std::uint32_t> size = parse_positive_row_tokens(text);
    return size && size.value() <= 65536 ? size : invalid("is not from 1 to 65536 tokens");
}

/// A number would be the lengths of answers.
Result<std::string> parse_new_file(std::string_view text) {
    if (!text.empty() && text.find_first_not_of("0123456789.,:") == text.npos) {
        return invalid(
            "is a number, and --out names the file, as in ./512; lengths of answers are "
            "--out-tokens");
    }
    return parse_text(text);
}

void add_output(Flags& flags, SynthOptions& options, std::uint32_t& block_size) {
    flags.group("Output");
    flags.value("-o,--out", "FILE", "output file, which must not exist yet; - for standard output",
                "-", parse_new_file, options.out);
    flags.value("--to", "NAME", "format to write: canonical or mooncake", "canonical",
                parse_trace_target, options.target);
    flags.value("--block-size", "TOKENS", "tokens per block [16; mooncake: 512]", parse_block_size,
                block_size);
    flags.value("--seed", "N", "the same seed makes the same trace", "0", parse_count,
                options.spec.seed);
}

void add_arrivals(Flags& flags, const char* what, SynthSpec& spec) {
    flags.group("Arrivals");
    const std::string help = std::string(what) + " per second: 10, 600/m, or inf (all at once)";
    flags.value("--rate", "R", help.c_str(), "1", parse_synth_rate, spec.arrivals.per_second, {},
                {"inf"});
    flags.value("--arrivals", "LAW", "gaps of the rate: {}", "poisson", constant_choices,
                spec.arrivals.constant);
}

void add_random(Flags& flags, KindValues& values) {
    flags.value("--rows", "N", "rows", "1000", parse_rows, values.count);
    flags.value("--in", "LAW", "tokens of a prompt", "1024", parse_token_law, values.input);
    flags.value("--out-tokens", "LAW", "tokens of an answer", "128", parse_token_law,
                values.output);
    flags.value("--range-ratio", "R",
                "lengths are uniform from floor(N * (1 - R)) to ceil(N * (1 + R)),\n"
                "as in vllm bench; or {\"input\":R,\"output\":R}",
                "0", parse_range_ratio, values.range_ratio);
}

void add_prefix(Flags& flags, KindValues& values) {
    flags.value("--rows", "N", "rows", "1000", parse_rows, values.count);
    flags.value("--groups", "N", "groups, each with its own prefix", "10", parse_groups,
                values.groups);
    flags.value("--prefix", "LAW", "tokens of a group's prefix; only whole blocks are shared",
                "1024", parse_any_token_law, values.prefix);
    flags.value("--suffix", "LAW", "tokens after the prefix", "256", parse_any_token_law,
                values.suffix);
    flags.value("--out-tokens", "LAW", "tokens of an answer", "128", parse_token_law,
                values.output);
    flags.value("--popularity", "LAW",
                "rows of a group: equal (same number, random order), ordered (group\n"
                "after group), or zipf:A (share rank^-A)",
                "equal", parse_popularity, values.popularity, {}, popularity_choices.words());
}

void add_token_time(Flags& flags, SynthSpec& spec) {
    flags.value("--token-time", "T",
                "assumed time of an output token, for the recorded instants; closed\n"
                "sessions use the real times",
                "20ms", parse_token_time, spec.token_ns);
}

/// What all kinds of conversations have. The defaults are those of the kind.
struct TurnDefaults {
    const char* turns;
    const char* system;
    const char* first;
    const char* growth;
    const char* output;
    const char* gap;
};
void add_turns(Flags& flags, const TurnDefaults& standard, KindValues& values, SynthSpec& spec) {
    flags.value("--turns", "LAW", "turns of a session", standard.turns, parse_number_law,
                values.turns);
    flags.value("--system", "N", "tokens that all sessions begin with", standard.system,
                parse_row_tokens, values.system);
    flags.value("--in", "LAW", "tokens of the first message after them", standard.first,
                parse_token_law, values.input);
    flags.value("--growth", "LAW", "tokens that a turn adds to the answer before it",
                standard.growth, parse_any_token_law, values.growth);
    flags.value("--out-tokens", "LAW", "tokens of an answer", standard.output, parse_token_law,
                values.output);
    flags.value("--gap", "LAW", "time from an answer to the next turn", standard.gap,
                parse_time_law, values.gap);
    flags.value("--max-context", "N", "a session whose next prompt would be longer ends", "131072",
                parse_positive_row_tokens, values.context_max);
    add_token_time(flags, spec);
}

void add_compaction(Flags& flags, const char* at, KindValues& values) {
    flags.value("--compact-at", "N", "longer prompts ask for a summary; then the context restarts",
                at, parse_row_tokens, values.compact_at);
    flags.value("--summary", "LAW", "tokens of the summary", "2000", parse_token_law,
                values.summary);
}

void add_agents(Flags& flags, KindValues& values, SynthSpec& spec) {
    flags.value("--trees", "N", "trees", "100", parse_rows, values.count);
    add_turns(flags,
              {"lognormal:20:0.8", "8000", "lognormal:1500:1", "lognormal:800:1.2",
               "lognormal:250:1", "lognormal:2s:1.2"},
              values, spec);
    add_compaction(flags, "100000", values);
    flags.group("Sub-agents");
    flags.value("--depth", "N", "levels of sub-agents", "1", parse_depth, values.depth);
    flags.value("--spawn", "SHARE", "share of turns that start sub-agents", "0.1", parse_part,
                values.spawn);
    flags.value("--fan-out", "LAW", "sub-agents that such a turn starts", "uniform:1..4",
                parse_number_law, values.fan_out);
    flags.value("--parallel", "N", "sub-agents at a time; the others follow", "4", parse_small,
                values.parallel);
    flags.value("--sub-turns", "LAW", "turns of a sub-agent", "lognormal:6:0.8", parse_number_law,
                values.sub_turns);
    flags.value("--sub-system", "N", "tokens that all sub-agents begin with", "4000",
                parse_row_tokens, values.sub_system);
}

void add_prompt(Flags& flags, KindValues& values) {
    flags.value("--in", "N", "tokens of every prompt", "8192", parse_positive_row_tokens,
                values.prompt);
    flags.value("--out-tokens", "LAW", "tokens of an answer", "128", parse_token_law,
                values.output);
}

void add_pattern(SynthKind kind, Flags& flags, KindValues& values, SynthSpec& spec) {
    add_prompt(flags, values);
    if (kind == SynthKind::stress_reuse) {
        flags.value("--rows", "N", "rows after those that fill the working set", "1000", parse_rows,
                    values.count);
        flags.value("--hit", "P", "share of their tokens in the cache, 0 to 100 %", "50%",
                    parse_hit_rate, values.hit_ppm);
        flags.value("--working-set", "TOKENS", "tokens of the prompts whose beginnings they reuse",
                    "131072", parse_set_tokens, values.set_tokens);
    } else if (kind == SynthKind::stress_working_set) {
        flags.value("--working-set", "A..B", "tokens of the working set, first and last size",
                    "65536..1048576", parse_set_range, values.set_range);
        flags.value("--steps", "N", "sizes between them, both included", "8", parse_small,
                    values.steps);
        flags.value("--rounds", "N", "passes over each size", "4", parse_small, values.rounds);
    } else if (kind == SynthKind::stress_offload) {
        flags.value("--capacity", "TOKENS", "tokens that the cache holds", "524288",
                    parse_set_tokens, values.set_tokens);
        flags.value("--rounds", "N", "passes over each set", "4", parse_small, values.rounds);
    } else {
        flags.value("--groups", "N", "prompts that are continued", "100", parse_rows, values.count);
        flags.value("--fan-out", "N", "rows that continue each", "16", parse_small, values.fan);
        flags.value("--suffix", "N", "tokens that each of them adds", "64",
                    parse_positive_row_tokens, values.fan_suffix);
        add_token_time(flags, spec);
    }
}

void add_kind(SynthKind kind, Flags& flags, KindValues& values, SynthSpec& spec) {
    flags.group("Workload");
    switch (kind) {
        case SynthKind::random:
            return add_random(flags, values);
        case SynthKind::prefix:
            return add_prefix(flags, values);
        case SynthKind::agents:
            return add_agents(flags, values, spec);
        case SynthKind::chat:
            flags.value("--sessions", "N", "conversations", "100", parse_rows, values.count);
            return add_turns(flags,
                             {"lognormal:4:0.8", "500", "lognormal:300:1", "lognormal:100:1",
                              "lognormal:200:0.8", "lognormal:15s:1"},
                             values, spec);
        case SynthKind::stress_compaction:
            flags.value("--sessions", "N", "conversations", "16", parse_rows, values.count);
            add_turns(flags, {"60", "4000", "2000", "1500", "300", "2s"}, values, spec);
            return add_compaction(flags, "32000", values);
        case SynthKind::stress_reactivation:
            flags.value("--sessions", "N", "conversations", "200", parse_rows, values.count);
            flags.value("--after", "T", "pause of each before a turn", "10m", parse_time_law,
                        values.gap);
            flags.value("--turns", "N", "turns of each", "2", parse_number_law, values.turns);
            flags.value("--in", "LAW", "tokens of the first prompt", "16384", parse_token_law,
                        values.input);
            flags.value("--growth", "LAW", "tokens that a turn adds to the answer before it", "200",
                        parse_any_token_law, values.growth);
            flags.value("--out-tokens", "LAW", "tokens of an answer", "128", parse_token_law,
                        values.output);
            values.context_max = row_tokens_max;
            return add_token_time(flags, spec);
        default:
            return add_pattern(kind, flags, values, spec);
    }
}

const char* arriving(SynthKind kind) {
    switch (kind) {
        case SynthKind::chat:
        case SynthKind::stress_compaction:
        case SynthKind::stress_reactivation:
            return "sessions";
        case SynthKind::agents:
            return "trees";
        case SynthKind::stress_fan_out:
            return "groups";
        default:
            return "rows";
    }
}

SynthCommandLine refused(const std::string& why) {
    SynthCommandLine line;
    line.refuse("synth", why);
    return line;
}

SynthCommandLine parse_kind(const KindRow& row, const std::vector<std::string>& arguments) {
    SynthCommandLine line;
    SynthOptions& options = line.options;
    options.name = row.name;
    KindValues values;
    std::uint32_t block_size = 0;
    CommandParser parser("synth " + typed_kind(row.name), row.description, footer);
    Flags& flags = parser.flags;
    add_kind(row.kind, flags, values, options.spec);
    add_arrivals(flags, arriving(row.kind), options.spec);
    add_output(flags, options, block_size);
    parser.read(arguments, line, [&] {
        const bool mooncake = options.target == find_trace_target("mooncake");
        options.spec.block_size = block_size != 0 ? block_size
                                  : mooncake      ? mooncake_block_size
                                                  : options.spec.block_size;
        return specify(row.kind, values, options.spec);
    });
    return line;
}

}  // namespace

std::vector<std::string> synth_kinds() {
    std::vector<std::string> names;
    for (const KindRow& row : kinds) {
        names.push_back(typed_kind(row.name));
    }
    names.emplace_back("like");
    return names;
}

SynthCommandLine parse_synth_options(const std::vector<std::string>& arguments) {
    SynthCommandLine help;
    help.kind = SynthCommandLine::Kind::help;
    help.text = kinds_help;
    if (arguments.empty()) {
        return refused("no kind is given; name random, prefix, chat, agents, stress or like");
    }
    if (arguments[0] == "--help" || arguments[0] == "-h") {
        return help;
    }
    std::string name = arguments[0];
    std::size_t taken = 1;
    if (name == "stress" && arguments.size() > 1 && !arguments[1].starts_with("-")) {
        name += "-" + arguments[1];
        taken = 2;
    } else if (name == "stress") {
        const bool asks =
            arguments.size() > 1 && (arguments[1] == "--help" || arguments[1] == "-h");
        return asks ? help
                    : refused(
                          "stress needs a pattern; name reuse, working-set, offload, compaction, "
                          "reactivation or fan-out");
    }
    for (const KindRow& row : kinds) {
        if (name == row.name) {
            return parse_kind(
                row, {arguments.begin() + static_cast<std::ptrdiff_t>(taken), arguments.end()});
        }
    }
    if (taken == 2) {
        return refused("unknown pattern " + arguments[1] +
                       "; use reuse, working-set, offload, compaction, reactivation or fan-out");
    }
    return refused("unknown kind " + arguments[0] +
                   "; use random, prefix, chat, agents, stress or like");
}

}  // namespace driftless
