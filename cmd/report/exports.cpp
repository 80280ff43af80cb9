#include "cmd/report/exports.hpp"

#include <cstdio>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/report/csv_folder.hpp"
#include "cmd/report/junit.hpp"
#include "cmd/report/markdown.hpp"
#include "cmd/report/page.hpp"
#include "cmd/report/perfetto.hpp"
#include "cmd/report/workbook.hpp"
#include "cmd/screen/guard.hpp"

namespace driftless {

namespace {

int write_page(const std::string& path, const ReportedRun& run) {
    if (const int code = refuse_existing_file("--html", path); code != exit_done) {
        return code;
    }
    std::string why;
    const Result<std::string> page = page_of(run, why);
    if (!page) {
        complain("driftless report: %s", why.c_str());
        return exit_input;
    }
    return write_new_file("--html", path, page.value());
}

}  // namespace

int write_exports(const ReportExports& exports, const ReportedRun& run, const std::string& by_csv) {
    int code = exit_done;
    if (!exports.markdown.empty()) {
        code = write_new_file("--markdown", exports.markdown, markdown_summary(run));
    }
    if (code == exit_done && !exports.junit.empty()) {
        code = write_new_file("--junit", exports.junit, junit_report(run));
    }
    if (code == exit_done && !exports.csv.empty()) {
        code = write_csv_folder(run, exports.csv);
        if (code == exit_done && !by_csv.empty()) {
            code = write_new_file("--csv", exports.csv + "/by.csv", by_csv);
        }
    }
    if (code == exit_done && !exports.perfetto.empty()) {
        code = write_perfetto(run, exports.perfetto);
    }
    if (code == exit_done && !exports.xlsx.empty()) {
        code = write_workbook(run, exports.xlsx);
    }
    if (code == exit_done && !exports.html.empty()) {
        code = write_page(exports.html, run);
    }
    return code;
}

}  // namespace driftless
