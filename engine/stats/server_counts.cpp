#include "engine/stats/server_counts.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "engine/stats/summary.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

/// Probes may be counted after the baseline, and the last answers after the last page: servers
/// count when they come to it.
constexpr double slack_share = 0.02;
constexpr double slack_requests = 5;

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

std::string requests_text(double count) {
    return counted(static_cast<std::uint64_t>(std::llround(count)), "request", "requests");
}

}  // namespace

std::string server_counts_warning(const SummaryFigures& f, const SummaryInfo& info) {
    if (!info.server || info.unfinished || f.timeline.spans.size() != 1 || f.unrecorded > 0 ||
        f.more_unrecorded || info.server->failures > 0) {
        return "";
    }
    const ServerTotals& totals = *info.server;
    const std::optional<double> requests = totals.counter(ServerFigure::requests);
    const bool are_ours =
        std::all_of(totals.urls.begin(), totals.urls.end(), [&info](const ScrapedUrl& page) {
            return page.engine.empty() || is_of_the_run(page, info);
        });
    if (!requests || !are_ours) {
        return "";
    }
    const auto restarts = std::any_of(totals.urls.begin(), totals.urls.end(),
                                      [](const ScrapedUrl& page) { return page.restarts > 0; });
    const auto sent = static_cast<double>(f.fired + f.warmup_fired + f.stale_retries);
    const auto answered = static_cast<double>(f.answered() + f.warmup_fired -
                                              std::min(f.warmup_fired, f.warmup_failed));
    const double slack = slack_requests + slack_share * sent;
    if (!restarts && *requests > sent + slack) {
        return "the servers' own counters grew by " + requests_text(*requests) +
               " and this run sent " + requests_text(sent) +
               ": others used them at the same time, so the figures are not of this load alone";
    }
    if (all_have_a_page(totals, info) && *requests < answered - slack) {
        return "the servers' own counters grew by " + requests_text(*requests) +
               " and this run had " + requests_text(answered) +
               " answered: their pages are not of all servers behind the address, or of servers "
               "that were restarted; name the page of each server (--metrics URL)";
    }
    return "";
}

}  // namespace driftless
