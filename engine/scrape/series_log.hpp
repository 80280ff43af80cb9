/// SeriesLog: turns the pages of a server, one after the other, into the lines of `server.jsonl`:
/// a line for each new series, and one for each page with what changed. Owned by whoever scrapes.
/// It writes to a string, fetches nothing and knows no clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "proto/metrics/exposition.hpp"
#include "proto/record/server_line.hpp"

namespace driftless {

class SeriesLog {
  public:
    /// Series of all pages; real servers have 1,000 each. More are left out, and counted.
    static constexpr std::size_t series_max = 200'000;
    /// So often a page may have one series; vLLM has some twice.
    static constexpr std::size_t copies_max = 4;

    /// `secrets`: never to stand in a label (masked.hpp).
    explicit SeriesLog(std::uint32_t segment, std::size_t most = series_max,
                       std::vector<std::string> secrets = {})
        : segment_(segment), series_max_(most), secrets_(std::move(secrets)) {}

    /// Another page that is read again and again. Returns its number.
    std::size_t add_url(std::string url);

    /// Appends the lines of a page, with all newlines.
    void add(std::size_t url, std::int64_t t_ns, std::int64_t took_ns, const Exposition& page,
             std::string& out);
    /// Appends the line of a page that could not be had, or not be read.
    void add_failure(std::size_t url, std::int64_t t_ns, std::int64_t took_ns, std::string error,
                     std::string& out) const;

  private:
    struct Kept {
        std::uint32_t series = 0;
        bool counter = false;
        bool present = true;  ///< on the latest page
        double value = 0;
        std::uint64_t page = 0;  ///< the latest that had it
    };
    struct Source {
        std::string url;
        std::uint64_t pages = 0;
        std::unordered_map<std::string, std::size_t> index;  ///< of `kept`, by name and labels
        std::vector<Kept> kept;
    };

    /// Null: no room for it.
    Kept* find(Source& source, const Exposition& page, const MetricSample& sample,
               std::string& out);
    /// Into the line of the page at hand, where it is not what it was.
    void add_value(const Kept& kept, double value);

    std::uint32_t segment_;
    std::size_t series_max_;
    std::vector<std::string> secrets_;
    std::uint32_t next_ = 0;
    std::vector<Source> sources_;
    std::string key_;
    ServerScrape scrape_;  ///< of the page at hand; reused
};

}  // namespace driftless
