#include "engine/plan/plan.hpp"
#include "tests/sim/laws.hpp"
#include "tests/sim/sim_parts.hpp"

namespace driftless::sim {

namespace {

using Unknown = std::optional<std::int64_t>;

Unknown number(JsonValue line, const char* key) {
    return line.find(key).as_i64();
}

std::uint64_t count(JsonValue line, const char* key) {
    return static_cast<std::uint64_t>(number(line, key).value_or(INT64_MAX));
}

std::optional<std::uint64_t> count_or_null(JsonValue line, const char* key) {
    const Unknown value = number(line, key);
    return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

PeriodPercentiles percentiles(JsonValue line, const std::string& name) {
    return {number(line, (name + "_p50_ns").c_str()), number(line, (name + "_p90_ns").c_str()),
            number(line, (name + "_p99_ns").c_str())};
}

Period period_of(JsonValue line) {
    return {.period = count(line, "period"),
            .segment = static_cast<std::uint32_t>(count(line, "segment")),
            .begin_ns = number(line, "begin_ns").value_or(-1),
            .end_ns = number(line, "end_ns").value_or(-1),
            .phase = phase_from_name(line.find("phase").as_string().value_or("")).value(),
            .released = count(line, "released"),
            .ended = count(line, "ended"),
            .unsent = count(line, "unsent"),
            .failed = count(line, "failed"),
            .abandoned = count(line, "abandoned"),
            .censored = count(line, "censored"),
            .in_flight = count(line, "in_flight"),
            .live_trees = count_or_null(line, "live_trees"),
            .users_added = count_or_null(line, "users_added"),
            .first_tokens = count(line, "first_tokens"),
            .input_tokens = number(line, "input_tokens").value_or(0),
            .input_tokens_corrected = number(line, "input_tokens_corrected").value_or(0),
            .output_tokens = number(line, "output_tokens").value_or(0),
            .output_tokens_corrected = number(line, "output_tokens_corrected"),
            .ttft = percentiles(line, "ttft"),
            .ttft_due = percentiles(line, "ttft_due"),
            .tpot = percentiles(line, "tpot"),
            .good = count_or_null(line, "good"),
            .good_least = count_or_null(line, "good_least"),
            .good_most = count_or_null(line, "good_most"),
            .goodput = line.find("goodput").as_double(),
            .expected_cached_tokens = number(line, "expected_cached_tokens"),
            .expected_cached_tokens_reported = number(line, "expected_cached_tokens_reported"),
            .cached_tokens = number(line, "cached_tokens")};
}

/// Empty where the law does not bind the run; it cannot be read: a breach of its own.
std::vector<Period> periods_of(const SimResult& result) {
    return read_periods(result.periods_jsonl).value_or(std::vector<Period>());
}

bool binds(const SimResult& result) {
    return !result.disk_failed && result.ended;
}

std::string line_of(const Period& period) {
    return "period " + std::to_string(period.period) + ": ";
}

/// What all lines, or all records, come to.
using Sums = std::map<std::string, std::int64_t>;

std::int64_t signed_of(std::uint64_t number) {
    return static_cast<std::int64_t>(number);
}

Sums sums_of(const std::vector<Period>& periods) {
    Sums sums;
    for (const Period& one : periods) {
        sums["released"] += signed_of(one.released);
        sums["ended"] += signed_of(one.ended);
        sums["unsent"] += signed_of(one.unsent);
        sums["failed"] += signed_of(one.failed);
        sums["abandoned"] += signed_of(one.abandoned);
        sums["censored"] += signed_of(one.censored);
        sums["first tokens"] += signed_of(one.first_tokens);
        sums["input tokens"] += one.input_tokens;
        sums["output tokens"] += one.output_tokens;
        sums["expected hits"] += one.expected_cached_tokens.value_or(0);
        sums["expected hits of those that report"] +=
            one.expected_cached_tokens_reported.value_or(0);
        sums["hits"] += one.cached_tokens.value_or(0);
        sums["users"] += signed_of(one.users_added.value_or(0));
    }
    return sums;
}

Sums sums_of(const std::vector<Record>& records) {
    Sums sums;
    std::set<std::uint32_t> users;
    for (const Record& one : records) {
        const std::int64_t input =
            one.prompt_tokens.value_or(std::int64_t{one.input_length.value_or(0)});
        sums["released"] += one.fired_ns ? 1 : 0;
        sums["ended"] += 1;
        sums["unsent"] += one.fired_ns ? 0 : 1;
        sums["failed"] += is_failure(one.outcome) ? 1 : 0;
        sums["abandoned"] += one.outcome == Outcome::abandoned ? 1 : 0;
        sums["censored"] += one.censored ? 1 : 0;
        sums["first tokens"] += one.first_token_ns ? 1 : 0;
        sums["input tokens"] += one.last_token_ns ? input : 0;
        sums["output tokens"] += one.output_tokens.value_or(0);
        sums["expected hits"] += one.expected_cached_tokens.value_or(0);
        sums["expected hits of those that report"] +=
            one.cached_tokens ? one.expected_cached_tokens.value_or(0) : 0;
        sums["hits"] += one.cached_tokens.value_or(0);
        if (one.user && one.fired_ns) {
            users.insert(*one.user);
        }
    }
    sums["users"] = signed_of(users.size());
    return sums;
}

bool is_in(const Period& period, std::int64_t at_ns) {
    return period.begin_ns <= at_ns && at_ns < period.end_ns;
}

/// What the stamps of a record put into a period.
struct Came {
    std::int64_t released = 0;
    std::int64_t landed = 0;
    std::int64_t first_tokens = 0;
    std::int64_t output_tokens = 0;

    void add(const Period& period, const Record& record) {
        if (!record.fired_ns) {
            return;
        }
        released += is_in(period, *record.fired_ns) ? 1 : 0;
        first_tokens += record.first_token_ns && is_in(period, *record.first_token_ns) ? 1 : 0;
        output_tokens += std::count_if(
            record.chunk_ns.begin(), record.chunk_ns.end(),
            [&](std::int64_t at_ns) { return is_in(period, *record.fired_ns + at_ns); });
        if (record.ended_ns && is_in(period, *record.ended_ns)) {
            ++landed;
            output_tokens += record.output_tokens.value_or(0) - signed_of(record.chunk_ns.size());
        }
    }
};

/// Answers of the script may say on each chunk how many tokens it has, and then no more: what had
/// been counted by then is not in the record.
bool chunks_count_one(const SimResult& result) {
    const std::set<std::uint32_t> scripted(result.scripted_rows.begin(),
                                           result.scripted_rows.end());
    return std::none_of(result.records.begin(), result.records.end(), [&](const Record& record) {
        return !record.chunk_ns.empty() && scripted.contains(record.row);
    });
}

/// Bytes that waited so long for the client may be told of when their period is over: they count
/// in a later one (periods.hpp).
bool was_told_late(const SimResult& result) {
    return std::any_of(result.records.begin(), result.records.end(), [](const Record& record) {
        return record.receive_delay_ns.value_or(0) >= settle_ns_max;
    });
}

std::string off(const char* what, std::int64_t got, std::int64_t wanted) {
    return std::string(what) + " " + std::to_string(got) + " instead of " + std::to_string(wanted);
}

void periods_follow(const SimResult& result, Breaches& breaches) {
    breaches.unless(read_periods(result.periods_jsonl).has_value() || !binds(result),
                    "a line that does not read back as itself");
    const std::vector<Period> periods = periods_of(result);
    std::int64_t in_flight = 0;
    for (std::size_t i = 0; binds(result) && i < periods.size(); ++i) {
        const Period& one = periods[i];
        const bool is_first = i == 0;
        const bool is_last = i + 1 == periods.size();
        const std::int64_t grid_ns = signed_of(one.period) * result.period_ns;
        const std::int64_t begin_ns =
            is_first && one.segment > 0 ? std::max(grid_ns, result.first_due_ns) : grid_ns;
        breaches.unless(one.begin_ns == begin_ns,
                        line_of(one) + "begins at " + std::to_string(one.begin_ns));
        breaches.unless(
            is_first || one.period == periods[i - 1].period + 1,
            line_of(one) + "is behind " + std::to_string(periods[is_first ? i : i - 1].period));
        breaches.unless(
            one.begin_ns < one.end_ns && (is_last ? one.end_ns <= grid_ns + result.period_ns
                                                  : one.end_ns == grid_ns + result.period_ns),
            line_of(one) + "ends at " + std::to_string(one.end_ns));
        in_flight += signed_of(one.released) - signed_of(one.ended - one.unsent);
        breaches.unless(signed_of(one.in_flight) == in_flight,
                        line_of(one) + off("in flight", signed_of(one.in_flight), in_flight));
        breaches.unless(!is_last || (one.in_flight == 0 && one.live_trees.value_or(0) == 0),
                        line_of(one) + "is the last, and something is still open");
        breaches.unless(result.users.users == 0 || one.live_trees <= result.users.users,
                        line_of(one) + "has more live trees than users");
        breaches.unless(one.good.value_or(0) <= one.ended, line_of(one) + "more good than ended");
        breaches.unless(one.good_least.value_or(0) <= one.good.value_or(0) &&
                            one.good.value_or(0) <= one.good_most.value_or(one.ended),
                        line_of(one) + "good rows outside their bar");
    }
}

void periods_sum_up(const SimResult& result, Breaches& breaches) {
    if (!binds(result)) {
        return;
    }
    const Sums periods = sums_of(periods_of(result));
    for (const auto& [what, wanted] : sums_of(result.records)) {
        const auto got = periods.find(what);
        const std::int64_t sum = got == periods.end() ? 0 : got->second;
        breaches.unless(sum == wanted, off(what.c_str(), sum, wanted));
    }
}

void periods_hold_what_came(const SimResult& result, Breaches& breaches) {
    if (!binds(result) || was_told_late(result)) {
        return;
    }
    const bool counts_one = chunks_count_one(result);
    for (const Period& one : periods_of(result)) {
        Came came;
        for (const Record& record : result.records) {
            came.add(one, record);
        }
        const std::int64_t landed = signed_of(one.ended) - signed_of(one.unsent);
        const auto expect = [&](const char* what, std::int64_t got, std::int64_t wanted) {
            breaches.unless(got == wanted, line_of(one) + off(what, got, wanted));
        };
        expect("released", signed_of(one.released), came.released);
        expect("ended", landed, came.landed);
        expect("first tokens", signed_of(one.first_tokens), came.first_tokens);
        if (counts_one) {
            expect("output tokens", one.output_tokens, came.output_tokens);
        }
    }
}

/// `Retry-After` of the mock's 429.
constexpr std::int64_t mock_asks_for = 1'000'000'000;

bool has_users(const SimResult& result) {
    return result.users.users > 0 && !result.disk_failed;
}

/// No stretch without a request in flight is longer than the cap; from `from_ns` on.
/// No cap shortens a pause, neither that of a turn that is sent again, nor that of a user, before
/// rows that wait for none.
void cap_stretches(std::vector<const Record*> records, std::int64_t from_ns, std::int64_t cap_ns,
                   Breaches& breaches) {
    std::sort(records.begin(), records.end(),
              [](const Record* a, const Record* b) { return a->due_ns < b->due_ns; });
    std::optional<std::int64_t> over_ns;  // nothing that came so far was in flight behind this
    for (const Record* record : records) {
        if (over_ns && record->phase == Phase::profile && record->attempt == 0 &&
            record->parent_end_ns) {
            const std::int64_t idle_ns = record->due_ns - std::max(*over_ns, from_ns);
            breaches.unless(idle_ns <= cap_ns, *record,
                            "was due " + std::to_string(idle_ns) + " ns behind all before it");
        }
        if (!record->ended_ns) {
            return;  // nobody knows
        }
        over_ns = std::max(over_ns.value_or(*record->ended_ns), *record->ended_ns);
    }
}

/// It was not sent, and its due is one of what would have been.
bool is_nominal(const Record& record) {
    return record.outcome == Outcome::not_sent;
}

void warm_up_comes_first(const SimResult& result, Breaches& breaches) {
    if (!has_users(result)) {
        return;
    }
    for (const Record& record : result.records) {
        const bool warms_up = record.phase == Phase::warmup;
        breaches.unless(!warms_up || result.users.start.warms_up(), record, "is of no warm-up");
        if (warms_up && result.measured_from_ns && record.ended_ns) {
            breaches.unless(*record.ended_ns <= *result.measured_from_ns, record,
                            "warmed up when the measurement had begun");
        }
        if (!warms_up && record.fired_ns) {
            breaches.unless(
                result.measured_from_ns.has_value() && record.due_ns >= *result.measured_from_ns,
                record, "was due before the measurement");
        }
    }
}

// A row behind a primer comes as long after it as was recorded, and as much longer as all the
// others: so long the primers took.
void trees_go_on_where_primed(const SimResult& result, Breaches& breaches) {
    const StartRules& start = result.users.start;
    if (!has_users(result) || !start.is_inside() || start.warmup_requests > 0 ||
        result.users.idle.any()) {
        return;
    }
    using InPass = std::pair<std::uint32_t, std::uint32_t>;  // and a row, of a tree or itself
    std::map<InPass, const Record*> primers;                 // [tree]
    const auto tree_of = [&](const Record& record) {
        return InPass(record.pass, result.trees.at(record.row));
    };
    std::set<InPass> sent;
    for (const Record& record : result.records) {
        if (record.phase == Phase::profile) {
            sent.emplace(record.pass, record.row);
        } else if (record.attempt == 0) {
            const bool is_first = primers.try_emplace(tree_of(record), &record).second;
            breaches.unless(is_first, record, "primes a session that has a primer");
        }
    }
    std::set<InPass> waiting;  // for rows that are no primers, as far as they were sent
    for (const Dependency& one : result.dependencies) {
        for (const auto& [pass, row] : sent) {
            if (row == one.on) {
                waiting.emplace(pass, one.row);
            }
        }
    }
    std::optional<std::int64_t> later_ns;
    for (const Record& record : result.records) {
        const auto primer = primers.find(tree_of(record));
        if (primer == primers.end() || record.phase != Phase::profile || record.attempt > 0) {
            continue;
        }
        const Record& before = *primer->second;
        breaches.unless(result.recorded_ns.at(record.row) >= result.recorded_ns.at(before.row),
                        record, "was recorded before the primer of its tree");
        if (waiting.contains({record.pass, record.row}) || is_nominal(record)) {
            continue;
        }
        const std::int64_t behind_ns =
            (record.due_ns - before.due_ns) -
            (result.recorded_ns.at(record.row) - result.recorded_ns.at(before.row));
        later_ns = later_ns.value_or(behind_ns);
        breaches.unless(behind_ns == *later_ns && behind_ns >= 0, record,
                        "goes on " + std::to_string(behind_ns - *later_ns) +
                            " ns later than others behind their primers");
    }
}

void idle_time_is_capped(const SimResult& result, Breaches& breaches) {
    const IdleCaps& caps = result.users.idle;
    if (!has_users(result) || result.stopped || !result.measured_from_ns) {
        return;
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const Record*>> trees;
    std::vector<const Record*> all;
    for (const Record& record : result.records) {
        if (!is_nominal(record) || record.ended_ns) {
            trees[{record.pass, result.trees.at(record.row)}].push_back(&record);
            all.push_back(&record);
        }
    }
    for (const auto& [tree, records] : trees) {
        if (caps.tree_ns) {
            cap_stretches(records, *result.measured_from_ns, *caps.tree_ns, breaches);
        }
    }
    // While a writer that comes too seldom holds words back nothing is moved.
    if (caps.system_ns && !result.live) {
        cap_stretches(all, *result.measured_from_ns, *caps.system_ns, breaches);
    }
}

void failed_turns_are_sent_again(const SimResult& result, Breaches& breaches) {
    if (!has_users(result)) {
        return;
    }
    const FailureRules& rules = result.users.failures;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const Record*>> tries;
    for (const Record& record : result.records) {
        tries[{record.pass, record.row}].push_back(&record);
    }
    for (auto& [row, all] : tries) {
        std::sort(all.begin(), all.end(),
                  [](const Record* a, const Record* b) { return a->attempt < b->attempt; });
        for (std::size_t i = 0; i < all.size(); ++i) {
            const Record& one = *all[i];
            breaches.unless(one.attempt == i, one, "has an attempt twice, or lacks one");
            const bool is_again =
                one.attempt < rules.retries_max ||
                (rules.waits_for_429 && one.status == 429 && one.attempt < Due::attempts_max);
            const bool fails = !is_answered(one) && one.outcome != Outcome::not_sent;
            if (i + 1 < all.size()) {
                const std::int64_t again_ns = all[i + 1]->due_ns;
                breaches.unless(fails && is_again, one, "was sent again without a cause");
                const bool asked = rules.waits_for_429 && one.status == 429;
                const std::int64_t last_ns =
                    one.ended_ns.value_or(0) +
                    (asked ? mock_asks_for : failure_pause_ns(one.attempt + 1));
                breaches.unless(again_ns == last_ns, one,
                                "was not sent again when its pause was over");
            } else if (!result.stopped && !result.users.for_ns) {
                breaches.unless(!fails || !is_again, one, "failed and was not sent again");
            }
        }
    }
}

// fired.jsonl is what a killed run would be judged by, where the disk has room for it.
void fired_says_who_left(const SimResult& result, Breaches& breaches) {
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
}

// Of dual fire, a mark for each side: a row that left to one of them alone has one.
void marks_say_which_side_left(const SimResult& result, Breaches& breaches) {
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
}

// So are its marks: what a server has seen has one, and what has one was fired.
void marks_say_who_left(const SimResult& result, Breaches& breaches) {
    if (result.dual) {
        return marks_say_which_side_left(result, breaches);
    }
    const std::set<std::uint32_t> marked(result.marked.begin(), result.marked.end());
    for (const auto& [row, truth] : result.truth) {
        breaches.unless(marked.contains(row), "row " + std::to_string(row) + " left unmarked");
    }
    if (result.disk_failed && rows_repeat(result.users)) {
        return;  // the record of the try that left may be among those that were lost
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
}

/// Tokens that the prompts have in common at their beginnings.
std::uint32_t shared(const SimPrompt& a, const SimPrompt& b, const SimPrompts& prompts) {
    if (a.name_space != b.name_space || a.ids.empty() || b.ids.empty()) {
        return 0;
    }
    std::size_t same = 0;
    while (same < std::min(a.ids.size(), b.ids.size()) && a.ids[same] == b.ids[same]) {
        ++same;
    }
    const auto words = [&prompts](const SimPrompt& one) {
        const std::uint32_t least = prompts.pre + 1 + prompts.post;
        return std::max(one.input_length, least) - prompts.post;
    };
    const std::uint64_t named = same * std::uint64_t{prompts.block_size};
    if (words(a) == words(b) && named >= words(a)) {
        return words(a) + prompts.post;  // all of it, with what stands behind
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>({named, words(a), words(b)}));
}

std::int64_t expected_of(const SimPrompt& own, std::uint32_t most, const SimPrompts& prompts) {
    const std::uint32_t size = prompts.block_size;
    const auto ids = static_cast<std::uint32_t>(own.ids.size());
    return std::int64_t{std::min({most / size, ids, (own.input_length - 1) / size})} * size;
}

/// Those that left, in that order, with their records.
std::vector<const Record*> in_order(const SimResult& result) {
    std::map<std::string, const Record*, std::less<>> by_line;
    for (const Record& record : result.records) {
        by_line[fired_line(record)] = &record;
    }
    std::vector<const Record*> order;
    for (std::string_view left = result.fired_jsonl; !left.empty();) {
        const std::size_t end = left.find('\n');
        const auto record = by_line.find(left.substr(0, end));
        if (record != by_line.end()) {
            order.push_back(record->second);
        }
        left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    }
    return order;
}

void hits_go_by_the_run(const SimResult& result, Breaches& breaches) {
    const SimPrompts& prompts = result.prompts;
    if (prompts.of_row.empty() || result.disk_failed || result.live) {  // words have no blocks
        return;
    }
    std::map<std::uint32_t, std::vector<const SimPrompt*>> sent;  // [pass]
    for (const std::uint32_t row : prompts.sent_before) {
        sent[0].push_back(&prompts.of_row.at(row));
    }
    for (const Record& record : result.records) {
        breaches.unless(record.fired_ns || !record.expected_cached_tokens, record,
                        "did not leave, and expects hits");
    }
    for (const Record* const record : in_order(result)) {
        const SimPrompt& own = prompts.of_row.at(record->row);
        std::uint32_t most = 0;
        for (const SimPrompt* const before : sent[record->pass]) {
            most = std::max(most, shared(own, *before, prompts));
        }
        const std::int64_t wanted = expected_of(own, most, prompts);
        const std::int64_t got = record->expected_cached_tokens.value_or(-1);
        breaches.unless(got == wanted, *record,
                        "expects " + std::to_string(got) + " cached tokens instead of " +
                            std::to_string(wanted));
        sent[record->pass].push_back(&own);
    }
}

constexpr Law laws_of_periods_all[] = {
    {"periods follow one another", periods_follow},
    {"periods sum up", periods_sum_up},
    {"periods hold what came in them", periods_hold_what_came},
    {"the warm-up comes first", warm_up_comes_first},
    {"trees go on where they were primed", trees_go_on_where_primed},
    {"idle time is capped", idle_time_is_capped},
    {"failed turns are sent again", failed_turns_are_sent_again},
    {"fired.jsonl says who left", fired_says_who_left},
    {"marks say who left", marks_say_who_left},
    {"hits are expected in the order of the run", hits_go_by_the_run},
};

}  // namespace

std::span<const Law> laws_of_periods() {
    return laws_of_periods_all;
}

std::optional<std::vector<Period>> read_periods(std::string_view lines) {
    std::vector<Period> periods;
    JsonDocument document;
    while (!lines.empty()) {  // ends: each line takes a byte at least
        const std::string_view line = lines.substr(0, lines.find('\n') + 1);
        const Result<JsonValue> root = document.parse(line);
        if (line.empty() || !root) {
            return std::nullopt;
        }
        std::string again;
        append_period(again, periods.emplace_back(period_of(root.value())));
        if (again != line) {
            return std::nullopt;
        }
        lines.remove_prefix(line.size());
    }
    return periods;
}

}  // namespace driftless::sim
