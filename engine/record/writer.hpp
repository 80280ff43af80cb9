/// The writer of a run: it drains the event rings of the engines into the files, and says how far
/// the run is.
#pragma once

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/host/host.hpp"
#include "engine/host/threads.hpp"
#include "engine/plan/plan.hpp"
#include "engine/record/assembler.hpp"
#include "engine/record/line_sink.hpp"
#include "engine/record/ring.hpp"
#include "proto/core/errors.hpp"
#include "proto/figures/summary.hpp"
#include "proto/figures/taint.hpp"
#include "proto/run/client_sample.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// EventSource: one engine's way to the writer, and its events as the run numbers them.
struct EventSource {
    EventRing* ring = nullptr;  ///< outlives the last `drain`, or `stop`
    /// [rows of that engine] their positions in the plan; null: they are the same.
    const std::vector<std::uint32_t>* positions = nullptr;
    /// Of users: its requests have numbers below this, so many for each playing of its rows; else
    /// 0.
    std::uint32_t requests_end = 0;
    /// Of the engine, to complete its samples by what the host did to it; 0: nobody looks.
    int thread_id = 0;
};

/// The event with the run's numbers: requests by positions in the plan, which has so many rows;
/// connections and users so that no two engines have one of a number. A request that the engine
/// does not have becomes UINT32_MAX.
Event numbered(const Event& event, const EventSource& engine, ShardPlace place,
               std::size_t rows_in_all);

/// Progress: how far a run is, for whoever shows it. A value; made by the writer five times a
/// second, never by the engine.
struct Progress {
    std::int64_t elapsed_ns = 0;  ///< since time 0; negative before it
    OptionalNs left_ns;           ///< until the last row can be due; null: not known
    std::uint64_t rows = 0;       ///< of users: those that they have told of so far
    bool rows_open = false;       ///< users may send more, their number is not known
    std::uint64_t fired = 0;
    std::uint64_t ended = 0;
    std::uint64_t inflight = 0;
    std::uint64_t tokens = 0;       ///< as known so far
    std::int64_t drift_max_ns = 0;  ///< so far, rows held back by `--max-inflight` left out
    OptionalNs ttft_ns;             ///< median of the last `ttfts_kept` answers; null: none yet
    std::array<std::uint64_t, outcome_count> outcomes{};  ///< of the rows that have ended
};

/// What progress says of the records so far. Constant memory.
class ProgressTally {
  public:
    static constexpr std::size_t ttfts_kept = 64;

    void add(const Record& record) {
        CHECK(static_cast<std::size_t>(record.outcome) < outcome_count);
        ++outcomes_[static_cast<std::size_t>(record.outcome)];
        if (record.ttft_ns) {
            ttfts_[seen_++ % ttfts_kept] = *record.ttft_ns;
        }
    }
    void fill(Progress& progress) const {
        progress.outcomes = outcomes_;
        if (seen_ > 0) {
            std::array<std::int64_t, ttfts_kept> sorted = ttfts_;
            const auto end =
                sorted.begin() + static_cast<std::ptrdiff_t>(std::min(seen_, ttfts_kept));
            const auto middle = sorted.begin() + (end - sorted.begin() - 1) / 2;  // nearest rank
            std::nth_element(sorted.begin(), middle, end);
            progress.ttft_ns = *middle;
        }
    }

  private:
    std::array<std::uint64_t, outcome_count> outcomes_{};
    std::array<std::int64_t, ttfts_kept> ttfts_{};
    std::size_t seen_ = 0;
};

/// Called on the writer's thread.
struct ProgressCallback {
    void (*call)(void* owner, const Progress& progress) = nullptr;
    void* owner = nullptr;
};

// RecordWriter: drains the event rings of a run's engines into its files. It owns the assembler,
// the sums and the files; an engine thread shares nothing with it but its ring and a few atomics.
// Of several rings the event with the oldest stamp goes first.
//
// Two ways to run it, never both: `drain` inline (the simulator, into strings, without a clock),
// or a thread of its own at normal priority, which naps when the rings are empty and never spins.
// A file that cannot be written is an error for the engine to see (`failed`); the rings are
// drained all the same, so that nobody ever waits for a disk.

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

/// New ones: requests.jsonl, fired.jsonl, client.jsonl, and those that are asked for; or those of a
/// run that is resumed, which go on where their last whole lines end. Errors: those of LineSink,
/// for the file at `failed`; new ones that had been made before it are removed.
Result<RecordSinks> open_sinks(const RecordFiles& files, bool is_new, std::string& failed);
/// Takes new files away again.
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
    /// Of its CPU time.
    clockid_t cpu_clock() const { return thread_.cpu_clock(); }
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
    void commit(LineSink& sink);
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
