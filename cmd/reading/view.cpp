#include "cmd/reading/view.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static constexpr std::array views{
    View{"vllm", "vllm 0.32.0, bench serve", "vLLM's bench serve", vllm_view},
    View{"sglang", "sglang 0.5.23, bench_serving", "SGLang's bench_serving", sglang_view},
    View{"aiperf", "aiperf 0.13.0", "AIPerf", aiperf_view},
    View{"guidellm", "guidellm 0.8.1", "GuideLLM", guidellm_view},
    View{"genai-perf", "genai-perf 0.0.16", "GenAI-Perf", genai_perf_view},
    View{"genai-bench", "genai-bench 0.0.5", "genai-bench", genai_bench_view},
    View{"inference-perf", "inference-perf 0.7.0", "inference-perf", inference_perf_view},
    View{"trace-replayer", "trace-replayer 84c9193a", "trace-replayer of blitz",
         trace_replayer_view},
    View{"loadgen", "loadgen 6.0.17, Server scenario", "MLPerf LoadGen", loadgen_view},
    View{"inferencex", "InferenceX 843c6254, agentic aggregate", "InferenceX, agentic",
         inferencex_view},
    View{"inferencex-fixed", "InferenceX 843c6254, fixed length", "InferenceX, fixed length",
         inferencex_fixed_view},
    View{"llm-d", "llm-d benchmark report 0.2.1", "llm-d's report, of vLLM's figures", llmd_view},
};

std::span<const View> all_views() {
    return views;
}

const View* find_view(std::string_view name) {
    const auto* const found = std::ranges::find(views, name, &View::name);
    return found == views.end() ? nullptr : found;
}

/// The next run of "r2c40"; nothing at its end, or where it is not of that form.
static std::optional<std::pair<char, std::size_t>> take_run(std::string_view& runs) {
    if (runs.size() < 2) {
        return std::nullopt;
    }
    const char kind = runs.front();
    std::size_t chunks = 0;
    const auto [end, error] = std::from_chars(runs.data() + 1, runs.data() + runs.size(), chunks);
    if (error != std::errc()) {
        return std::nullopt;
    }
    runs.remove_prefix(static_cast<std::size_t>(end - runs.data()));
    return std::pair{kind, chunks};
}

/// Where chunks have no stamps: those of the first and the last one, or the end of an answer that
/// came at once.
static void fill_ends(ViewedRequest& request, const Record& record) {
    const std::int64_t last = *record.last_token_ns;
    const std::int64_t first = record.first_token_ns.value_or(last);
    const std::int64_t content = record.first_content_ns.value_or(first);
    request.stamped = record.first_token_ns ? ViewedStamps::ends : ViewedStamps::whole;
    if (first < content) {
        request.chunks.push_back({first, -1, 'r'});
    }
    request.chunks.push_back({content, -1, 'u'});
    if (content < last) {
        request.chunks.push_back({last, -1, 'u'});
    }
}

static void fill_chunks(ViewedRequest& request, const Record& record) {
    CHECK(record.fired_ns.has_value());
    if (record.last_token_ns && (!record.first_token_ns || !record.has_chunks)) {
        fill_ends(request, record);
        return;
    }
    request.chunks.resize(record.chunk_ns.size());
    std::string_view runs = record.chunk_kinds;
    std::size_t at = 0;
    while (const auto run = take_run(runs)) {  // bounded by the text
        for (std::size_t i = 0; i < run->second && at < request.chunks.size(); ++i, ++at) {
            request.chunks[at].kind = run->first;
        }
    }
    const bool known = record.chunk_tokens.size() == record.chunk_ns.size();
    for (std::size_t i = 0; i < request.chunks.size(); ++i) {
        request.chunks[i].at_ns = *record.fired_ns + record.chunk_ns[i];
        request.chunks[i].tokens = known ? record.chunk_tokens[i] : -1;
    }
}

static bool is_of(const ViewedChunk& chunk, std::string_view kinds) {
    return kinds.find(chunk.kind) != kinds.npos;
}

bool ViewedRequest::stream_read() const {
    const bool readable =
        is_whole(outcome) || outcome == Outcome::stream_error || outcome == Outcome::no_tokens;
    return status == 200 && done_ns.has_value() && readable;
}

std::vector<std::int64_t> ViewedRequest::choice_events() const {
    std::vector<std::int64_t> stamps;
    stamps.reserve(chunks.size() + 2);
    if (first_event_ns && (chunks.empty() || *first_event_ns < chunks.front().at_ns)) {
        stamps.push_back(*first_event_ns);
    }
    for (const ViewedChunk& chunk : chunks) {
        stamps.push_back(chunk.at_ns);
    }
    if (finish_ns && (stamps.empty() || *finish_ns > stamps.back())) {
        stamps.push_back(*finish_ns);
    }
    return stamps;
}

std::vector<std::int64_t> ViewedRequest::stamps_of(std::string_view kinds) const {
    std::vector<std::int64_t> stamps;
    for (const ViewedChunk& chunk : chunks) {
        if (is_of(chunk, kinds)) {
            stamps.push_back(chunk.at_ns);
        }
    }
    return stamps;
}

std::optional<std::int64_t> ViewedRequest::tokens_of(std::string_view kinds) const {
    if (stamped != ViewedStamps::every_chunk) {
        return output_counted;
    }
    std::int64_t tokens = 0;
    std::int64_t wanted = 0;
    for (const ViewedChunk& chunk : chunks) {
        if (is_of(chunk, kinds)) {
            ++wanted;
            tokens += chunk.tokens;
        }
    }
    if (chunks.empty() || chunks.front().tokens >= 0) {
        return chunks.empty() ? output_usage.value_or(0) : tokens;
    }
    if (output_usage && wanted == static_cast<std::int64_t>(chunks.size())) {
        return output_usage;
    }
    return output_usage && wanted > 0 ? std::nullopt : std::optional(wanted);
}

bool ViewedRequest::tokens_are_chunks() const {
    return !chunks.empty() && chunks.front().tokens < 0 && !output_usage &&
           stamped != ViewedStamps::whole;
}

std::int64_t ViewedRequest::last_line_ns() const {
    std::int64_t last = chunks.empty() ? fired_ns : chunks.back().at_ns;
    for (const OptionalNs& stamp : {first_event_ns, finish_ns, usage_ns, error_ns, marker_ns}) {
        last = std::max(last, stamp.value_or(last));
    }
    return last;
}

bool ViewedRun::any(ViewedStamps stamped) const {
    return std::ranges::count(requests, stamped, &ViewedRequest::stamped) > 0;
}

GoodputLimits ViewedRun::judged() const {
    const bool of_tokens = limits.ttft_ns || limits.tpot_ns;
    return of_tokens && any(ViewedStamps::whole) ? GoodputLimits() : limits;
}

std::optional<ViewedRequest> viewed_request(const Record& record) {
    if (!record.fired_ns || !record.ended_ns) {
        return std::nullopt;
    }
    ViewedRequest request;
    request.row = record.row;
    request.due_ns = record.due_ns;
    request.fired_ns = *record.fired_ns;
    request.headers_ns = record.headers_ns;
    request.first_event_ns = record.first_event_ns;
    request.finish_ns = record.finish_event_ns;
    request.usage_ns = record.usage_event_ns;
    request.error_ns = record.error_event_ns;
    request.marker_ns = record.end_marker_ns;
    request.done_ns = record.done_ns;
    request.ended_ns = *record.ended_ns;
    fill_chunks(request, record);
    request.prompt_recorded = record.input_length.value_or(0);
    request.output_recorded = record.output_length.value_or(0);
    request.prompt_usage = record.prompt_tokens;
    const bool counted = record.tokens_source == TokensSource::usage ||
                         record.tokens_source == TokensSource::continuous;
    request.output_usage = counted ? record.output_tokens : std::nullopt;
    request.output_counted = record.output_tokens.value_or(0);
    request.status = record.status.value_or(0);
    request.outcome = record.outcome;
    return request;
}

static constexpr std::uint32_t whole = 1000;  ///< per mille

const std::vector<double>& ValueList::sorted() const {
    if (!is_sorted_) {
        std::sort(values_.begin(), values_.end());
        is_sorted_ = true;
    }
    return values_;
}

double ValueList::sum() const {
    double total = 0;
    for (const double value : sorted()) {
        total += value;
    }
    return total;
}

double ValueList::mean() const {
    return empty() ? 0 : sum() / static_cast<double>(count());
}

double ValueList::std() const {
    const double middle = mean();
    double squares = 0;
    for (const double value : sorted()) {
        squares += (value - middle) * (value - middle);
    }
    return empty() ? 0 : std::sqrt(squares / static_cast<double>(count()));
}

double ValueList::linear(std::uint32_t per_mille) const {
    CHECK(per_mille <= whole);
    if (empty()) {
        return 0;
    }
    const double place = static_cast<double>(per_mille) / whole * static_cast<double>(count() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, count() - 1);
    const double share = place - static_cast<double>(below);
    return sorted()[below] + (sorted()[above] - sorted()[below]) * share;
}

double ValueList::nearest_above(std::uint32_t per_mille) const {
    if (empty()) {
        return 0;
    }
    const std::size_t rank = (count() * per_mille + whole - 1) / whole;
    return sorted()[std::clamp<std::size_t>(rank, 1, count()) - 1];
}

std::optional<double> ValueList::nearest_even(std::uint32_t per_mille, std::size_t more) const {
    const std::size_t all = count() + more;
    if (all == 0) {
        return std::nullopt;
    }
    const std::size_t scaled = (all - 1) * per_mille;
    std::size_t place = scaled / whole;
    const std::size_t left = scaled % whole;
    if (left * 2 > whole || (left * 2 == whole && place % 2 == 1)) {
        ++place;
    }
    return place < count() ? std::optional(sorted()[place]) : std::nullopt;
}

double ValueList::floor_rank(std::uint32_t per_mille) const {
    return empty() ? 0 : sorted()[std::min(count() * per_mille / whole, count() - 1)];
}

double statistic_of(const ValueList& values, std::string_view name) {
    if (name == "mean" || name == "avg") {
        return values.mean();
    }
    if (name == "std" || name == "stddev") {
        return values.std();
    }
    if (name == "min" || name == "max") {
        return name == "min" ? values.min() : values.max();
    }
    if (name == "median" || name == "sum") {
        return name == "median" ? values.linear(whole / 2) : values.sum();
    }
    const std::size_t point = std::min(name.find_first_of(".p", 1), name.size());
    const auto percent = read_number<std::uint32_t>(name.substr(1, point - 1));
    const auto tenths =
        read_number<std::uint32_t>(point < name.size() ? name.substr(point + 1) : "0");
    CHECK(name.starts_with('p') && percent && tenths);
    return values.linear(*percent * 10 + *tenths);
}

WeightedFigures weighted_figures(std::vector<WeightedValue> values, std::int64_t count) {
    WeightedFigures figures;
    std::sort(values.begin(), values.end());
    double total = 0;
    for (const auto& [value, weight] : values) {
        total += weight;
    }
    figures.count = count >= 0 ? count : std::llround(total);
    if (values.empty()) {
        figures.count = std::max<std::int64_t>(count, 0);
        return figures;
    }
    // Values of equal size are one; without any weight all have the same.
    constexpr double tiny = 1e-6;
    std::vector<WeightedValue> merged;
    for (const auto& [value, weight] : values) {
        const double counted = total <= tiny ? 1 : weight;
        if (!merged.empty() && merged.back().first == value) {
            merged.back().second += total <= tiny ? 0 : weight;
        } else if (counted > 0) {
            merged.emplace_back(value, counted);
        }
    }
    total = 0;
    for (const auto& [value, weight] : merged) {
        total += weight;
    }
    for (auto& [value, weight] : merged) {
        weight /= total;
        figures.mean += value * weight;
    }
    double heaviest = -1;
    double cumulated = 0;
    constexpr double shares[11] = {0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999};
    std::size_t next = 0;
    for (const auto& [value, weight] : merged) {
        figures.variance += (value - figures.mean) * (value - figures.mean) * weight;
        if (weight > heaviest) {
            heaviest = weight;
            figures.mode = value;
        }
        cumulated += weight;
        for (; next < 11 && cumulated >= shares[next]; ++next) {
            figures.percentiles[next] = value;
        }
    }
    for (; next < 11; ++next) {  // what rounding has left over
        figures.percentiles[next] = merged.back().first;
    }
    figures.std_dev = std::sqrt(figures.variance);
    figures.median = figures.percentiles[5];
    figures.min = merged.front().first;
    figures.max = merged.back().first;
    figures.total_sum = figures.mean * static_cast<double>(figures.count);
    return figures;
}

std::string fixed(double value, int decimals) {
    char text[400];  // a double of 309 digits, and decimals
    const int length = std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return std::string(text, static_cast<std::size_t>(std::max(length, 0)));
}

std::string with_commas(std::string digits) {
    const std::size_t begin = digits.front() == '-' ? 1 : 0;
    std::size_t at = std::min(digits.find('.'), digits.size());
    while (at > begin + 3) {  // bounded by the digits
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return digits;
}

std::string pad_right(std::string_view text, std::size_t width) {
    std::string padded(text);
    padded.resize(std::max(width, text.size()), ' ');
    return padded;
}

std::string pad_left(std::string_view text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + std::string(text);
}

std::string centred(std::string_view text, std::size_t width, char filler) {
    const std::size_t room = width - std::min(width, text.size());
    return std::string(room / 2, filler) + std::string(text) + std::string(room - room / 2, filler);
}

/// Code points: continuation bytes have no width.
static std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

std::string ViewTable::text(std::size_t left, bool is_last_left) const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(row[i]));
        }
    }
    std::string out;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string gap(widths[i] - width_of(row[i]), ' ');
            const bool at_left = i < left || (is_last_left && i + 1 == row.size());
            line += (i == 0 ? "" : "  ") + (at_left ? row[i] + gap : gap + row[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

std::vector<std::string> notes_on(const ViewedRun& run, const ViewNeeds& needs,
                                  std::initializer_list<const char*> more) {
    std::vector<std::string> notes;
    if (needs.events && !run.has_events) {
        notes.emplace_back(
            "the records are from a version without stamps of roles, finishes and end markers: the "
            "first and the last token stand in for them");
    }
    if (needs.gaps && run.any(ViewedStamps::ends)) {
        notes.emplace_back("not computable: gaps between events, because of --chunks none");
    }
    if (run.any(ViewedStamps::whole)) {
        notes.emplace_back(
            "not computable: first tokens and times between tokens, because of --no-stream");
    }
    const auto count = [&run](auto is) {
        return static_cast<std::uint64_t>(
            std::count_if(run.requests.begin(), run.requests.end(), is));
    };
    const std::uint64_t guessed =
        count([](const ViewedRequest& one) { return one.tokens_are_chunks(); });
    const std::uint64_t by_usage = count([](const ViewedRequest& one) {
        return one.output_usage && !one.chunks.empty() && one.chunks.front().tokens < 0;
    });
    if (needs.client_tokens && by_usage > 0) {
        notes.push_back("usage instead of re-tokenised text: the tool counts tokens itself, " +
                        counted(by_usage, "request", "requests") + " here by the server's count");
    }
    if (guessed > 0) {
        notes.push_back("there is no count of the tokens of " +
                        counted(guessed, "request", "requests") + ": one token for each chunk");
    }
    const std::uint64_t untold = count([](const ViewedRequest& one) {
        return one.stamped == ViewedStamps::whole && !one.output_usage;
    });
    if (untold > 0) {
        notes.push_back("not computable: the output tokens of " +
                        counted(untold, "answer", "answers") +
                        " without usage: they count as 0, or with the length that was asked for");
    }
    if (run.unsent > 0) {
        notes.push_back(counted(run.unsent, "row", "rows") +
                        " were never sent, or have no end: they are in no figure");
    }
    notes.insert(notes.end(), more.begin(), more.end());
    return notes;
}

std::int64_t tokens_or_usage(const ViewedRequest& request, std::string_view kinds) {
    return request.tokens_of(kinds).value_or(request.output_usage.value_or(0));
}

}  // namespace driftless
