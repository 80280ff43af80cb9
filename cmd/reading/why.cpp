#include "cmd/reading/why.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <set>
#include <vector>

#include "proto/core/errors.hpp"

namespace driftless {

static double real(std::uint64_t count) {
    return static_cast<double>(count);
}

static double log_choose(std::uint64_t of, std::uint64_t taken) {
    return std::lgamma(real(of) + 1) - std::lgamma(real(taken) + 1) -
           std::lgamma(real(of - taken) + 1);
}

/// Ranks from 0, less their mean.
static std::vector<double> centred_ranks(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&values](std::size_t row) { return values[row]; });
    std::vector<double> ranks(values.size());
    for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
        while (to < order.size() && values[order[to]] == values[order[from]]) {
            ++to;
        }
        for (std::size_t i = from; i < to; ++i) {
            ranks[order[i]] = (real(from) + real(to) - real(order.size())) / 2;
        }
    }
    return ranks;
}

/// z of Mantel and Haenszel over strata: whether marked rows are drawn more often within each. 0
/// where the strata say nothing.
static double mantel_haenszel_z(std::span<const Overlap> strata) {
    double above = 0;
    double variance = 0;
    for (const Overlap& o : strata) {
        if (o.of < 2) {
            continue;
        }
        const double n = real(o.of);
        above += real(o.hits) - real(o.marked) * real(o.drawn) / n;
        variance += real(o.marked) * real(o.of - o.marked) * real(o.drawn) * real(o.of - o.drawn) /
                    (n * n * (n - 1));
    }
    return variance > 0 ? above / std::sqrt(variance) : 0;
}

double log10_tail(const Overlap& o) {
    CHECK(o.marked <= o.of && o.drawn <= o.of && o.hits <= std::min(o.marked, o.drawn));
    const std::uint64_t most = std::min(o.marked, o.drawn);
    const std::uint64_t least = o.marked + o.drawn > o.of ? o.marked + o.drawn - o.of : 0;
    if (o.hits <= least) {
        return 0;
    }
    // Terms from `hits` on, each from the one before; the first in logarithms.
    const double first = log_choose(o.marked, o.hits) +
                         log_choose(o.of - o.marked, o.drawn - o.hits) - log_choose(o.of, o.drawn);
    double sum = 1;
    double term = 1;
    for (std::uint64_t k = o.hits; k < most; ++k) {
        term *= real(o.marked - k) * real(o.drawn - k) /
                (real(k + 1) * real(o.of - o.marked - o.drawn + k + 1));
        sum += term;
        if (!std::isfinite(sum)) {
            return 0;  // far below what is expected: certain, as good as
        }
    }
    return std::min((first + std::log(sum)) / std::log(10.0), 0.0);
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
    CHECK(a.size() == b.size());
    const std::vector<double> ranks_a = centred_ranks(a);
    const std::vector<double> ranks_b = centred_ranks(b);
    const auto product = [](const std::vector<double>& x, const std::vector<double>& y) {
        return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    const double spread = std::sqrt(product(ranks_a, ranks_a) * product(ranks_b, ranks_b));
    return spread > 0 ? product(ranks_a, ranks_b) / spread : 0;
}

double log10_two_sided(double z) {
    constexpr double far = 30;  // erfc underflows beyond 38; here the first term is exact to 0.001
    return z < far ? std::log10(std::erfc(z / std::numbers::sqrt2))
                   : -z * z / 2 * std::numbers::log10e -
                         std::log10(z * std::sqrt(std::numbers::pi / 2));
}

static constexpr std::size_t slow_min = 5;
/// Without a share: so many show most marks, where they are no more than a tenth of all rows.
static constexpr std::size_t slow_usual = 20;
static constexpr std::size_t marked_min = 3;
/// An echo is told from a mark of its own below the chance of a statement, for one question.
static constexpr double own_z_min = 2.6;

static std::string filled_in(const std::string& mark, const std::string& value) {
    const std::size_t place = mark.find("{}");
    return place == mark.npos ? mark : mark.substr(0, place) + value + mark.substr(place + 2);
}

static std::string number_text(double value) {
    char text[64];
    (void)std::snprintf(text, sizeof text, "%.6g", value);
    return text;
}

static std::vector<char> flags_of(std::size_t count, const std::vector<std::uint32_t>& rows) {
    std::vector<char> flags(count, 0);
    for (const std::uint32_t row : rows) {
        CHECK(row < count);
        flags[row] = 1;
    }
    return flags;
}

/// Places of the slowest rows; of equal ones the later is slower, so that a tie decides nothing by
/// its size.
static std::vector<std::uint32_t> slowest(const std::vector<double>& values, std::size_t count) {
    std::vector<std::uint32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&values](std::uint32_t a, std::uint32_t b) {
        return values[a] != values[b] ? values[a] > values[b] : a > b;
    });
    order.resize(count);
    return order;
}

namespace {

struct Candidate {
    const WhyQuestion* question;
    WhyStatement statement;
};

}  // namespace

/// Rows in one stratum and beyond: by which of the given marks they have.
static bool is_own(const std::vector<char>& marked, const std::vector<char>& slow,
                   const std::vector<char>& first) {
    std::array<Overlap, 2> strata;
    for (std::size_t i = 0; i < marked.size(); ++i) {
        Overlap& stratum = strata[first[i] != 0 ? 1 : 0];
        ++stratum.of;
        stratum.marked += marked[i] != 0 ? 1 : 0;
        stratum.drawn += slow[i] != 0 ? 1 : 0;
        stratum.hits += marked[i] != 0 && slow[i] != 0 ? 1 : 0;
    }
    return mantel_haenszel_z(strata) > own_z_min;
}

/// So many of the slowest rows are looked at.
static std::size_t slow_count(std::size_t rows, std::optional<double> share) {
    const auto part = [rows](double of) {
        return static_cast<std::size_t>(std::ceil(static_cast<double>(rows) * of - 1e-9));
    };
    const std::size_t count =
        share ? part(*share) : std::max(part(0.01), std::min(slow_usual, rows / 10));
    return std::max(slow_min, count);
}

static void add_needed(std::optional<double> share, double asked, WhyFinding& finding) {
    // Each slow row has a mark of half of all rows with a chance of a half.
    const double needed = std::ceil((asked - why_log10_max) / std::log10(2.0));
    finding.slow_needed = static_cast<std::uint64_t>(needed);
    if (finding.slow < finding.slow_needed) {
        const bool usual = !share && finding.slow_needed <= slow_usual;
        const double rows = needed / (usual ? 0.1 : share.value_or(0.01));
        finding.rows_needed = static_cast<std::uint64_t>(std::ceil(rows - 1e-9));
    }
}

static std::vector<Candidate> candidates_of(const WhyQuestions& questions,
                                            const std::vector<char>& slow, WhyFinding& finding) {
    std::vector<Candidate> candidates;
    for (const WhyQuestion& question : questions.marks) {
        if (question.rows.size() < marked_min || question.rows.size() >= slow.size()) {
            continue;
        }
        ++finding.questions;
        const auto hits = static_cast<std::uint64_t>(
            std::count_if(question.rows.begin(), question.rows.end(),
                          [&slow](std::uint32_t row) { return slow[row] != 0; }));
        const Overlap overlap{slow.size(), question.rows.size(), finding.slow, hits};
        candidates.push_back({&question, {question.mark, overlap, log10_tail(overlap), false, {}}});
    }
    std::ranges::stable_sort(candidates, {},
                             [](const auto& one) { return one.statement.log10_chance; });
    return candidates;
}

static void state(std::vector<Candidate> candidates, const std::vector<char>& slow, double asked,
                  WhyFinding& finding) {
    std::set<std::string> families;
    std::vector<char> first;
    for (Candidate& candidate : candidates) {
        WhyStatement& statement = candidate.statement;
        statement.log10_chance = std::min(statement.log10_chance + asked, 0.0);
        if (statement.log10_chance > why_log10_max) {
            break;
        }
        if (!families.insert(candidate.question->family).second) {
            continue;
        }
        const std::vector<char> marked = flags_of(slow.size(), candidate.question->rows);
        statement.is_echo = !first.empty() && !is_own(marked, slow, first);
        if (first.empty()) {
            first = marked;
        }
        statement.rows = candidate.question->rows;
        finding.statements.push_back(std::move(statement));
    }
}

static std::vector<WhyCorrelation> correlations_of(const std::vector<double>& values,
                                                   const std::vector<WhyNumber>& numbers,
                                                   WhyFinding& finding) {
    std::vector<WhyCorrelation> out;
    for (const WhyNumber& one : numbers) {
        std::vector<double> number, value;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (!std::isnan(one.numbers[i])) {
                number.push_back(one.numbers[i]);
                value.push_back(values[i]);
            }
        }
        const double rank = number.size() < why_rows_min ? 0 : rank_correlation(number, value);
        finding.questions += number.size() < why_rows_min ? 0 : 1;
        const double z = std::abs(rank) * std::sqrt(static_cast<double>(number.size()) - 1);
        if (std::abs(rank) >= why_correlation_min) {
            out.push_back({one.name, rank, log10_two_sided(z)});
        }
    }
    return out;
}

/// Questions about a number that rows have: whether they are among the highest 50, 25, 10, 5 and
/// 1 %, and whether the values go with it. `numbers` are by place; NaN: the row has none. `mark`
/// has the bound in place of "{}".
static void add_number_questions(WhyQuestions& questions, const std::string& name,
                                 const std::string& mark, const std::vector<double>& numbers) {
    questions.numbers.push_back({name, numbers});
    std::vector<double> sorted = numbers;
    std::erase_if(sorted, [](double number) { return std::isnan(number); });
    std::ranges::sort(sorted);
    double bound_before = -HUGE_VAL;
    for (const std::size_t per_mille : {500U, 750U, 900U, 950U, 990U}) {
        if (sorted.empty()) {
            return;
        }
        const double bound = sorted[std::min(sorted.size() * per_mille / 1000, sorted.size() - 1)];
        if (bound == bound_before || bound == sorted.front()) {
            continue;  // the same rows again, or all
        }
        bound_before = bound;
        WhyQuestion question{name, filled_in(mark, number_text(bound)), {}};
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (numbers[i] >= bound) {
                question.rows.push_back(static_cast<std::uint32_t>(i));
            }
        }
        questions.marks.push_back(std::move(question));
    }
}

/// A question for each value that at least 3 rows have, where there are two values at least.
/// `mark` has the value in place of "{}"; an empty text: the row has none.
static void add_value_questions(WhyQuestions& questions, const std::string& family,
                                const std::string& mark, const std::vector<std::string>& values) {
    std::map<std::string, std::vector<std::uint32_t>> rows_of;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!values[i].empty()) {
            rows_of[values[i]].push_back(static_cast<std::uint32_t>(i));
        }
    }
    if (rows_of.size() < 2) {
        return;
    }
    for (auto& [value, rows] : rows_of) {
        if (rows.size() >= marked_min) {
            questions.marks.push_back({family, filled_in(mark, value), std::move(rows)});
        }
    }
}

WhyFinding ask_why(const std::vector<double>& values, const WhyQuestions& questions,
                   std::optional<double> share) {
    WhyFinding finding;
    finding.rows = values.size();
    if (values.size() < why_rows_min) {
        finding.rows_needed = why_rows_min;
        return finding;
    }
    finding.slow = slow_count(values.size(), share);
    const std::vector<std::uint32_t> order = slowest(values, finding.slow);
    finding.slow_from = values[order.back()];
    const std::vector<char> slow = flags_of(values.size(), order);
    finding.slow_rows = order;
    std::sort(finding.slow_rows.begin(), finding.slow_rows.end());
    std::vector<Candidate> candidates = candidates_of(questions, slow, finding);
    std::vector<WhyCorrelation> correlations = correlations_of(values, questions.numbers, finding);
    const double asked =
        std::log10(static_cast<double>(std::max<std::uint64_t>(finding.questions, 1)));
    state(std::move(candidates), slow, asked, finding);
    for (WhyCorrelation& one : correlations) {
        one.log10_chance = std::min(one.log10_chance + asked, 0.0);
        if (one.log10_chance <= why_log10_max) {
            finding.correlations.push_back(std::move(one));
        }
    }
    std::ranges::stable_sort(finding.correlations, std::greater(), [](const WhyCorrelation& one) {
        return std::abs(one.rank_correlation);
    });
    add_needed(share, asked, finding);
    return finding;
}

static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
static constexpr std::int64_t burst_ns = 10'000'000;  ///< rows due within it are of one burst
static constexpr std::size_t header_names_max = 8;
static constexpr double server_age_max_ns = 5e9;

template <typename T>
static double number_or_unknown(const std::optional<T>& value) {
    return value ? static_cast<double>(*value) : unknown;
}

static std::string tenth_mark(std::size_t tenth) {
    return "were sent in tenth " + std::to_string(tenth + 1) + " of the run";
}

const FigureName* find_why_figure(std::string_view name) {
    const FigureName* const figure = find_figure(name);
    return figure != nullptr && figure->of_request != nullptr ? figure : nullptr;
}

void WhyRecords::add(const Record& record) {
    const std::uint32_t place = added_++;
    const std::optional<double> ns = wish_.figure->of_request(record);
    if (record.phase != Phase::profile || !ns || !record.fired_ns) {
        return;
    }
    place_.push_back(place);
    const auto row = static_cast<std::uint32_t>(ns_.size());
    ns_.push_back(*ns);
    due_ns_.push_back(record.due_ns);
    fired_ns_.push_back(static_cast<double>(*record.fired_ns));
    const double input = record.prompt_tokens ? number_or_unknown(record.prompt_tokens)
                                              : number_or_unknown(record.input_length);
    input_.push_back(input);
    output_.push_back(
        number_or_unknown(counts_output(record) ? record.output_tokens : std::nullopt));
    const double cached = number_or_unknown(record.cached_tokens);
    const double expected = record.expected_cached_server
                                ? number_or_unknown(record.expected_cached_server)
                                : number_or_unknown(record.expected_cached_tokens);
    cached_.push_back(cached);
    missed_.push_back(expected - cached);
    fresh_.push_back(input - expected);
    inflight_.push_back(number_or_unknown(record.inflight));
    drift_ns_.push_back(number_or_unknown(record.drift_ns));
    turn_.emplace_back(!record.turn ? "" : *record.turn == 1 ? "first" : "later");
    connection_.push_back(record.connection ? std::to_string(*record.connection) : "");
    state_.emplace_back(record.connection_state ? name_of(*record.connection_state) : "");
    url_.push_back(record.url);
    model_.push_back(record.model.value_or(""));
    for (const RecordedHeader& header : record.headers) {
        auto found = std::find(header_names_.begin(), header_names_.end(), header.name);
        if (found == header_names_.end() && header_names_.size() < header_names_max) {
            header_names_.push_back(header.name);
            headers_.emplace_back();
            found = header_names_.end() - 1;
        }
        if (found != header_names_.end()) {
            auto& values = headers_[static_cast<std::size_t>(found - header_names_.begin())];
            values.resize(row);  // rows before it had none
            values.push_back(header.value.value_or(""));
        }
    }
    if (!record.tainted.empty()) {
        tainted_.push_back(row);
    }
    if (record.coalesced_chunks > 0) {
        coalesced_.push_back(row);
    }
}

void WhyRecords::add_size_questions(WhyQuestions& out) const {
    add_number_questions(out, "prompt tokens", "had a prompt of {} tokens or more", input_);
    add_number_questions(out, "answer tokens", "had an answer of {} tokens or more", output_);
    add_number_questions(out, "prompt tokens that no cache could hold",
                         "had {} or more prompt tokens that no cache could hold", fresh_);
    std::vector<double> uncached;
    std::vector<std::uint32_t> missed, none;
    for (std::size_t i = 0; i < missed_.size(); ++i) {
        uncached.push_back(input_[i] - cached_[i]);
        if (missed_[i] > 0) {
            missed.push_back(static_cast<std::uint32_t>(i));
        }
        if (cached_[i] == 0) {
            none.push_back(static_cast<std::uint32_t>(i));
        }
    }
    add_number_questions(out, "prompt tokens that were not cached",
                         "had {} or more prompt tokens that were not cached", uncached);
    out.marks.push_back({"cached", "had no cached tokens", none});
    constexpr const char* family = "missed tokens that an endless cache would have held";
    out.marks.push_back({family, family, missed});
    add_number_questions(out, family,
                         "missed {} or more tokens that an endless cache would have held", missed_);
}

/// How many rows of the burst were due before it, or at its instant and earlier in the file.
std::vector<double> WhyRecords::burst_places() const {
    std::vector<std::uint32_t> order(due_ns_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [this](std::uint32_t row) { return due_ns_[row]; });
    std::vector<double> places(due_ns_.size(), 0);
    std::size_t first = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        while (due_ns_[order[i]] - due_ns_[order[first]] > burst_ns) {
            ++first;
        }
        places[order[i]] = static_cast<double>(i - first);
    }
    return places;
}

void WhyRecords::add_place_questions(WhyQuestions& out) const {
    add_number_questions(out, "others within 10 ms before it",
                         "came after {} or more others within 10 ms", burst_places());
    add_number_questions(out, "requests in flight when it was sent",
                         "were sent while {} or more others were in flight", inflight_);
    add_value_questions(out, "turn", "were the {} turn of their session", turn_);
    if (fired_ns_.empty()) {
        return;
    }
    const auto [first, last] = std::minmax_element(fired_ns_.begin(), fired_ns_.end());
    std::vector<std::vector<std::uint32_t>> tenths(10);
    for (std::size_t i = 0; i < fired_ns_.size() && *last > *first; ++i) {
        const double share = (fired_ns_[i] - *first) / (*last - *first);
        tenths[std::min<std::size_t>(static_cast<std::size_t>(share * 10), 9)].push_back(
            static_cast<std::uint32_t>(i));
    }
    for (std::size_t tenth = 0; tenth < tenths.size(); ++tenth) {
        out.marks.push_back({"time", tenth_mark(tenth), std::move(tenths[tenth])});
    }
}

void WhyRecords::set_servers(std::vector<ServerInstant> servers) {
    servers_ = std::move(servers);
    std::ranges::stable_sort(servers_, {}, &ServerInstant::t_ns);
}

void WhyRecords::add_server_questions(WhyQuestions& out) const {
    if (servers_.empty()) {
        return;
    }
    std::array<std::vector<double>, server_figures> numbers;
    for (const double fired : fired_ns_) {
        const auto behind = std::upper_bound(
            servers_.begin(), servers_.end(), fired,
            [](double at, const ServerInstant& one) { return at < static_cast<double>(one.t_ns); });
        const bool known = behind != servers_.begin() &&
                           fired - static_cast<double>((behind - 1)->t_ns) <= server_age_max_ns;
        for (std::size_t i = 0; i < server_figures; ++i) {
            const double now = known ? (behind - 1)->figures[i].value_or(unknown) : unknown;
            const double later =
                behind == servers_.end() ? unknown : behind->figures[i].value_or(unknown);
            // What was counted between the two pages around the fire.
            const bool is_counted = static_cast<ServerFigure>(i) == ServerFigure::preemptions;
            numbers[i].push_back(is_counted ? later - now : now);
        }
    }
    const auto ask = [&](ServerFigure figure, const char* name, const char* mark) {
        add_number_questions(out, name, mark, numbers[static_cast<std::size_t>(figure)]);
    };
    ask(ServerFigure::waiting, "requests that waited at the servers",
        "were sent while {} or more requests waited at the servers");
    ask(ServerFigure::running, "requests that ran at the servers",
        "were sent while {} or more requests ran at the servers");
    ask(ServerFigure::kv_usage, "the KV usage", "were sent while the KV usage was {} or more");
    ask(ServerFigure::preemptions, "preemptions of its period",
        "were sent in a period of {} or more preemptions");
}

void WhyRecords::add_own_questions(WhyQuestions& out) const {
    add_value_questions(out, "url", "were sent to {}", url_);
    add_value_questions(out, "model", "asked for the model {}", model_);
    add_value_questions(out, "connection", "used connection {}", connection_);
    add_value_questions(out, "connection state", "used a connection that was {}", state_);
    for (std::size_t i = 0; i < header_names_.size(); ++i) {
        std::vector<std::string> values = headers_[i];
        values.resize(ns_.size());
        add_value_questions(out, "header " + header_names_[i],
                            "were answered with " + header_names_[i] + " {}", values);
    }
    if (wish_.figure != find_why_figure("drift")) {
        add_number_questions(out, "drift", "were sent {} ns or more after their due instant",
                             drift_ns_);
    }
    out.marks.push_back(
        {"tainted", "are tainted: the client was late or lost something", tainted_});
    out.marks.push_back({"coalesced", "had chunks that shared a receive", coalesced_});
}

WhyQuestions WhyRecords::questions() const {
    WhyQuestions out;
    add_size_questions(out);
    add_place_questions(out);
    add_server_questions(out);
    add_own_questions(out);
    return out;
}

WhyFinding WhyRecords::finding() {
    WhyFinding finding = ask_why(ns_, questions(), wish_.share);
    const auto among_all = [this](std::vector<std::uint32_t>& rows) {
        for (std::uint32_t& row : rows) {
            row = place_[row];
        }
    };
    among_all(finding.slow_rows);
    for (WhyStatement& statement : finding.statements) {
        among_all(statement.rows);
    }
    return finding;
}

}  // namespace driftless
