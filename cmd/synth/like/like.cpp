#include "cmd/synth/like/like.hpp"

#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/synth/like/options.hpp"
#include "cmd/trace_errors.hpp"
#include "cmd/write_trace.hpp"
#include "engine/inspect/likeness.hpp"
#include "engine/plan/families.hpp"

namespace driftless {

namespace {

const char* refusal(const Error& error) {
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

double span_s(const Trace& trace) {
    return static_cast<double>(trace.rows.back().at_ns - trace.rows.front().at_ns) / 1e9;
}

void print_likeness(std::FILE* say, const TreeTrace& before, const TreeTrace& after) {
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

int make(const LikeCommand& command) {
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

}  // namespace

int run_like(const std::vector<std::string>& arguments) {
    const LikeCommandLine line = parse_like_options(arguments);
    if (line.kind == LikeCommandLine::Kind::help) {
        std::fputs(line.text.c_str(), stdout);
        return exit_done;
    }
    if (line.kind == LikeCommandLine::Kind::refused) {
        complain("%s", line.text.c_str());
        return exit_usage;
    }
    const int code = refuse_existing_file("--out", line.command.out);
    return code == exit_done ? make(line.command) : code;
}

}  // namespace driftless
