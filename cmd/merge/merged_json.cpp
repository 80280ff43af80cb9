#include "cmd/merge/merged_json.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "engine/history/shard_facts.hpp"
#include "proto/core/check.hpp"
#include "proto/core/hex.hpp"
#include "proto/json/document.hpp"
#include "proto/json/printable.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

/// Flags by which a shard differs from the whole run, which `replay --from` repeats.
constexpr std::array<std::string_view, 5> shard_flags{
    "--shard=", "--start-at=", "--meet=", "--meet-timeout=", "--clock-error-max="};

/// The shards' run.json, parsed.
struct Texts {
    std::vector<JsonDocument> documents;
    std::vector<JsonValue> roots;

    explicit Texts(const std::vector<ShardRun>& shards) : documents(shards.size()) {
        for (std::size_t i = 0; i < shards.size(); ++i) {
            const Result<JsonValue> root = documents[i].parse(shards[i].run_json);
            CHECK(root);  // it was read before
            roots.push_back(root.value());
        }
    }
    std::uint64_t sum(std::string_view object, std::string_view key) const {
        std::uint64_t total = 0;
        for (const JsonValue& root : roots) {
            total += root.find(object).find(key).as_u64().value_or(0);
        }
        return total;
    }
    std::int64_t most(std::string_view object, std::string_view key) const {
        std::int64_t most = 0;
        for (const JsonValue& root : roots) {
            most = std::max(most, root.find(object).find(key).as_i64().value_or(0));
        }
        return most;
    }
};

void write_arguments(JsonWriter& json, const ShardRun& first) {
    json.begin_array();
    for (const std::string& argument : first.facts.arguments) {
        const bool is_shards =
            std::any_of(shard_flags.begin(), shard_flags.end(),
                        [&argument](std::string_view flag) { return argument.starts_with(flag); });
        if (!is_shards) {
            json.string(argument);
        }
    }
    json.end_array();
}

void write_segments(JsonWriter& json, const ShardRun& first, std::uint64_t rows,
                    std::uint64_t interrupted, JsonValue segments) {
    json.begin_array().begin_object();
    for (JsonValue one = segments.first().first(); one.present(); one = one.next()) {
        json.key(one.key());
        if (one.key() == "rows") {
            json.unsigned_integer(rows);
        } else if (one.key() == "rows_interrupted") {
            json.unsigned_integer(interrupted);
        } else if (one.key() == "first_due_ns") {
            json.integer(first.facts.segments.front().first_due_ns);
        } else {
            json.raw(one.raw());
        }
    }
    json.end_object().end_array();
}

/// Sums of 64 bits that wrap: of no order, so that those of all shards are that of the whole run.
void write_digest(JsonWriter& json, const std::vector<ShardRun>& shards, const MergedRun& merged) {
    std::uint64_t sum = 0;
    bool known = merged.rows_missing == 0 && shards.size() == merged.count;
    for (const ShardRun& shard : shards) {
        known = known && shard.facts.prompts_digest.has_value();
        sum += shard.facts.prompts_digest.value_or(0);
    }
    known ? json.string(hex_text(sum)) : json.null();
}

/// All of it is of the whole plan, but for rows, prompts and how many of them were cut.
void write_plan(JsonWriter& json, const std::vector<ShardRun>& shards, const MergedRun& merged,
                const Texts& texts) {
    json.begin_object();
    const JsonValue plan = texts.roots.front().find("plan");
    for (JsonValue one = plan.first(); one.present(); one = one.next()) {
        const std::string_view key = one.key();
        json.key(key);
        if (key == "rows") {
            json.unsigned_integer(merged.rows);
        } else if (key == "prompts_digest") {
            write_digest(json, shards, merged);
        } else if (key == "side_digests") {
            json.null();
        } else if (key == "clamped_rows" && one.is(JsonType::number)) {
            json.unsigned_integer(texts.sum("plan", key));
        } else {
            json.raw(one.raw());
        }
    }
    json.end_object();
}

/// The widest limit of any shard: nothing that is not tainted lies beyond it.
void write_calibration(JsonWriter& json, const Texts& texts) {
    JsonValue whose = texts.roots.front().find("calibration");
    for (const JsonValue& root : texts.roots) {  // the first that has none
        const JsonValue one = root.find("calibration");
        if (whose.find("why_not").is(JsonType::null) && one.find("why_not").is(JsonType::string)) {
            whose = one;
        }
    }
    json.begin_object();
    for (JsonValue one = whose.first(); one.present(); one = one.next()) {
        json.key(one.key());
        if (one.is(JsonType::number) && one.key().ends_with("_ns") && one.key() != "measured_ns") {
            json.integer(texts.most("calibration", one.key()));
        } else {
            json.raw(one.raw());
        }
    }
    json.end_object();
}

void write_end(JsonWriter& json, const Texts& texts, std::uint64_t records,
               const Judgement& verdict) {
    bool interrupted = false;
    JsonValue stopped;
    std::optional<std::int64_t> measured_ns;
    for (const JsonValue& root : texts.roots) {
        const JsonValue end = root.find("end");
        interrupted = interrupted || end.find("interrupted").as_bool().value_or(false);
        const JsonValue when = end.find("stopped_when");
        stopped = !stopped.present() && when.is(JsonType::object) ? when : stopped;
        if (const auto from_ns = end.find("measured_from_ns").as_i64()) {
            measured_ns = std::min(measured_ns.value_or(*from_ns), *from_ns);
        }
    }
    json.begin_object();
    json.key("rows_fired").unsigned_integer(texts.sum("end", "rows_fired"));
    json.key("records").unsigned_integer(records);
    json.key("interrupted").boolean(interrupted);
    json.key("stopped_when").raw(stopped.present() ? stopped.raw() : "null");
    json.key("measured_from_ns").optional_integer(measured_ns);
    json.key("verdict").string(name_of(verdict.verdict));
    json.key("verdict_reasons").begin_array();
    for (const std::string& reason : verdict.reasons) {
        json.string(reason);
    }
    json.end_array().end_object();
}

}  // namespace

std::string merged_run_json(const std::vector<ShardRun>& shards, const MergedRun& merged,
                            std::uint64_t records, const Judgement& verdict) {
    const Texts texts(shards);
    std::uint64_t interrupted = 0;
    bool all_ended = shards.size() == merged.count;
    for (const ShardRun& shard : shards) {
        all_ended = all_ended && shard.facts.ended;
        for (const RunSegment& segment : shard.facts.segments) {
            interrupted += segment.rows_interrupted;
        }
    }
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    for (JsonValue one = texts.roots.front().first(); one.present(); one = one.next()) {
        const std::string_view key = one.key();
        if (key == "merged") {
            continue;
        }
        json.key(key);
        if (key == "arguments") {
            write_arguments(json, shards.front());
        } else if (key == "records" || key == "shard" || key == "meeting") {
            json.null();
        } else if (key == "segments") {
            write_segments(json, shards.front(), merged.rows, interrupted, one);
        } else if (key == "plan") {
            write_plan(json, shards, merged, texts);
        } else if (key == "calibration") {
            write_calibration(json, texts);
        } else if (key == "end" && all_ended) {
            write_end(json, texts, records, verdict);
        } else if (key == "end") {
            json.null();
        } else {
            json.raw(one.raw());
        }
    }
    write_merged(json, merged);
    json.end_object();
    escape_unprintable_json(text, 0);
    text += '\n';
    return text;
}

}  // namespace driftless
