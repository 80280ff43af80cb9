#include "engine/history/past.hpp"

#include <algorithm>

#include "engine/history/run_lines.hpp"
#include "engine/plan/plan.hpp"
#include "proto/run/client_sample.hpp"
#include "proto/run/record.hpp"

namespace driftless {

namespace {

using AddLine = Result<void> (Past::*)(std::string_view);

}  // namespace

static Result<LineBytes> read_lines(const std::string& path, AddLine add, Past& past,
                                    std::string& why) {
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

static Result<LineBytes> read_records(const std::string& path, Past& past, std::string& why) {
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
    const auto read = read_json_line<FiredRow>(document_, line, "read a row that left");
    if (!read) {
        return read.error();
    }
    const FiredRow& left = read.value();
    known_ns_ = std::max(known_ns_, left.fired_ns);
    if (has_users_) {  // a row leaves again in the next pass, or when it has failed
        const auto last = last_left_ns_.find(number_in_pass(left.row, left.pass.value_or(0)));
        users_open_ += last == last_left_ns_.end() || left.fired_ns > last->second ? 1 : 0;
        return {};
    }
    const std::uint64_t number = sending_number(left.row, 0, left.side.value_or(Side::none));
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
        return facts.end.rows_fired;
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
