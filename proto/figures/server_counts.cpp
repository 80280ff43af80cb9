#include "proto/figures/server_counts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/summary.hpp"
#include "proto/json/put.hpp"

namespace driftless {

/// From here on, a correlation of length and difference explains half of the variance or more.
static constexpr double correlation_min = 0.7071;
/// Below, a count is nearly the same for prompts of every length: no tokenizer does that.
static constexpr double uncounted_slope = -0.99;

// A row that was sent without a forecast of its hits is recorded text.
void PromptCounts::add(const Record& record) {
    if (record.input_length && record.fired_ns) {
        add(*record.input_length, record.prompt_tokens, !record.expected_cached_tokens);
        sums_.lost += !record.prompt_tokens && lost_in_client(record) ? 1 : 0;
    }
}

void PromptCounts::add(std::uint32_t input_length, std::optional<std::int64_t> counted,
                       bool is_recorded_text) {
    if (!counted.has_value()) {
        ++sums_.unknown;
        return;
    }
    const std::int64_t off = *counted - std::int64_t{input_length};
    ++(off == 0 ? sums_.exact : sums_.off);
    if (std::abs(off) > std::abs(sums_.largest_off)) {
        sums_.largest_off = off;
    }
    if (is_recorded_text && off != 0) {
        text_off_min_ = sums_.text_off == 0 ? off : std::min(text_off_min_, off);
        text_off_max_ = sums_.text_off == 0 ? off : std::max(text_off_max_, off);
        ++sums_.text_off;
    } else if (is_recorded_text) {
        return;
    } else if (input_length > std::uint64_t{overhead_.pre} + overhead_.post) {
        add_long(input_length, off);
    } else {
        sums_.short_off += off == 0 ? 0 : 1;
    }
}

void PromptCounts::add_long(std::int64_t length, std::int64_t off) {
    off_min_ = rows_ == 0 ? off : std::min(off_min_, off);
    off_max_ = rows_ == 0 ? off : std::max(off_max_, off);
    ++rows_;
    rows_off_ += off == 0 ? 0 : 1;
    CHECK(rows_off_ <= rows_ && rows_off_ + sums_.text_off <= sums_.off);
    const double count = static_cast<double>(rows_);
    const double length_step = static_cast<double>(length) - mean_length_;
    const double off_step = static_cast<double>(off) - mean_off_;
    mean_length_ += length_step / count;
    mean_off_ += off_step / count;
    length_length_ += length_step * (static_cast<double>(length) - mean_length_);
    off_off_ += off_step * (static_cast<double>(off) - mean_off_);
    length_off_ += length_step * (static_cast<double>(off) - mean_off_);
}

double PromptCounts::slope() const {
    return length_length_ > 0 ? length_off_ / length_length_ : 0;
}

bool PromptCounts::grows() const {
    return std::abs(length_off_) > correlation_min * std::sqrt(length_length_ * off_off_) &&
           length_off_ != 0;
}

PromptCause PromptCounts::cause() const {
    if (sums_.off == 0) {
        return PromptCause::none;
    }
    if (sums_.text_off == sums_.off) {
        return PromptCause::recorded_text;
    }
    if (rows_off_ == 0) {
        return PromptCause::short_rows;
    }
    const std::int64_t assumed = std::int64_t{overhead_.pre} + overhead_.post;
    if (off_min_ == off_max_ && assumed + off_min_ >= 0) {
        return PromptCause::overhead;
    }
    // A template cannot take tokens away.
    return grows() || off_min_ == off_max_ ? PromptCause::words : PromptCause::mixed;
}

std::string PromptCounts::explain(PromptCause cause) const {
    const std::int64_t assumed = std::int64_t{overhead_.pre} + overhead_.post;
    char text[320] = "";
    switch (cause) {
        case PromptCause::none:
            break;
        case PromptCause::overhead: {
            const std::int64_t whole = assumed + off_min_;
            CHECK(whole >= 0);
            const std::int64_t post = std::min<std::int64_t>(overhead_.post, whole);
            std::snprintf(text, sizeof(text),
                          "the server adds %lld tokens to a prompt, not %lld as assumed: "
                          "--overhead %lld,%lld corrects it",
                          static_cast<long long>(whole), static_cast<long long>(assumed),
                          static_cast<long long>(whole - post), static_cast<long long>(post));
            break;
        }
        case PromptCause::words:
            if (off_min_ == off_max_) {
                std::snprintf(
                    text, sizeof(text),
                    "the server counts %s fewer than were sent in every prompt: it leaves "
                    "some out, or several words are one token there; use the model's "
                    "--tokenizer, or --prompt ids",
                    counted(static_cast<std::uint64_t>(-off_min_), "token", "tokens").c_str());
                break;
            }
            if (slope() < uncounted_slope) {
                return "the server reports about as many tokens for a long prompt as for a short "
                       "one: it does not count them";
            }
            std::snprintf(
                text, sizeof(text),
                "the difference grows with the length (%+.*f tokens per 1,000): not every word is "
                "one token there; use the model's --tokenizer, or --prompt ids",
                std::abs(1000 * slope()) < 1     ? 3
                : std::abs(1000 * slope()) < 100 ? 1
                                                 : 0,
                1000 * slope());
            break;
        case PromptCause::short_rows:
            std::snprintf(text, sizeof(text),
                          "%s recorded as shorter than the %lld tokens that the server adds to "
                          "every prompt, and cannot be made that short",
                          counted(sums_.short_off, "row", "rows").c_str(),
                          static_cast<long long>(assumed));
            break;
        case PromptCause::recorded_text:
            std::snprintf(text, sizeof(text),
                          "recorded text is sent as it is, and the server, with its template, "
                          "counts %+lld to %+lld tokens beside what was recorded",
                          static_cast<long long>(text_off_min_),
                          static_cast<long long>(text_off_max_));
            break;
        case PromptCause::mixed:
            std::snprintf(text, sizeof(text),
                          "the differences (%+lld to %+lld tokens, %s) neither agree nor grow with "
                          "the length: the server may truncate prompts or change its template",
                          static_cast<long long>(off_min_), static_cast<long long>(off_max_),
                          counted(rows_off_, "row", "rows").c_str());
            break;
    }
    return text;
}

PromptFigures PromptCounts::figures() const {
    PromptFigures figures = sums_;
    figures.cause = cause();
    figures.explanation = explain(figures.cause);
    return figures;
}

/// Each try has a record of its own, but for requests that were sent again on another connection:
/// their server may have had them twice.
void SentTokens::add(const Record& record) {
    if (!record.fired_ns) {
        return;
    }
    const auto tries = 1.0 + static_cast<double>(record.stale_retries);
    const auto prompt = static_cast<double>(prompt_tokens_of(record));
    const auto output = static_cast<double>(record.output_tokens.value_or(0));
    requests_.most += tries;
    prompt_.most += tries * prompt;
    if (!is_whole(record.outcome)) {  // the server may have gone on to the end
        const auto recorded = static_cast<double>(record.output_length.value_or(0));
        generated_.most += tries * std::max(output, recorded);
        return;
    }
    requests_.least += 1;
    prompt_.least += prompt;
    generated_.least += output;
    generated_.most += tries * output;
    prompts_unknown_ += record.prompt_tokens ? 0 : 1;
    outputs_unknown_ += counts_output(record) ? 0 : 1;
}

/// Of requests, and of tokens as much as so many requests have. Probes may be counted after the
/// baseline, and the last answers after the last page: servers count when they come to it.
static constexpr double slack_share = 0.02;
static constexpr double slack_requests = 5;
/// So close to twice as much is twice as much.
static constexpr double double_share = 0.05;

/// "http://a:8000" of a URL; empty for sockets of a path.
static std::string_view origin_of(std::string_view url) {
    const std::size_t scheme = url.find("://");
    return scheme == url.npos ? std::string_view() : url.substr(0, url.find('/', scheme + 3));
}

static bool is_of_the_run(const ScrapedUrl& page, const SummaryInfo& info) {
    const std::string_view origin = origin_of(page.url);
    return !origin.empty() && std::ranges::count(info.run.urls, origin, origin_of) > 0;
}

static bool all_have_a_page(const ServerTotals& totals, const SummaryInfo& info) {
    return std::ranges::all_of(info.run.urls, [&](const std::string& url) {
        return std::ranges::any_of(totals.urls, [&](const ScrapedUrl& page) {
            return origin_of(page.url) == origin_of(url);
        });
    });
}

namespace {

/// What servers count, and this run can tell, too.
struct Compared {
    ServerFigure figure;
    const char* one;
    const char* many;
    double counted = 0;
    CountBounds ours;
    bool above = false;
    bool below = false;
};

}  // namespace

static std::string text_of(double count, const Compared& what) {
    return counted(static_cast<std::uint64_t>(std::llround(count)), what.one, what.many);
}

/// "1 request", "3 requests and 40 prompt tokens", of those that `pick` wants.
template <typename Pick, typename Count>
static std::string list_of(const std::vector<Compared>& all, Pick pick, Count count) {
    std::string text;
    std::size_t left = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), pick));
    for (const Compared& one : all) {
        if (pick(one)) {
            text += text.empty() ? "" : left == 1 ? " and " : ", ";
            text += text_of(count(one), one);
            --left;
        }
    }
    return text;
}

static std::vector<Compared> compare(const ServerTotals& totals, const SentTokens& sent) {
    std::vector<Compared> all;
    const CountBounds requests = sent.requests();
    const auto add = [&](ServerFigure figure, const char* one, const char* many,
                         const std::optional<CountBounds>& ours) {
        const std::optional<double> counter = totals.counter(figure);
        if (!counter || !ours || requests.most <= 0) {
            return;
        }
        const double slack = slack_requests * ours->most / requests.most + slack_share * ours->most;
        all.push_back({figure, one, many, *counter, *ours, *counter > ours->most + slack,
                       *counter < ours->least - slack});
    };
    add(ServerFigure::requests, "request", "requests", requests);
    add(ServerFigure::prompt_tokens, "prompt token", "prompt tokens", sent.prompt());
    add(ServerFigure::generated_tokens, "generated token", "generated tokens", sent.generated());
    return all;
}

/// The counter of requests was read, and they were as many as they should be.
static bool requests_fit(const std::vector<Compared>& all) {
    return !all.empty() && all.front().figure == ServerFigure::requests && !all.front().above &&
           !all.front().below;
}

static constexpr const char* counts_otherwise =
    "the servers count tokens differently than they report to clients, or the metrics table uses "
    "the wrong counter (server.jsonl has all of them)";

static const char* cause_of_more(const std::vector<Compared>& all, const ServerTotals& totals) {
    if (std::any_of(totals.urls.begin(), totals.urls.end(),
                    [](const ScrapedUrl& page) { return page.restarts > 0; })) {
        return "counters fell, as if a server had been restarted; if several servers answer in "
               "turn behind one address, give --metrics the page of each (URL,URL)";
    }
    if (requests_fit(all)) {
        return counts_otherwise;
    }
    const bool is_double = std::all_of(all.begin(), all.end(), [](const Compared& one) {
        return std::abs(one.counted - 2 * one.ours.most) <= double_share * 2 * one.ours.most;
    });
    const auto pages = std::count_if(totals.urls.begin(), totals.urls.end(),
                                     [](const ScrapedUrl& page) { return !page.engine.empty(); });
    if (is_double && pages > 1) {
        return "their pages count the same requests twice, like a gateway's page and those of the "
               "servers behind it; give --metrics only one of the two";
    }
    return is_double
               ? "others sent as much at the same time, or the page counts each request twice, as "
                 "a gateway's page can"
               : "others used them at the same time, so the figures do not show this load alone";
}

static const char* cause_of_fewer(const std::vector<Compared>& all) {
    return requests_fit(all)
               ? counts_otherwise
               : "their pages do not cover all servers behind the address, or servers were "
                 "restarted; name the page of each server (--metrics URL)";
}

std::string server_counts_warning(const SummaryFigures& f, const SummaryInfo& info) {
    if (const ScrapedUrl* page = info.server ? info.server->of_several() : nullptr;
        page != nullptr) {
        return page->url +
               " was answered by several servers in turn (its process_start_time_seconds went "
               "back, or its counters fell and rose again): the servers' own figures are unknown; "
               "give --metrics the page of each (URL,URL)";
    }
    if (f.shard_role.others_send) {
        return "";
    }
    if (!info.server || info.unfinished || f.timeline.spans.size() != 1 || f.unrecorded > 0 ||
        f.more_unrecorded || info.server->failures > 0) {
        return "";
    }
    const ServerTotals& totals = *info.server;
    const std::vector<Compared> all = compare(totals, f.sent);
    const auto above = [](const Compared& one) { return one.above; };
    const auto below = [](const Compared& one) { return one.below; };
    const auto counter = [](const Compared& one) { return one.counted; };
    const std::string begin = "the servers' own counters grew by ";
    if (std::any_of(all.begin(), all.end(), above)) {
        return begin + list_of(all, above, counter) + " and this run sent " +
               list_of(all, above, [](const Compared& one) { return one.ours.most; }) + ": " +
               cause_of_more(all, totals);
    }
    const bool are_ours =
        std::all_of(totals.urls.begin(), totals.urls.end(), [&info](const ScrapedUrl& page) {
            return page.engine.empty() || is_of_the_run(page, info);
        });
    // Some servers count nothing of an answer that was given up.
    const bool cut = f.outcomes[static_cast<std::size_t>(Outcome::cancelled)] > 0;
    if (are_ours && !cut && all_have_a_page(totals, info) &&
        std::any_of(all.begin(), all.end(), below)) {
        return begin + list_of(all, below, counter) + " and this run had answers of " +
               list_of(all, below, [](const Compared& one) { return one.ours.least; }) + ": " +
               cause_of_fewer(all);
    }
    return "";
}

static constexpr double ms_per_s = 1e3;

static std::optional<double> per(std::optional<double> whole, std::uint64_t parts) {
    return whole && parts > 0 ? std::optional(*whole / static_cast<double>(parts)) : std::nullopt;
}

static std::optional<double> mean_ms(const ServerTotals& totals, ServerFigure seconds) {
    const std::optional<double> mean = totals.share(seconds, ServerFigure::requests);
    return mean ? std::optional(*mean * ms_per_s) : std::nullopt;
}

static void walk(auto& fields, const ScrapedUrl& url) {
    fields.value("url", 1, url.url);
    fields.text("engine", 1, url.engine);
    fields.value("scrapes", 1, url.scrapes);
    fields.value("failures", 1, url.failures);
    fields.text("first_failure", 1, url.first_failure);
    fields.value("restarts", 1, url.restarts);
    fields.value("several_servers", 1, url.several);
}
static void walk(auto& fields, const GaugeTotals& gauge) {
    fields.value("mean", 1, gauge.mean);
    fields.value("max", 1, gauge.max);
}
static void walk(auto& fields, const CountBounds& bounds) {
    fields.value("least", 1, bounds.least);
    fields.value("most", 1, bounds.most);
}

void write_server(JsonWriter& json, const std::optional<ServerTotals>& totals,
                  const EnergyDivisors& divisors, const SentTokens& sent) {
    json.key("server");
    if (!totals) {
        json.null();
        return;
    }
    json.begin_object();
    put(json,
        {{"urls", totals->urls}, {"scrapes", totals->scrapes}, {"failures", totals->failures}});
    for (std::size_t i = 0; i < server_figures; ++i) {
        const auto figure = static_cast<ServerFigure>(i);
        if (figure == ServerFigure::queue_seconds || figure == ServerFigure::prefill_seconds ||
            figure == ServerFigure::watts) {
            continue;
        }
        json.key(name_of(figure));
        is_counter(figure) ? put_value(json, totals->counter(figure))
                           : put_value(json, totals->gauge(figure));
    }
    const std::optional<double> joules = totals->joules;
    const bool counts_all = divisors.input_tokens > 0 && divisors.output_tokens > 0;
    const std::uint64_t tokens = divisors.input_tokens + divisors.output_tokens;
    put(json,
        {{"prefix_hit_rate",
          totals->share(ServerFigure::prefix_hit_tokens, ServerFigure::prefix_query_tokens)},
         {"acceptance_rate",
          totals->share(ServerFigure::accepted_tokens, ServerFigure::draft_tokens)},
         {"mean_queue_ms", mean_ms(*totals, ServerFigure::queue_seconds)},
         {"mean_prefill_ms", mean_ms(*totals, ServerFigure::prefill_seconds)},
         // What the counters of the same names should have grown by.
         {"explained", JsonPairs{{name_of(ServerFigure::requests), sent.requests()},
                                 {name_of(ServerFigure::prompt_tokens), sent.prompt()},
                                 {name_of(ServerFigure::generated_tokens), sent.generated()}}},
         {"energy", JsonPairs{{"watts", totals->gauge(ServerFigure::watts)},
                              {"joules", joules},
                              {"joules_per_request", per(joules, divisors.requests)},
                              {"joules_per_input_token", per(joules, divisors.input_tokens)},
                              {"joules_per_output_token", per(joules, divisors.output_tokens)},
                              {"joules_per_token", per(joules, counts_all ? tokens : 0)},
                              {"joules_per_tree", per(joules, divisors.finished_trees)}}}});
    json.end_object();
}

}  // namespace driftless
