#include "cmd/synth/synth.hpp"

#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/synth/histograms.hpp"
#include "cmd/synth/like/like.hpp"
#include "cmd/synth/options.hpp"
#include "engine/input/sink.hpp"
#include "engine/synth/synth_text.hpp"

namespace driftless {

namespace {

constexpr std::size_t write_bytes = std::size_t{256} << 10;

/// What a person should know of a pattern; empty: nothing.
std::string pattern_line(const SynthSpec& spec) {
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

int write_rows(const SynthOptions& options) {
    std::FILE* const say = options.out == "-" ? stderr : stdout;
    SynthText lines(options.spec, options.name, *options.target);
    Result<OutputSink> sink = OutputSink::create(options.out);
    if (!sink) {
        return fail_new_file("--out", options.out, sink.error());
    }
    std::string text;
    for (bool more = true; more;) {
        more = lines.next(text);
        if (!more || text.size() >= write_bytes) {
            const Result<void> written = sink.value().write(text);
            if (!written) {
                return fail_new_file("--out", options.out, written.error());
            }
            text.clear();
        }
    }
    if (lines.too_many()) {
        complain(
            "driftless: synth: more than 4294967000 rows, the most that a trace can have; "
            "use fewer");
        return exit_usage;
    }
    const Result<void> finished = sink.value().finish();
    if (!finished) {
        return fail_new_file("--out", options.out, finished.error());
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

}  // namespace

int run_synth(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "like") {
        return run_like(std::vector<std::string>(argv + 2, argv + argc));
    }
    SynthCommandLine line = parse_synth_options(std::vector<std::string>(argv + 1, argv + argc));
    if (line.kind == SynthCommandLine::Kind::help) {
        std::fputs(line.text.c_str(), stdout);
        return exit_done;
    }
    if (line.kind == SynthCommandLine::Kind::refused) {
        complain("%s", line.text.c_str());
        return exit_usage;
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
