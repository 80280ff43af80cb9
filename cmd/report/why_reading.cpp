#include "cmd/report/why_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cmd/report/record_pass.hpp"
#include "cmd/report/server_table.hpp"
#include "cmd/screen/lines.hpp"
#include "engine/views/view_text.hpp"

namespace driftless {

namespace {

/// "1 in 10^12", or a share that a person can picture.
std::string chance_text(double log10_chance) {
    return fmt::format("by chance 1 in 10^{:.0f}", -log10_chance);
}

std::string statement_text(const WhyStatement& statement) {
    const Overlap& o = statement.overlap;
    return fmt::format("{} of the {} slowest {}; {} of all {} rows did ({}){}", o.hits, o.drawn,
                       statement.mark, o.marked, o.of, chance_text(statement.log10_chance),
                       statement.is_echo ? "; adds nothing to the first" : "");
}

std::vector<WhyServer> servers_of(const std::vector<ServerInstant>& instants) {
    std::vector<WhyServer> servers;
    for (const ServerInstant& one : instants) {
        const auto figure = [&one](ServerFigure of) {
            return one.figures[static_cast<std::size_t>(of)];
        };
        servers.push_back({one.t_ns, figure(ServerFigure::waiting), figure(ServerFigure::running),
                           figure(ServerFigure::kv_usage), figure(ServerFigure::preemptions)});
    }
    std::stable_sort(servers.begin(), servers.end(),
                     [](const WhyServer& a, const WhyServer& b) { return a.t_ns < b.t_ns; });
    return servers;
}

}  // namespace

std::string set_servers(const ReportedRun& run, WhyRecords& records) {
    std::string why;
    const Result<std::vector<ServerInstant>> instants =
        read_server_instants(run.folder + "/server.jsonl", why);
    if (instants) {
        records.set_servers(servers_of(instants.value()));
    }
    return why;
}

std::string read_why(const ReportedRun& run, WhyFinding& out) {
    WhyRecords records;
    std::string why = set_servers(run, records);
    if (!why.empty()) {
        return why;
    }
    why = each_record(run, [&records](const Record& record) { records.add(record); });
    out = records.finding();
    return why;
}

std::string why_screen(const WhyFinding& finding) {
    Lines lines;
    lines.blank();
    if (finding.slow == 0) {
        lines.add("Why slow", fmt::format("not computed: {} rows have a TTFT, {} are needed",
                                          finding.rows, why_rows_min));
        return lines.take();
    }
    lines.add("Why slow",
              fmt::format(
                  "the {} slowest of {} rows had a TTFT of {:.2f} ms or more; of {} questions "
                  "asked, these findings have a chance below 1 in 100, corrected for all questions",
                  finding.slow, finding.rows, finding.slow_from / ns_per_ms, finding.questions));
    if (finding.statements.empty()) {
        lines.add("", "nothing distinguishes them: no property in the records goes with them");
    }
    for (std::size_t i = 0; i < finding.statements.size(); ++i) {
        lines.add(fmt::format("{:>14}.", i + 1), statement_text(finding.statements[i]));
    }
    return lines.take();
}

void write_why(JsonWriter& json, const WhyFinding& finding) {
    json.begin_object();
    json.key("metric").string("ttft");
    json.key("rows").unsigned_integer(finding.rows);
    json.key("slow").unsigned_integer(finding.slow);
    json.key("slow_from_ms").number(finding.slow_from / ns_per_ms);
    json.key("questions").unsigned_integer(finding.questions);
    json.key("statements").begin_array();
    for (const WhyStatement& statement : finding.statements) {
        json.begin_object();
        json.key("mark").string(statement.mark);
        json.key("slow_with_mark").unsigned_integer(statement.overlap.hits);
        json.key("rows_with_mark").unsigned_integer(statement.overlap.marked);
        json.key("log10_chance").number(statement.log10_chance);
        json.key("echo").boolean(statement.is_echo);
        json.end_object();
    }
    json.end_array().end_object();
}

}  // namespace driftless
