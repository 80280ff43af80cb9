#include "engine/stats/why_records.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace driftless {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t burst_ns = 10'000'000;  ///< rows due within it are of one burst
constexpr std::size_t header_names_max = 8;
constexpr double server_age_max_ns = 5e9;

template <typename T>
double number_or_unknown(const std::optional<T>& value) {
    return value ? static_cast<double>(*value) : unknown;
}

std::string tenth_mark(std::size_t tenth) {
    return "were sent in tenth " + std::to_string(tenth + 1) + " of the run";
}

template <auto Member>
std::optional<double> ns_of(const Record& record) {
    return record.*Member ? std::optional(static_cast<double>(*(record.*Member))) : std::nullopt;
}

constexpr WhyFigure figures[] = {{"ttft", "TTFT", ns_of<&Record::ttft_ns>},
                                 {"ttft_due", "TTFT from due", ns_of<&Record::ttft_due_ns>},
                                 {"tpot", "TPOT", ns_of<&Record::tpot_ns>},
                                 {"e2e", "E2E", ns_of<&Record::e2e_ns>},
                                 {"drift", "drift", ns_of<&Record::drift_ns>}};

}  // namespace

const WhyFigure* find_why_figure(std::string_view name) {
    const auto* const found = std::find_if(std::begin(figures), std::end(figures),
                                           [name](const auto& one) { return name == one.name; });
    return found == std::end(figures) ? nullptr : found;
}

void WhyRecords::add(const Record& record) {
    const std::uint32_t place = added_++;
    const std::optional<double> ns = wish_.figure->ns(record);
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
    std::stable_sort(order.begin(), order.end(),
                     [this](std::uint32_t a, std::uint32_t b) { return due_ns_[a] < due_ns_[b]; });
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

void WhyRecords::add_server_questions(WhyQuestions& out) const {
    if (servers_.empty()) {
        return;
    }
    std::vector<double> waiting, running, kv_usage, preempted;
    for (const double fired : fired_ns_) {
        const auto behind = std::upper_bound(
            servers_.begin(), servers_.end(), fired,
            [](double at, const WhyServer& one) { return at < static_cast<double>(one.t_ns); });
        const bool known = behind != servers_.begin() &&
                           fired - static_cast<double>((behind - 1)->t_ns) <= server_age_max_ns;
        const WhyServer* const now = known ? &*(behind - 1) : nullptr;
        const auto value = [now](std::optional<double> WhyServer::* of) {
            return now == nullptr ? unknown : (now->*of).value_or(unknown);
        };
        waiting.push_back(value(&WhyServer::waiting));
        running.push_back(value(&WhyServer::running));
        kv_usage.push_back(value(&WhyServer::kv_usage));
        // What was counted between the two pages around the fire.
        const double later =
            behind == servers_.end() ? unknown : behind->preemptions.value_or(unknown);
        preempted.push_back(later - value(&WhyServer::preemptions));
    }
    add_number_questions(out, "requests that waited at the servers",
                         "were sent while {} or more requests waited at the servers", waiting);
    add_number_questions(out, "requests that ran at the servers",
                         "were sent while {} or more requests ran at the servers", running);
    add_number_questions(out, "the KV usage", "were sent while the KV usage was {} or more",
                         kv_usage);
    add_number_questions(out, "preemptions of its period",
                         "were sent in a period of {} or more preemptions", preempted);
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
