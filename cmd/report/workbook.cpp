#include "cmd/report/workbook.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <xlsxwriter.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <ranges>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/exports.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"

namespace driftless {

/// From here on a double cannot tell neighbours apart: 2^53.
static constexpr double exact_max = 9007199254740992.0;
/// Characters of a cell, by Excel's limit; bytes are never fewer.
static constexpr std::size_t cell_max = 32767;

static std::string cut(std::string_view text) {
    std::string out(cut_at_code_point(text, cell_max));
    // A workbook is XML, which has no U+FFFE and U+FFFF; U+FFFD stands for them.
    for (std::size_t at = out.find('\xEF'); at != out.npos; at = out.find('\xEF', at + 1)) {
        if (begins_noncharacter(std::string_view(out).substr(at))) {
            out[at + 2] = '\xBD';
        }
    }
    return out;
}

static void write_text(lxw_worksheet* sheet, lxw_row_t row, lxw_col_t column,
                       std::string_view text) {
    // Fails for lack of memory alone, which nothing here outlives; places and lengths are right.
    (void)worksheet_write_string(sheet, row, column, cut(text).c_str(), nullptr);
}

static void write_number(lxw_worksheet* sheet, lxw_row_t row, lxw_col_t column,
                         const std::string& digits) {
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (std::abs(value) >= exact_max) {
        write_text(sheet, row, column, digits);
    } else {
        (void)worksheet_write_number(sheet, row, column, value, nullptr);
    }
}

Sheet::Sheet(lxw_workbook* workbook, std::string name, std::span<const std::string_view> columns,
             std::uint32_t rows_max)
    : workbook_(workbook),
      name_(std::move(name)),
      columns_(columns.begin(), columns.end()),
      rows_max_(rows_max) {
    begin_sheet();
}

void Sheet::begin_sheet() {
    const std::string name = sheets_ == 0 ? name_ : name_ + " " + std::to_string(sheets_ + 1);
    ++sheets_;
    sheet_ = workbook_add_worksheet(workbook_, name.c_str());
    if (sheet_ == nullptr) {  // the names are ours, so that it is the temporary file
        return;
    }
    lxw_format* const bold = workbook_add_format(workbook_);
    format_set_bold(bold);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const auto column = static_cast<lxw_col_t>(i);
        const double width = static_cast<double>(std::max<std::size_t>(columns_[i].size() + 4, 12));
        (void)worksheet_set_column(sheet_, column, column, width, nullptr);
        (void)worksheet_write_string(sheet_, 0, column, columns_[i].c_str(), bold);
    }
    worksheet_freeze_panes(sheet_, 1, 0);
    next_row_ = 1;
}

void Sheet::add(const TableRow& row) {
    if (sheet_ != nullptr && next_row_ == rows_max_) {
        finish();
        begin_sheet();
    }
    if (sheet_ == nullptr) {
        return;
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
        const auto column = static_cast<lxw_col_t>(i);
        switch (row[i].kind) {
            case CellKind::empty:
                break;
            case CellKind::number:
                write_number(sheet_, next_row_, column, row[i].text);
                break;
            case CellKind::boolean:
                (void)worksheet_write_boolean(sheet_, next_row_, column, row[i].text == "true",
                                              nullptr);
                break;
            case CellKind::text:
                write_text(sheet_, next_row_, column, row[i].text);
                break;
        }
    }
    ++next_row_;
    first_rows_ += sheets_ == 1 ? 1 : 0;
}

void Sheet::finish() {
    if (sheet_ == nullptr) {
        return;
    }
    (void)worksheet_autofilter(sheet_, 0, 0, next_row_ - 1,
                               static_cast<lxw_col_t>(columns_.size() - 1));
}

std::uint16_t Sheet::place_of(std::string_view column) const {
    const auto found = std::ranges::find(columns_, column);
    CHECK(found != columns_.end());
    return static_cast<std::uint16_t>(found - columns_.begin());
}

// Axes show ns as ms and s: each comma of a number format divides by 1,000.
static constexpr const char* ns_as_ms = "0.0,,";
static constexpr const char* ns_as_s = "0.0,,,";
static constexpr const char* plain = "General";

namespace {

struct Axis {
    const char* title;
    const char* format;
    const char* column = nullptr;  ///< of the axis across
};

}  // namespace

static constexpr Axis by_end{"s", ns_as_s, "end_ns"};
static constexpr Axis by_due{"s", ns_as_s, "due_ns"};
static constexpr Axis by_input{"tokens", plain, "input_length"};
static constexpr Axis axis_ms{"ms", ns_as_ms};
static constexpr Axis axis_requests{"requests", plain};

namespace {

/// A chart of a table: columns over one column.
struct ChartSpec {
    const char* title;
    RunTable table;
    lxw_chart_type type;
    Axis across;
    Axis up;
    std::string_view columns;  ///< with blanks between them
};

}  // namespace

static constexpr lxw_chart_type line_chart = LXW_CHART_SCATTER_STRAIGHT_WITH_MARKERS;
static constexpr lxw_chart_type dots_chart = LXW_CHART_SCATTER;
static constexpr ChartSpec chart_specs[] = {
    {"TTFT by period", RunTable::periods, line_chart, by_end, axis_ms,
     "ttft_p50_ns ttft_p90_ns ttft_p99_ns"},
    {"Requests by period", RunTable::periods, line_chart, by_end, axis_requests,
     "released ended failed in_flight"},
    {"TTFT and E2E by due instant", RunTable::requests, dots_chart, by_due, axis_ms,
     "ttft_ns e2e_ns"},
    {"TTFT by input length", RunTable::requests, dots_chart, by_input, axis_ms, "ttft_ns"},
    {"Drift by due instant", RunTable::requests, dots_chart, by_due, axis_ms, "drift_ns"},
};

namespace {

/// Charts below each other on a sheet of their own.
class ChartSheet {
  public:
    explicit ChartSheet(lxw_workbook* workbook)
        : workbook_(workbook), sheet_(workbook_add_worksheet(workbook, "charts")) {}

    bool made() const { return sheet_ != nullptr; }

    void add(const Sheet& table, const ChartSpec& spec) {
        if (!made() || table.rows() == 0) {
            return;
        }
        lxw_chart* const chart =
            workbook_add_chart(workbook_, static_cast<std::uint8_t>(spec.type));
        chart_title_set_name(chart, spec.title);
        chart_axis_set_name(chart->x_axis, spec.across.title);
        chart_axis_set_num_format(chart->x_axis, spec.across.format);
        chart_axis_set_name(chart->y_axis, spec.up.title);
        chart_axis_set_num_format(chart->y_axis, spec.up.format);
        for (const auto column : std::views::split(spec.columns, ' ')) {
            add_series(chart, table, spec, std::string_view(column.begin(), column.end()));
        }
        lxw_chart_options options{};
        options.x_scale = 2;
        options.y_scale = 1.4;
        (void)worksheet_insert_chart_opt(sheet_, next_row_, 0, chart, &options);
        next_row_ += rows_a_chart;
    }

  private:
    static constexpr lxw_row_t rows_a_chart = 22;

    static void add_series(lxw_chart* chart, const Sheet& table, const ChartSpec& spec,
                           std::string_view column) {
        lxw_chart_series* const series = chart_add_series(chart, nullptr, nullptr);
        const char* const sheet = table.name().c_str();
        const std::uint16_t across = table.place_of(spec.across.column);
        const std::uint16_t up = table.place_of(column);
        chart_series_set_categories(series, sheet, 1, across, table.rows(), across);
        chart_series_set_values(series, sheet, 1, up, table.rows(), up);
        chart_series_set_name_range(series, sheet, 0, up);
        if (spec.type == dots_chart) {
            chart_series_set_marker_type(series, LXW_CHART_MARKER_CIRCLE);
            chart_series_set_marker_size(series, 3);
        }
    }

    lxw_workbook* workbook_;
    lxw_worksheet* sheet_;
    lxw_row_t next_row_ = 0;
};

}  // namespace

static void fill(Sheet& sheet, const std::vector<TableRow>& rows) {
    for (const TableRow& row : rows) {
        sheet.add(row);
    }
    sheet.finish();
}

/// Why the lines cannot be read, or empty.
static std::string fill(Sheet& sheet, JsonlRows& rows) {
    while (const TableRow* row = rows.next()) {
        sheet.add(*row);
    }
    sheet.finish();
    return rows.why();
}

/// Fills the workbook. Why it cannot be, or empty; `made` is false where the library had no
/// temporary file for one of the sheets.
static std::string fill(lxw_workbook* workbook, const ReportedRun& run, JsonlRows& requests,
                        JsonlRows& periods, bool& made) {
    Sheet summary(workbook, name_of(RunTable::summary), summary_columns);
    fill(summary, summary_rows(run.summary));
    ChartSheet charts(workbook);
    Sheet request_sheet(workbook, name_of(RunTable::requests), requests.names());
    if (std::string why = fill(request_sheet, requests); !why.empty()) {
        return why;
    }
    Sheet period_sheet(workbook, name_of(RunTable::periods), periods.names());
    if (std::string why = fill(period_sheet, periods); !why.empty()) {
        return why;
    }
    for (const ChartSpec& chart : chart_specs) {
        charts.add(chart.table == RunTable::periods ? period_sheet : request_sheet, chart);
    }
    Sheet definitions(workbook, "definitions", definition_columns);
    fill(definitions, definition_rows());
    made = summary.made() && charts.made() && request_sheet.made() && period_sheet.made() &&
           definitions.made();
    return "";
}

namespace {

/// What the library says of an error on standard error is left out: our own line says it.
class Unsaid {
  public:
    Unsaid() : nowhere_(std::fopen("/dev/null", "w")) {
        stderr = nowhere_ == nullptr ? said_ : nowhere_;
    }
    ~Unsaid() {
        stderr = said_;
        if (nowhere_ != nullptr) {
            (void)std::fclose(nowhere_);
        }
    }
    Unsaid(const Unsaid&) = delete;
    Unsaid& operator=(const Unsaid&) = delete;

  private:
    std::FILE* said_ = stderr;
    std::FILE* nowhere_;
};

}  // namespace

int write_workbook(const ReportedRun& run, const std::string& path) {
    std::string why;
    Result<JsonlRows> requests = rows_of(run, RunTable::requests, why);
    Result<JsonlRows> periods = rows_of(run, RunTable::periods, why);
    if (!requests || !periods) {
        return refuse_report(why);
    }
    // Made here, because the library would write over what is there.
    if (const Fd file(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
        !file.is_open()) {
        return fail_new_file("--xlsx", path, error_from_errno(errno, "create the file"));
    }
    std::string temporary = path.substr(0, path.rfind('/') + 1) + ".";
    lxw_workbook_options options{};
    options.constant_memory = LXW_TRUE;
    options.tmpdir = temporary.data();
    lxw_workbook* const workbook = workbook_new_opt(path.c_str(), &options);
    if (workbook == nullptr) {
        return fail_new_file("--xlsx", path, Error{ErrorCode::io_failed, errno, "make the file"});
    }
    bool made = true;
    Result<void> closed;
    {
        const Unsaid unsaid;
        why = fill(workbook, run, requests.value(), periods.value(), made);
        errno = 0;
        if (!made) {  // the library would fall over a sheet that it could not make
            lxw_workbook_free(workbook);
            closed = Error{ErrorCode::exhausted, 0, "make temporary files next to it"};
        } else if (workbook_close(workbook) != LXW_NO_ERROR) {  // it is freed in any case
            closed = Error{ErrorCode::io_failed, errno, "write the workbook"};
        }
    }
    if (!closed || !why.empty()) {
        (void)::unlink(path.c_str());
        return why.empty() ? fail_new_file("--xlsx", path, closed.error()) : refuse_report(why);
    }
    return exit_done;
}

}  // namespace driftless
