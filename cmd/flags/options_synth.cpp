#include <algorithm>
#include <array>
#include <utility>

#include "cmd/base/values.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/options_parser.hpp"
#include "cmd/flags/synth_values.hpp"
#include "engine/plan/synth_rows.hpp"
#include "proto/trace/formats.hpp"

namespace driftless {

/// Trees of agents that may live at a time under one root: memory follows them.
static constexpr std::uint64_t live_agents_max = 1'000'000;
/// What an offload pattern's sets are of a cache, in percent.
static constexpr std::uint64_t fits_percent = 80;
static constexpr std::uint64_t exceeds_percent = 125;

static constexpr const char* kinds_help =
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

static constexpr const char* footer =
    R"(Laws: 512, uniform:100..900, normal:512:100 (mean, deviation), lognormal:512:0.8 (median,
sigma), exponential:512, file:PATH (a histogram: lines of value,weight; times in ms). Bounds
can follow the middle three: normal:512:100:1..4096. Values outside are drawn again.
Durations are 90, 1.5s, 250ms, 10m or 2h; a bare number is seconds.)";

/// What the flags fill; each kind has its own part.
struct KindValues {
    RandomSpec random;
    PrefixSpec prefix;
    TreeSpec tree;
    StressSpec stress;
    RangeRatio range_ratio;        ///< around the lengths of `random`
    Popularity popularity;         ///< of the groups of `prefix`
    std::uint64_t set_tokens = 0;  ///< of a working set, or of a cache
    SetRange set_range;
    std::uint32_t prompt = 1;  ///< tokens of a prompt that is continued
    std::uint32_t fan = 1;
    std::uint32_t fan_suffix = 0;
};

/// A pattern of stress is a word of its own: "stress reuse".
static std::string typed_kind(std::string name) {
    if (name.starts_with("stress-")) {
        name[std::string_view("stress").size()] = ' ';
    }
    return name;
}

static Result<std::uint32_t> parse_block_size(std::string_view text) {
    const Result<std::uint32_t> size = parse_positive_row_tokens(text);
    return size && size.value() <= 65536 ? size : invalid("is not from 1 to 65536 tokens");
}

/// A number would be the lengths of answers.
static Result<std::string> parse_new_file(std::string_view text) {
    if (!text.empty() && text.find_first_not_of("0123456789.,:") == text.npos) {
        return invalid(
            "is a number, and --out names the file, as in ./512; lengths of answers are "
            "--out-tokens");
    }
    return parse_text(text);
}

static void add_output(Flags& flags, SynthOptions& options, std::uint32_t& block_size) {
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

static void add_arrivals(Flags& flags, const char* what, SynthSpec& spec) {
    flags.group("Arrivals");
    const std::string help = std::string(what) + " per second: 10, 600/m, or inf (all at once)";
    flags.value("--rate", "R", help.c_str(), "1", parse_synth_rate, spec.arrivals.per_second, {},
                {"inf"});
    flags.value("--arrivals", "LAW", "gaps of the rate: {}", "poisson", constant_choices,
                spec.arrivals.constant);
}

static void add_random(Flags& flags, KindValues& values, SynthSpec&) {
    RandomSpec& random = values.random;
    flags.value("--rows", "N", "rows", "1000", parse_rows, random.rows);
    flags.value("--in", "LAW", "tokens of a prompt", "1024", parse_token_law, random.input);
    flags.value("--out-tokens", "LAW", "tokens of an answer", "128", parse_token_law,
                random.output);
    flags.value("--range-ratio", "R",
                "lengths are uniform from floor(N * (1 - R)) to ceil(N * (1 + R)),\n"
                "as in vllm bench; or {\"input\":R,\"output\":R}",
                "0", parse_range_ratio, values.range_ratio);
}

static std::string specify_random(KindValues& values, SynthSpec& spec) {
    RandomSpec& random = values.random;
    const RangeRatio& ratio = values.range_ratio;
    if (ratio.input > 0 || ratio.output > 0) {
        if (random.input.kind != LawKind::fixed || random.output.kind != LawKind::fixed) {
            return "--range-ratio is a range around fixed lengths; give --in and --out-tokens as "
                   "numbers, or remove it";
        }
        const Result<ValueLaw> input = range_law(random.input, ratio.input);
        const Result<ValueLaw> output = range_law(random.output, ratio.output);
        if (!input || !output) {
            return "--range-ratio reaches beyond 134217728 tokens; use shorter lengths";
        }
        random.input = input.value();
        random.output = output.value();
    }
    spec.kind = std::move(random);
    return "";
}

static void add_prefix(Flags& flags, KindValues& values, SynthSpec&) {
    PrefixSpec& prefix = values.prefix;
    flags.value("--rows", "N", "rows", "1000", parse_rows, prefix.rows);
    flags.value("--groups", "N", "groups, each with its own prefix", "10", parse_groups,
                prefix.groups);
    flags.value("--prefix", "LAW", "tokens of a group's prefix; only whole blocks are shared",
                "1024", parse_any_token_law, prefix.prefix);
    flags.value("--suffix", "LAW", "tokens after the prefix", "256", parse_any_token_law,
                prefix.suffix);
    flags.value("--out-tokens", "LAW", "tokens of an answer", "128", parse_token_law,
                prefix.output);
    flags.value("--popularity", "LAW",
                "rows of a group: equal (same number, random order), ordered (group\n"
                "after group), or zipf:A (share rank^-A)",
                "equal", parse_popularity, values.popularity, {}, popularity_choices.words());
}

static std::string specify_prefix(KindValues& values, SynthSpec& spec) {
    values.prefix.zipf = values.popularity.zipf;
    values.prefix.ordered = values.popularity.ordered;
    spec.kind = std::move(values.prefix);
    return "";
}

static void add_token_time(Flags& flags, SynthSpec& spec) {
    flags.value("--token-time", "T",
                "assumed time of an output token, for the recorded instants; closed\n"
                "sessions use the real times",
                "20ms", parse_token_time, spec.token_ns);
}

namespace {

/// What all kinds of conversations have. The defaults are those of the kind.
struct TurnDefaults {
    const char* turns;
    const char* system;
    const char* first;
    const char* growth;
    const char* output;
    const char* gap;
};

}  // namespace

static void add_turns(Flags& flags, const TurnDefaults& standard, TreeSpec& tree, SynthSpec& spec) {
    flags.value("--turns", "LAW", "turns of a session", standard.turns, parse_number_law,
                tree.turns);
    flags.value("--system", "N", "tokens that all sessions begin with", standard.system,
                parse_row_tokens, tree.system_tokens);
    flags.value("--in", "LAW", "tokens of the first message after them", standard.first,
                parse_token_law, tree.first);
    flags.value("--growth", "LAW", "tokens that a turn adds to the answer before it",
                standard.growth, parse_any_token_law, tree.growth);
    flags.value("--out-tokens", "LAW", "tokens of an answer", standard.output, parse_token_law,
                tree.output);
    flags.value("--gap", "LAW", "time from an answer to the next turn", standard.gap,
                parse_time_law, tree.gap);
    flags.value("--max-context", "N", "a session whose next prompt would be longer ends", "131072",
                parse_positive_row_tokens, tree.context_max);
    add_token_time(flags, spec);
}

static void add_compaction(Flags& flags, const char* at, TreeSpec& tree) {
    flags.value("--compact-at", "N", "longer prompts ask for a summary; then the context restarts",
                at, parse_row_tokens, tree.compact_at);
    flags.value("--summary", "LAW", "tokens of the summary", "2000", parse_token_law, tree.summary);
}

static void add_chat(Flags& flags, KindValues& values, SynthSpec& spec) {
    flags.value("--sessions", "N", "conversations", "100", parse_rows, values.tree.trees);
    add_turns(flags,
              {"lognormal:4:0.8", "500", "lognormal:300:1", "lognormal:100:1", "lognormal:200:0.8",
               "lognormal:15s:1"},
              values.tree, spec);
}

/// Of conversations that grow until they ask for a summary, again and again.
static void add_stress_compaction(Flags& flags, KindValues& values, SynthSpec& spec) {
    values.tree.name = "compaction";
    flags.value("--sessions", "N", "conversations", "16", parse_rows, values.tree.trees);
    add_turns(flags, {"60", "4000", "2000", "1500", "300", "2s"}, values.tree, spec);
    add_compaction(flags, "32000", values.tree);
}

/// Of prompts that are used again after a long time.
static void add_reactivation(Flags& flags, KindValues& values, SynthSpec& spec) {
    TreeSpec& tree = values.tree;
    tree.name = "reactivation";
    tree.context_max = row_tokens_max;
    flags.value("--sessions", "N", "conversations", "200", parse_rows, tree.trees);
    flags.value("--after", "T", "pause of each before a turn", "10m", parse_time_law, tree.gap);
    flags.value("--turns", "N", "turns of each", "2", parse_number_law, tree.turns);
    flags.value("--in", "LAW", "tokens of the first prompt", "16384", parse_token_law, tree.first);
    flags.value("--growth", "LAW", "tokens that a turn adds to the answer before it", "200",
                parse_any_token_law, tree.growth);
    flags.value("--out-tokens", "LAW", "tokens of an answer", "128", parse_token_law, tree.output);
    add_token_time(flags, spec);
}

static std::string specify_tree(KindValues& values, SynthSpec& spec) {
    const TreeSpec& tree = values.tree;
    const std::uint64_t kept =
        std::uint64_t{tree.system_tokens} + static_cast<std::uint64_t>(tree.summary.centre);
    if (tree.compact_at > 0 && (kept >= tree.compact_at || tree.compact_at > tree.context_max)) {
        return "--compact-at " + std::to_string(tree.compact_at) +
               ": must be more than --system plus --summary, and at most --max-context";
    }
    spec.kind = tree;
    return "";
}

static void add_agents(Flags& flags, KindValues& values, SynthSpec& spec) {
    TreeSpec& tree = values.tree;
    tree.name = "agent";
    flags.value("--trees", "N", "trees", "100", parse_rows, tree.trees);
    add_turns(flags,
              {"lognormal:20:0.8", "8000", "lognormal:1500:1", "lognormal:800:1.2",
               "lognormal:250:1", "lognormal:2s:1.2"},
              tree, spec);
    add_compaction(flags, "100000", tree);
    flags.group("Sub-agents");
    flags.value("--depth", "N", "levels of sub-agents", "1", parse_depth, tree.depth);
    flags.value("--spawn", "SHARE", "share of turns that start sub-agents", "0.1", parse_part,
                tree.spawn);
    flags.value("--fan-out", "LAW", "sub-agents that such a turn starts", "uniform:1..4",
                parse_number_law, tree.fan_out);
    flags.value("--parallel", "N", "sub-agents at a time; the others follow", "4", parse_small,
                tree.parallel);
    flags.value("--sub-turns", "LAW", "turns of a sub-agent", "lognormal:6:0.8", parse_number_law,
                tree.sub_turns);
    flags.value("--sub-system", "N", "tokens that all sub-agents begin with", "4000",
                parse_row_tokens, tree.sub_system_tokens);
}

static std::string specify_agents(KindValues& values, SynthSpec& spec) {
    TreeSpec& tree = values.tree;
    tree.sub_first = tree.first;
    std::uint64_t live = 1;
    for (std::uint32_t level = 0; level < tree.depth && live <= live_agents_max; ++level) {
        live *= tree.parallel;
    }
    std::string why = specify_tree(values, spec);
    return why.empty() && live > live_agents_max
               ? "--parallel " + std::to_string(tree.parallel) + " on --depth " +
                     std::to_string(tree.depth) +
                     " levels are more than 1000000 agents at a time; lower one of them"
               : why;
}

static void add_prompt(Flags& flags, std::uint32_t& prompt, ValueLaw& output) {
    flags.value("--in", "N", "tokens of every prompt", "8192", parse_positive_row_tokens, prompt);
    flags.value("--out-tokens", "LAW", "tokens of an answer", "128", parse_token_law, output);
}

static void add_fan_out(Flags& flags, KindValues& values, SynthSpec& spec) {
    add_prompt(flags, values.prompt, values.tree.output);
    flags.value("--groups", "N", "prompts that are continued", "100", parse_rows,
                values.tree.trees);
    flags.value("--fan-out", "N", "rows that continue each", "16", parse_small, values.fan);
    flags.value("--suffix", "N", "tokens that each of them adds", "64", parse_positive_row_tokens,
                values.fan_suffix);
    add_token_time(flags, spec);
}

/// One prompt that many continue at one instant.
static std::string specify_fan_out(KindValues& values, SynthSpec& spec) {
    TreeSpec& tree = values.tree;
    if (std::int64_t{values.prompt} + values.fan_suffix + tree.output.high >
        std::int64_t{row_tokens_max}) {
        return "--in and --suffix together are more than 134217728 tokens; lower one of them";
    }
    tree.name = "fan-out";
    tree.turns = fixed_law(2);
    tree.first = fixed_law(values.prompt);
    tree.growth = tree.sub_first = fixed_law(values.fan_suffix);
    tree.gap = fixed_law(0);
    tree.context_max = row_tokens_max;
    tree.depth = 1;
    tree.spawn = 1;
    tree.fan_out = fixed_law(values.fan);
    tree.parallel = values.fan;
    tree.inherit = true;
    spec.kind = tree;
    return "";
}

static void add_reuse(Flags& flags, KindValues& values, SynthSpec&) {
    add_prompt(flags, values.stress.input, values.stress.output);
    flags.value("--rows", "N", "rows after those that fill the working set", "1000", parse_rows,
                values.stress.rows);
    flags.value("--hit", "P", "share of their tokens in the cache, 0 to 100 %", "50%",
                parse_hit_rate, values.stress.hit_ppm);
    flags.value("--working-set", "TOKENS", "tokens of the prompts whose beginnings they reuse",
                "131072", parse_set_tokens, values.set_tokens);
}

static void add_working_set(Flags& flags, KindValues& values, SynthSpec&) {
    values.stress.pattern = StressPattern::working_set;
    add_prompt(flags, values.stress.input, values.stress.output);
    flags.value("--working-set", "A..B", "tokens of the working set, first and last size",
                "65536..1048576", parse_set_range, values.set_range);
    flags.value("--steps", "N", "sizes between them, both included", "8", parse_small,
                values.stress.steps);
    flags.value("--rounds", "N", "passes over each size", "4", parse_small, values.stress.rounds);
}

static void add_offload(Flags& flags, KindValues& values, SynthSpec&) {
    values.stress.pattern = StressPattern::offload;
    add_prompt(flags, values.stress.input, values.stress.output);
    flags.value("--capacity", "TOKENS", "tokens that the cache holds", "524288", parse_set_tokens,
                values.set_tokens);
    flags.value("--rounds", "N", "passes over each set", "4", parse_small, values.stress.rounds);
}

static std::string specify_pattern(KindValues& values, SynthSpec& spec) {
    StressSpec& stress = values.stress;
    const auto prompts_of = [&stress](std::uint64_t tokens) {
        return std::max<std::uint64_t>(1, tokens / stress.input);
    };
    std::uint64_t least = values.set_tokens;
    if (stress.pattern == StressPattern::working_set) {
        least = values.set_range.low;
        stress.set_high = prompts_of(values.set_range.high);
    } else if (stress.pattern == StressPattern::offload) {
        least = values.set_tokens * fits_percent / 100;
        stress.set_high = prompts_of(values.set_tokens * exceeds_percent / 100) + 1;
    }
    stress.set_low = prompts_of(least);
    if (least < stress.input) {
        return "--in " + std::to_string(stress.input) +
               ": one prompt is longer than the working set; use a shorter prompt or a larger "
               "set " +
               (stress.pattern == StressPattern::offload ? "--capacity" : "--working-set");
    }
    if (stress_rows(stress) > synth_rows_max) {
        return "these are " + std::to_string(stress_rows(stress)) +
               " rows, but a trace can have 4294967000; give longer prompts (--in), or lower the "
               "others";
    }
    spec.kind = stress;
    return "";
}

namespace {

struct KindRow {
    const char* name;
    const char* description;
    const char* arriving;  ///< what --rate counts
    void (*add)(Flags& flags, KindValues& values, SynthSpec& spec);
    /// Sets `spec.kind`. Returns why the flags do not go together, or the empty text.
    std::string (*specify)(KindValues& values, SynthSpec& spec);
};

}  // namespace

static constexpr std::array kinds{
    KindRow{"random", "Makes rows that share nothing.\n", "rows", add_random, specify_random},
    KindRow{"prefix", "Makes groups of rows; the rows of a group begin with one prefix.\n", "rows",
            add_prefix, specify_prefix},
    KindRow{"chat",
            "Makes conversations: each turn's prompt is the one before, its answer, and new "
            "tokens.\n",
            "sessions", add_chat, specify_tree},
    KindRow{"agents",
            "Makes trees: an agent starts sub-agents, waits for them, and is summarised when its\n"
            "context is full. Replay them with --sessions closed or --users N.\n",
            "trees", add_agents, specify_agents},
    KindRow{"stress-reuse",
            "Makes rows with a set share of tokens in the cache, after rows that fill it.\n",
            "rows", add_reuse, specify_pattern},
    KindRow{"stress-working-set", "Makes passes over a working set that grows in steps.\n", "rows",
            add_working_set, specify_pattern},
    KindRow{"stress-offload",
            "Makes passes over a working set of 80 %, 125 % and again 80 % of a cache.\n", "rows",
            add_offload, specify_pattern},
    KindRow{"stress-compaction",
            "Makes conversations that grow, ask for a summary, and continue from it.\n", "sessions",
            add_stress_compaction, specify_tree},
    KindRow{"stress-reactivation",
            "Makes conversations that pause for a long time before each turn.\n", "sessions",
            add_reactivation, specify_tree},
    KindRow{"stress-fan-out", "Makes prompts that many rows continue at one instant.\n", "groups",
            add_fan_out, specify_fan_out},
};

static SynthCommandLine refused(const std::string& why) {
    SynthCommandLine line;
    line.refuse("synth", why);
    return line;
}

static SynthCommandLine parse_kind(const KindRow& row, const std::vector<std::string>& arguments) {
    SynthCommandLine line;
    SynthOptions& options = line.options;
    options.name = row.name;
    KindValues values;
    TreeSpec& tree = values.tree;  // where a kind has no flags for these
    tree.sub_turns = tree.sub_first = tree.summary = tree.fan_out = fixed_law(1);
    std::uint32_t block_size = 0;
    CommandParser parser("synth " + typed_kind(row.name), row.description, footer);
    Flags& flags = parser.flags;
    flags.group("Workload");
    row.add(flags, values, options.spec);
    add_arrivals(flags, row.arriving, options.spec);
    add_output(flags, options, block_size);
    parser.read(arguments, line, [&] {
        const bool mooncake = options.target == find_trace_target("mooncake");
        options.spec.block_size = block_size != 0 ? block_size
                                  : mooncake      ? mooncake_block_size
                                                  : options.spec.block_size;
        return row.specify(values, options.spec);
    });
    return line;
}

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
