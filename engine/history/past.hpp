/// What a run has written so far, read back from its files, and how many requests it lacks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/history/fired_marks.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/history/run_lines.hpp"
#include "engine/plan/plan.hpp"
#include "proto/core/errors.hpp"
#include "proto/figures/summary.hpp"
#include "proto/figures/taint.hpp"
#include "proto/json/document.hpp"
#include "proto/run/period.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// Past: what a run has written so far, read back from its files: every record, every row that
// left, every second of the client. It owns its sums and writes nothing.
//
// A killed process leaves whole lines and at most one torn one at the end of each file, which is
// counted and left alone. Anything else that cannot be read is an error with file, line and key.

class Past {
  public:
    explicit Past(const RunFacts& facts)
        : closed_(facts.info.run.sessions == "closed"),
          has_users_(facts.has_users),
          trace_rows_(facts.info.run.trace_rows),
          segments_(facts.info.merged ? 0 : facts.segments.size()),
          summary_(facts.goodput, facts.largest_overhead(), facts.shard_role()) {}

    // One line each, without its newline. Errors: bad_json, missing, out_of_range; exists, where
    // the row has a record already. `doing` is the key or says what is wrong.
    Result<void> add_record(std::string_view line);
    /// The same of a line that was parsed.
    Result<void> add(const Record& record);
    Result<void> add_fired(std::string_view line);
    Result<void> add_sample(std::string_view line);

    const Summary& summary() const { return summary_; }
    const ClientTotals& client() const { return client_; }
    std::uint64_t records() const { return ended_.size(); }
    /// Rows with a record that left, and those of them whose record is of a segment before this.
    std::uint64_t left() const { return left_before(UINT32_MAX); }
    std::uint64_t left_before(std::uint32_t segment) const;
    bool has_record(std::uint32_t row, Side side = Side::none) const {
        return ended_.contains(sending_number(row, 0, side));
    }
    /// The rows with a record, by `sending_number`.
    const RowEnds& ends() const { return ended_; }
    /// Rows that left and have no record, where there are no users: how they left, the last time.
    /// By `sending_number`.
    const std::map<std::uint64_t, FiredRow>& open() const { return open_; }
    /// Requests that left and have no record, as far as fired.jsonl tells: with users, too.
    std::uint64_t left_open() const { return has_users_ ? users_open_ : open_.size(); }
    /// The latest instant that any line speaks of; 0 where nothing had happened yet.
    std::int64_t known_ns() const { return known_ns_; }
    /// A record came without its chunks (`--chunks none`): gaps between tokens are not known.
    bool lacks_chunks() const { return lacks_chunks_; }
    /// `--sessions closed`: the rows with a record, for those that wait for them; else none.
    const EarlierRows& rows() const { return rows_; }

  private:
    bool closed_;
    bool has_users_;
    std::uint64_t trace_rows_;  ///< 0: not known
    std::size_t segments_;      ///< 0: those of each shard
    EarlierRows rows_;
    Summary summary_;
    ClientTotals client_;
    RowEnds ended_;
    std::map<std::uint64_t, FiredRow> open_;  ///< without users
    std::uint64_t users_open_ = 0;
    /// With users: when a row left for the last time, of its tries that have a record, by
    /// `number_in_pass`.
    std::unordered_map<std::uint64_t, std::int64_t> last_left_ns_;
    std::map<std::uint32_t, std::uint64_t> left_in_;  ///< by segment: rows with a record
    std::int64_t known_ns_ = 0;
    bool lacks_chunks_ = false;
    JsonDocument document_;
};

/// The files of a run, read whole. A file that is not there has no lines.
struct PastFiles {
    LineBytes requests;
    LineBytes fired;
    LineBytes client;
};
/// Feeds `past` from the files in `folder`, and those of the records at `records_path` where that
/// is not empty. Where it fails, `why` says file, line and what is wrong.
Result<PastFiles> read_past(const std::string& folder, const std::string& records_path, Past& past,
                            std::string& why);

/// Unrecorded: how many requests of a run left and have no record, by whoever knows of them. Pure.
///
/// The files of a run that was killed lack what was not written yet, in fired.jsonl as well. How
/// many requests it had sent is in its books (run.json) where it ended, else in its marks.
struct Unrecorded {
    std::uint64_t rows = 0;  ///< their requests; where there are no users, each has one
    bool all_known = true;   ///< false: more may have left, and their number is not known
};

/// Requests that left in all segments, by the books of a run, or by the marks of its last segment
/// where it did not close them (null: they are gone); nothing where it is not known.
std::optional<std::uint64_t> fired_in_all(const RunFacts& facts, const Past& past,
                                          const FiredMarks* marks);

/// `fired`: what `fired_in_all` has found.
Unrecorded unrecorded_rows(const RunFacts& facts, const Past& past,
                           std::optional<std::uint64_t> fired);

}  // namespace driftless
