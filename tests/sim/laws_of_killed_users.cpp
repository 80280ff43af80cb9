#include "tests/sim/laws_of_killed_users.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "tests/sim/breaches.hpp"
#include "tests/sim/laws.hpp"

namespace driftless::sim {

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

std::string report_can_read(const KilledUsers& run) {
    const FilesOfRun& files = run.files;
    const std::uint64_t torn =
        torn_of(files.requests) + torn_of(files.fired) + torn_of(files.client);
    return !run.why_unreadable.empty()
               ? run.why_unreadable
               : only(torn == run.torn_bytes, "torn bytes: " + of(run.torn_bytes, torn));
}

// Whatever had been written by then, and nothing else: a kill changes no line.
std::string lines_are_the_runs(const KilledUsers& run) {
    Breaches breaches;
    const std::pair<const char*, std::string FilesOfRun::*> all[] = {
        {"requests.jsonl", &FilesOfRun::requests},
        {"fired.jsonl", &FilesOfRun::fired},
        {"client.jsonl", &FilesOfRun::client},
        {"periods.jsonl", &FilesOfRun::periods}};
    for (const auto& [name, file] : all) {
        breaches.unless((run.whole_files.*file).starts_with(run.files.*file),
                        std::string(name) + " is not how the file of the whole run begins");
    }
    return breaches.text();
}

std::string one_record_per_request(const KilledUsers& run) {
    Breaches breaches;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> attempts;
    for (const Record& record : run.records) {
        std::uint32_t& next = attempts[{record.pass, record.row}];
        breaches.unless(record.attempt == next, record, "has an attempt twice, or lacks one");
        ++next;
    }
    return breaches.text();
}

std::string records_are_of_what_left(const KilledUsers& run) {
    Breaches breaches;
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t>> sent;
    for (const SentRequest& one : run.died.sent) {
        sent.emplace(one.row, one.pass, one.attempt, one.fired_ns);
    }
    for (const Record& record : run.records) {
        const bool left = record.fired_ns && sent.contains({record.row, record.pass, record.attempt,
                                                            *record.fired_ns});
        breaches.unless(!record.fired_ns || left, record, "has not left then");
    }
    return breaches.text();
}

// Who left is written before who ended.
std::string ends_had_beginnings(const KilledUsers& run) {
    Breaches breaches;
    for (const Record& record : run.records) {
        breaches.unless(!record.fired_ns || run.host_died ||
                            run.files.fired.find(fired_line(record) + "\n") != std::string::npos,
                        record, "has ended and is not in fired.jsonl");
    }
    return breaches.text();
}

// By the marks each of them is known. Who dies over one that is about to leave has counted it.
std::string marks_count_what_left(const KilledUsers& run) {
    const std::uint64_t sent = run.died.sent.size();
    const std::uint64_t marked = run.died.requests_marked;
    const std::uint64_t ahead = run.died.in_turn ? 1 : 0;
    return only(marked >= sent && marked <= sent + ahead, "requests: " + of(marked, sent));
}

// What left and has no record is counted, or is known not to be. Marks go when all have one.
std::string losses_are_known(const KilledUsers& run) {
    Breaches breaches;
    const std::uint64_t lost = run.died.sent.size() - left_of(run.records);
    const std::uint64_t ahead = run.died.in_turn ? 1 : 0;
    breaches.unless(run.marks || run.host_died || lost == 0, "marks are gone");
    breaches.unless(run.lost.all_known == run.marks, "what is lost is known, or not");
    breaches.unless(run.lost.rows <= lost + ahead && (run.lost.rows >= lost || !run.marks),
                    "lost requests: " + of(run.lost.rows, lost));
    return breaches.text();
}

// Without marks they are what is known.
std::string open_requests_are_counted(const KilledUsers& run) {
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
    return only(run.left_open == open, of(run.left_open, open));
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

std::string figures_are_of_the_lines(const KilledUsers& run) {
    Breaches breaches;
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
    return breaches.text();
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
    std::string broken = broken_laws(run.whole);
    if (!run.died.stood) {
        return broken;
    }
    for (const KilledUsersLaw& law : killed_users_laws()) {
        const std::string breach = law.breach(run);
        broken += breach.empty() ? "" : std::string(law.name) + ": " + breach + "\n";
    }
    return broken;
}

}  // namespace driftless::sim
