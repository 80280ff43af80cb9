#include "cmd/runs/merge.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/secrets.hpp"
#include "cmd/report/page.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/report/summary_table.hpp"
#include "cmd/runs/compare.hpp"
#include "engine/history/run_facts.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/breakdowns.hpp"
#include "proto/figures/verdict.hpp"
#include "proto/json/document.hpp"
#include "proto/json/put.hpp"

namespace driftless {

static MergeRefusal read_shard_run(const std::string& given, ShardRun& out) {
    out.folder = without_slashes(given);
    if (struct stat there{}; ::stat(out.folder.c_str(), &there) != 0 && errno == ENOENT) {
        return {exit_usage, mask_url(out.folder) +
                                ": does not exist; correct the name, or leave it out (a shard that "
                                "is not given is counted as missing)"};
    }
    if (std::string why = read_run(out.folder, out.facts); !why.empty()) {
        return {exit_usage, std::move(why)};
    }
    if (out.facts.info.merged) {
        return {exit_usage,
                out.folder + ": is already a merged run; give the folders of its shards"};
    }
    if (!out.facts.shard) {
        return {exit_usage, out.folder +
                                ": is not a shard: it was played without --shard and holds all "
                                "rows; use driftless report " +
                                out.folder};
    }
    const Result<std::string> text = read_regular_file(out.path("run.json"));
    if (!text) {
        return {exit_input, out.path("run.json") + ": " + why_unreadable(text.error())};
    }
    out.run = ParsedJson(text);
    Result<FolderLock> lock = FolderLock::take(out.folder);
    if (!lock) {
        return {exit_input, out.folder + (lock.error().code == ErrorCode::exists
                                              ? ": the run has not ended; wait for its end"
                                              : ": cannot be read: " + reason_of(lock.error()))};
    }
    out.lock = std::move(lock).value();
    return {};
}

/// What differs between shards that should be of one replay; the empty text: nothing does.
static std::string why_not_one_replay(const std::vector<ShardRun>& shards) {
    std::vector<PlayedRun> runs;
    for (const ShardRun& shard : shards) {
        PlayedRun& run = runs.emplace_back();
        run.folder = shard.folder;
        run.facts = shard.facts;
        run.facts.rows = shard.facts.shard->plan_rows;
    }
    std::string text;
    for (const WorkDifference& one : shard_differences(runs)) {
        const auto& [weight, what, first, other, name, remedy] = one;
        text +=
            "\n  " + what + ": " + runs.front().folder + " " + first + ", " + name + " " + other;
    }
    return text.empty() ? "" : "these are not shards of one replay:" + text;
}

/// Both are there, under whatever path.
static bool is_same_folder(const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code unread;
    return std::filesystem::equivalent(a, b, unread);
}

static std::string why_given_twice(const std::vector<std::string>& folders) {
    for (auto folder = folders.begin(); folder != folders.end(); ++folder) {
        const auto first = std::find_if(folders.begin(), folder, [&](const std::string& before) {
            return is_same_folder(before, *folder);
        });
        if (first != folder) {
            return *folder + ": is the same folder as " + *first + "; give each shard once";
        }
    }
    return "";
}

/// Why the merged run cannot be made at `out`: it would lie in one of these folders. Empty: it can.
static std::string why_inside_a_shard(const std::vector<std::string>& folders,
                                      std::filesystem::path out) {
    while (out.has_relative_path()) {  // ends: each turn takes a component away
        out = out.parent_path();
        for (const std::string& folder : folders) {
            if (is_same_folder(out.empty() ? "." : out, folder)) {
                return "--out lies inside of shard folder " + folder + "; name a folder elsewhere";
            }
        }
    }
    return "";
}

/// Reads run.json of each folder, and sorts them by index. Refused: no shard, shards of different
/// replays, or one that still goes on.
static MergeRefusal read_shards(const std::vector<std::string>& folders,
                                std::vector<ShardRun>& out) {
    if (std::string why = why_given_twice(folders); !why.empty()) {
        return {exit_usage, std::move(why)};
    }
    for (const std::string& folder : folders) {
        if (MergeRefusal refusal = read_shard_run(folder, out.emplace_back())) {
            return refusal;
        }
    }
    std::ranges::stable_sort(out, {}, &ShardRun::index);
    std::string why = why_not_one_replay(out);
    return why.empty() ? MergeRefusal() : MergeRefusal{exit_input, std::move(why)};
}

/// Flags by which a shard differs from the whole run, which `replay --from` repeats.
static constexpr std::array<std::string_view, 5> shard_flags{
    "--shard=", "--start-at=", "--meet=", "--meet-timeout=", "--clock-error-max="};

static std::string arguments_text(std::vector<std::string> arguments) {
    std::erase_if(arguments, [](const std::string& argument) {
        return std::ranges::any_of(
            shard_flags, [&argument](std::string_view flag) { return argument.starts_with(flag); });
    });
    return json_text(arguments);
}

/// One segment, as of a run that was not resumed.
static std::string segments_text(const std::vector<ShardRun>& shards, const MergedRun& merged) {
    RunSegment all = shards.front().facts.segments.front();
    all.rows = merged.rows;
    all.rows_interrupted = 0;
    for (const ShardRun& shard : shards) {
        for (const RunSegment& segment : shard.facts.segments) {
            all.rows_interrupted += segment.rows_interrupted;
        }
    }
    return json_text(std::vector{all});
}

/// Sums of 64 bits that wrap: of no order, so that those of all shards are that of the whole run.
static std::string digest_text(const std::vector<ShardRun>& shards, const MergedRun& merged) {
    std::uint64_t sum = 0;
    bool known = merged.rows_missing == 0 && shards.size() == merged.count;
    for (const ShardRun& shard : shards) {
        known = known && shard.facts.prompts_digest.has_value();
        sum += shard.facts.prompts_digest.value_or(0);
    }
    return known ? '"' + hex_text(sum) + '"' : "null";
}

/// All of it is of the whole plan, but for rows, prompts and how many of them were cut.
static std::string plan_text(const std::vector<ShardRun>& shards, const MergedRun& merged) {
    const JsonValue plan = shards.front().run.root.find("plan");
    std::vector<JsonMember> changed{{"rows", std::to_string(merged.rows)},
                                    {"prompts_digest", digest_text(shards, merged)},
                                    {"side_digests", "null"}};
    if (shards.front().facts.clamped_rows) {
        std::uint64_t clamped = 0;
        for (const ShardRun& shard : shards) {
            clamped += shard.facts.info.clamped_rows;
        }
        changed.emplace_back("clamped_rows", std::to_string(clamped));
    }
    return with_members(plan, changed);
}

/// The widest limit of any shard: nothing that is not tainted lies beyond it.
static std::string calibration_text(const std::vector<ShardRun>& shards) {
    JsonValue whose = shards.front().run.root.find("calibration");
    for (const ShardRun& shard : shards) {  // the first that has none
        const JsonValue one = shard.run.root.find("calibration");
        if (whose.find("why_not").is(JsonType::null) && one.find("why_not").is(JsonType::string)) {
            whose = one;
        }
    }
    std::vector<JsonMember> changed;
    for (JsonValue one = whose.first(); one.present(); one = one.next()) {
        if (one.is(JsonType::number) && one.key().ends_with("_ns") && one.key() != "measured_ns") {
            std::int64_t most = 0;
            for (const ShardRun& shard : shards) {
                const JsonValue its = shard.run.root.find("calibration").find(one.key());
                most = std::max(most, its.as_i64().value_or(0));
            }
            changed.emplace_back(one.key(), std::to_string(most));
        }
    }
    return with_members(whose, changed);
}

static std::string end_text(const std::vector<ShardRun>& shards, std::uint64_t records,
                            const Judgement& verdict) {
    EndFacts all{.rows_fired = 0,
                 .records = records,
                 .verdict = name_of(verdict.verdict),
                 .verdict_reasons = verdict.reasons};
    for (const ShardRun& shard : shards) {
        const EndFacts& end = shard.facts.end;
        *all.rows_fired += end.rows_fired.value_or(0);
        all.interrupted = all.interrupted || end.interrupted;
        all.stopped_when = all.stopped_when ? all.stopped_when : end.stopped_when;
        if (const auto from_ns = end.measured_from_ns) {
            all.measured_from_ns = std::min(all.measured_from_ns.value_or(*from_ns), *from_ns);
        }
    }
    return json_text(all);
}

/// The run.json of a merged run: that of its first shard, except for what all shards make up
/// together. A run with shards that are missing or were killed has no `end`.
static std::string merged_run_json(const std::vector<ShardRun>& shards, const MergedRun& merged,
                                   std::uint64_t records, const Judgement& verdict) {
    const bool all_ended =
        shards.size() == merged.count &&
        std::ranges::all_of(shards, [](const ShardRun& shard) { return shard.facts.ended; });
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    copy_members(json, shards.front().run.root,
                 {{"arguments", arguments_text(shards.front().facts.arguments)},
                  {"records", "null"},
                  {"shard", "null"},
                  {"meeting", "null"},
                  {"segments", segments_text(shards, merged)},
                  {"plan", plan_text(shards, merged)},
                  {"calibration", calibration_text(shards)},
                  {"end", all_ended ? end_text(shards, records, verdict) : "null"},
                  {"merged", ""}});
    write_merged(json, merged);
    json.end_object();
    escape_unprintable_json(text, 0);
    text += '\n';
    return text;
}

/// Of the year 2116: differences of two fit.
static constexpr std::int64_t utc_ns_max = INT64_MAX / 2;

static int refuse(const MergeRefusal& refusal) {
    complain("driftless merge: %s", printable_lines(refusal.why).c_str());
    return refusal.code;
}

/// A shard whose books say what it did: nothing of it is missing.
static void take_from_books(const ShardRun& shard, MergedShard& out) {
    const EndFacts& end = shard.facts.end;
    out.verdict = end.verdict.empty() ? "uncalibrated" : end.verdict;
    out.interrupted = end.interrupted;
    out.stopped_when = end.stopped_when ? end.stopped_when->condition : "";
    out.reasons = end.verdict_reasons;
}

/// A shard that was killed, or could not write all: as `report` sums it up.
static MergeRefusal rebuild_shard(ShardRun& shard, MergedShard& out) {
    shard.lock = FolderLock();  // who holds it counts as the run itself
    RebuiltRun run(shard.facts);
    MergeRefusal refusal;
    if (refusal.code = rebuild(shard.folder, {}, run, refusal.why); refusal) {
        return refusal;
    }
    Result<FolderLock> lock = FolderLock::take(shard.folder);
    if (!lock) {
        return {exit_input, shard.folder + ": was resumed during the merge; wait for its end"};
    }
    shard.lock = std::move(lock).value();
    out.verdict = run.info.verdict;
    out.reasons = run.info.verdict_reasons;
    out.not_reported = run.info.unfinished ? run.info.unfinished->rows : 0;
    out.rows_left = run.lost.rows;
    out.all_known = run.lost.all_known;
    return {};
}

/// What is there of each shard, by its books and its records.
static MergeRefusal describe(std::vector<ShardRun>& shards, const RecordLines& records,
                             MergedRun& out) {
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
            return {exit_input, shard.folder + " and " + one.folder + " are both shard " +
                                    std::to_string(one.index) + "; leave one of them out"};
        }
        const RunSegment& first = shard.facts.segments.front();
        one.folder = shard.folder;
        one.run_id = first.run_id;
        one.ended = shard.facts.ended;
        one.rows = shard.facts.rows;
        one.probes = shard.facts.probes();
        one.zero_utc_ns = first.clock.zero_utc_ns;
        if (one.zero_utc_ns < 0 || one.zero_utc_ns > utc_ns_max) {
            return {exit_input,
                    shard.path("run.json") + ": zero_utc_ns is out of range; restore the file"};
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
        } else if (MergeRefusal refusal = rebuild_shard(shard, one)) {
            return refusal;
        }
    }
    if (planned > out.rows || (planned < out.rows && shards.size() == plan.count)) {
        return {exit_input,
                "the shards were to send " + std::to_string(planned) +
                    " rows, but their plan has " + std::to_string(out.rows) +
                    "; leave out the run that does not belong here, or restore its run.json"};
    }
    out.rows_missing = shards.size() < plan.count ? out.rows - planned : 0;
    return {};
}

/// As `driftless report` will make it again.
static MergeRefusal sum_up(MergedFolder& folder, const MergeCommand& command, Judgement& judged) {
    MergeRefusal refusal;
    RunFacts facts;
    if (refusal.why = read_run(folder.path(), facts); !refusal.why.empty()) {
        return {exit_input, refusal.why};
    }
    RebuiltRun rebuilt(std::move(facts));
    if (refusal.code = rebuild(folder.path(), {}, rebuilt, refusal.why); refusal) {
        return refusal;
    }
    judged = rebuilt.judged;
    const ReportedRun run{folder.path(), rebuilt.facts, rebuilt.figures, rebuilt.info,
                          summary_json(rebuilt.figures, rebuilt.info)};
    refusal = folder.write_text("summary.json", run.summary);
    if (!refusal && command.page) {
        const Result<std::string> page = page_of(run, refusal.why);
        refusal = page ? folder.write_text("report.html", page.value())
                       : MergeRefusal{exit_input, refusal.why};
    }
    if (!refusal) {
        std::fputs(printable_lines(summary_table(run.figures, run.info, command.table)).c_str(),
                   stdout);
    }
    return refusal;
}

static void say_torn(const std::vector<ShardRun>& shards, const RecordLines& records) {
    for (std::size_t place = 0; place < shards.size(); ++place) {
        if (const std::uint64_t torn = records.torn(place); torn > 0) {
            complain("merge: %s: %s left out", printable(shards[place].records_path()).c_str(),
                     counted(torn, "byte of an unfinished last line was",
                             "bytes of an unfinished last line were")
                         .c_str());
        }
    }
}

static int merge(const MergeCommand& command) {
    std::vector<ShardRun> shards;
    if (const MergeRefusal refusal = read_shards(command.folders, shards)) {
        return refuse(refusal);
    }
    const std::string path = without_slashes(command.out);
    if (const std::string why = why_inside_a_shard(command.folders, path); !why.empty()) {
        return refuse({exit_usage, why});
    }
    MergedFolder folder(path);
    if (const int code = folder.take(); code != exit_done) {
        return code;
    }
    RecordLines records;
    if (const std::string why = records.find(shards); !why.empty()) {
        return refuse({exit_input, why});
    }
    MergedRun merged;
    merged.clock_error_max_ns = command.clock_error_max_ns;
    // The verdict is known when all records are summed up, for which run.json must be there.
    Judgement judged;
    const auto write_run = [&] {
        return folder.write_text("run.json",
                                 merged_run_json(shards, merged, records.lines().size(), judged));
    };
    MergeRefusal refusal = describe(shards, records, merged);
    refusal = refusal ? refusal : folder.write_records(shards, records);
    refusal = refusal ? refusal : folder.write_fired(shards, records);
    refusal = refusal ? refusal : folder.write_others(shards);
    refusal = refusal ? refusal : write_run();
    if (!refusal) {
        refusal = sum_up(folder, command, judged);
        refusal = refusal ? refusal : write_run();
        if (const std::string whose =
                refusal.code == exit_input ? records.first_unreadable(shards) : std::string();
            !whose.empty()) {
            refusal.why = whose;
        }
    }
    if (refusal) {
        return refuse(refusal);
    }
    folder.keep();
    say_torn(shards, records);
    print_line("files: %s", printable(path).c_str());
    return exit_done;
}

int run_merge(int argc, char** argv) {
    const MergeCommandLine line = parse_merge_options({argv + 1, argv + argc});
    if (const std::optional<int> code = line.finish()) {
        return *code;
    }
    return merge(line.command);
}

}  // namespace driftless
