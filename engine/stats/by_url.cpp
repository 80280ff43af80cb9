#include "engine/stats/by_url.hpp"

#include <algorithm>

namespace driftless {

ByUrl::One& ByUrl::of(const std::string& url) {
    if (last_ < urls_.size() && urls_[last_].figures.url == url) {
        return urls_[last_];
    }
    const auto found = std::find_if(urls_.begin(), urls_.end(),
                                    [&url](const One& one) { return one.figures.url == url; });
    last_ = static_cast<std::size_t>(found - urls_.begin());
    if (found == urls_.end()) {
        urls_.emplace_back().figures.url = url;
    }
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
    if (record.outcome == Outcome::ok) {
        ++one.figures.completed;
        if (record.ttft_ns) {
            one.ttft.add(static_cast<double>(*record.ttft_ns));
        }
    } else if (!is_whole(record.outcome)) {
        ++one.figures.failed;
    }
}

std::vector<UrlFigures> ByUrl::figures() const {
    std::vector<UrlFigures> all;
    for (const One& one : urls_) {
        all.push_back(one.figures);
        all.back().ttft = one.ttft.distribution();
    }
    std::sort(all.begin(), all.end(),
              [](const UrlFigures& a, const UrlFigures& b) { return a.url < b.url; });
    return all;
}

}  // namespace driftless
