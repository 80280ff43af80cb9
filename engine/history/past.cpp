#include "engine/history/past.hpp"

#include <algorithm>
#include <limits>

#include "engine/history/run_lines.hpp"
#include "engine/plan/plan.hpp"
#include "proto/run/client_sample.hpp"
#include "proto/run/record.hpp"

namespace driftless {

namespace {

using AddLine = Result<void> (Past::*)(std::string_view);

Result<LineBytes> read_lines(const std::string& path, AddLine add, Past& past, std::string& why) {
    Result<RunLines> lines = RunLines::open(path, why);
    if (!lines) {
        return lines.error();
    }
    while (const auto line = lines.value().next()) {
        if (const Result<void> added = (past.*add)(*line); !added) {
            why = describe_line(path, lines.value().number(), added.error());
            return added.error();
        }
    }
    if (lines.value().error()) {
        why = lines.value().why();
        return *lines.value().error();
    }
    return lines.value().bytes();
}

Result<LineBytes> read_records(const std::string& path, Past& past, std::string& why) {
    Result<RecordFeed> records = RecordFeed::open(path, why);
    if (!records) {
        return records.error();
    }
    RecordFeed& feed = records.value();
    while (const Record* const record = feed.next()) {
        if (const Result<void> added = past.add(*record); !added) {
            why = describe_line(path, feed.number(), added.error());
            return added.error();
        }
    }
    if (feed.error()) {
        why = feed.why().empty() ? describe_line(path, feed.number(), *feed.error()) : feed.why();
        return *feed.error();
    }
    return feed.bytes();
}

}  // namespace

Result<void> Past::add_record(std::string_view line) {
    const Result<Record> record = read_record(document_, line);
    return record ? add(record.value()) : record.error();
}

Result<void> Past::add(const Record& known) {
    if (trace_rows_ > 0 && known.row >= trace_rows_) {
        return Error{ErrorCode::out_of_range, 0, "row"};
    }
    if (segments_ > 0 &&
        known.segment > segments_) {  // the next one settles rows before it is named
        return Error{ErrorCode::out_of_range, 0, "segment"};
    }
    if (!has_users_ && known.pass > 0) {
        return Error{ErrorCode::out_of_range, 0, "pass"};
    }
    const std::uint64_t number = sending_number(known.row, known.pass, known.side);
    // A row that was sent again has a record of each attempt.
    const bool is_first = ended_.insert_or_assign(number, known.ended_ns.has_value()).second;
    if (!is_first && known.attempt == 0) {
        return Error{ErrorCode::exists, 0, "the row already has a record"};
    }
    open_.erase(sending_number(known.row, 0, known.side));
    if (has_users_ && known.fired_ns) {
        std::int64_t& last_ns = last_left_ns_.try_emplace(number, *known.fired_ns).first->second;
        last_ns = std::max(last_ns, *known.fired_ns);
    }
    left_in_[known.segment] += known.fired_ns ? 1 : 0;
    lacks_chunks_ = lacks_chunks_ || (known.outcome == Outcome::ok && !known.has_chunks);
    for (const OptionalNs& stamp : {known.fired_ns, known.ended_ns}) {
        known_ns_ = std::max(known_ns_, stamp.value_or(0));
    }
    summary_.add(known);
    if (closed_) {  // what an answer lacks in content is known too late to hold anybody back
        const bool answered = known.done_ns && known.status == 200;
        rows_[known.row] = {known.fired_ns, known.outcome == Outcome::abandoned ? known.ended_ns
                                            : answered                          ? known.done_ns
                                                                                : std::nullopt};
    }
    return {};
}

std::uint64_t Past::left_before(std::uint32_t segment) const {
    std::uint64_t rows = 0;
    for (auto one = left_in_.begin(); one != left_in_.end() && one->first < segment; ++one) {
        rows += one->second;
    }
    return rows;
}

Result<void> Past::add_fired(std::string_view line) {
    const Result<JsonValue> root = document_.parse(line);
    if (!root) {
        return root.error();
    }
    const auto row = root.value().find("row").as_u64();
    const auto fired_ns = root.value().find("fired_ns").as_i64();
    if (!row || !fired_ns) {
        return Error{ErrorCode::missing, 0, row ? "fired_ns" : "row"};
    }
    if (*row > std::numeric_limits<std::uint32_t>::max()) {
        return Error{ErrorCode::out_of_range, 0, "row"};
    }
    Left left;
    left.fired_ns = *fired_ns;
    left.due_ns = root.value().find("due_ns").as_i64();
    if (const JsonValue cause = root.value().find("late_cause"); cause.present()) {  // not always
        const auto held_ns = root.value().find("held_ns").as_i64();
        const auto named = late_cause_from_name(cause.as_string().value_or(""));
        if (!named || !held_ns) {
            return Error{ErrorCode::out_of_range, 0, named ? "held_ns" : "late_cause"};
        }
        left.held_ns = *held_ns;
        left.late_cause = *named;
    }
    known_ns_ = std::max(known_ns_, *fired_ns);
    const auto pass = root.value().find("pass").as_u64().value_or(0);
    const auto index = static_cast<std::uint32_t>(*row);
    const JsonValue named = root.value().find("side");  // of dual fire alone
    const std::optional<Side> side = side_from_name(named.as_string().value_or(""));
    if (named.present() && !side) {
        return Error{ErrorCode::out_of_range, 0, "side"};
    }
    if (has_users_) {  // a row leaves again in the next pass, or when it has failed
        const auto last =
            last_left_ns_.find(number_in_pass(index, static_cast<std::uint32_t>(pass)));
        users_open_ += last == last_left_ns_.end() || *fired_ns > last->second ? 1 : 0;
        return {};
    }
    const std::uint64_t number = sending_number(index, 0, side.value_or(Side::none));
    if (!ended_.contains(number)) {
        open_[number] = left;
    }
    return {};
}

Result<void> Past::add_sample(std::string_view line) {
    const Result<ClientSample> sample = read_client_sample(document_, line);
    if (!sample) {
        return sample.error();
    }
    known_ns_ = std::max(known_ns_, sample.value().to_ns);
    client_.add(sample.value());
    return {};
}

Result<PastFiles> read_past(const std::string& folder, const std::string& records_path, Past& past,
                            std::string& why) {
    const std::string records = records_path.empty() ? folder + "/requests.jsonl" : records_path;
    PastFiles files;
    const Result<LineBytes> requests = read_records(records, past, why);
    if (!requests) {
        return requests.error();
    }
    files.requests = requests.value();
    const struct {
        std::string path;
        AddLine add;
        LineBytes& bytes;
    } parts[] = {{folder + "/fired.jsonl", &Past::add_fired, files.fired},
                 {folder + "/client.jsonl", &Past::add_sample, files.client}};
    for (const auto& part : parts) {
        const Result<LineBytes> bytes = read_lines(part.path, part.add, past, why);
        if (!bytes) {
            return bytes.error();
        }
        part.bytes = bytes.value();
    }
    return files;
}

std::optional<std::uint64_t> fired_in_all(const RunFacts& facts, const Past& past,
                                          const FiredMarks* marks) {
    if (facts.ended) {
        return facts.rows_fired;
    }
    if (marks == nullptr) {
        return std::nullopt;
    }
    const auto last = static_cast<std::uint32_t>(facts.segments.size() - 1);
    const std::uint64_t in_last = facts.has_users ? marks->requests() : marks->count();
    return past.left_before(last) + in_last;
}

// How many requests users would have sent is not known.
Unrecorded unrecorded_rows(const RunFacts& facts, const Past& past,
                           std::optional<std::uint64_t> fired) {
    if (!facts.has_users && past.records() >= facts.rows) {
        return {};
    }
    Unrecorded unrecorded{past.left_open(), fired.has_value()};
    if (fired) {
        unrecorded.rows = std::max(unrecorded.rows, *fired - std::min(past.left(), *fired));
    }
    if (!facts.has_users) {
        unrecorded.rows = std::min(unrecorded.rows, facts.rows - past.records());
    }
    return unrecorded;
}

}  // namespace driftless
