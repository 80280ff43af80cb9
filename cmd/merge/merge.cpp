#include "cmd/merge/merge.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cmd/exit_codes.hpp"
#include "cmd/merge/merged_folder.hpp"
#include "cmd/merge/merged_json.hpp"
#include "cmd/merge/options.hpp"
#include "cmd/merge/record_lines.hpp"
#include "cmd/merge/shard_runs.hpp"
#include "cmd/report/page.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/report/reported_run.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/screen/summary_table.hpp"
#include "proto/core/counted.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

/// Of the year 2116: differences of two fit.
constexpr std::int64_t utc_ns_max = INT64_MAX / 2;

int refuse(const std::string& why, int code) {
    complain("driftless merge: %s", printable_lines(why).c_str());
    return code;
}

/// A shard whose books say what it did: nothing of it is missing.
void take_from_books(const ShardRun& shard, MergedShard& out) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(shard.run_json);
    const JsonValue end = root ? root.value().find("end") : JsonValue();
    out.verdict = end.find("verdict").as_string().value_or("uncalibrated");
    out.interrupted = end.find("interrupted").as_bool().value_or(false);
    out.stopped_when = end.find("stopped_when").find("cond").as_string().value_or("");
    const JsonValue reasons = end.find("verdict_reasons");
    for (JsonValue one = reasons.first(); one.present(); one = one.next()) {
        out.reasons.emplace_back(one.as_string().value_or(""));
    }
}

/// A shard that was killed, or could not write all: as `report` sums it up.
int rebuild_shard(ShardRun& shard, MergedShard& out, std::string& why) {
    shard.lock = FolderLock();  // who holds it counts as the run itself
    RebuiltRun run(shard.facts);
    if (const int code = rebuild(shard.folder, {}, run, why); code != exit_done) {
        return code;
    }
    Result<FolderLock> lock = FolderLock::take(shard.folder);
    if (!lock) {
        why = shard.folder + ": was resumed during the merge; wait for its end";
        return exit_input;
    }
    shard.lock = std::move(lock).value();
    out.verdict = run.info.verdict;
    out.reasons = run.info.verdict_reasons;
    out.not_reported = run.info.unfinished ? run.info.unfinished->rows : 0;
    out.rows_left = run.lost.rows;
    out.all_known = run.lost.all_known;
    return exit_done;
}

/// What is there of each shard, by its books and its records.
int describe(std::vector<ShardRun>& shards, const RecordLines& records, MergedRun& out,
             std::string& why) {
    const ShardFacts& plan = *shards.front().facts.shard;
    out.count = plan.count;
    out.rows = plan.plan_rows;
    out.shards.resize(plan.count);
    for (std::uint32_t i = 0; i < plan.count; ++i) {
        out.shards[i].index = i;
        out.shards[i].verdict = "";
    }
    std::uint64_t planned = 0;
    for (std::size_t place = 0; place < shards.size(); ++place) {
        ShardRun& shard = shards[place];
        MergedShard& one = out.shards[shard.index()];
        if (!one.is_missing()) {
            why = shard.folder + " and " + one.folder + " are both shard " +
                  std::to_string(one.index) + "; leave one of them out";
            return exit_input;
        }
        one.folder = shard.folder;
        one.run_id = shard.facts.segments.front().run_id;
        one.ended = shard.facts.ended;
        one.rows = shard.facts.rows;
        one.probes = shard.facts.probes;
        one.zero_utc_ns = shard.facts.segments.front().clock.zero_utc_ns;
        if (one.zero_utc_ns < 0 || one.zero_utc_ns > utc_ns_max) {
            why = shard.path("run.json") + ": zero_utc_ns is out of range; restore the file";
            return exit_input;
        }
        one.clock = shard.facts.shard->clock;
        for (std::size_t later = 1; later < shard.facts.segments.size(); ++later) {
            one.rows_later += shard.facts.segments[later].rows;
        }
        planned += one.rows;
        const bool whole =
            shard.facts.ended && (shard.facts.has_users || records.rows(place) >= shard.facts.rows);
        if (whole) {
            take_from_books(shard, one);
        } else if (const int code = rebuild_shard(shard, one, why); code != exit_done) {
            return code;
        }
    }
    if (planned > out.rows || (planned < out.rows && shards.size() == plan.count)) {
        why = "the shards were to send " + std::to_string(planned) + " rows, but their plan has " +
              std::to_string(out.rows) +
              "; leave out the run that does not belong here, or restore its run.json";
        return exit_input;
    }
    out.rows_missing = shards.size() < plan.count ? out.rows - planned : 0;
    return exit_done;
}

/// Every file of it but those that follow from the others.
int write_files(MergedFolder& folder, const std::vector<ShardRun>& shards,
                const RecordLines& records, std::string& why) {
    int code = folder.write_records(shards, records, why);
    code = code == exit_done ? folder.write_fired(shards, records, why) : code;
    return code == exit_done ? folder.write_others(shards, why) : code;
}

/// As `driftless report` will make it again.
int sum_up(MergedFolder& folder, const MergeCommand& command, Judgement& judged, std::string& why) {
    RunFacts facts;
    if (why = read_run(folder.path(), facts); !why.empty()) {
        return exit_input;
    }
    RebuiltRun rebuilt(std::move(facts));
    int code = rebuild(folder.path(), {}, rebuilt, why);
    if (code != exit_done) {
        return code;
    }
    judged = rebuilt.judged;
    const ReportedRun run{folder.path(), rebuilt.facts, rebuilt.figures, rebuilt.info,
                          summary_json(rebuilt.figures, rebuilt.info)};
    if (code = folder.write_text("summary.json", run.summary, why); code != exit_done) {
        return code;
    }
    if (command.page) {
        const Result<std::string> page = page_of(run, why);
        code = page ? folder.write_text("report.html", page.value(), why) : exit_input;
    }
    if (code == exit_done) {
        std::fputs(printable_lines(summary_table(run.figures, run.info, command.table)).c_str(),
                   stdout);
    }
    return code;
}

void say_torn(const std::vector<ShardRun>& shards, const RecordLines& records) {
    for (std::size_t place = 0; place < shards.size(); ++place) {
        if (const std::uint64_t torn = records.torn(place); torn > 0) {
            complain("merge: %s: %s left out", printable(shards[place].records_path()).c_str(),
                     counted(torn, "byte of an unfinished last line was",
                             "bytes of an unfinished last line were")
                         .c_str());
        }
    }
}

int merge(const MergeCommand& command) {
    std::vector<ShardRun> shards;
    std::string why;
    if (const int code = read_shards(command.folders, shards, why); code != exit_done) {
        return refuse(why, code);
    }
    std::string path = command.out;
    while (path.size() > 1 && path.back() == '/') {
        path.pop_back();
    }
    if (why = why_inside_a_shard(command.folders, path); !why.empty()) {
        return refuse(why, exit_usage);
    }
    MergedFolder folder(path);
    if (const int code = folder.take(); code != exit_done) {
        return code;
    }
    RecordLines records;
    if (why = records.find(shards); !why.empty()) {
        return refuse(why, exit_input);
    }
    MergedRun merged;
    merged.clock_error_max_ns = command.clock_error_max_ns;
    int code = describe(shards, records, merged, why);
    code = code == exit_done ? write_files(folder, shards, records, why) : code;
    // The verdict is known when all records are summed up, for which run.json must be there.
    Judgement judged;
    const auto write_run = [&] {
        return folder.write_text(
            "run.json", merged_run_json(shards, merged, records.lines().size(), judged), why);
    };
    code = code == exit_done ? write_run() : code;
    if (code == exit_done) {
        code = sum_up(folder, command, judged, why);
        code = code == exit_done ? write_run() : code;
        if (const std::string whose =
                code == exit_input ? records.first_unreadable(shards) : std::string();
            !whose.empty()) {
            why = whose;
        }
    }
    if (code != exit_done) {
        return refuse(why, code);
    }
    folder.keep();
    say_torn(shards, records);
    print_line("files: %s", printable(path).c_str());
    return exit_done;
}

}  // namespace

int run_merge(int argc, char** argv) {
    const MergeCommandLine line =
        parse_merge_options(std::vector<std::string>(argv + 1, argv + argc));
    if (line.kind == MergeCommandLine::Kind::help) {
        std::fputs(line.text.c_str(), stdout);
        return exit_done;
    }
    if (line.kind == MergeCommandLine::Kind::refused) {
        complain("%s", line.text.c_str());
        return exit_usage;
    }
    return merge(line.command);
}

}  // namespace driftless
