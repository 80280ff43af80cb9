#include "cmd/screen/server_lines.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string_view>

#include "cmd/screen/plots.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

/// Parts of a line, with commas between them.
class Parts {
  public:
    void add(const std::string& part) { text_ += (text_.empty() ? "" : ", ") + part; }
    void count(std::optional<double> value, std::string_view what) {
        if (value) {
            add(fmt::format("{} {}", grouped(static_cast<std::uint64_t>(std::llround(*value))),
                            what));
        }
    }
    void percent(std::optional<double> value, std::string_view what) {
        if (value) {
            add(fmt::format("{} {:.2f} %", what, 100 * *value));
        }
    }
    void end(std::vector<std::string>& lines) {
        if (!text_.empty()) {
            lines.push_back(text_);
        }
        text_.clear();
    }

  private:
    std::string text_;
};

std::string engines_of(const ServerTotals& totals) {
    std::string engines;
    for (const ScrapedUrl& url : totals.urls) {
        const bool is_new = engines.find(url.engine) == std::string::npos;
        if (!url.engine.empty() && is_new) {
            engines += (engines.empty() ? "" : ", ") + url.engine;
        }
    }
    return engines;
}

void add_reading(std::vector<std::string>& lines, const ServerTotals& totals) {
    const std::string engines = engines_of(totals);
    std::string text = fmt::format(
        "{} of {} read{}", counted(totals.scrapes, "page", "pages"),
        counted(totals.urls.size(), "URL", "URLs"),
        totals.failures > 0 ? fmt::format(", {} failed", grouped(totals.failures)) : "");
    text += engines.empty() ? "; no known table fits their metrics: server.jsonl has all series"
                            : fmt::format(" ({})", engines);
    std::uint64_t restarts = 0;
    for (const ScrapedUrl& url : totals.urls) {
        restarts += url.restarts;
    }
    text += totals.of_several() != nullptr ? "; several servers answered in turn: no figures"
            : restarts > 0
                ? fmt::format("; counters restarted {}", counted(restarts, "time", "times"))
                : "";
    lines.push_back(std::move(text));
}

void add_energy(std::vector<std::string>& lines, const SummaryFigures& f,
                const ServerTotals& totals, std::uint64_t finished_trees) {
    if (!totals.joules) {
        return;
    }
    Parts parts;
    if (const auto& watts = totals.gauge(ServerFigure::watts); watts) {
        parts.add(fmt::format("{:.0f} W on average", watts->mean));
    }
    parts.add(fmt::format("{:.0f} J", *totals.joules));
    if (f.completed > 0) {
        parts.add(
            fmt::format("{:.2f} J per request", *totals.joules / static_cast<double>(f.completed)));
    }
    if (f.output_tokens > 0 && f.uncounted.outputs == 0) {
        parts.add(fmt::format("{:.3f} J per output token",
                              *totals.joules / static_cast<double>(f.output_tokens)));
    }
    if (finished_trees > 0) {
        parts.add(fmt::format("{:.2f} J per finished tree",
                              *totals.joules / static_cast<double>(finished_trees)));
    }
    parts.end(lines);
}

}  // namespace

std::vector<std::string> server_lines(const SummaryFigures& f, const SummaryInfo& info) {
    std::vector<std::string> lines;
    if (!info.server) {
        return lines;
    }
    const ServerTotals& totals = *info.server;
    add_reading(lines, totals);
    Parts parts;
    parts.count(totals.counter(ServerFigure::requests), "requests");
    parts.count(totals.counter(ServerFigure::prompt_tokens), "prompt tokens");
    parts.count(totals.counter(ServerFigure::generated_tokens), "generated");
    parts.count(totals.counter(ServerFigure::preemptions), "preemptions");
    parts.end(lines);
    parts.percent(totals.share(ServerFigure::prefix_hit_tokens, ServerFigure::prefix_query_tokens),
                  "prefix hits");
    parts.percent(totals.share(ServerFigure::accepted_tokens, ServerFigure::draft_tokens),
                  "drafts accepted");
    if (const auto& usage = totals.gauge(ServerFigure::kv_usage); usage) {
        parts.add(fmt::format("KV cache {:.1f} % full (at most {:.1f} %)", 100 * usage->mean,
                              100 * usage->max));
    }
    parts.end(lines);
    if (const auto& running = totals.gauge(ServerFigure::running); running) {
        parts.add(fmt::format("running {:.1f} (at most {:.0f})", running->mean, running->max));
    }
    if (const auto& waiting = totals.gauge(ServerFigure::waiting); waiting) {
        parts.add(fmt::format("waiting {:.1f} (at most {:.0f})", waiting->mean, waiting->max));
    }
    if (const auto queue = totals.share(ServerFigure::queue_seconds, ServerFigure::requests);
        queue) {
        parts.add(fmt::format("queue {:.2f} ms", 1e3 * *queue));
    }
    if (const auto prefill = totals.share(ServerFigure::prefill_seconds, ServerFigure::requests);
        prefill) {
        parts.add(fmt::format("prefill {:.2f} ms", 1e3 * *prefill));
    }
    parts.end(lines);
    add_energy(lines, f, totals, info.finished_trees.value_or(0));
    return lines;
}

}  // namespace driftless
