/// SimRunHost: what the steps of a run ask for, in the simulated world: files on a SimDisk,
/// run.json and marks on a SimMachine, and no writer's thread: events are drained in line, after
/// turns of the seed's choosing. The process may die before any call, in the middle of a turn or
/// between two writes; from there on nothing that it is asked changes the world. Owned by the
/// simulation.
#pragma once

#include <atomic>

#include "engine/record/ring.hpp"
#include "tests/sim/sim_engines.hpp"

namespace driftless::sim {

inline constexpr std::size_t drain_all = SIZE_MAX;

class SimRunHost final : public RunHost {
  public:
    /// `plan` is of the segment. All of it outlives the host.
    SimRunHost(const Trace& trace, const Plan& plan, const SimOptions& options,
               const Segment& segment, SimDriver& driver, EventRing& ring, const FiredMarks& marks,
               SimResult& result);
    /// Of several engines: who knows how late it is, and what each has been dealt, by number.
    void read_from(const SimEngines& engines, std::vector<EventSource> sources) {
        engines_ = &engines;
        sources_ = std::move(sources);
    }

    std::optional<RecordSinks> open_files() override;
    FiredMarks create_marks(const std::string& name, std::size_t rows) override;
    void settle_engine() override { (void)lives(); }
    bool name_segment(const RunSegment& segment, Instant zero) override;
    void remove_marks(const std::string& name) override;
    bool set_time_zero(Instant zero) override;
    bool start_writer(RecordWriter& writer) override;
    bool turned() override;
    void stop_writer(RecordWriter& writer) override;
    void close_books(const RecordWriter& writer) override;
    void discard(const RecordWriter* writer) override;

    /// After an order that was broken off: what the process would still have done, or what the
    /// world does without it.
    void settle();
    /// Takes so many events, and notes which rows have left.
    void drain(std::size_t events_max);

    const std::atomic<int>& stop_requests() const { return stop_requests_; }
    /// How many users are to play: told by the writer.
    std::atomic<std::uint32_t>& users_wanted() { return users_wanted_; }
    /// The run has to end early: told by the writer.
    std::atomic<bool>& stop_wanted() { return stop_wanted_; }
    /// Bytes of fired.jsonl of the segments before it.
    std::uint64_t fired_before() const { return fired_before_; }
    /// The same of periods.jsonl.
    std::uint64_t periods_before() const { return periods_before_; }

  private:
    bool lives();
    void note_beginning();
    void note_flushed(std::int64_t at_ns);
    void note_death();
    void note_wanted(std::int64_t at_ns);
    void die_soon();
    void die();
    void die_at_the_end();
    void let_arrive();
    void flush(std::int64_t at_ns);
    const EventSource* next_source() const;
    void note_sent(const Event& event, const EventSource& source);
    Instant now() const;
    void weigh(std::int64_t at_ns);
    std::int64_t first_due_ns() const;

    const Trace& trace_;
    const Plan& plan_;
    const SimOptions& options_;
    const Segment& segment_;
    SimDriver& driver_;
    const SimEngines* engines_ = nullptr;  ///< of one: null
    std::vector<EventSource> sources_;     ///< [engines]
    EventRing& ring_;
    const FiredMarks& marks_;
    SimResult& result_;
    RecordWriter* writer_ = nullptr;  ///< once it is started
    std::atomic<int> stop_requests_{0};
    std::atomic<std::uint32_t> users_wanted_{0};
    std::atomic<bool> stop_wanted_{false};
    Instant zero_;
    Random random_;                       ///< when events are drained
    std::map<std::uint32_t, Due> armed_;  ///< [request] that was told of last
    std::uint64_t fired_before_ = 0;
    std::uint64_t periods_before_ = 0;
    std::int64_t flush_at_ns_ = 0;
    std::uint32_t calls_ = 0;
    bool resuming_ = false;  ///< it dies before the next call
    bool dying_ = false;     ///< it dies in the driver
    bool dead_ = false;
};

}  // namespace driftless::sim
