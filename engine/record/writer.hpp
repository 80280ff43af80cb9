/// RecordWriter: drains the event rings of a run's engines into its files. It owns the assembler,
/// the sums and the files; an engine thread shares nothing with it but its ring and a few atomics.
/// Of several rings the event with the oldest stamp goes first.
///
/// Two ways to run it, never both: `drain` inline (the simulator, into strings, without a clock),
/// or a thread of its own at normal priority, which naps when the rings are empty and never spins.
/// A file that cannot be written is an error for the engine to see (`failed`); the rings are
/// drained all the same, so that nobody ever waits for a disk.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/host/host.hpp"
#include "engine/host/side_thread.hpp"
#include "engine/record/assembler.hpp"
#include "engine/record/event_source.hpp"
#include "engine/record/line_sink.hpp"
#include "engine/record/progress.hpp"
#include "engine/record/ring.hpp"
#include "engine/stats/client_totals.hpp"
#include "engine/stats/summary.hpp"
#include "proto/core/check.hpp"
#include "proto/record/client_sample.hpp"

namespace driftless {

/// The files of design section 5 that are written line by line.
struct RecordSinks {
    LineSink requests;
    LineSink fired;
    LineSink client;
    LineSink responses;  ///< takes nothing without `--save-responses`
    LineSink periods;    ///< takes nothing under `--period none`
};

/// Where they are: in a folder that exists.
struct RecordFiles {
    std::string folder;
    std::string records_path;  ///< empty: requests.jsonl in the folder
    bool responses = false;    ///< there is a responses.jsonl
    bool periods = false;      ///< there is a periods.jsonl
};

/// Creates them: requests.jsonl, fired.jsonl, client.jsonl, and those that are asked for. Errors:
/// those of LineSink, for the file at `failed`; what had been created before the error is removed.
Result<RecordSinks> create_sinks(const RecordFiles& files, std::string& failed);
/// The same for a run that is resumed: its files go on where their last whole lines end, and stay.
Result<RecordSinks> append_sinks(const RecordFiles& files, std::string& failed);
/// Takes files that `create_sinks` made away again.
void remove_sinks(const RecordSinks& sinks);

/// Longest time that a line waits in memory, and between two looks at an empty ring.
inline constexpr std::int64_t flush_every_ns = 500'000'000;
inline constexpr std::int64_t nap_ns = 1'000'000;
/// ... where the engine waits for words of answers.
inline constexpr std::int64_t words_nap_ns = 50'000;
inline constexpr std::int64_t progress_every_ns = 200'000'000;

/// Where its thread runs.
struct WriterSeat {
    cpu_set_t cpus;
    /// An engine that sleeps often has the same CPU: after every few events the thread gives way to
    /// whoever waits for it, so that the engine waits for tens of microseconds and no longer.
    bool gives_way = false;
    /// Where the thread goes while it cannot keep up so. Nothing: it stays, and gives way no more.
    std::optional<cpu_set_t> refuge;
};

class RecordWriter {
  public:
    /// `summary` knows the run's bounds and overhead. Of a run that is resumed, it and `client`
    /// hold what came before; else they are empty.
    RecordWriter(AssemblerConfig config, Summary summary, RecordSinks sinks,
                 const ClientTotals& client = {});
    ~RecordWriter();  ///< CHECKs that the thread was stopped
    RecordWriter(const RecordWriter&) = delete;
    RecordWriter& operator=(const RecordWriter&) = delete;

    /// Before all else: records that no event will tell of (rows of a run that is resumed).
    void add(const std::vector<Record>& records);

    /// The engines of the run, by their numbers; before the first `drain` and the thread.
    void read_from(const std::vector<EventSource>& engines);

    // From the engine's side.
    /// Time 0 on the rings' clock. Once, from any thread; until then only `armed` events are taken.
    void begin(Instant time_zero);
    /// A file could not be written: the run should end with exit code 7. `error` says why.
    bool failed() const { return failed_.load(std::memory_order_acquire); }
    Error error() const { return failed() ? error_ : Error{}; }
    /// Path of that file; empty where none failed.
    std::string failed_path() const { return failed() ? failed_path_ : std::string(); }

    // Inline.
    /// Takes at most `events_max` events; returns how many.
    std::size_t drain(std::size_t events_max);
    /// The rings are empty, and it is this late on their clock: periods that are over get their
    /// lines.
    void look(std::int64_t now_ns);
    /// Writes every line that there is. Who left goes before who ended: a kill between the two
    /// leaves no record of a row that is not in fired.jsonl.
    void flush();
    /// After the last event: a record for each row without one, and everything written.
    void finish();

    // With a thread.
    /// Starts it there (null: where the process may run), signals blocked, normal priority.
    /// Errors: exhausted, denied.
    Result<void> start_thread(const WriterSeat* seat, ProgressCallback progress);
    /// No event comes any more: drains the rings, finishes, joins.
    void stop();

    // After `finish` or `stop`, or between drains.
    const Summary& summary() const { return summary_; }
    const ClientTotals& client() const { return client_; }
    const AssemblerCounts& counts() const { return assembler_.counts(); }
    /// The condition of `--stop-when` that was found to hold.
    std::optional<StoppedWhen> stopped_when() const {
        return periods_ ? periods_->stopped_when() : std::nullopt;
    }
    const RecordSinks& sinks() const { return sinks_; }

  private:
    /// One of the engines.
    struct Source {
        EventSource engine;
        std::optional<ThreadProbe> probe;
    };

    void thread_loop();
    void settle(std::int64_t now_ns);
    Source* next_source(bool all_kinds);
    void take(const Event& event, std::string_view payload, Source& source);
    void add_own_cost(ClientSample& sample);
    void take_sample(std::string_view payload, Source& source);
    void write_record(const Record& record);
    void write_fired(const Event& event);
    void write_periods();
    void note_error(const LineSink& sink);
    bool begun();
    void show_progress(std::int64_t now_ns);

    AssemblerConfig config_;
    std::optional<Periods> periods_;
    Assembler assembler_;
    Summary summary_;
    ClientTotals client_;
    RecordSinks sinks_;
    /// The records of a run are added to, and then complete: no event may come any more.
    enum class Stage : std::uint8_t { recording, finished };
    Stage stage_ = Stage::recording;
    std::int64_t time_zero_ns_ = no_stamp;  ///< the writer's own copy
    std::atomic<std::int64_t> begin_ns_{no_stamp};
    Error error_;
    std::string failed_path_;
    std::atomic<bool> failed_{false};

    std::vector<Source> sources_;  ///< [engines]
    SideThread thread_;
    std::optional<WriterSeat> seat_;
    std::optional<ThreadProbe> probe_;  ///< of the thread itself
    std::int64_t cpu_ns_ = 0;           ///< its CPU time at the sample before
    std::int64_t chunks_read_ = 0;      ///< since then
    bool hurries_ = false;              ///< gives way to nobody, until it has caught up
    std::int64_t hurried_at_ns_ = 0;
    std::atomic<bool> stopping_{false};
    ProgressCallback progress_;
    std::int64_t progress_at_ns_ = 0;
    ProgressTally tally_;
};

}  // namespace driftless
