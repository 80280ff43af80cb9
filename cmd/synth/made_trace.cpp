#include "cmd/synth/made_trace.hpp"

#include <algorithm>
#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/synth/histograms.hpp"
#include "cmd/synth/options.hpp"
#include "engine/input/made_trace.hpp"

namespace driftless {

namespace {

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    while (!line.empty()) {  // each turn takes a blank or a word off the line
        const std::size_t end = std::min(line.find(' '), line.size());
        if (end > 0) {
            words.emplace_back(line.substr(0, end));
        }
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return words;
}

int refuse(const std::string& why) {
    complain("driftless: %s", why.c_str());
    return exit_usage;
}

}  // namespace

bool names_made_trace(const std::vector<std::string>& paths) {
    return std::any_of(paths.begin(), paths.end(),
                       [](const std::string& path) { return path.starts_with(made_scheme); });
}

int read_made_trace(const TraceFiles& files, Trace& out, InputErrors& errors,
                    std::vector<std::string>& notes) {
    if (files.paths.size() > 1) {
        return refuse(std::string(made_scheme) +
                      "..: a synthetic workload is already a trace; give no other");
    }
    const std::string_view line = std::string_view(files.paths[0]).substr(made_scheme.size());
    SynthCommandLine parsed = parse_synth_options(words_of(line));
    if (parsed.kind == SynthCommandLine::Kind::refused) {
        return refuse(files.paths[0] + ": " + parsed.text.substr(parsed.text.find(": ") + 2));
    }
    if (parsed.kind == SynthCommandLine::Kind::help) {
        return refuse(files.paths[0] + ": is not a workload; driftless synth --help lists them");
    }
    SynthOptions& options = parsed.options;
    if (const std::string why = read_histograms(options.spec); !why.empty()) {
        complain("driftless: %s", why.c_str());
        return exit_input;
    }
    const bool usable = read_made(options.spec, "synth-" + options.name, *options.target, files,
                                  out, errors, notes);
    return usable ? exit_done : exit_input;
}

}  // namespace driftless
