#include "engine/input/trace_file.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "engine/input/lines.hpp"
#include "engine/input/made_trace.hpp"
#include "engine/input/notes.hpp"
#include "engine/input/paths.hpp"
#include "engine/input/source.hpp"
#include "engine/synth/synth_text.hpp"
#include "proto/core/xxh64.hpp"
#include "proto/trace/reader.hpp"

namespace driftless {
namespace {

/// One reading of all files.
struct Reading {
    Reading(const TraceFiles& files, Trace& trace_in, InputErrors& errors_in,
            std::vector<std::string>& notes_in)
        : reader({files.format, files.time_unit, files.block_size, files.lenient, files.keep,
                  files.map, files.sessions, files.id_scope, files.default_output,
                  files.output_free, files.times_free, files.model_column, files.flat_agents},
                 trace_in, errors_in),
          trace(trace_in),
          errors(errors_in),
          notes(notes_in) {}

    void refuse_file(const std::string& path, const Error& error);
    void read_file(const std::string& path);
    void read_made_lines(SynthText& text, std::string_view name);
    bool finish(std::size_t files);
    bool take_lines(LineSplitter& lines);
    void warn_of_damage(const std::string& name, const InputSource& source, LineSplitter& lines);
    void look_for_damage(const std::string& name, InputSource& source, LineSplitter& lines);
    void name_damage();

    TraceReader reader;
    Trace& trace;
    InputErrors& errors;
    std::vector<std::string>& notes;
    Xxh64 digest;
    std::vector<InputError> damage;  ///< of compressed files, in the order of reading
};

/// A URL where a trace belongs may have a password: of it only the scheme is shown.
std::string shown_name(const std::string& path) {
    constexpr std::string_view mark = "://";
    const std::size_t scheme = path.find(mark);
    if (scheme != path.npos) {
        return path.substr(0, scheme + mark.size()) + "..";
    }
    return path == "-" ? "standard input" : path;
}

void Reading::refuse_file(const std::string& path, const Error& error) {
    if (path.empty()) {
        errors.add({"", 0, "", "", "the name of the trace file is empty",
                    "name a file, a folder, or - for standard input"});
        return;
    }
    std::string remedy;
    if (error.code == ErrorCode::missing) {
        remedy = "trace files end in .jsonl, .json, .ndjson or .csv, compressed or not";
    } else if (error.code == ErrorCode::not_found) {
        remedy =
            path.find("://") == path.npos
                ? "name a file, a folder, or - for standard input"
                : "a server is named with --url, a trace as a file, a folder, or - for standard "
                  "input";
    } else if (error.code == ErrorCode::denied) {
        remedy = "make it readable for this user, or name a copy";
    } else if (error.code == ErrorCode::exhausted) {
        remedy = "raise ulimit -n";
    }
    std::string problem =
        error.sys_errno != 0 ? std::strerror(error.sys_errno) : std::string("holds no trace");
    errors.add({shown_name(path), 0, "", "", std::move(problem), std::move(remedy)});
}

/// Hands on the lines that are complete. False where reading on is pointless.
bool Reading::take_lines(LineSplitter& lines) {
    while (const auto line = lines.next()) {
        if (!reader.add_line(lines.number(), *line)) {
            return false;
        }
    }
    if (lines.too_long()) {
        reader.refuse_long_line(lines.number() + 1, lines.beginning());
        return false;
    }
    return true;
}

/// A compressed file that ends early or is damaged keeps what decoded, up to its last whole line.
void Reading::warn_of_damage(const std::string& name, const InputSource& source,
                             LineSplitter& lines) {
    if (lines.number() == 0) {
        errors.add({name, 0, "", "", "ends early: " + std::string(source.error_text()),
                    "no line before that can be decoded"});
        return;
    }
    damage.push_back({name, 0, "", "", "is damaged: " + std::string(source.error_text()),
                      "it may cause the errors below; copy or fetch the file again"});
    std::string note = "warning: " + name + ": " + std::string(source.error_text()) +
                       ": read up to line " + std::to_string(lines.number());
    if (lines.pending() > 0) {
        note += ", without the incomplete last line";
    }
    notes.push_back(std::move(note));
}

/// Lines that are no trace may come of a damaged file: it is decoded to its end.
void Reading::look_for_damage(const std::string& name, InputSource& source, LineSplitter& lines) {
    if (source.compression() == "none") {
        return;
    }
    Result<std::string_view> piece = source.read();
    while (piece && !piece.value().empty()) {  // ends with the file
        piece = source.read();
    }
    if (!piece && piece.error().code == ErrorCode::truncated) {
        warn_of_damage(name, source, lines);
    }
}

/// What came out of a damaged file may be no trace: where there are errors, the damage goes first.
void Reading::name_damage() {
    for (std::size_t i = errors.empty() ? 0 : damage.size(); i > 0; --i) {
        errors.add_first(damage[i - 1]);
    }
}

void Reading::read_file(const std::string& path) {
    const std::string name = shown_name(path);
    Result<InputSource> source = InputSource::open(path);
    if (!source) {
        refuse_file(path, source.error());
        return;
    }
    reader.begin_file(name);
    LineSplitter lines;
    for (;;) {  // ends with the file
        const Result<std::string_view> piece = source.value().read();
        if (!piece && piece.error().code == ErrorCode::truncated) {
            warn_of_damage(name, source.value(), lines);
            return;
        }
        if (!piece) {
            refuse_file(path, piece.error());
            return;
        }
        if (piece.value().empty()) {
            break;
        }
        trace.bytes += piece.value().size();
        digest.add(piece.value());
        lines.feed(piece.value());
        if (!take_lines(lines)) {
            look_for_damage(name, source.value(), lines);
            return;
        }
    }
    lines.finish();
    (void)take_lines(lines);
}

void Reading::read_made_lines(SynthText& text, std::string_view name) {
    reader.begin_file(name);
    std::string line;
    std::uint64_t number = 0;
    bool goes_on = true;
    while (goes_on && text.next(line)) {
        trace.bytes += line.size();
        digest.add(line);
        goes_on = reader.add_line(++number, std::string_view(line).substr(0, line.size() - 1));
        line.clear();
    }
    if (text.too_many()) {
        errors.add(
            {std::string(name), 0, "", "", "has more rows than a trace can have", "select fewer"});
    }
}

/// After the last file. True where the trace is usable.
bool Reading::finish(std::size_t files) {
    trace.digest = digest.value();
    const bool usable = reader.finish() && errors.empty();
    name_damage();
    if (usable) {
        describe(trace, files, reader.unknown_names(), notes);
    }
    return usable;
}

/// Whether a folder with these files is what a replay wrote.
bool is_run(const std::string& folder, const std::vector<std::string>& files) {
    const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
    const auto has = [&files, &prefix](const char* name) {
        return std::find(files.begin(), files.end(), prefix + name) != files.end();
    };
    return has("run.json") && (has("requests.jsonl") || has("fired.jsonl"));
}

std::vector<std::string> files_of(const TraceFiles& files, Reading& reading) {
    std::vector<std::string> all;
    for (const std::string& path : files.paths) {
        const Result<std::vector<std::string>> expanded = expand_path(path);
        if (!expanded) {
            reading.refuse_file(path, expanded.error());
            continue;
        }
        if (is_run(path, expanded.value())) {
            reading.errors.add({path, 0, "", "", "is the folder of a run, not a trace",
                                "repeat the run with replay --from " + path +
                                    ", or make a trace of it: convert " + path + " -o FILE"});
            continue;
        }
        all.insert(all.end(), expanded.value().begin(), expanded.value().end());
    }
    return all;
}

}  // namespace

bool read_trace(const TraceFiles& files, Trace& out, InputErrors& errors,
                std::vector<std::string>& notes) {
    out = Trace();
    Reading reading(files, out, errors, notes);
    const std::vector<std::string> paths = files_of(files, reading);
    for (const std::string& path : paths) {
        reading.read_file(path);
    }
    if (!files.paths.empty()) {
        out.name = trace_name(files.paths.front());
        if (files.paths.size() > 1) {
            out.name += "+" + std::to_string(files.paths.size() - 1);
        }
    }
    return reading.finish(paths.size());
}

bool read_made(const SynthSpec& spec, std::string_view name, const TraceTarget& target,
               const TraceFiles& files, Trace& out, InputErrors& errors,
               std::vector<std::string>& notes) {
    out = Trace();
    out.name = name;
    Reading reading(files, out, errors, notes);
    SynthText text(spec, name.substr(name.find('-') + 1), target);
    reading.read_made_lines(text, name);
    return reading.finish(1);
}

}  // namespace driftless
