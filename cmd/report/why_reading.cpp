#include "cmd/report/why_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "cmd/report/record_pass.hpp"
#include "cmd/report/server_table.hpp"
#include "cmd/screen/lines.hpp"
#include "engine/views/view_text.hpp"

namespace driftless {

namespace {

constexpr std::size_t correlations_shown = 3;
constexpr double share_max = 0.5;  ///< more rows are not the slow ones

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

/// Why there is no statement: there may be too few rows to make one.
std::string nothing_found(const WhyFinding& finding) {
    if (finding.slow == 0) {
        return fmt::format("not computed: {} rows are too few, {} are needed", finding.rows,
                           finding.rows_needed);
    }
    if (finding.rows_needed == 0) {
        return finding.correlations.empty()
                   ? "nothing distinguishes them: no property in the records goes with them"
                   : "no mark distinguishes them";
    }
    const double percent = std::ceil(100 * static_cast<double>(finding.slow_needed) /
                                     static_cast<double>(finding.rows));
    return fmt::format(
        "no mark is clear, and {} slow rows are few: a mark of half of all rows shows from {} slow "
        "rows on. Replay {} rows or more{}",
        finding.slow, finding.slow_needed, finding.rows_needed,
        percent <= 100 * share_max ? fmt::format(", or use --why {:.0f}%", percent) : "");
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

Result<double> parse_slow_share(std::string_view text) {
    double percent = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), percent, std::chars_format::fixed);
    const bool whole = error == std::errc() && std::string_view(end, text.end()) == "%";
    if (!whole || !(percent >= 0.1 && percent <= 100 * share_max)) {
        return Error{ErrorCode::invalid, 0,
                     "is not what --why takes; use ttft, ttft_due, tpot, e2e or drift, a share of "
                     "the rows from 0.1% to 50%, or both as in tpot:10%"};
    }
    return percent / 100;
}

}  // namespace

Result<WhyWish> parse_why(std::string_view text) {
    WhyWish wish;
    const std::size_t colon = text.find(':');
    if (const WhyFigure* const figure = find_why_figure(text.substr(0, colon)); figure != nullptr) {
        wish.figure = figure;
        if (colon == text.npos) {
            return wish;
        }
        text.remove_prefix(colon + 1);
    }
    const Result<double> share = parse_slow_share(text);
    wish.share = share ? std::optional(share.value()) : std::nullopt;
    return share ? Result<WhyWish>(wish) : Result<WhyWish>(share.error());
}

std::string set_servers(const ReportedRun& run, WhyRecords& records) {
    std::string why;
    const Result<std::vector<ServerInstant>> instants =
        read_server_instants(run.folder + "/server.jsonl", why);
    if (instants) {
        records.set_servers(servers_of(instants.value()));
    }
    return why;
}

std::string read_why(const ReportedRun& run, const WhyWish& wish, WhyFinding& out) {
    WhyRecords records(wish);
    std::string why = set_servers(run, records);
    if (!why.empty()) {
        return why;
    }
    why = each_record(run, [&records](const Record& record) { records.add(record); });
    out = records.finding();
    return why;
}

std::string why_screen(const WhyFinding& finding, const WhyWish& wish) {
    Lines lines;
    lines.blank();
    if (finding.slow == 0) {
        lines.add("Why slow", fmt::format("not computed: the {} of {} rows is known, {} are needed",
                                          wish.figure->label, finding.rows, finding.rows_needed));
        return lines.take();
    }
    lines.add("Why slow",
              fmt::format("the {} slowest of {} rows ({} of {:.2f} ms or more); of {} questions "
                          "asked, these findings have a chance below 1 in 100, corrected for all "
                          "questions",
                          finding.slow, finding.rows, wish.figure->label,
                          finding.slow_from / ns_per_ms, finding.questions));
    if (finding.statements.empty()) {
        lines.add("", nothing_found(finding));
    }
    for (std::size_t i = 0; i < finding.statements.size(); ++i) {
        lines.add(fmt::format("{:>14}.", i + 1), statement_text(finding.statements[i]));
    }
    for (std::size_t i = 0; i < std::min(finding.correlations.size(), correlations_shown); ++i) {
        const WhyCorrelation& one = finding.correlations[i];
        lines.add(i == 0 ? "Over all rows" : "",
                  fmt::format("the {} {} with {} (rank correlation {:+.2f}, {})",
                              wish.figure->label, one.rank_correlation > 0 ? "rises" : "falls",
                              one.name, one.rank_correlation, chance_text(one.log10_chance)));
    }
    return lines.take();
}

void write_why(JsonWriter& json, const WhyFinding& finding, const WhyWish& wish) {
    json.begin_object();
    json.key("metric").string(wish.figure->name);
    json.key("rows").unsigned_integer(finding.rows);
    json.key("rows_needed");
    finding.rows_needed > 0 ? json.unsigned_integer(finding.rows_needed) : json.null();
    json.key("slow").unsigned_integer(finding.slow);
    json.key("slow_from_ms").number(finding.slow_from / ns_per_ms);
    json.key("questions").unsigned_integer(finding.questions);
    json.key("nothing_found");
    finding.statements.empty() ? json.string(nothing_found(finding)) : json.null();
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
    json.end_array().key("correlations").begin_array();
    for (const WhyCorrelation& one : finding.correlations) {
        json.begin_object();
        json.key("with").string(one.name);
        json.key("rank_correlation").number(one.rank_correlation);
        json.key("log10_chance").number(one.log10_chance);
        json.end_object();
    }
    json.end_array().end_object();
}

}  // namespace driftless
