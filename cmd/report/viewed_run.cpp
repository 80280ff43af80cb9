#include "cmd/report/viewed_run.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "cmd/report/record_pass.hpp"

namespace driftless {

namespace {

/// A record of a version that kept no stamps of events, though tokens came.
bool lacks_events(const Record& record) {
    return record.first_token_ns && !record.first_event_ns;
}

}  // namespace

std::string read_viewed_run(const ReportedRun& run, ViewedRun& out) {
    const SummaryFigures& figures = run.figures;
    out.duration_ns = figures.duration_ns;
    const GoodputLimits limits = common_limits(figures.goodput_rules);
    out.limits = {limits.ttft_ns, limits.tpot_ns, limits.e2e_ns};
    const RunSegment& first = run.facts.segments.front();
    out.zero_utc_ns = first.clock.zero_utc_ns;
    out.run_id = first.run_id;
    out.date = run.info.date;
    out.backend = run.info.backend;
    out.model = run.info.model_id;
    out.tokenizer = run.info.tokenizer_id;
    out.max_concurrency = run.info.max_concurrency;
    double prompts = 0;  // of which the hits are foretold
    double hits = 0;
    const std::string why = each_record(run, [&](const Record& record) {
        if (record.phase != Phase::profile) {
            return;
        }
        if (record.fired_ns && record.expected_cached_tokens) {
            prompts += static_cast<double>(
                record.prompt_tokens.value_or(std::int64_t{record.input_length.value_or(0)}));
            hits += static_cast<double>(*record.expected_cached_tokens);
        }
        std::optional<ViewedRequest> request = viewed_request(record);
        if (!request) {
            ++out.unsent;
            return;
        }
        out.has_chunks = out.has_chunks && (record.has_chunks || !record.first_token_ns);
        out.has_events = out.has_events && !lacks_events(record);
        if (!record.has_chunks && record.first_token_ns && record.last_token_ns) {
            // Of `--chunks none` the first and the last one are known.
            request->chunks = {{*record.first_token_ns, -1, 'u'}};
            if (*record.last_token_ns > *record.first_token_ns) {
                request->chunks.push_back({*record.last_token_ns, -1, 'u'});
            }
        }
        out.requests.push_back(std::move(*request));
    });
    out.hit_rate_ceiling = prompts > 0 ? std::optional(hits / prompts) : std::nullopt;
    std::stable_sort(out.requests.begin(), out.requests.end(),
                     [](const ViewedRequest& a, const ViewedRequest& b) { return a.row < b.row; });
    return why;
}

}  // namespace driftless
