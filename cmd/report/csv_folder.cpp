#include "cmd/report/csv_folder.hpp"

#include <cerrno>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/report/figures.hpp"
#include "cmd/report/jsonl_rows.hpp"
#include "cmd/screen/guard.hpp"
#include "engine/input/sink.hpp"
#include "proto/core/sys_error.hpp"
#include "proto/export/csv.hpp"

namespace driftless {

namespace {

constexpr std::size_t write_bytes = std::size_t{256} << 10;

/// One CSV file. It remembers its first error and writes nothing more then.
class CsvFile {
  public:
    explicit CsvFile(std::string path) : path_(std::move(path)) {}

    /// Makes the file, with its first line.
    void begin(std::span<const std::string_view> columns) {
        Result<OutputSink> sink = OutputSink::create(path_);
        if (!sink) {
            code_ = fail_new_file("--csv", path_, sink.error());
            return;
        }
        sink_.emplace(std::move(sink).value());
        for (const std::string_view column : columns) {
            field(column);
        }
        end_line();
    }
    void add(const TableRow& row) {
        for (const TableCell& cell : row) {
            field(cell.text);
        }
        end_line();
    }
    /// The exit code; what failed has been printed.
    int finish() {
        flush();
        if (code_ == exit_done) {
            keep(sink_->finish());
        }
        return code_;
    }

  private:
    void field(std::string_view text) {
        if (!at_begin_) {
            text_ += ',';
        }
        append_csv_field(text_, text);
        at_begin_ = false;
    }
    void end_line() {
        text_ += csv_line_end;
        at_begin_ = true;
        if (text_.size() >= write_bytes) {
            flush();
        }
    }
    void flush() {
        if (code_ == exit_done) {
            keep(sink_->write(text_));
        }
        text_.clear();
    }
    void keep(const Result<void>& done) {
        code_ = done ? code_ : fail_new_file("--csv", path_, done.error());
    }

    std::string path_;
    std::optional<OutputSink> sink_;
    std::string text_;
    bool at_begin_ = true;
    int code_ = exit_done;
};

int write_jsonl(const std::string& from, RunTable table, const std::string& to) {
    std::string why;
    Result<JsonlRows> rows = JsonlRows::open(from, figures_of(table), why);
    if (!rows) {
        complain("driftless report: %s", why.c_str());
        return exit_input;
    }
    std::vector<std::string_view> columns;
    for (const Figure& figure : rows.value().columns()) {
        columns.push_back(figure.name);
    }
    CsvFile file(to);
    file.begin(columns);
    while (const TableRow* row = rows.value().next()) {
        file.add(*row);
    }
    if (!rows.value().why().empty()) {
        complain("driftless report: %s", rows.value().why().c_str());
        return exit_input;
    }
    return file.finish();
}

int write_rows(const std::vector<TableRow>& rows, std::span<const std::string_view> columns,
               const std::string& to) {
    CsvFile file(to);
    file.begin(columns);
    for (const TableRow& row : rows) {
        file.add(row);
    }
    return file.finish();
}

}  // namespace

int write_csv_folder(const ReportedRun& run, const std::string& folder) {
    if (!make_folder(folder) && errno != EEXIST) {
        return fail_new_file("--csv", folder, error_from_errno(errno, "make the folder"));
    }
    const std::string requests = folder + "/requests.csv";
    const std::string periods = folder + "/periods.csv";
    const std::string summary = folder + "/summary.csv";
    const std::string definitions = folder + "/definitions.csv";
    for (const std::string* path : {&requests, &periods, &summary, &definitions}) {
        if (const int code = refuse_existing_file("--csv", *path); code != exit_done) {
            return code;
        }
    }
    int code = write_jsonl(run.records_path(), RunTable::requests, requests);
    code = code == exit_done ? write_jsonl(run.periods_path(), RunTable::periods, periods) : code;
    code =
        code == exit_done ? write_rows(summary_rows(run.summary), summary_columns, summary) : code;
    return code == exit_done ? write_rows(definition_rows(), definition_columns, definitions)
                             : code;
}

}  // namespace driftless
