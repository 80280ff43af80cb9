/// What the client did to its own measurement: the sums over its samples (ClientTotals), which rows
/// say less about the server than others, and who is to blame: client, host or network.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/run/client_sample.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// ClientTotals: the sums over the samples of a run (one a second and engine), for the verdict and
// the summary. Fed in any order, with instants from time 0; can be rebuilt from `client.jsonl`. It
// judges nothing. 56 bytes a second and engine.

class JsonWriter;

/// How the engine thread spent a second, as shares of it.
struct BusySecond {
    std::int64_t from_ns = 0;  ///< as the sample gives it
    double busy = 0;           ///< firing, receiving, preparing
    double taken = 0;          ///< kept from the CPU: run-queue delay and steal
    double load = 0;           ///< `busy`, of what others left of it
    std::int64_t chunks = 0;
    std::int64_t engine = 0;
};

/// What others did to the engine thread in a second.
struct ClientSecond {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
    std::int64_t taken_ns = 0;  ///< run-queue delay and steal
    /// Longest that it was away without having asked for it; may have begun in a second before.
    std::int64_t gap_max_ns = 0;
    std::int64_t receive_delay_max_ns = 0;
    std::int64_t slow_connects = 0;
    std::int64_t engine = 0;
};

/// One engine of several. The rows' drift is that of all rows, whatever held them back.
struct EngineTotals {
    std::int64_t rows_fired = 0;
    std::int64_t drift_sum_ns = 0;
    std::int64_t drift_max_ns = 0;
    double busy_max = 0;   ///< share of its busiest second
    double taken_max = 0;  ///< share of the second in which others had its CPU longest
};

/// Over all engines. -1: no sample knew it.
struct ClientTotals {
    std::uint64_t seconds = 0;
    std::vector<ClientSecond> each;
    std::vector<EngineTotals> engines;  ///< by their numbers
    BusySecond busiest;                 ///< by `load`
    double busy_max = 0;
    double taken_max = 0;
    std::int64_t chunks_per_s_max = 0;
    std::int64_t span_ns = 0;
    /// Of all samples: each counter summed up, what is named `max` and `clock_steps` the most.
    ClientSample sums;
    /// Chunks that the writer takes in a second of CPU time, by the second in which it took most.
    /// -1: it never had so much to do that this would say anything.
    std::int64_t writer_chunks_per_cpu_s = -1;
    double writer_busy_max = -1;  ///< CPU time, of what others left of a second; -1: not measured
    /// The second in which the ring refused most payload.
    struct WorstLoss {
        std::int64_t dropped_payloads = 0;
        std::int64_t chunks = 0;         ///< that came
        std::int64_t writer_chunks = 0;  ///< that the writer read
        double writer_cpu_share = 0;     ///< of the second, in which it had a CPU
    } worst_loss;

    void add(const ClientSample& sample);

  private:
    void add_writer(const ClientSample& sample, std::int64_t length_ns);
    EngineTotals& engine_of(const ClientSample& sample);
};

/// The key "client": totals, and what a request and a chunk cost: the whole thread's figures
/// divided by their number. Null for null, and for what is unknown or would be divided by 0.
void write_client(JsonWriter& json, const ClientTotals* totals);

// Taint: why a record says less about the server than the others do: we sent the row late, read
// its tokens late, or lost a part of it. Pure functions of plain values.

/// `--certify-within`: what a certificate may allow at most, whatever was measured.
struct CertifyWithin {
    std::int64_t sent_ns = 5'000'000;
    std::int64_t read_ns = 5'000'000;
    /// So far the client may have moved TTFT or E2E, where a hundredth of the figure is less; TPOT
    /// by a tenth of that, or, of few tokens, by as much as moves E2E by all of it.
    std::int64_t error_ns = 1'000'000;
};

/// Beyond these a row is tainted; 0: no limit. The drift that is allowed grows by `rank_ns` for
/// each row of the same instant that goes before, since one core sends one after another, but never
/// beyond `drift_most_ns`.
struct TaintLimits {
    std::int64_t drift_ns = 0;
    std::int64_t rank_ns = 0;
    std::int64_t drift_most_ns = 0;
    std::int64_t receive_delay_ns = 0;  ///< also of parts of the request that waited for us
    std::int64_t wire_ns = 0;           ///< from the fire to the wire
    std::int64_t error_ns = CertifyWithin().error_ns;  ///< as there; it taints no row
};

/// Without a calibration (engine/host/calibration.hpp): the bar alone.
TaintLimits taint_limits(const CertifyWithin& within);

/// The drift that is allowed to a row that has so many of its instant before it; 0: any.
std::int64_t drift_limit_ns(const TaintLimits& limits, std::uint32_t rank);

/// What taints a row and is not yet in its record.
struct RowLosses {
    bool entries_dropped = false;  ///< events found our ring full
    bool payload_dropped = false;  ///< their bytes did
    /// From the fire until we saw that the kernel had taken some of it; -1: it never said.
    std::int64_t accept_ns = -1;
    std::int64_t request_waited_ns = 0;  ///< so long parts of the request waited for us, in sum
    bool request_lost = false;           ///< a part of the request, on the way: it was sent again
    bool answered_early = false;         ///< bytes of the answer were there before the request left
    bool end_unsure = false;             ///< taint_end_unsure
};

/// Fills `record.tainted` and the two delays of the request once all else of the record is known. A
/// row that `--max-inflight` or a budget held back was late because the user wanted it: no taint
/// for as long as it was held. One that a limit of this host held back is tainted whatever the
/// limits, and so is one that failed for our own lack, or whose request was lost on the way and
/// sent again, or whose 200 was there before it (servers may refuse a request early), or
/// whose end is not sure.
void add_taints(Record& record, const RowLosses& losses, const TaintLimits& limits,
                std::uint32_t rank);

// Tainted: which rows are tainted, when it happened to them, and what the worst of all others was.
// Fed with records in any order; it owns its figures. Whose doing a taint was is decided with the
// seconds of the client that coincide with it, not here. 32 bytes a tainted row.

/// Who can have caused a taint, as far as its record tells.
enum class Suspect : std::uint8_t {
    ours,     ///< preparation, writer, a loss or a limit of our own
    host,     ///< the engine woke too late, or was stopped
    work,     ///< work of ours was in the way: ours, unless others had the CPU
    reading,  ///< bytes waited for us in some second of the row: as with `work`
    lane,     ///< no connection: the network's where connecting took long, else ours
    wire,     ///< a queue behind us: the network's, unless others had the CPU
    network,  ///< the request was lost on the way, or the server closed or answered unasked
};

/// A tainted row: the stretch of the run in which it happened, from time 0.
struct TaintedRow {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
    std::int64_t late_ns = 0;  ///< by how much; 0 where something was lost
    Suspect suspect = Suspect::ours;
};

/// `record.tainted` is not empty. Of several taints the most certain one counts.
TaintedRow tainted_row_of(const Record& record);

/// The worst of the rows that are not tainted: the figures that a certificate gives. ns.
struct UntaintedFigures {
    std::int64_t drift_max_ns = 0;       ///< of a row that --max-inflight held: after its release
    std::int64_t wire_delay_max_ns = 0;  ///< from the fire to the wire
    std::int64_t receive_delay_max_ns = 0;  ///< an upper bound, as in the record
};

/// A tainted row that was sent as planned, and only read late, by a bound that is known: it stays
/// in the figures, of which the client's error says how far it may have moved them. One whose
/// tokens came at one instant has no TPOT to count it in.
bool stays_in(const Record& record);

/// All of it, over the records of a run.
struct TaintFigures {
    std::uint64_t sent = 0;    ///< rows that left
    std::uint64_t unsent = 0;  ///< tainted or interrupted rows that are not known to have
    std::vector<TaintedRow> rows;
    std::uint64_t read_late_only = 0;  ///< of these: those that stay in
    UntaintedFigures untainted;

    void add(const Record& record);
    /// Excluded rows of those that were sent, or were to be; 0 where there are none. Beside the
    /// tainted ones: `interrupted` ones, and `unrecorded` ones, which left and have no record;
    /// without `kept` of the tainted ones.
    double share(std::uint64_t interrupted, std::uint64_t unrecorded, std::uint64_t kept) const;
};

// Blame: whose doing the tainted rows were. A row is held against the seconds of the client that
// coincide with it: a program that had the CPU in one second excuses nothing in another. Pure.

/// Of a second, kept from the CPU: above, what was late in it may be the host's doing.
inline constexpr double taken_max = 0.1;

/// Tainted rows by whose doing they were, and what the host did in the seconds that say so.
struct Blame {
    std::uint64_t client = 0;
    std::uint64_t host = 0;
    std::uint64_t network = 0;
    double taken_share = 0;         ///< the most of such a second that others had of our CPU
    std::int64_t taken_ns = 0;      ///< and how long that was
    std::int64_t taken_engine = 0;  ///< of which engine
    std::int64_t gap_max_ns = 0;    ///< the longest stretch without the CPU, or stopped
    std::int64_t gap_engine = 0;    ///< of which engine; it can be longer than a second
};

Blame blame_of(std::span<const TaintedRow> rows, const ClientTotals& client);

}  // namespace driftless
