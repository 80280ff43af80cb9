#include "engine/stats/server_counts.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "engine/stats/summary.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

/// Of requests, and of tokens as much as so many requests have. Probes may be counted after the
/// baseline, and the last answers after the last page: servers count when they come to it.
constexpr double slack_share = 0.02;
constexpr double slack_requests = 5;
/// So close to twice as much is twice as much.
constexpr double double_share = 0.05;

/// "http://a:8000" of a URL; empty for sockets of a path.
std::string_view origin_of(std::string_view url) {
    const std::size_t scheme = url.find("://");
    return scheme == url.npos ? std::string_view() : url.substr(0, url.find('/', scheme + 3));
}

bool is_of_the_run(const ScrapedUrl& page, const SummaryInfo& info) {
    const std::string_view origin = origin_of(page.url);
    return !origin.empty() &&
           std::any_of(info.run.urls.begin(), info.run.urls.end(),
                       [origin](const std::string& url) { return origin_of(url) == origin; });
}

bool all_have_a_page(const ServerTotals& totals, const SummaryInfo& info) {
    return std::all_of(info.run.urls.begin(), info.run.urls.end(), [&](const std::string& url) {
        return std::any_of(totals.urls.begin(), totals.urls.end(), [&](const ScrapedUrl& page) {
            return origin_of(page.url) == origin_of(url);
        });
    });
}

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

std::string text_of(double count, const Compared& what) {
    return counted(static_cast<std::uint64_t>(std::llround(count)), what.one, what.many);
}

/// "1 request", "3 requests and 40 prompt tokens", of those that `pick` wants.
template <typename Pick, typename Count>
std::string list_of(const std::vector<Compared>& all, Pick pick, Count count) {
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

std::vector<Compared> compare(const ServerTotals& totals, const SentTokens& sent) {
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
bool requests_fit(const std::vector<Compared>& all) {
    return !all.empty() && all.front().figure == ServerFigure::requests && !all.front().above &&
           !all.front().below;
}

constexpr const char* counts_otherwise =
    "the servers count tokens differently than they report to clients, or the metrics table uses "
    "the wrong counter (server.jsonl has all of them)";

const char* cause_of_more(const std::vector<Compared>& all, const ServerTotals& totals) {
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

const char* cause_of_fewer(const std::vector<Compared>& all) {
    return requests_fit(all)
               ? counts_otherwise
               : "their pages do not cover all servers behind the address, or servers were "
                 "restarted; name the page of each server (--metrics URL)";
}

}  // namespace

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
    if (are_ours && all_have_a_page(totals, info) && std::any_of(all.begin(), all.end(), below)) {
        return begin + list_of(all, below, counter) + " and this run had answers of " +
               list_of(all, below, [](const Compared& one) { return one.ours.least; }) + ": " +
               cause_of_fewer(all);
    }
    return "";
}

}  // namespace driftless
