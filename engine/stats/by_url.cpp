#include "engine/stats/by_url.hpp"

#include <algorithm>

#include "proto/core/check.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

std::string explain_by_url(const std::vector<UrlFigures>& urls) {
    std::string off;
    std::size_t urls_off = 0;
    bool differ = false;
    for (const UrlFigures& one : urls) {
        const PromptFigures& prompts = one.prompts;
        differ = differ || prompts.cause != urls.front().prompts.cause ||
                 prompts.largest_off != urls.front().prompts.largest_off;
        if (prompts.off == 0) {
            continue;
        }
        const std::uint64_t reported = prompts.exact + prompts.off;
        off += (++urls_off > 1 ? ", at " : "at ") + one.url + " " + std::to_string(prompts.off) +
               " of " + counted(reported, "prompt is", "prompts are") + " off by up to " +
               (prompts.largest_off > 0 ? "+" : "") + std::to_string(prompts.largest_off) +
               " tokens";
    }
    if (urls.size() < 2 || urls_off == 0 || !differ) {
        return "";
    }
    return off + (urls_off < urls.size() ? ", elsewhere none" : "") +
           ": serve the same model and template at every --url, or replay against each separately";
}

ByUrl::One& ByUrl::of(const std::string& url) {
    if (last_ < urls_.size() && urls_[last_].figures.url == url) {
        return urls_[last_];
    }
    const auto found = std::find_if(urls_.begin(), urls_.end(),
                                    [&url](const One& one) { return one.figures.url == url; });
    last_ = static_cast<std::size_t>(found - urls_.begin());
    if (found == urls_.end()) {
        urls_.emplace_back().figures.url = url;
        urls_.back().prompts = PromptCounts(overhead_);
    }
    CHECK(last_ < urls_.size());
    return urls_[last_];
}

void ByUrl::add(const Record& record) {
    if (record.url.empty()) {
        return;
    }
    One& one = of(record.url);
    ++one.figures.rows;
    if (record.cached_tokens.value_or(0) > 0) {
        one.figures.cached_tokens += static_cast<std::uint64_t>(*record.cached_tokens);
    }
    one.prompts.add(record);
    if (record.outcome == Outcome::ok) {
        ++one.figures.completed;
    } else if (is_failure(record.outcome) && record.outcome != Outcome::not_sent &&
               !record.censored) {
        ++one.figures.failed;
    }
    if (counts_ttft(record.outcome) && record.ttft_ns) {
        one.ttft.add(static_cast<double>(*record.ttft_ns));
    }
    CHECK(one.figures.completed + one.figures.failed <= one.figures.rows);
}

std::vector<UrlFigures> ByUrl::figures() const {
    std::vector<UrlFigures> all;
    for (const One& one : urls_) {
        all.push_back(one.figures);
        all.back().ttft = one.ttft.distribution();
        all.back().prompts = one.prompts.figures();
    }
    CHECK(all.size() == urls_.size());
    std::sort(all.begin(), all.end(),
              [](const UrlFigures& a, const UrlFigures& b) { return a.url < b.url; });
    return all;
}

}  // namespace driftless
