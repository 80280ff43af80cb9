#include "cmd/compare/exports.hpp"

#include "cmd/compare/comparison_json.hpp"
#include "cmd/compare/comparison_page.hpp"
#include "cmd/compare/comparison_texts.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"

namespace driftless {

int check_exports(const CompareExports& exports) {
    int code = exit_done;
    const auto check = [&code](const char* flag, const std::string& path) {
        if (code == exit_done && !path.empty()) {
            code = refuse_existing_file(flag, path);
        }
    };
    check("--json", exports.json);
    check("--markdown", exports.markdown);
    check("--junit", exports.junit);
    check("--html", exports.html);
    return code;
}

int write_exports(const CompareExports& exports, const Comparison& comparison, bool unsure_fails) {
    int code = exit_done;
    if (!exports.json.empty()) {
        code = write_new_file("--json", exports.json, comparison_json(comparison));
    }
    if (code == exit_done && !exports.markdown.empty()) {
        code = write_new_file("--markdown", exports.markdown, comparison_markdown(comparison));
    }
    if (code == exit_done && !exports.junit.empty()) {
        code = write_new_file("--junit", exports.junit, comparison_junit(comparison, unsure_fails));
    }
    if (code == exit_done && !exports.html.empty() && !comparison.groups.metrics.empty()) {
        code = write_new_file("--html", exports.html, comparison_page(comparison));
    }
    return code;
}

}  // namespace driftless
