#include "cmd/compare/played_run.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/report/record_pass.hpp"
#include "cmd/run_folder.hpp"
#include "cmd/whole_file.hpp"
#include "engine/schedule/due.hpp"
#include "engine/stats/run_timeline.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

struct ReadRow {
    ComparedRequest request;
    PlayedRow row;
    std::uint32_t attempt = 0;
    bool censored = false;
    bool waits_in_vain = false;  ///< not sent, for a row that it waited for failed
};

/// One side while its records are read.
struct SideRead {
    std::vector<ReadRow> rows;
    RunTimeline timeline;
};

double known(const OptionalNs& value) {
    return value ? static_cast<double>(*value) : unknown_value;
}

/// Whether the server is to blame: what the end of the client cut off says nothing of it.
bool is_servers_failure(const Record& record) {
    return is_failure(record.outcome) && record.outcome != Outcome::not_sent &&
           record.outcome != Outcome::interrupted && record.outcome != Outcome::cancelled;
}

std::optional<bool> meets_slo(const GoodputRules& slo, const Record& record) {
    const std::optional<std::size_t> rule = rule_of(slo, record);
    if (!rule || record.censored || record.outcome == Outcome::interrupted) {
        return std::nullopt;
    }
    return is_good(slo[*rule].limits, record);
}

/// The same in each run; another one in each pass.
std::uint64_t tree_of(const Record& record) {
    const std::optional<std::string>& name = record.tree ? record.tree : record.session;
    if (!name) {
        return 0;
    }
    Digest digest;
    digest.add(*name);
    digest.add_u64(record.pass);
    return std::max<std::uint64_t>(digest.value(), 1);
}

bool has_lane_cap(const RunFacts& facts) {
    return std::any_of(facts.arguments.begin(), facts.arguments.end(),
                       [](const std::string& one) { return one.starts_with("--connections="); });
}

ReadRow read_row(const Record& record, const GoodputRules& slo, bool lane_cap) {
    ReadRow out;
    ComparedRequest& request = out.request;
    request.key = number_in_pass(record.row, record.pass);
    request.due_ns = record.due_ns;
    request.tree = tree_of(record);
    request.ok = record.outcome == Outcome::ok;
    request.failed = is_servers_failure(record);
    request.tainted = !record.tainted.empty();
    request.held = is_wish(record.late_cause) || (lane_cap && record.late_cause == LateCause::lane);
    request.fired_ns = record.fired_ns;
    request.meets_slo = meets_slo(slo, record);
    request.ended_ns = record.ended_ns ? record.ended_ns : record.done_ns;
    const double length = static_cast<double>(record.input_length.value_or(0));
    PlayedRow& row = out.row;
    row.row = record.row;
    row.pass = record.pass;
    row.turn = record.turn.value_or(0);
    row.outcome = record.outcome;
    row.prompt_tokens = record.prompt_tokens ? static_cast<double>(*record.prompt_tokens) : length;
    row.cached_tokens = known(record.cached_tokens);
    row.expected_tokens = known(record.expected_cached_tokens);
    row.output_digest = record.output_digest;
    request.input_tokens = record.input_length ? length : row.prompt_tokens;
    request.output_tokens =
        counts_output(record) ? static_cast<double>(*record.output_tokens) : unknown_value;
    const auto put = [&request](RowValue value, double of) {
        request.values[static_cast<std::size_t>(value)] = of;
    };
    put(RowValue::ttft, known(record.ttft_ns));
    put(RowValue::ttft_due, known(record.ttft_due_ns));
    put(RowValue::tpot, record.tpot_ns.value_or(unknown_value));
    put(RowValue::e2e, known(record.e2e_ns));
    out.attempt = record.attempt;
    out.censored = record.censored;
    out.waits_in_vain = record.outcome == Outcome::not_sent && record.error.has_value();
    return out;
}

void count(const ReadRow& one, PlayedCounts& counts) {
    const Outcome outcome = one.row.outcome;
    counts.ok += one.request.ok ? 1 : 0;
    counts.failed += one.request.failed ? 1 : 0;
    counts.other_length += is_whole(outcome) && !one.request.ok ? 1 : 0;
    counts.abandoned += outcome == Outcome::abandoned ? 1 : 0;
    counts.censored += one.censored ? 1 : 0;
    counts.dropped += one.waits_in_vain ? 1 : 0;
    counts.interrupted += outcome == Outcome::interrupted ? 1 : 0;
    const bool ended_by_user = outcome == Outcome::cancelled && !one.censored;
    counts.unplayed += ended_by_user || (outcome == Outcome::not_sent && !one.waits_in_vain);
    counts.again += one.attempt > 0 ? 1 : 0;
    counts.tainted += one.request.tainted ? 1 : 0;
}

/// The rows in the order of their keys, of each the last try.
void settle(SideRead& read, PlayedRun& run) {
    std::stable_sort(read.rows.begin(), read.rows.end(), [](const ReadRow& a, const ReadRow& b) {
        return a.request.key != b.request.key ? a.request.key < b.request.key
                                              : a.attempt < b.attempt;
    });
    run.compared.requests.reserve(read.rows.size());
    run.rows.reserve(read.rows.size());
    for (std::size_t i = 0; i < read.rows.size(); ++i) {
        const ReadRow& one = read.rows[i];
        if (i + 1 < read.rows.size() && read.rows[i + 1].request.key == one.request.key) {
            ++run.counts.tries_left_out;
            continue;
        }
        count(one, run.counts);
        run.compared.requests.push_back(one.request);
        run.rows.push_back(one.row);
    }
    run.compared.duration_ns = read.timeline.figures().duration_ns;
}

/// As its summary.json has it; empty where there is none.
void read_verdict(const std::string& folder, PlayedRun& run) {
    const std::string path = folder + "/summary.json";
    const Result<std::string> text = read_regular_file(path);
    if (!text && text.error().code == ErrorCode::not_found) {
        return;
    }
    run.why_no_verdict =
        "no verdict, " + path + " has none (driftless report " + folder + " rebuilds it)";
    JsonDocument document;
    const Result<JsonValue> root = document.parse(text ? text.value() : "");
    if (!root) {
        return;
    }
    const JsonValue verdict = root.value().find("verdict");
    run.verdict = verdict.find("name").as_string().value_or("");
    const JsonValue reasons = verdict.find("reasons");
    for (JsonValue one = reasons.first(); one.present(); one = one.next()) {
        run.verdict_reasons.emplace_back(one.as_string().value_or(""));
    }
    const JsonValue warnings = verdict.find("warnings");
    for (JsonValue one = warnings.first(); one.present(); one = one.next()) {
        run.warnings.emplace_back(one.as_string().value_or(""));
    }
}

using Sides = std::array<SideRead, side_count>;

/// Rules by a column that no record has had so far: such a rule would fit no row, without a word.
class UnmetColumns {
  public:
    explicit UnmetColumns(const GoodputRules& slo) {
        for (const GoodputRule& rule : slo) {
            if (rule.key && rule.key->kind == GroupKey::Kind::kept) {
                keys_.push_back(*rule.key);
            }
        }
    }
    void meet(const Record& record) {
        std::erase_if(
            keys_, [&](const GroupKey& key) { return group_value(key, record, scratch_) != "-"; });
    }
    std::string refusal(const std::string& folder) const {
        return keys_.empty() ? ""
                             : folder + ": --goodput uses the column " + keys_.front().member +
                                   ", which no record of this run has; replay with --keep " +
                                   keys_.front().member;
    }

  private:
    std::vector<GroupKey> keys_;
    JsonDocument scratch_;
};

std::string read_sides(const std::string& path, const RunFacts& facts, const GoodputRules& slo,
                       Sides& sides, UnmetColumns& unmet) {
    const bool lane_cap = has_lane_cap(facts);
    return each_record_in(path, [&](const Record& record) {
        unmet.meet(record);
        SideRead& side = sides[static_cast<std::size_t>(record.side)];
        if (record.phase == Phase::warmup) {
            side.timeline.add_warm_up(record);
        } else if (record.phase == Phase::profile) {
            side.timeline.add(record);
            side.rows.push_back(read_row(record, slo, lane_cap));
        }
    });
}

}  // namespace

std::string PlayedRun::name() const {
    return side.empty() ? folder : folder + ", side " + side;
}

std::vector<const PlayedRun*> all_runs(const std::vector<PlayedRun>& a,
                                       const std::vector<PlayedRun>& b) {
    std::vector<const PlayedRun*> runs;
    for (const std::vector<PlayedRun>* group : {&a, &b}) {
        for (const PlayedRun& run : *group) {
            runs.push_back(&run);
        }
    }
    return runs;
}

int read_played(const std::string& folder, const GoodputRules& slo, std::vector<PlayedRun>& out,
                std::string& why) {
    PlayedRun run;
    run.folder = folder;
    while (run.folder.size() > 1 && run.folder.back() == '/') {
        run.folder.pop_back();
    }
    if (why = read_run(run.folder, run.facts); !why.empty()) {
        return exit_usage;
    }
    run.killed = !run.facts.ended;
    run.goes_on = is_being_written(run.folder);
    read_verdict(run.folder, run);
    const std::string path =
        run.facts.records_path.empty() ? run.folder + "/requests.jsonl" : run.facts.records_path;
    Sides sides;
    UnmetColumns unmet(slo);
    if (why = read_sides(path, run.facts, slo.empty() ? run.facts.goodput : slo, sides, unmet);
        !why.empty()) {
        return exit_input;
    }
    if (why = unmet.refusal(run.folder); !why.empty()) {
        return exit_usage;
    }
    const auto rows_of = [&sides](Side side) -> SideRead& {
        return sides[static_cast<std::size_t>(side)];
    };
    const bool is_dual = !rows_of(Side::a).rows.empty() || !rows_of(Side::b).rows.empty();
    const std::uint64_t planned = is_dual ? run.facts.rows / 2 : run.facts.rows;  // of each side
    for (const Side side : is_dual ? std::vector{Side::a, Side::b} : std::vector{Side::none}) {
        PlayedRun& one = out.emplace_back(run);
        one.side = side == Side::none ? "" : name_of(side);
        one.facts.rows = planned;
        settle(rows_of(side), one);
        if (!run.facts.has_users &&
            one.rows.size() < planned) {  // how many users send nobody knows
            one.counts.unplayed += planned - one.rows.size();
        }
    }
    return exit_done;
}

}  // namespace driftless
