#include <cstdio>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/flags/synth_values.hpp"
#include "cmd/reading/trace_figures.hpp"
#include "cmd/trace/trace.hpp"
#include "engine/plan/synth_rows.hpp"
#include "engine/plan/trees.hpp"

namespace driftless {

static const char* refusal(const Error& error) {
    switch (error.code) {
        case ErrorCode::unsupported:
            return "like: the trace has recorded text; use a trace of lengths and block ids";
        case ErrorCode::out_of_range:
            return "like: this makes more than 100000000 rows, which are held in memory; lower "
                   "--trees, --rows or --length";
        case ErrorCode::invalid:
            return "like: all rows of the trace have the same instant, so it has no length or "
                   "rate; use --trees or --rows, without --rate";
        default:
            return "like: the trace has no rows; use another trace";
    }
}

static double span_s(const Trace& trace) {
    return static_cast<double>(trace.rows.back().at_ns - trace.rows.front().at_ns) / 1e9;
}

static void print_likeness(std::FILE* say, const TreeTrace& before, const TreeTrace& after) {
    const Result<Likeness> result = likeness_of(before, after);
    if (!result) {
        std::fprintf(say, "kept: not compared: %s\n", reason_of(result.error()).c_str());
        return;
    }
    const Likeness& like = result.value();
    std::fprintf(say,
                 "kept: distance of distributions (Kolmogorov-Smirnov, 0 to 1): input %.4f, "
                 "output %.4f, ",
                 like.input, like.output);
    if (like.gaps_before > 0) {
        std::fprintf(say, "gaps inside trees %.4f\n", like.gaps);
    } else {
        std::fprintf(say, "no gaps: all trees have one row\n");
    }
    for (const HitRatePair& pair : like.curve) {
        std::fprintf(say,
                     "kept: a cache of %llu blocks (%llu tokens) hits %.2f %% of tokens, "
                     "before %.2f %%\n",
                     static_cast<unsigned long long>(pair.blocks),
                     static_cast<unsigned long long>(pair.blocks * before.trace.block_size),
                     100 * pair.after, 100 * pair.before);
    }
    if (!like.curve.empty()) {
        std::fprintf(say, "kept: hit rates within %.2f points\n", 100 * like.curve_worst);
    }
}

static int make(const LikeCommand& command) {
    std::FILE* const say = command.out == "-" ? stderr : stdout;
    Trace trace;
    InputErrors errors;
    std::vector<std::string> notes;
    const bool usable = read_trace(command.files, trace, errors, notes);
    for (const std::string& note : notes) {
        std::fprintf(say, "trace: %s\n", note.c_str());
    }
    print_errors(errors);
    if (!usable) {
        return exit_input;
    }
    const Result<LikeTrace> made = resample(trace, command.like);
    if (!made) {
        complain("driftless: synth: %s", refusal(made.error()));
        return exit_input;
    }
    const LikeTrace& like = made.value();
    const Families families = families_of(trace);
    std::fprintf(say, "like: %u trees, %zu rows in %.3f s became %llu trees, %zu rows in %.3f s\n",
                 families.count, trace.rows.size(), span_s(trace),
                 static_cast<unsigned long long>(like.trees), like.trace.rows.size(),
                 span_s(like.trace));
    print_likeness(say, {trace, families.of_row}, {like.trace, like.tree_of_row});
    std::vector<WrittenRow> rows;
    rows.reserve(like.trace.rows.size());
    for (std::uint32_t i = 0; i < like.trace.rows.size(); ++i) {
        rows.push_back({i, like.trace.rows[i].at_ns});
    }
    return write_trace(like.trace, *command.target, std::move(rows), command.out, say);
}

/// `arguments`: those after "synth like". Returns the exit code.
static int run_like(const std::vector<std::string>& arguments) {
    const LikeCommandLine line = parse_like_options(arguments);
    if (const std::optional<int> code = line.finish()) {
        return *code;
    }
    const int code = refuse_existing_file("--out", line.command.out);
    return code == exit_done ? make(line.command) : code;
}

/// What a person should know of a pattern; empty: nothing.
static std::string pattern_line(const SynthSpec& spec) {
    const auto* stress = std::get_if<StressSpec>(&spec.kind);
    if (stress == nullptr || stress->pattern != StressPattern::reuse) {
        return "";
    }
    const std::uint64_t usable = (stress->input - 1) / spec.block_size * spec.block_size;
    const double most = 100.0 * static_cast<double>(usable) / stress->input;
    const double asked = static_cast<double>(stress->hit_ppm) / 10'000;
    char text[256];
    (void)std::snprintf(
        text, sizeof text,
        "the first %llu rows fill the working set; of the tokens after them %.2f %% can hit%s",
        static_cast<unsigned long long>(stress->set_low), std::min(most, asked),
        most < asked ? ", not more: a cache serves whole blocks, and never a prompt's last token"
                     : "");
    return text;
}

static int write_rows(const SynthOptions& options) {
    std::FILE* const say = options.out == "-" ? stderr : stdout;
    SynthText lines(options.spec, options.name, *options.target);
    ExportFile file("--out", options.out);
    while (file.code() == exit_done && lines.next(file.text)) {
        file.drain();
    }
    if (lines.too_many()) {
        complain(
            "driftless: synth: more than 4294967000 rows, the most that a trace can have; "
            "use fewer");
        return exit_usage;
    }
    if (const int code = file.finish(); code != exit_done) {
        return code;
    }
    if (const std::string line = pattern_line(options.spec); !line.empty()) {
        std::fprintf(say, "pattern: %s\n", line.c_str());
    }
    for (const std::string& loss : lines.losses()) {
        std::fprintf(say, "loss: %s\n", loss.c_str());
    }
    const SynthText::Sums& sums = lines.sums();
    std::fprintf(say, "wrote: %s: %llu %s, format %s, %llu tokens in, %llu out, span %.3f s\n",
                 options.out.c_str(), static_cast<unsigned long long>(sums.rows),
                 sums.rows == 1 ? "row" : "rows", options.target->name,
                 static_cast<unsigned long long>(sums.input_tokens),
                 static_cast<unsigned long long>(sums.output_tokens),
                 static_cast<double>(sums.last_ns) / 1e9);
    return exit_done;
}

int run_synth(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "like") {
        return run_like({argv + 2, argv + argc});
    }
    SynthCommandLine line = parse_synth_options({argv + 1, argv + argc});
    if (const std::optional<int> code = line.finish()) {
        return *code;
    }
    if (const int code = refuse_existing_file("--out", line.options.out); code != exit_done) {
        return code;
    }
    if (const std::string why = read_histograms(line.options.spec); !why.empty()) {
        complain("driftless: synth: %s", why.c_str());
        return exit_input;
    }
    return write_rows(line.options);
}

}  // namespace driftless
