/// WhyRecords: gathers of the records of a run what `ask_why` asks about. Owns a few numbers and
/// texts a row. Of the measurement, and of rows that have the figure alone.
///
/// Properties: size of prompt and answer, tokens that no cache could hold, that were in none, hits
/// that were expected and missed, place in the burst of rows that were due within 10 ms, requests
/// in flight, turn, part of the run, connection, server, pod (the record's headers), model, what
/// the servers said of themselves (queue, batch, KV usage, preemptions), and what the client itself
/// did to the row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/stats/why.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// A time that each row has, by the name that thresholds have for it.
struct WhyFigure {
    const char* name;
    const char* label;
    std::optional<double> (*ns)(const Record& record);
};
/// Null where no row has such a time.
const WhyFigure* find_why_figure(std::string_view name);

/// What is asked: whose slowest rows, and how many of them.
struct WhyWish {
    const WhyFigure* figure = find_why_figure("ttft");
    std::optional<double> share;  ///< nothing: as `ask_why` chooses
};

/// What servers said of themselves at an instant.
struct WhyServer {
    std::int64_t t_ns = 0;
    std::optional<double> waiting;      ///< requests in the queue
    std::optional<double> running;      ///< requests in the batch
    std::optional<double> kv_usage;     ///< 0 to 1
    std::optional<double> preemptions;  ///< counted so far
};

class WhyRecords {
  public:
    explicit WhyRecords(const WhyWish& wish = {}) : wish_(wish) {}
    void add(const Record& record);
    /// By time. A row is asked about the last one before its fire, at most 5 s old.
    void set_servers(std::vector<WhyServer> servers) { servers_ = std::move(servers); }
    /// Asks once. Its places are those of the records in the order in which they
    /// were added, from 0, whether or not they were asked about.
    WhyFinding finding();

  private:
    WhyQuestions questions() const;
    void add_size_questions(WhyQuestions& out) const;
    void add_place_questions(WhyQuestions& out) const;
    void add_server_questions(WhyQuestions& out) const;
    void add_own_questions(WhyQuestions& out) const;
    std::vector<double> burst_places() const;

    WhyWish wish_;
    std::vector<WhyServer> servers_;
    std::uint32_t added_ = 0;
    std::vector<std::uint32_t> place_;  ///< among all that were added
    std::vector<double> ns_;            ///< of the figure
    std::vector<std::int64_t> due_ns_;
    std::vector<double> fired_ns_;
    // NaN: not known.
    std::vector<double> input_;
    std::vector<double> output_;
    std::vector<double> cached_;
    std::vector<double> fresh_;   ///< prompt tokens that no cache could hold
    std::vector<double> missed_;  ///< expected from the cache, and not found there
    std::vector<double> inflight_;
    std::vector<double> drift_ns_;
    std::vector<std::string> turn_;  ///< "first" or "later"
    std::vector<std::string> connection_;
    std::vector<std::string> state_;
    std::vector<std::string> url_;
    std::vector<std::string> model_;
    std::vector<std::string> header_names_;
    std::vector<std::vector<std::string>> headers_;  ///< [names][rows]
    std::vector<std::uint32_t> tainted_;
    std::vector<std::uint32_t> coalesced_;
};

}  // namespace driftless
