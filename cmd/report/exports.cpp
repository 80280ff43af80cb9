#include "cmd/report/exports.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/reading/prefix_cache.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/report/report.hpp"
#include "cmd/report/summary_table.hpp"
#include "cmd/report/text_parts.hpp"
#include "proto/core/errors.hpp"
#include "proto/figures/verdict.hpp"

namespace driftless {

Result<JsonlRows> rows_of(const ReportedRun& run, RunTable table, std::string& why) {
    const std::string path = table == RunTable::requests
                                 ? run.records_path()
                                 : run.folder + "/" + name_of(table) + ".jsonl";
    return JsonlRows::open(path, figures_of(table), why);
}

namespace {

/// A file of CSV, with its first line.
struct CsvFile {
    CsvFile(const std::string& path, std::span<const std::string_view> columns)
        : file("--csv", path) {
        for (const std::string_view column : columns) {
            lines.add(column);
        }
        lines.end();
    }
    void add(const TableRow& row) {
        for (const TableCell& cell : row) {
            lines.add(cell.text);
        }
        lines.end();
        file.drain();
    }
    ExportFile file;
    CsvLines lines{file.text};
};

}  // namespace

static int write_jsonl(const ReportedRun& run, RunTable table, const std::string& to) {
    std::string why;
    Result<JsonlRows> rows = rows_of(run, table, why);
    if (!rows) {
        return refuse_report(why);
    }
    CsvFile csv(to, rows.value().names());
    while (const TableRow* row = rows.value().next()) {
        csv.add(*row);
    }
    if (!rows.value().why().empty()) {
        return refuse_report(rows.value().why());
    }
    return csv.file.finish();
}

static int write_rows(const std::vector<TableRow>& rows, std::span<const std::string_view> columns,
                      const std::string& to) {
    CsvFile csv(to, columns);
    for (const TableRow& row : rows) {
        csv.add(row);
    }
    return csv.file.finish();
}

int write_csv_folder(const ReportedRun& run, const std::string& folder, bool force) {
    if (!make_folder(folder) && errno != EEXIST) {
        return fail_new_file("--csv", folder, error_from_errno(errno, "make the folder"));
    }
    int code = exit_done;
    const auto write = [&](const char* name, const std::function<int(const std::string&)>& make) {
        code = code == exit_done ? write_export("--csv", folder + name, force, make) : code;
    };
    write("/requests.csv",
          [&](const std::string& to) { return write_jsonl(run, RunTable::requests, to); });
    write("/periods.csv",
          [&](const std::string& to) { return write_jsonl(run, RunTable::periods, to); });
    write("/summary.csv", [&](const std::string& to) {
        return write_rows(summary_rows(run.summary), summary_columns, to);
    });
    write("/definitions.csv", [](const std::string& to) {
        return write_rows(definition_rows(), definition_columns, to);
    });
    return code;
}

namespace {

/// A figure of the summary, and what a person calls it.
struct Shown {
    std::string_view label;
    std::string_view figure;
};

}  // namespace

static constexpr std::array load{
    Shown{"Sent", "fired"},
    Shown{"Duration", "duration"},
    Shown{"Requests sent", "sent_rate"},
    Shown{"Requests ok", "request_throughput"},
    Shown{"Output tokens", "output_throughput"},
    Shown{"Input and output tokens", "total_token_throughput"},
    Shown{"Most open at once", "max_concurrent_requests"},
};
static constexpr std::array cache{
    Shown{"Expected", "cache.expected_cached_tokens"},
    Shown{"Expected of rows that report", "cache.expected_cached_tokens_reported"},
    Shown{"Hit", "cache.cached_tokens"},
    Shown{"Rows that report", "cache.rows_reported"},
    Shown{"Of these, with a forecast", "cache.rows_compared"},
    Shown{"Their prompts", "cache.prompt_tokens_compared"},
    Shown{"Their hits", "cache.cached_tokens_compared"},
    Shown{"Rows as expected", "cache.rows_equal"},
    Shown{"Expected in the server's own blocks", "cache.server_expected_cached_tokens"},
    Shown{"Rows as expected in those", "cache.server_rows_equal"},
};
static constexpr std::array late{
    Shown{"p50", "load_error.p50_ms"},
    Shown{"p99", "load_error.p99_ms"},
    Shown{"Worst", "load_error.max_ms"},
    Shown{"Rows above the host's limit", "load_error.late_rows"},
};

namespace {

/// The summary by the names of its figures.
class Page {
  public:
    explicit Page(const std::string& summary) : figures_(figures_of(RunTable::summary)) {
        const Result<JsonValue> root = document_.parse(summary);
        CHECK(root);  // our own text
        root_ = root.value();
    }

    /// Integers whole, all else with two digits behind the point; "-" where nothing was measured.
    std::string value(std::string_view name) const {
        const JsonValue found = value_of(root_, figure(name));
        if (const auto whole = found.as_i64()) {
            return std::to_string(*whole);
        }
        const auto number = found.as_double();
        return number ? fmt::format("{:.2f}", *number) : "-";
    }
    const Figure& figure(std::string_view name) const { return figures_[place_of(figures_, name)]; }
    template <std::size_t count>
    void add(std::string_view title, const std::array<Shown, count>& shown,
             const std::vector<std::string>& before = {}) {
        text += fmt::format("\n### {}\n\n", title);
        for (const std::string& line : before) {
            text += markdown_text(line) + "\n\n";
        }
        text += "| | value | unit |\n|---|---:|---|\n";
        for (const auto& [label, name] : shown) {
            text += markdown_row({std::string(label), value(name), figure(name).unit});
        }
    }

    std::string text;

  private:
    std::vector<Figure> figures_;
    JsonDocument document_;
    JsonValue root_;
};

}  // namespace

static void add_outcome(Page& page, const ReportedRun& run) {
    const SummaryInfo& info = run.info;
    const SummaryFigures& f = run.figures;
    const auto row = [&page](const char* label, const std::string& text) {
        page.text += markdown_row({label, text});
    };
    page.text +=
        fmt::format("{}: {}\n\n| | |\n|---|---|\n", markdown_begins, markdown_text(info.verdict));
    row("Requests", requests_text(f, info));
    for (const std::string& warning : f.warnings) {
        row("Warning", warning);
    }
    if (f.abandoned.requests > 0) {
        row("Abandoned", abandoned_text(f.abandoned));
    }
    if (f.failed > 0) {
        row("Failed", failed_kinds(f.outcomes));
    }
    if (info.unfinished) {
        row("Unfinished", fmt::format("{} without a record", rows_text(info.unfinished->rows)));
    }
    for (const std::string& line : goodput_lines(f)) {
        row("Goodput", line);
    }
    row("Trace", info.trace);
    row("Model", info.model_id);
    for (const std::string& reason : info.verdict_reasons) {
        row(&reason == &info.verdict_reasons.front() ? "Verdict" : "", reason);
    }
}

static void add_latencies(Page& page, const SummaryFigures& f) {
    std::vector<std::string> head{"ms"};
    for (const Statistic& statistic : shown_statistics) {
        head.emplace_back(statistic.name);
    }
    head.emplace_back("client moved p99 by");
    page.text +=
        "\n### Latency\n\n" + markdown_row(head) + "|---|---:|---:|---:|---:|---:|---:|---:|\n";
    for (const FigureName& figure : figure_names()) {
        if (!figure.on_screen) {
            continue;
        }
        const Distribution& d = figure.distribution(f);
        std::vector<std::string> row{std::string(figure.title)};
        for (const Statistic& statistic : shown_statistics) {
            row.push_back(d.count == 0 ? "-" : fixed(statistic.of(d) / ns_per_ms, 2));
        }
        row.push_back(p99_error_text(figure, f));
        page.text += markdown_row(row);
    }
}

/// As the certificate has it; nothing where a record cannot be read.
static void add_lost_hits(Page& page, const ReportedRun& run) {
    HitLoss loss;
    if (each_record(run, [&loss](const Record& record) { loss.add(record); }).empty()) {
        page.text += "\nHits lost: " + markdown_text(hit_loss_text(loss.tokens())) + "\n";
    }
}

static void add_thresholds(Page& page, const std::vector<ThresholdFinding>& findings) {
    if (findings.empty()) {
        return;
    }
    page.text += "\n### Thresholds\n\n| | fails if | measured |\n|---|---|---:|\n";
    for (const ThresholdFinding& one : findings) {
        page.text += fmt::format("| {} | {} | {} |\n", one.fails ? "**fail**" : "pass",
                                 markdown_text(one.condition), value_text(one));
    }
}

static void add_groups(Page& page, const std::vector<GroupTable>& tables) {
    for (const GroupTable& table : tables) {
        const GroupCells cells = group_cells(table);
        page.text += "\n### " + markdown_text(cells.head.front()) + "\n\n";
        page.text += markdown_row(cells.head) + "|---";
        for (std::size_t i = 1; i < cells.head.size(); ++i) {
            page.text += "|---:";
        }
        page.text += "|\n" + joined(cells.lines, "", markdown_row);
    }
    page.text += tables.empty() ? "" : "\n" + markdown_text(group_units) + "\n";
}

static std::string markdown_summary(const ReportedRun& run) {
    Page page(run.summary);
    add_outcome(page, run);
    page.add("Load", load);
    add_latencies(page, run.figures);
    page.add("Cache", cache, cache_lines(run.figures, run.info));
    add_lost_hits(page, run);
    page.add("Sent late", late);
    add_thresholds(page, run.info.thresholds);
    add_groups(page, run.groups);
    return page.text;
}

static TestCase verdict_case(const SummaryInfo& info) {
    TestCase one{"verdict", "the run is trustworthy", CaseEnd::failed, info.verdict,
                 joined(info.verdict_reasons, "; ")};
    if (info.unfinished) {
        one.message =
            fmt::format("{}, and {} rows have no record", info.verdict, info.unfinished->rows);
    } else if (info.verdict == name_of(Verdict::certified) ||
               info.verdict == name_of(Verdict::certified_with_exclusions)) {
        one.end = CaseEnd::passed;
    } else if (info.verdict == name_of(Verdict::uncalibrated)) {
        one.end = CaseEnd::skipped;
    }
    return one;
}

static std::vector<TestCase> cases_of(const SummaryInfo& info) {
    std::vector<TestCase> cases{verdict_case(info)};
    for (const ThresholdFinding& one : info.thresholds) {
        const std::string found = value_text(one);
        cases.push_back({"fail-if", one.condition, one.fails ? CaseEnd::failed : CaseEnd::passed,
                         found, found});
    }
    return cases;
}

/// A text is written where its file is asked for.
static int write_texts(const CiFiles& files, const std::string& markdown,
                       const std::string& junit) {
    int code = exit_done;
    const auto write = [&](const char* flag, const std::string& path, const std::string& text) {
        if (code == exit_done && !path.empty()) {
            (void)make_folders_above(path);  // making the file says what is wrong
            code = write_new_file(flag, path, text, files.force);
        }
    };
    write("--markdown", files.markdown, markdown);
    write("--junit", files.junit, junit);
    return code;
}

int write_ci_files(const CiFiles& files, const ReportedRun& run) {
    return write_texts(files, files.markdown.empty() ? "" : markdown_summary(run),
                       files.junit.empty() ? ""
                                           : junit_text(run.info.trace, cases_of(run.info),
                                                        run.figures.duration_ns, run.info.date));
}

int write_ci_failure(const CiFiles& files, const std::string& suite, const std::string& why) {
    TestCase one = verdict_case({});
    one.end = CaseEnd::error;
    one.message = one.details = why;
    return write_texts(files,
                       fmt::format("{}: the run failed before its first request\n\n{}\n",
                                   markdown_begins, markdown_text(why)),
                       junit_text(suite, {one}, 0, ""));
}

}  // namespace driftless
