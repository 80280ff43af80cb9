#include "engine/plan/trace_file.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>

#include "engine/plan/compressed_files.hpp"
#include "engine/plan/synth_rows.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/reader.hpp"

namespace driftless {

static constexpr std::string_view compression_endings[] = {".gz", ".bz2", ".xz", ".zst"};
static constexpr std::string_view trace_endings[] = {".jsonl", ".ndjson", ".json", ".csv"};

static std::string_view without_zeros(std::string_view digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

/// Cuts one of the endings off; true where there was one.
static bool cut_ending(std::string_view& name, std::span<const std::string_view> endings) {
    for (const std::string_view ending : endings) {
        if (name.size() > ending.size() && name.ends_with(ending)) {
            name.remove_suffix(ending.size());
            return true;
        }
    }
    return false;
}

bool numeric_less(std::string_view a, std::string_view b) {
    const std::string_view whole_a = a;
    const std::string_view whole_b = b;
    while (!a.empty() && !b.empty()) {
        const std::string_view run_a = leading_digits(a);
        const std::string_view run_b = leading_digits(b);
        if (run_a.empty() || run_b.empty()) {
            if (a.front() != b.front()) {
                return static_cast<unsigned char>(a.front()) <
                       static_cast<unsigned char>(b.front());
            }
            a.remove_prefix(1);
            b.remove_prefix(1);
            continue;
        }
        const std::string_view value_a = without_zeros(run_a);
        const std::string_view value_b = without_zeros(run_b);
        if (value_a != value_b) {
            return value_a.size() != value_b.size() ? value_a.size() < value_b.size()
                                                    : value_a < value_b;
        }
        a.remove_prefix(run_a.size());
        b.remove_prefix(run_b.size());
    }
    if (a.empty() != b.empty()) {
        return a.empty();
    }
    return whole_a < whole_b;  // equal but for leading zeros
}

Result<std::vector<std::string>> expand_path(const std::string& path) {
    std::error_code failure;
    if (path == "-" || !std::filesystem::is_directory(path, failure)) {
        return std::vector<std::string>{path};
    }
    std::filesystem::directory_iterator folder(path, failure);
    if (failure) {
        return opening_error(failure.value());
    }
    std::vector<std::string> names;
    for (; folder != std::filesystem::directory_iterator(); folder.increment(failure)) {
        const std::string name = folder->path().filename();
        std::string_view plain = name;
        (void)cut_ending(plain, compression_endings);
        if (name.front() != '.' && cut_ending(plain, trace_endings) &&
            !folder->is_directory(failure)) {
            names.push_back(name);
        }
    }
    if (names.empty()) {
        return Error{ErrorCode::missing, 0, "find traces in the folder"};
    }
    std::sort(names.begin(), names.end(), numeric_less);
    for (std::string& name : names) {
        name.insert(0, path.ends_with('/') ? path : path + "/");
    }
    return names;
}

std::string trace_name(std::string_view path) {
    if (path == "-") {
        return "stdin";
    }
    while (path.size() > 1 && path.ends_with('/')) {
        path.remove_suffix(1);
    }
    const std::size_t slash = path.rfind('/');
    path.remove_prefix(slash == std::string_view::npos ? 0 : slash + 1);
    (void)cut_ending(path, compression_endings);
    (void)cut_ending(path, trace_endings);
    return std::string(path.empty() ? "trace" : path);
}

static std::uint64_t largest_burst(const Trace& trace) {
    std::uint64_t largest = 0;
    std::uint64_t burst = 0;
    std::int64_t instant = -1;
    for (const TraceRow& row : trace.rows) {
        burst = row.at_ns == instant ? burst + 1 : 1;
        instant = row.at_ns;
        largest = std::max(largest, burst);
    }
    return largest;
}

/// "span 3536.999 s, 12031 rows, 3.40/s, max 28 rows at one instant"
static std::string sanity_line(const Trace& trace) {
    const std::int64_t span_ns = trace.rows.back().at_ns;
    const double rows = static_cast<double>(trace.rows.size());
    char text[64];
    (void)std::snprintf(text, sizeof text, "span %" PRId64 ".%03" PRId64 " s, ",
                        span_ns / 1'000'000'000, span_ns / 1'000'000 % 1000);
    std::string line = text + counted(trace.rows.size(), "row", "rows");
    if (span_ns > 0) {
        (void)std::snprintf(text, sizeof text, ", %.2f/s",
                            rows * 1e9 / static_cast<double>(span_ns));
        line += text;
    }
    return line + ", max " + counted(largest_burst(trace), "row", "rows") + " at one instant";
}

/// ", blocks of 512 tokens, partial blocks have ids"
static std::string blocks_of(const Trace& trace) {
    if (trace.block_size == 0) {
        return trace.recorded ? ", no block ids: prompts share equal text"
                              : ", no block ids: prompts share nothing";
    }
    return ", blocks of " + std::to_string(trace.block_size) + " tokens, partial blocks have " +
           (trace.tail_rule == TailRule::ceil ? "ids" : "none");
}

void count_note(std::vector<std::string>& notes, std::uint64_t count, const char* one,
                const char* many) {
    if (count > 0) {
        notes.push_back(counted(count, one, many));
    }
}

void describe(const Trace& trace, std::size_t files, const std::vector<std::string>& unknown_names,
              std::vector<std::string>& notes) {
    notes.push_back("format " + trace.format + ", times in " + trace.time_unit + blocks_of(trace));
    notes.push_back(sanity_line(trace));
    if (files > 1) {
        notes.push_back(std::to_string(files) +
                        " files: equal block ids of different files share " +
                        (trace.name_spaces > 1 || trace.ids.empty() ? "nothing" : "their blocks"));
    }
    if (!trace.sessions.empty()) {
        notes.push_back(counted(trace.sessions.size(), "session", "sessions") +
                        "; rows are ordered by time, whatever their turn");
    }
    for (const Remark& remark : trace.remarks) {
        count_note(notes, remark.count, remark.one, remark.many);
    }
    count_note(notes, trace.rows_unsorted, "row out of order was sorted",
               "rows out of order were sorted");
    count_note(notes, trace.surplus_ids, "surplus block id ignored", "surplus block ids ignored");
    count_note(notes, trace.rows_uncovered, "row lacked block ids: filled with private tokens",
               "rows lacked block ids: filled with private tokens");
    std::uint64_t in_words = 0;
    std::uint64_t unknown = 0;
    for (const TraceRow& row : trace.rows) {
        in_words += trace.recorded && !trace.body_of(row).empty() ? 1 : 0;
        unknown += row.input_length == 0 ? 1 : 0;
    }
    count_note(notes, in_words, "recorded request, with text", "recorded requests, with text");
    count_note(notes, unknown, "row has no recorded prompt length",
               "rows have no recorded prompt length");
    count_note(notes, trace.zero_outputs, "output length of 0 taken as 1",
               "output lengths of 0 taken as 1");
    if (trace.unknown_keys > 0) {
        const std::string names = joined(unknown_names, ", ", [](const std::string& name) {
            std::string escaped;
            append_json_escaped(escaped, name);
            return escaped;
        });
        notes.push_back(counted(trace.unknown_keys, "value", "values") +
                        " of unknown columns ignored (" + names +
                        "); replay --keep copies columns into the records");
    }
}

namespace {

/// One reading of all files.
struct Reading {
    Reading(const TraceFiles& files, Trace& trace_in, InputErrors& errors_in,
            std::vector<std::string>& notes_in)
        : reader(files, trace_in, errors_in), trace(trace_in), errors(errors_in), notes(notes_in) {}

    void refuse_file(const std::string& path, const Error& error);
    void read_file(const std::string& path);
    void read_made_lines(SynthText& text, std::string_view name);
    bool finish(std::size_t files);
    bool take_lines(LineSplitter& lines);
    void warn_of_damage(const std::string& name, const InputSource& source, LineSplitter& lines);
    void look_for_damage(const std::string& name, InputSource& source, LineSplitter& lines);

    TraceReader reader;
    Trace& trace;
    InputErrors& errors;
    std::vector<std::string>& notes;
    Xxh64 digest;
    std::vector<InputError> damage;  ///< of compressed files, in the order of reading
};

}  // namespace

/// A URL where a trace belongs may have a password: of it only the scheme is shown.
static std::string shown_name(const std::string& path) {
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
    // What came out of a damaged file may be no trace: where there are errors, the damage goes
    // first.
    for (std::size_t i = errors.empty() ? 0 : damage.size(); i > 0; --i) {
        errors.add_first(damage[i - 1]);
    }
    if (usable) {
        describe(trace, files, reader.unknown_names(), notes);
    }
    return usable;
}

/// Whether a folder with these files is what a replay wrote.
static bool is_run(const std::string& folder, const std::vector<std::string>& files) {
    const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
    const auto has = [&files, &prefix](const char* name) {
        return std::find(files.begin(), files.end(), prefix + name) != files.end();
    };
    return has("run.json") && (has("requests.jsonl") || has("fired.jsonl"));
}

static std::vector<std::string> files_of(const TraceFiles& files, Reading& reading) {
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
