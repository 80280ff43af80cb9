/// SteadyRun: finds the steady part of a run from its records, and the figures of that part and of
/// the whole. Owns about 100 bytes a request; reads no file.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/stats/distribution.hpp"
#include "engine/stats/steady_state.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// What both sides of the table say.
struct SteadySide {
    std::uint64_t requests = 0;  ///< that left in it
    double seconds = 0;
    double requests_per_s = 0;  ///< answered in it
    /// Of answers within it; of those that it cuts, by their chunks. Nothing where tokens of one
    /// were not counted.
    std::optional<double> tokens_per_s;
    // ns, of those that left in it
    Distribution ttft;
    Distribution ttft_due;
    Distribution tpot;
    Distribution e2e;
};

struct SteadyReading {
    SteadyState state;
    SteadySide whole;
    SteadySide window;
};

class SteadyRun {
  public:
    /// Every record, in the order of the file; its chunks do not matter.
    void add(const Record& record);
    /// Once all were added. Returns the places of those that `add_again` needs, ascending from 0:
    /// whose tokens came partly within the window, so that the stamps of their chunks decide.
    std::vector<std::uint32_t> find();
    void add_again(const Record& record);
    SteadyReading reading() const;

  private:
    struct Answer {
        std::uint32_t place = 0;
        bool is_ok = false;
        bool is_whole = false;
        bool has_ttft = false;  ///< that counts
        std::int64_t fired_ns = 0;
        OptionalNs ended_ns;
        OptionalNs ttft_ns;
        OptionalNs ttft_due_ns;
        std::optional<double> tpot_ns;
        OptionalNs e2e_ns;
        std::optional<double> tokens;  ///< that were counted
    };
    struct Side {
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
        std::uint64_t requests = 0;
        std::uint64_t answered = 0;
        double tokens = 0;
        bool is_counted = true;
        Sample ttft;
        Sample ttft_due;
        Sample tpot;
        Sample e2e;
        bool holds(std::int64_t at_ns) const { return at_ns >= begin_ns && at_ns < end_ns; }
        /// Some of its time is within, and some is not.
        bool cuts(const Answer& answer) const;
        void add(const Answer& answer);
        SteadySide figures() const;
    };

    std::uint32_t added_ = 0;
    std::vector<Answer> answers_;
    SteadyState state_;
    Side whole_;
    Side window_;
};

}  // namespace driftless
