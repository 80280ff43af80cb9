#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/values.hpp"
#include "cmd/reading/trace_figures.hpp"
#include "cmd/report/text_parts.hpp"
#include "cmd/trace/trace.hpp"
#include "engine/plan/compressed_files.hpp"
#include "engine/plan/trace_file.hpp"

namespace driftless {

static constexpr std::size_t files_shown_max = 40;
static constexpr std::size_t plot_height = 6;
static constexpr std::size_t bar_width = 30;
static constexpr const char* report_flag = "--hash-block-report";

static std::string figure(double value) {
    return std::isnan(value) ? "-" : fmt::format("{:.2f}", value);
}

/// "1 row", "12,031 rows".
static std::string counted(std::uint64_t count, std::string_view thing) {
    return fmt::format("{} {}{}", grouped(count), thing, count == 1 ? "" : "s");
}

static std::string in_seconds(double ns) {
    return fmt::format("{:.3f}", ns / 1e9);
}

/// "1.5 GiB", three significant figures.
static std::string bytes(std::uint64_t count) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto value = static_cast<double>(count);
    std::size_t unit = 0;
    for (; value >= 1000 && unit + 1 < std::size(units); ++unit) {
        value /= 1024;
    }
    return fmt::format("{:.{}f} {}", value, value < 10 && unit > 0 ? 2 : (value < 100 ? 1 : 0),
                       units[unit]);
}

namespace {

/// Appends headings, facts and rows of columns.
class Page {
  public:
    void heading(std::string_view text) { add("\n{}\n", text); }
    /// A fact: its name, and what there is to say.
    void fact(std::string_view name, std::string_view text) { add("  {:<22} {}\n", name, text); }
    template <typename... Values>
    void add(fmt::format_string<Values...> format, Values&&... values) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    }
    std::string take() { return std::move(text_); }

  private:
    std::string text_;
};

}  // namespace

static void add_arrivals(Page& page, const ArrivalFigures& f) {
    page.heading("Arrivals (dispersion and variation: 1 for a Poisson process, more for bursts)");
    page.fact("distinct instants", grouped(f.instants));
    page.fact("largest instant", fmt::format("{} at {} s", counted(f.most_rows.rows, "row"),
                                             in_seconds(static_cast<double>(f.most_rows.at_ns))));
    const bool tokens_known = f.most_tokens.input_tokens > 0;  // else no row says how many
    if (tokens_known) {
        page.fact("heaviest instant",
                  fmt::format("{} input tokens at {} s", grouped(f.most_tokens.input_tokens),
                              in_seconds(static_cast<double>(f.most_tokens.at_ns))));
    }
    const auto row = [&](std::string_view name, const auto& value) {
        page.add("  {:<22}", name);
        for (std::size_t i = 0; i < windows_ns.size(); ++i) {
            page.add(" {:>11}", value(i));
        }
        page.add("\n");
    };
    row("windows of", [](std::size_t i) { return duration_to_text(windows_ns[i]); });
    row("  most rows", [&](std::size_t i) { return grouped(f.peaks[i].rows); });
    row("  starting at any time", [&](std::size_t i) { return grouped(f.peaks[i].rows_anywhere); });
    if (tokens_known) {
        row("  most input tokens",
            [&](std::size_t i) { return grouped(f.peaks[i].input_tokens_anywhere); });
    }
    row("  index of dispersion", [&](std::size_t i) { return figure(f.dispersion[i].recorded); });
    row("    under --spread", [&](std::size_t i) { return figure(f.dispersion[i].spread); });
    page.fact("variation of gaps", fmt::format("{}, under --spread {}", figure(f.gap_variation),
                                               figure(f.gap_variation_spread)));
}

/// A row of the table of distributions, and what is behind it.
template <typename Tell>
static void add_distribution(Page& page, std::string_view name, const Distribution& d,
                             const Tell& tell, std::string_view behind = "") {
    page.add("  {:<16}", name);
    for (const double value : {d.min, d.at[1], d.at[3], d.at[5], d.max, d.mean}) {
        page.add(" {:>10}", tell(value));
    }
    page.add("{}\n", behind);
}

/// Whole values as they are, others with two decimals.
static std::string tokens_of(double value) {
    const double whole = std::floor(value);
    std::string text = grouped(static_cast<std::uint64_t>(whole));
    if (value > whole) {
        text += fmt::format("{:.2f}", std::min(value - whole, 0.99)).substr(1);
    }
    return text;
}

static void add_length(Page& page, std::string_view name, const LengthFigures& f) {
    if (f.distribution.count == 0) {
        page.add("  {:<16} {:>10}\n", name, "not recorded");
        return;
    }
    add_distribution(page, name, f.distribution, tokens_of, fmt::format(" {:>15}", grouped(f.sum)));
}

static void add_lengths(Page& page, const InspectFigures& f) {
    page.add("\n{:<18} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>15}\n", "Tokens", "min", "p50",
             "p90", "p99", "max", "mean", "sum");
    add_length(page, "input", f.input);
    add_length(page, "output", f.output);
    if (f.context) {
        page.add(
            "  {} of {} rows exceed {} tokens, input plus output; {} have no room for an answer\n",
            grouped(f.context->rows_over), grouped(f.rows), grouped(f.context->limit),
            grouped(f.context->input_over));
    }
}

static void add_sessions(Page& page, const InspectFigures& figures) {
    const SessionFigures& f = figures.sessions;
    if (f.sessions == 0) {
        return;
    }
    page.add("\n{:<18} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "Sessions", "min", "p50",
             "p90", "p99", "max", "mean");
    add_distribution(page, "rows each", f.rows_each, tokens_of);
    add_distribution(page, "seconds each", f.length_ns, in_seconds);
    if (f.delay_ns.count > 0) {
        add_distribution(page, "think time s", f.delay_ns, in_seconds);
    }
    page.add("  {} with {} of {}; {} wait for another row, {} of them began before its answer\n",
             counted(f.sessions, "session"), grouped(f.rows), counted(figures.rows, "row"),
             counted(f.dependencies, "wait"), grouped(f.overlaps));
}

static std::string chaining(const BlockFigures& f) {
    if (f.chained()) {
        return "chained: equal ids mean equal prefixes";
    }
    return fmt::format("block contents: {} at more than one position, {} after more than one other",
                       share(f.ids_moving, f.ids), share(f.ids_joining, f.ids));
}

static void add_blocks(Page& page, const Trace& trace, const InspectFigures& figures) {
    const BlockFigures& f = figures.blocks;
    const CapacityFigures& own = figures.capacity.front();
    page.heading(fmt::format("Sharing, in blocks of {} tokens", trace.block_size));
    page.fact("ids", fmt::format("{} in {}", grouped(f.ids), counted(f.references, "reference")));
    page.fact("", chaining(f));
    if (f.ids_of_two_lengths > 0) {
        page.fact("warning",
                  counted(f.ids_of_two_lengths, "id") + " with several numbers of tokens");
    }
    if (f.ids_partial > 0) {
        page.fact("partial blocks",
                  fmt::format("{}, {} of them in several rows", counted(f.ids_partial, "id"),
                              grouped(f.ids_partial_shared)));
    }
    page.fact("prompts",
              fmt::format("{} all known, {} known in part, {} all new", grouped(f.rows_complete),
                          grouped(f.rows_in_part), grouped(f.rows_new + f.rows_without_ids)));
    page.fact("ideal hit rate", fmt::format("{} of blocks, {} of tokens (infinite cache)",
                                            share(own.hit_blocks, own.references),
                                            share(own.hit_tokens, own.input_tokens)));
    page.fact("usable by a server",
              fmt::format("{} of tokens (full blocks, never a prompt's last token)",
                          share(figures.foretold.cached_tokens, figures.foretold.input_tokens)) +
                  (figures.foretold.rows_unknown == 0
                       ? std::string()
                       : fmt::format(" of the {} that are not recorded text",
                                     counted(figures.foretold.rows, "row"))));
}

/// The curve at every second power of two, and at the size that is as good as an infinite one.
static void add_curve(Page& page, const CapacityFigures& f, const InspectCommand& command) {
    page.add("\n{:<12} {:>13}{} {:>11} {:>11}\n", "Cache blocks", "tokens",
             command.token_bytes > 0 ? "      bytes" : "", "blocks hit", "tokens hit");
    for (std::size_t i = 0; i < f.curve.size(); ++i) {
        const CapacityPoint& point = f.curve[i];
        if (i % 2 != 0 && i + 1 != f.curve.size()) {
            continue;
        }
        const std::uint64_t tokens = point.blocks * f.block_size;
        page.add("  {:>10} {:>13}", grouped(point.blocks), grouped(tokens));
        if (command.token_bytes > 0) {
            page.add(" {:>10}", bytes(tokens * command.token_bytes));
        }
        page.add(" {:>11} {:>11}", share(point.hit_blocks, f.references),
                 share(point.hit_tokens, f.input_tokens));
        if (command.plot) {
            page.add("  |{}|", bar(static_cast<double>(point.hit_tokens),
                                   static_cast<double>(f.hit_tokens), bar_width));
        }
        page.add("\n");
    }
}

/// What each block size could hit, and how large a cache it takes.
static void add_sizes(Page& page, const InspectFigures& figures, const InspectCommand& command) {
    page.add("\n{:<12} {:>11} {:>11}   cache {} for this share of it\n", "Block size", "ideal, of",
             "", command.token_bytes > 0 ? "bytes" : "tokens");
    page.add("{:<12} {:>11} {:>11}", "", "blocks", "tokens");
    for (const std::uint32_t share : ideal_shares) {
        page.add(" {:>13}", fmt::format("{:g} %", share / 10.0));
    }
    page.add("\n");
    for (const CapacityFigures& f : figures.capacity) {
        page.add("  {:>10} {:>11} {:>11}", grouped(f.block_size), share(f.hit_blocks, f.references),
                 share(f.hit_tokens, f.input_tokens));
        for (const std::uint64_t blocks : f.blocks_for) {
            const std::uint64_t tokens = blocks * f.block_size;
            page.add(" {:>13}", command.token_bytes > 0 ? bytes(tokens * command.token_bytes)
                                                        : grouped(tokens));
        }
        page.add("\n");
    }
}

/// Columns over time, with the scale at the left and the time below.
static void add_columns(Page& page, std::string_view title,
                        const std::vector<std::uint64_t>& values, std::int64_t bucket_ns) {
    const std::uint64_t most = *std::max_element(values.begin(), values.end());
    page.heading(title);
    const std::vector<std::string> lines = columns(values, plot_height);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        page.add("{:>12} |{}|\n", i == 0 ? grouped(most) : (i + 1 == lines.size() ? "0" : ""),
                 lines[i]);
    }
    const std::string end = duration_to_text(static_cast<std::int64_t>(values.size()) * bucket_ns);
    page.add("{:>12}  0{:>{}}\n", "", end, std::max<std::size_t>(values.size(), 2) - 1);
}

static void add_timeline(Page& page, const InspectFigures& figures) {
    const Timeline& line = figures.timeline;
    const std::string bucket = duration_to_text(line.bucket_ns);
    add_columns(page, "Rows in every " + bucket, line.rows, line.bucket_ns);
    add_columns(page, "Input tokens in every " + bucket, line.input_tokens, line.bucket_ns);
    if (!figures.has_blocks) {
        return;
    }
    add_columns(page, "Working set: distinct blocks used in every " + bucket, line.blocks_used,
                line.bucket_ns);
    std::vector<std::uint64_t> held = line.blocks_new;
    for (std::size_t i = 1; i < held.size(); ++i) {
        held[i] += held[i - 1];
    }
    add_columns(page, "Distinct blocks so far: what an infinite cache holds", held, line.bucket_ns);
}

static void add_histogram(Page& page, std::string_view title, const LengthFigures& f) {
    page.heading(title);
    const std::uint64_t most = *std::max_element(f.by_power.begin(), f.by_power.end());
    std::size_t first = 0;
    std::size_t last = f.by_power.size() - 1;
    for (; first < last && f.by_power[first] == 0; ++first) {
    }
    for (; last > first && f.by_power[last] == 0; --last) {
    }
    for (std::size_t power = first; power <= last; ++power) {
        const std::uint64_t from = std::uint64_t{1} << power;
        page.add(
            "{:>21} |{}| {}\n", grouped(from) + " - " + grouped(2 * from - 1),
            bar(static_cast<double>(f.by_power[power]), static_cast<double>(most), 2 * bar_width),
            grouped(f.by_power[power]));
    }
}

static constexpr std::size_t name_columns = 26;

/// The end of a name that is too long says more than its beginning.
static std::string shortened(const std::string& name) {
    return name.size() <= name_columns ? name
                                       : "..." + name.substr(name.size() - (name_columns - 3));
}

static std::string line_of(const std::string& name, std::string_view format, std::string_view rows,
                           std::string_view span, std::string_view input, std::string_view output,
                           std::string_view blocks, std::string_view tokens) {
    const std::string middle = format.empty() ? "" : fmt::format("{:<9} ", format);
    return fmt::format("{:<{}} {}{:>8} {:>11} {:>14} {:>11} {:>9} {:>9}\n", shortened(name),
                       name_columns, middle, rows, span, input, output, blocks, tokens);
}

static std::string file_heading(bool each) {
    return line_of("file", each ? "format" : "", "rows", "span s", "input", "output", "blocks hit",
                   "tokens hit");
}

static std::string file_line(const FileFigures& file, const Trace* each) {
    const bool shares = file.references > 0;
    return line_of(file.name, each == nullptr ? "" : each->format, grouped(file.rows),
                   fmt::format("{:.3f}", static_cast<double>(file.span_ns) / 1e9),
                   grouped(file.input_tokens), grouped(file.output_tokens),
                   share(file.hit_blocks, file.references),
                   shares ? share(file.hit_tokens, file.input_tokens) : "-");
}

std::string refused_line(const std::string& name, const InputErrors& errors) {
    return fmt::format("{:<{}} refused: {} error{}\n", shortened(name), name_columns, errors.count,
                       errors.count == 1 ? "" : "s");
}

static void add_files(Page& page, const InspectFigures& figures) {
    if (figures.files.size() < 2) {
        return;
    }
    page.add("\n{}", file_heading(false));
    for (std::size_t i = 0; i < std::min(files_shown_max, figures.files.size()); ++i) {
        page.add("{}", file_line(figures.files[i], nullptr));
    }
    if (figures.files.size() > files_shown_max) {
        page.add("and {} more files: --json lists all\n", figures.files.size() - files_shown_max);
    }
}

std::string inspect_table(const Trace& trace, const InspectFigures& figures,
                          const InspectCommand& command) {
    Page page;
    if (figures.rows_outside > 0) {
        page.add("selected: {} rows, {} are outside\n", grouped(figures.rows),
                 grouped(figures.rows_outside));
    }
    add_arrivals(page, figures.arrivals);
    add_lengths(page, figures);
    add_sessions(page, figures);
    if (figures.has_blocks) {
        add_blocks(page, trace, figures);
        if (figures.capacity.front().hit_blocks > 0) {
            add_curve(page, figures.capacity.front(), command);
            add_sizes(page, figures, command);
        }
    }
    add_files(page, figures);
    if (command.plot) {
        add_timeline(page, figures);
        add_histogram(page, "Input tokens of a row", figures.input);
        add_histogram(page, "Output tokens of a row", figures.output);
    }
    return page.take();
}

namespace {

/// One inspection. What a person should know goes to standard output, or to standard error where
/// JSON goes there.
class Inspection {
  public:
    explicit Inspection(const InspectCommand& command)
        : command_(command),
          say_(command.json || command.hash_block_report == "-" ? stderr : stdout) {}

    int run();

  private:
    int run_whole();
    int run_each();
    int inspect(const TraceFiles& files, bool say_notes);
    int write_report() const;
    bool sizes_fit() const;
    void print_json(const InputErrors* errors) const;

    const InspectCommand& command_;
    std::FILE* say_;
    Trace trace_;
    InputErrors errors_;
    InspectFigures figures_;
};

}  // namespace

int Inspection::run() {
    const int code = refuse_existing_file(report_flag, command_.hash_block_report);
    if (code != exit_done) {
        return code;
    }
    return command_.each ? run_each() : run_whole();
}

/// Every size must be a multiple of the trace's: what is shared inside a block, nobody knows.
bool Inspection::sizes_fit() const {
    for (const std::uint32_t size : command_.inspect.block_sizes) {
        if (trace_.block_size == 0) {
            complain("driftless: --block-sizes: the trace has no block ids; remove this flag");
            return false;
        }
        if (size % trace_.block_size != 0) {
            complain(
                "driftless: --block-sizes %u: the trace has blocks of %u tokens, and "
                "sharing inside a block is not known; use multiples of %u",
                size, trace_.block_size, trace_.block_size);
            return false;
        }
    }
    return true;
}

void Inspection::print_json(const InputErrors* errors) const {
    std::string text;
    errors != nullptr ? append_json(text, trace_, *errors) : append_json(text, trace_, figures_);
    text += '\n';
    std::fwrite(text.data(), 1, text.size(), stdout);
}

/// Reads and counts; prints nothing but notes, errors and JSON.
int Inspection::inspect(const TraceFiles& files, bool say_notes) {
    std::vector<std::string> notes;
    errors_ = InputErrors();
    const bool usable = read_trace(files, trace_, errors_, notes);
    for (const std::string& note : notes) {
        if (say_notes || note.starts_with("warning:")) {
            std::fprintf(say_, "trace: %s\n", note.c_str());
        }
    }
    if (!usable) {
        print_errors(errors_);
        if (command_.json) {
            print_json(&errors_);
        }
        return exit_input;
    }
    if (!sizes_fit()) {
        return exit_usage;
    }
    Result<InspectFigures> figures = inspect_trace(trace_, command_.inspect);
    if (!figures) {
        complain("driftless: %s or --limit", nothing_selected(trace_).c_str());
        return exit_input;
    }
    figures_ = std::move(figures).value();
    if (command_.json) {
        print_json(nullptr);
    }
    return exit_done;
}

int Inspection::run_whole() {
    int code = inspect(command_.files, true);
    if (code == exit_done && !command_.hash_block_report.empty()) {
        code = write_report();
    }
    if (code == exit_done && say_ == stdout) {
        std::fputs(inspect_table(trace_, figures_, command_).c_str(), stdout);
    }
    return code;
}

/// A line for each file; a file that is refused does not keep the others from theirs.
int Inspection::run_each() {
    int worst = exit_done;
    if (!command_.json) {
        std::fputs(file_heading(true).c_str(), stdout);
    }
    for (const std::string& path : command_.files.paths) {
        Result<std::vector<std::string>> files = expand_path(path);
        // What cannot be opened is refused by read_trace, in its words.
        for (const std::string& file : files ? files.value() : std::vector<std::string>{path}) {
            TraceFiles one = command_.files;
            one.paths = {file};
            const int code = inspect(one, false);
            worst = code == exit_done ? worst : code;
            if (!command_.json) {
                const std::string line = code == exit_done
                                             ? file_line(figures_.files.at(0), &trace_)
                                             : refused_line(file, errors_);
                std::fputs(line.c_str(), stdout);
            }
        }
    }
    return worst;
}

int Inspection::write_report() const {
    std::string text;
    append_hash_block_report(text, trace_, command_.files.paths.front());
    const int code = write_new_file(report_flag, command_.hash_block_report, text);
    if (code == exit_done) {
        std::fprintf(say_, "wrote: %s: hash-block report\n", command_.hash_block_report.c_str());
    }
    return code;
}

int run_inspect(int argc, char** argv) {
    // What is freed goes back to the host, whatever was freed before: a large trace has a table at
    // a time, and would else leave a hole in the heap for each.
    (void)::mallopt(M_MMAP_THRESHOLD, 1 << 20);
    const InspectCommandLine line = parse_inspect_options({argv + 1, argv + argc});
    if (const std::optional<int> code = line.finish()) {
        return *code;
    }
    return Inspection(line.command).run();
}

}  // namespace driftless
