#include "tests/sim/laws_of_marks.hpp"

#include <set>

#include "engine/plan/plan.hpp"
#include "tests/sim/breaches.hpp"
#include "tests/sim/laws.hpp"
#include "tests/sim/sim_parts.hpp"

namespace driftless::sim {

// fired.jsonl is what a killed run would be judged by, where the disk has room for it.
std::string fired_says_who_left(const SimResult& result) {
    Breaches breaches;
    std::set<std::string> lines;
    for (std::string_view rest = result.fired_jsonl; !rest.empty();) {
        const std::size_t end = rest.find('\n');
        lines.emplace(rest.substr(0, end));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    std::size_t fired = 0;
    for (const Record& record : result.records) {
        fired += record.fired_ns ? 1 : 0;
        breaches.unless(
            !record.fired_ns || result.disk_failed || lines.contains(fired_line(record)), record,
            "left and is not in fired.jsonl");
    }
    breaches.unless(result.disk_failed || fired == lines.size(),
                    "lines of fired.jsonl: " + of(lines.size(), fired));
    return breaches.text();
}

namespace {

// Of dual fire, a mark for each side: a row that left to one of them alone has one.
std::string marks_say_which_side_left(const SimResult& result) {
    Breaches breaches;
    std::set<std::uint64_t> left;
    for (const Record& record : result.records) {
        const std::uint64_t number = sending_number(record.row, 0, record.side);
        breaches.unless(result.marks.contains(number) == record.fired_ns.has_value(), record,
                        "has a mark, or was fired, but not both");
        left.insert(number);
    }
    std::size_t unknown = 0;
    for (const std::uint64_t number : result.marks) {
        unknown += left.contains(number) ? 0 : 1;
    }
    breaches.unless(result.disk_failed || unknown == 0, "marks without a record");
    breaches.unless(result.sent.size() == result.requests_marked,
                    "requests by the marks: " + of(result.requests_marked, result.sent.size()));
    return breaches.text();
}

}  // namespace

// So are its marks: what a server has seen has one, and what has one was fired.
std::string marks_say_who_left(const SimResult& result) {
    if (result.dual) {
        return marks_say_which_side_left(result);
    }
    Breaches breaches;
    const std::set<std::uint32_t> marked(result.marked.begin(), result.marked.end());
    for (const auto& [row, truth] : result.truth) {
        breaches.unless(marked.contains(row), "row " + std::to_string(row) + " left unmarked");
    }
    if (result.disk_failed && rows_repeat(result.users)) {
        return "";  // the record of the try that left may be among those that were lost
    }
    std::set<std::uint32_t> fired;  // by any of their records
    for (const Record& record : result.records) {
        if (record.fired_ns) {
            fired.insert(record.row);
        }
    }
    std::set<std::uint32_t> wanted;
    for (const Record& record : result.records) {
        const bool left = fired.contains(record.row) || result.again.contains(record.row);
        if (left) {
            wanted.insert(record.row);
        }
        breaches.unless(marked.contains(record.row) == left, record,
                        "has a mark, or was fired, but not both");
    }
    breaches.unless(result.disk_failed || wanted.size() == marked.size(),
                    "marks: " + of(marked.size(), wanted.size()));
    breaches.unless(result.sent.size() == result.requests_marked,
                    "requests by the marks: " + of(result.requests_marked, result.sent.size()));
    return breaches.text();
}

}  // namespace driftless::sim
