/// What the page of a run says beside its tables and charts, by the readings of `report`: why its
/// slow rows were slow, its steady part, and the size of the servers' caches. Reads the run's
/// files, prints nothing.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/report/reported_run.hpp"
#include "cmd/report/server_cache_size.hpp"
#include "cmd/report/steady_run.hpp"
#include "engine/stats/hit_loss.hpp"
#include "engine/stats/why_records.hpp"
#include "proto/json/write.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// Gets every record while the page reads them for its tables.
class PageReadings {
  public:
    /// Before the first record. Returns why a file cannot be read, or the empty text.
    std::string begin(const ReportedRun& run);
    /// The record may lack its chunks.
    void add(const Record& record);
    /// After the last record. Returns as `begin` does.
    std::string end(const ReportedRun& run);
    /// Writes the keys `why`, `why_rows`, `steady_state`, `hits_lost` and `cache_size` of the
    /// object that is open. `why_rows` has a table with the column `row` for the slowest rows, then
    /// one for those of each statement; rows count on a page that has every `stride`-th record.
    void write(JsonWriter& json, std::uint64_t stride) const;

  private:
    WhyRecords slow_;
    WhyFinding why_;
    SteadyRun steady_;
    HitLoss loss_;
    ServerCacheSize cache_size_;
};

}  // namespace driftless
