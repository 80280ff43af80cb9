/// LaneSlices: records become slices on the tracks of lanes. Rows in, packets out; it holds the
/// ends of what is on each track, and no records.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "cmd/report/figures.hpp"
#include "proto/export/perfetto.hpp"

namespace driftless {

/// What the tracks of one run have in common.
struct RunOfTracks {
    std::int64_t zero_ns = 0;    ///< time 0 of the run, UTC
    std::uint64_t identity = 0;  ///< a number that no other run has
    std::string_view name;       ///< for people
};

class LaneSlices {
  public:
    /// The columns of records and of events are the names of arguments, in this order. Makes the
    /// first tracks.
    LaneSlices(PerfettoTrace& trace, const std::vector<Figure>& columns,
               const std::vector<Figure>& event_columns, const RunOfTracks& run);

    /// One record. It becomes one slice, from its due instant to its end, with its stages inside;
    /// a row that was never sent becomes an instant.
    void add(const TableRow& row);
    /// An event of the run: an instant at its beginning, or where it should have begun.
    void add_event(const TableRow& row);

  private:
    /// Places of the columns that slices are made of.
    struct Columns {
        std::size_t row, segment, connection, reused, due, fired, connect, wire, sent, first_token,
            last_token, done, ended, shard;
    };
    /// Stamps of a record, ns from time 0. Each is at or behind the one before it, as slices must
    /// be; what the record says itself is among the arguments.
    struct Stages {
        std::int64_t due = 0;
        std::int64_t fired = 0;
        std::int64_t sent = 0;
        std::optional<std::int64_t> first_token;
        std::int64_t last_token = 0;
        std::int64_t end = 0;
    };
    /// A track, and where its last slice ends.
    struct Track {
        std::uint64_t uuid = 0;
        std::int64_t end_ns = 0;
    };

    struct EventColumns {
        std::size_t first_name, what, at, begin;
    };

    static Columns columns_of(const std::vector<Figure>& columns);
    static std::optional<Stages> stages_of(const TableRow& row, const Columns& at);
    std::uint64_t track_for(const TableRow& row, const Stages& stages);
    std::uint64_t new_track(std::uint64_t parent, std::string_view name);
    void slice(std::uint64_t track, std::string_view name, std::int64_t from, std::int64_t to);
    std::int64_t utc(std::int64_t ns) const { return zero_ns_ + ns; }

    PerfettoTrace& trace_;
    Columns at_;
    EventColumns event_at_;
    std::int64_t zero_ns_;
    std::uint64_t identity_;
    std::uint64_t tracks_ = 0;
    std::uint64_t run_track_ = 0;
    std::uint64_t events_track_ = 0;
    std::uint64_t unsent_track_ = 0;
    /// By shard, segment and number of the lane. A lane has a second track where rows were due on
    /// it before the row before them had ended; Perfetto shows tracks of one name as one.
    std::map<std::array<std::uint64_t, 3>, std::vector<Track>> lanes_;
};

}  // namespace driftless
