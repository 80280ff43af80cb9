#include "cmd/report/readings.hpp"

#include <utility>

#include "cmd/report/certificate.hpp"
#include "cmd/report/fidelity.hpp"
#include "cmd/report/steady_reading.hpp"
#include "cmd/report/tree_reading.hpp"
#include "cmd/report/viewed_run.hpp"
#include "cmd/report/why_reading.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

/// Its members are set by `write`.
template <typename Write>
std::string member(const char* name, Write write) {
    std::string text = std::string(",\"") + name + "\":";
    JsonWriter json(text);
    write(json);
    return text;
}

std::string take_view(const View& view, const ReportedRun& run, bool json, ReadingTexts& out) {
    ViewedRun viewed;
    if (std::string why = read_viewed_run(run, viewed); !why.empty()) {
        return why;
    }
    const ViewResult result = view.make(viewed);
    out.own_screen = true;
    std::string notes = std::string("as ") + view.tool + " defines it, from driftless's records\n";
    for (const std::string& note : result.notes) {
        notes += "note: " + note + "\n";
    }
    if (json) {
        out.screen = result.json;
        out.notes = notes;
    } else {
        out.screen = result.screen + "\n" + notes;
    }
    return "";
}

std::string take_groups(const ReportReadings& readings, const ReportedRun& run, ReadingTexts& out) {
    std::vector<GroupTable> tables;
    std::string why = group_tables(run, readings.by, readings.slos, tables);
    out.screen += group_screen(tables);
    out.members += member("by", [&](JsonWriter& writer) { write_groups(writer, tables); });
    out.by_csv = group_csv(tables);
    return why;
}

}  // namespace

std::string take_readings(const ReportReadings& readings, const ReportedRun& run, bool json,
                          ReadingTexts& out) {
    if (readings.view != nullptr) {
        return take_view(*readings.view, run, json, out);
    }
    std::string why;
    if (readings.any_groups()) {
        why = take_groups(readings, run, out);
    }
    if (why.empty() && readings.steady) {
        SteadyReading reading;
        why = read_steady(run, reading);
        out.screen += steady_screen(reading);
        out.members +=
            member("steady_state", [&](JsonWriter& writer) { write_steady(writer, reading); });
    }
    if (why.empty() && readings.why) {
        WhyFinding finding;
        why = read_why(run, *readings.why, finding);
        out.screen += printable_lines(why_screen(finding, *readings.why));
        out.members +=
            member("why", [&](JsonWriter& writer) { write_why(writer, finding, *readings.why); });
    }
    if (why.empty() && readings.trees) {
        TreeTotals totals;
        why = read_trees(run, totals);
        out.screen += tree_screen(totals);
        out.members += member("trees", [&](JsonWriter& writer) { write_trees(writer, totals); });
    }
    if (why.empty() && readings.certificate) {
        WorkCertificate certificate;
        why = read_certificate(run, certificate);
        out.screen += printable_lines(certificate_screen(run, certificate));
        out.members += member("certificate", [&](JsonWriter& writer) {
            write_certificate(writer, run, certificate);
        });
    }
    if (why.empty() && !readings.against.empty()) {
        FidelityReading reading;
        why = read_fidelity(run, readings.against, reading);
        out.screen += fidelity_screen(readings.against, reading);
        out.members +=
            member("fidelity", [&](JsonWriter& writer) { write_fidelity(writer, reading); });
    }
    return why;
}

std::string with_members(const std::string& summary, const std::string& members) {
    const std::size_t end = summary.rfind('}');
    return end == summary.npos || members.empty()
               ? summary
               : summary.substr(0, end) + members + summary.substr(end);
}

std::string view_names() {
    std::string names;
    for (const View& view : all_views()) {
        names += (names.empty() ? "" : ", ") + std::string(view.name);
    }
    return names;
}

Result<const View*> parse_view(std::string_view text) {
    if (const View* view = find_view(text); view != nullptr) {
        return view;
    }
    static const std::string remedy = "is not one of " + view_names();
    return Error{ErrorCode::invalid, 0, remedy.c_str()};
}

}  // namespace driftless
