#include "tests/sim/killed_laws.hpp"

namespace driftless::sim {

namespace {

using Rows = std::set<std::uint32_t>;

/// Rows that a server has begun to read, or that the engine let go.
Rows seen_of(const SimResult& result) {
    Rows seen = result.left;
    for (const auto& [row, truth] : result.truth) {
        seen.insert(row);
    }
    seen.insert(result.scripted_rows.begin(), result.scripted_rows.end());
    return seen;
}

/// The life that a row's record is of: the last one that had to do with it.
const Life* last_life_of(const KilledRun& run, std::uint32_t row) {
    const auto found = std::find_if(run.lives.rbegin(), run.lives.rend(), [&](const Life& life) {
        return life.planned.contains(row) || life.given_up.contains(row) ||
               life.dropped.contains(row);
    });
    return found == run.lives.rend() ? nullptr : &*found;
}

bool ended(const KilledRun& run) {
    return run.lives.back().result.ended && !run.lives.back().result.disk_failed;
}

void prefixes_can_be_read(const KilledRun& run, Breaches& breaches) {
    breaches.unless(run.why_unreadable.empty(), run.why_unreadable);
}

void one_record_in_the_end(const KilledRun& run, Breaches& breaches) {
    std::map<std::uint32_t, std::uint32_t> records;
    for (const Record& record : run.records) {
        breaches.unless(++records[record.row] == 1, record, "has two records");
        breaches.unless(run.due_ns.contains(record.row), record, "is not in the plan");
    }
    for (const auto& [row, due_ns] : run.due_ns) {
        breaches.unless(records.contains(row), row, "has no record");
    }
}

void records_stay(const KilledRun& run, Breaches& breaches) {
    for (const Life& life : run.lives) {
        breaches.unless(run.jsonl.starts_with(life.found) || life.lines_lost,
                        "what segment " + std::to_string(life.number) + " found has changed");
    }
}

void nothing_twice(const KilledRun& run, Breaches& breaches) {
    std::map<std::uint32_t, bool> seen;  // [row] a resumption since could not know of it
    for (const Life& life : run.lives) {
        for (auto& [row, unknown] : seen) {
            unknown = unknown || !life.certain;
        }
        for (const std::uint32_t row : seen_of(life.result)) {
            const auto before = seen.find(row);
            breaches.unless(before == seen.end() || before->second || life.resend, row,
                            "is sent again in segment " + std::to_string(life.number));
        }
        for (const std::uint32_t row : seen_of(life.result)) {
            seen[row] = false;
        }
    }
}

// With its marks a resumption gives up what has left, or was about to, and nothing else.
void given_up_had_left(const KilledRun& run, Breaches& breaches) {
    Rows left;
    for (const Life& life : run.lives) {
        for (const std::uint32_t row : life.given_up) {
            breaches.unless(!life.marks || left.contains(row), row,
                            "is interrupted and had never left");
        }
        left.merge(seen_of(life.result));
        left.insert(life.result.marked.begin(), life.result.marked.end());
        left.insert(life.again.begin(), life.again.end());
    }
}

void resend_sends_all(const KilledRun& run, Breaches& breaches) {
    for (const Life& life : run.lives) {
        breaches.unless(!life.resend || life.given_up.empty(),
                        "segment " + std::to_string(life.number) + " gave up rows");
    }
    for (const Record& record : run.records) {
        const Life* const life = last_life_of(run, record.row);
        const bool given_up = life != nullptr && life->given_up.contains(record.row);
        breaches.unless((record.outcome == Outcome::interrupted) == given_up, record,
                        "is interrupted, or was given up, but not both");
    }
}

void due_times_stay(const KilledRun& run, Breaches& breaches) {
    Rows waiting;  // they are due when others let them go
    for (const Dependency& one : run.dependencies) {
        waiting.insert(one.row);
    }
    for (const Record& record : run.records) {
        const auto due =
            waiting.contains(record.row) ? run.due_ns.end() : run.due_ns.find(record.row);
        breaches.unless(due == run.due_ns.end() || due->second == record.due_ns, record,
                        "is due at another time");
    }
}

void segments_are_right(const KilledRun& run, Breaches& breaches) {
    for (const Record& record : run.records) {
        const Life* const life = last_life_of(run, record.row);
        const bool lost = record.outcome == Outcome::interrupted;
        const std::uint32_t segment = life == nullptr ? 0 : life->number - (lost ? 1 : 0);
        breaches.unless(
            record.segment == segment, record,
            "is of segment " + std::to_string(record.segment) + ", not " + std::to_string(segment));
    }
}

// Marks of a segment: what it fired, and what it was to send again. Who dies over a row that is
// about to leave has marked that one, too.
void marks_outlive(const KilledRun& run, Breaches& breaches) {
    for (const Life& life : run.lives) {
        const Rows marked(life.result.marked.begin(), life.result.marked.end());
        Rows wanted = life.result.stood ? life.again : Rows();
        wanted.merge(seen_of(life.result));
        int ahead = life.result.in_turn ? 1 : 0;
        for (const std::uint32_t row : marked) {
            const bool known = wanted.erase(row) > 0 || ahead-- > 0;
            breaches.unless(known, row, "has a mark and had not left");
        }
        for (const std::uint32_t row : wanted) {
            breaches.unless(false, row, "had left and has no mark");
        }
    }
}

// Only the end of a host takes the marks of a segment away, as long as a row has no record.
void marks_are_found(const KilledRun& run, Breaches& breaches) {
    for (const Life& life : run.lives) {
        const bool needed = !life.planned.empty() || !life.given_up.empty();
        breaches.unless(life.marks || life.host_died || !needed,
                        "segment " + std::to_string(life.number) + " finds no marks");
    }
}

// Who left is written before who ended.
void ends_had_beginnings(const KilledRun& run, Breaches& breaches) {
    JsonDocument document;
    for (const Life& life : run.lives) {
        std::string_view rest = life.lines_lost ? std::string_view() : life.found;
        while (!rest.empty()) {  // ends: a line has a byte
            const std::size_t end = rest.find('\n');
            const Result<Record> record = read_record(document, rest.substr(0, end));
            rest.remove_prefix(end + 1);
            if (record && record.value().fired_ns) {
                const std::string line = fired_line(record.value()) + "\n";
                breaches.unless(life.found_fired.find(line) != std::string::npos, record.value(),
                                "has ended and is not in fired.jsonl");
            }
        }
    }
}

void summary_is_of_the_files(const KilledRun& run, Breaches& breaches) {
    const std::string& live = run.lives.back().result.summary;
    breaches.unless(!ended(run) || live == run.rebuilt,
                    "of the writer:\n" + live + "of the files:\n" + run.rebuilt);
}

constexpr KilledLaw all_laws[] = {
    {"prefixes can be read", prefixes_can_be_read},
    {"one record in the end", one_record_in_the_end},
    {"records stay", records_stay},
    {"nothing is sent twice", nothing_twice},
    {"what is given up had left", given_up_had_left},
    {"what is asked for is sent again", resend_sends_all},
    {"due times stay", due_times_stay},
    {"segments are right", segments_are_right},
    {"marks outlive", marks_outlive},
    {"marks are found", marks_are_found},
    {"who ended is known to have left", ends_had_beginnings},
    {"the summary is of the files", summary_is_of_the_files},
    {"turns wait over segments", turns_wait_over_segments},
    {"no release is lost over segments", no_release_is_lost_over_segments},
    {"failures end trees over segments", failures_end_trees_over_segments},
    {"overtaken is what the instants say over segments", overtaken_is_true_over_segments},
};

}  // namespace

std::span<const KilledLaw> killed_laws() {
    return all_laws;
}

std::string broken_laws(const KilledRun& run) {
    const Life& last = run.lives.back();
    return broken_of(killed_laws(), run) +
           (ended(run) && !last.planned.empty() ? broken_laws(last.result) : "");
}

namespace {

std::string_view whole_lines(std::string_view text) {
    return text.substr(0, text.rfind('\n') + 1);
}

std::uint64_t torn_of(std::string_view text) {
    return text.size() - whole_lines(text).size();
}

std::uint64_t left_of(const std::vector<Record>& records) {
    return static_cast<std::uint64_t>(
        std::count_if(records.begin(), records.end(),
                      [](const Record& record) { return record.fired_ns.has_value(); }));
}

void report_can_read(const KilledUsers& run, Breaches& breaches) {
    const FilesOfRun& files = run.files;
    const std::uint64_t torn =
        torn_of(files.requests) + torn_of(files.fired) + torn_of(files.client);
    breaches.unless(run.why_unreadable.empty(), run.why_unreadable);
    breaches.unless(torn == run.torn_bytes, "torn bytes: " + of(run.torn_bytes, torn));
}

// Whatever had been written by then, and nothing else: a kill changes no line.
void lines_are_the_runs(const KilledUsers& run, Breaches& breaches) {
    const std::pair<const char*, std::string FilesOfRun::*> all[] = {
        {"requests.jsonl", &FilesOfRun::requests},
        {"fired.jsonl", &FilesOfRun::fired},
        {"client.jsonl", &FilesOfRun::client},
        {"periods.jsonl", &FilesOfRun::periods}};
    for (const auto& [name, file] : all) {
        breaches.unless((run.whole_files.*file).starts_with(run.files.*file),
                        std::string(name) + " is not how the file of the whole run begins");
    }
}

void one_record_per_request(const KilledUsers& run, Breaches& breaches) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> attempts;
    for (const Record& record : run.records) {
        std::uint32_t& next = attempts[{record.pass, record.row}];
        breaches.unless(record.attempt == next, record, "has an attempt twice, or lacks one");
        ++next;
    }
}

void records_are_of_what_left(const KilledUsers& run, Breaches& breaches) {
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t>> sent;
    for (const SentRequest& one : run.died.sent) {
        sent.emplace(one.row, one.pass, one.attempt, one.fired_ns);
    }
    for (const Record& record : run.records) {
        const bool left = record.fired_ns && sent.contains({record.row, record.pass, record.attempt,
                                                            *record.fired_ns});
        breaches.unless(!record.fired_ns || left, record, "has not left then");
    }
}

// Who left is written before who ended.
void ends_had_beginnings(const KilledUsers& run, Breaches& breaches) {
    for (const Record& record : run.records) {
        breaches.unless(!record.fired_ns || run.host_died ||
                            run.files.fired.find(fired_line(record) + "\n") != std::string::npos,
                        record, "has ended and is not in fired.jsonl");
    }
}

// By the marks each of them is known. Who dies over one that is about to leave has counted it.
void marks_count_what_left(const KilledUsers& run, Breaches& breaches) {
    const std::uint64_t sent = run.died.sent.size();
    const std::uint64_t marked = run.died.requests_marked;
    const std::uint64_t ahead = run.died.in_turn ? 1 : 0;
    breaches.unless(marked >= sent && marked <= sent + ahead, "requests: " + of(marked, sent));
}

// What left and has no record is counted, or is known not to be. Marks go when all have one.
void losses_are_known(const KilledUsers& run, Breaches& breaches) {
    const std::uint64_t lost = run.died.sent.size() - left_of(run.records);
    const std::uint64_t ahead = run.died.in_turn ? 1 : 0;
    breaches.unless(run.marks || run.host_died || lost == 0, "marks are gone");
    breaches.unless(run.lost.all_known == run.marks, "what is lost is known, or not");
    breaches.unless(run.lost.rows <= lost + ahead && (run.lost.rows >= lost || !run.marks),
                    "lost requests: " + of(run.lost.rows, lost));
}

// Without marks they are what is known.
void open_requests_are_counted(const KilledUsers& run, Breaches& breaches) {
    std::set<std::string> ended;
    for (const Record& record : run.records) {
        ended.insert(fired_line(record));
    }
    std::uint64_t open = 0;
    for (std::string_view rest = whole_lines(run.files.fired); !rest.empty();) {
        const std::size_t end = rest.find('\n');
        open += ended.contains(std::string(rest.substr(0, end))) ? 0 : 1;
        rest.remove_prefix(end + 1);
    }
    breaches.unless(run.left_open == open, of(run.left_open, open));
}

/// Nearest rank, of whatever order.
double percentile(std::vector<double> values, std::uint64_t per_mille) {
    std::sort(values.begin(), values.end());
    const std::size_t rank = (values.size() * per_mille + 999) / 1000;
    return values.empty() ? 0 : values[std::max<std::size_t>(rank, 1) - 1];
}

/// The sums of a summary, added up here in another way.
struct Sums {
    std::uint64_t rows = 0, fired = 0, retries = 0, warm_up = 0, completed = 0, censored = 0;
    std::uint64_t input = 0, output = 0;
    std::set<std::uint32_t> users;
    std::vector<double> ttft;
};

Sums sums_of(const std::vector<Record>& records) {
    Sums sums;
    for (const Record& one : records) {
        if (one.phase == Phase::warmup) {
            ++sums.warm_up;
            continue;
        }
        ++sums.rows;
        sums.fired += one.fired_ns ? 1 : 0;
        sums.retries += one.fired_ns && one.attempt > 0 ? 1 : 0;
        sums.censored += one.censored ? 1 : 0;
        if (one.user && one.fired_ns) {
            sums.users.insert(*one.user);
        }
        if (one.outcome == Outcome::ok) {
            ++sums.completed;
            sums.input += static_cast<std::uint64_t>(
                one.prompt_tokens.value_or(std::int64_t{one.input_length.value_or(0)}));
            sums.output += static_cast<std::uint64_t>(one.output_tokens.value_or(0));
        }
        if (counts_ttft(one.outcome) && one.ttft_ns) {
            sums.ttft.push_back(static_cast<double>(*one.ttft_ns));
        }
    }
    return sums;
}

void figures_are_of_the_lines(const KilledUsers& run, Breaches& breaches) {
    const Sums sums = sums_of(run.records);
    const SummaryFigures& f = run.figures;
    const std::tuple<const char*, std::uint64_t, std::uint64_t> all[] = {
        {"rows", f.rows, sums.rows},
        {"fired", f.fired, sums.fired},
        {"retries", f.retries, sums.retries},
        {"of the warm-up", f.warmup_rows, sums.warm_up},
        {"completed", f.completed, sums.completed},
        {"censored", f.censored, sums.censored},
        {"input tokens", f.input_tokens, sums.input},
        {"output tokens", f.output_tokens, sums.output},
        {"users", f.phase.users, sums.users.size()},
        {"ttft", f.ttft.count, sums.ttft.size()}};
    for (const auto& [what, got, wanted] : all) {
        breaches.unless(got == wanted, std::string(what) + ": " + of(got, wanted));
    }
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        breaches.unless(f.ttft.at[i] == percentile(sums.ttft, percentiles[i].per_mille),
                        std::string("ttft at ") + percentiles[i].name);
    }
}

constexpr KilledUsersLaw users_laws[] = {
    {"report can read what is left", report_can_read},
    {"lines are those of the run", lines_are_the_runs},
    {"one record per request", one_record_per_request},
    {"records are of what left", records_are_of_what_left},
    {"who ended is known to have left", ends_had_beginnings},
    {"marks count what left", marks_count_what_left},
    {"losses are known", losses_are_known},
    {"open requests are counted", open_requests_are_counted},
    {"figures are of the lines", figures_are_of_the_lines},
};

}  // namespace

std::span<const KilledUsersLaw> killed_users_laws() {
    return users_laws;
}

std::string broken_laws(const KilledUsers& run) {
    return broken_laws(run.whole) + (run.died.stood ? broken_of(killed_users_laws(), run) : "");
}

}  // namespace driftless::sim
