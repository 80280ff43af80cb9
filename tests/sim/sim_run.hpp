/// One replay in virtual time, or a segment of one: the product's plan, prompts, lanes, pacer, ring
/// and writer, over the simulator's world. What comes out are the files, byte for byte, and every
/// count that the laws (laws.hpp) are held against.
#pragma once

#include "engine/history/resumed_run.hpp"
#include "engine/plan/arrivals.hpp"
#include "engine/plan/trees.hpp"
#include "engine/record/assembler.hpp"
#include "tests/sim/sim_disk.hpp"
#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {

/// Bugs that tests of the laws plant, each beside the product and never in it. A law that none of
/// them breaks would prove nothing.
enum class Bug : std::uint8_t {
    none,
    early_stamps,       ///< the driver stamps what it sees before it was there
    lost_byte,          ///< the driver swallows a byte
    other_dice,         ///< the driver throws other dice than its seed says
    wrong_count,        ///< the server counts a token that it does not announce
    leaked_body,        ///< somebody takes memory of the bodies' pool and keeps it
    forgotten_event,    ///< an event behind the end of its row
    unread_event,       ///< the last event stays in the ring
    unsaid_limit,       ///< servers are held to have announced a limit that they keep to themselves
    early_look,         ///< the run is held to be over a turn before it is
    unmarked,           ///< the run is given nothing to mark its rows in
    endless,            ///< the run is given too few turns
    planned_twice,      ///< a row stands in the plan in the place of another, too
    early_engine,       ///< the engine has another schedule than was planned: each row a ms earlier
    greedy_send,        ///< the driver says that a send took all of it, and drops its last byte
    uncounted_loss,     ///< the driver does not tell what it sent again
    crossed_send,       ///< the driver carries what is sent on one connection to another's server
    other_servers,      ///< requests are dealt to the servers in turn, whatever is asked
    other_lanes,        ///< connections are used again, whatever is asked
    other_names,        ///< requests bear another run's name
    no_fired_file,      ///< what is written to fired.jsonl is lost
    blind_look,         ///< the driver says that nothing is waiting, whatever is
    blind_to_ends,      ///< the driver finds no end that the kernel has lost
    trusted_clock,      ///< the driver takes stamps for true though somebody has set the clock
    no_proof,           ///< the driver takes no entry that brings nothing for proof of it
    early_turns,        ///< turns go as soon as what they wait for has left
    lost_release,       ///< a turn is held to wait for another row, too, which fails
    shared_file,        ///< fired.jsonl and requests.jsonl are one file
    early_forgetting,   ///< marks of a run that is resumed go before run.json names the new segment
    late_zero,          ///< time 0 is settled as if run.json were written in no time
    forgotten_past,     ///< a segment is not told of the rows that ended before it
    fast_clock,         ///< the writer's clock is a second ahead
    other_rate,         ///< rows arrive a little faster than was asked for
    extra_user,         ///< one user more plays than was asked for
    split_trees,        ///< some turns are held to be of no tree: their user goes on without them
    lost_time,          ///< users go on when their time is up
    early_start,        ///< behind their primers trees go on at once
    eager_users,        ///< all users begin as soon as they may, whoever is wanted
    no_barriers,        ///< the schedule is not told of barriers
    extra_row,          ///< one row more is open than was asked for
    shuffled_rows,      ///< single rows are taken in another order than the file's
    file_order,         ///< hits are forecast by the order of the file
    forgotten_words,    ///< answers are put into later prompts without their text
    unfilled_prompts,   ///< prompts that are too short get words of no length
    wide_budgets,       ///< token budgets are twice of what was asked for
    deaf_engine,        ///< the engine is not told that the run has to stop
    other_patience,     ///< clients give up other requests than were drawn
    lonely_rows,        ///< the writer is told of a trace in which no row comes after another
    mixed_sides,        ///< dual fire: the engine swaps the sides of some rows
    one_later,          ///< the engine sends the last request a ns later
    fair_no_more,       ///< dual fire: side a always goes first
    shared_place,       ///< dual fire: both sides' requests share few places in flight
    one_engines_marks,  ///< several engines: only the first one's marks are kept
    // Those that only users meet.
    first_of_users = extra_user,
    last_of_users = file_order,
    // Those of dual fire.
    first_of_sides = mixed_sides,
    last_of_sides = shared_place,
};

/// When run.json cannot be written.
enum class RunJsonFault : std::uint8_t { none, naming, time_zero };

struct SimOptions {
    std::uint64_t seed = 0;
    Weather weather;
    TlsWeather tls;
    mock::CoreOptions server;
    Script script;
    Timeouts timeouts{milliseconds(300), seconds(3), seconds(1), seconds(20)};
    bool stream = true;       ///< `--no-stream`: answers come whole
    bool own_fields = false;  ///< rows have headers of their own and a trace, and record their ids
    std::uint32_t targets = 1;  ///< URLs, all of them served by the same kind of server
    Balance balance = Balance::turn;
    std::uint32_t inflight_max = 64;
    bool capped_by_host = false;  ///< ... is what the host has room for
    BudgetRules budgets;
    AbandonRules abandon;
    std::vector<StopRule> stop_when;  ///< conditions that end the run early
    std::uint32_t connections_fixed = 0;
    ConnectionRule connection = ConnectionRule::reuse;
    std::optional<ArrivalRules> arrivals;  ///< rows come at a rate
    bool closed = false;        ///< rows wait for those that the trace says they depend on
    UserRules users;            ///< with `closed`; none, where their number is 0
    GrowRules grow;             ///< with users; its numbers of them follow from those
    std::int64_t drain_ns = 0;  ///< behind `users.for_ns`
    bool live = false;  ///< prompts hold the answers of the run; the trace is recorded words
    bool dual = false;  ///< each row goes to both of two targets
    /// Engines that share the plan, each with a driver, servers and weather of its own. Not with
    /// users, live conversations, TLS or a kill.
    std::uint32_t engines = 1;
    /// Of dual fire: no fault of weather strikes the connections to this target.
    std::optional<std::uint32_t> spared;
    std::int64_t period_ns = 50'000'000;
    bool warm_sends = false;
    std::size_t body_bytes = 4 << 20;
    std::size_t ring_bytes = 1 << 20;
    double drain_share = 0.2;         ///< of the turns, after which the event ring is drained
    std::int64_t stop_at_ns = -1;     ///< run time of a first interruption; -1: never
    std::int64_t stop_again_ns = -1;  ///< and of a second one
    DiskRoom disk;
    Duration run_json_synced{0};   ///< how long it takes to write run.json for the first time
    Duration run_json_written{0};  ///< ... and with the time 0 that holds
    RunJsonFault run_json_fault = RunJsonFault::none;
    bool overload = false;  ///< more comes than can be read: it may wait for any time
    /// Nobody watches: what a run keeps is what the product keeps, and the simulated world.
    bool unwatched = false;
    std::vector<std::int64_t> weighed_at_ns;  ///< run times at which the heap is weighed
    Bug bug = Bug::none;
};

/// How the process of a run dies.
struct Kill {
    std::int64_t at_ns = 0;   ///< run time
    std::uint32_t steps = 0;  ///< of the driver, later (SimDriver::die_after); 0: between turns
    std::uint64_t dice = 0;   ///< between two writes, or in the middle of one
    bool resuming = false;    ///< before that: while it records the rows that it gives up
    /// Instead of all that: before so many-th call of its RunHost; 0: not there.
    std::uint32_t call = 0;
};

/// What outlives the process of a run on its machine, beside the files that grow.
struct SimMachine {
    std::vector<RunSegment> segments;  ///< that run.json names; empty: there is none
    bool closed = false;               ///< ... and it tells of the end
    /// Shared memory: positions in the trace, by the names of marks.
    std::map<std::string, std::vector<std::uint32_t>> marks;
};

/// One of the segments of a run (killed_run.hpp): what it finds, and how it ends.
struct Segment {
    SimDisk& disk;
    SimMachine& machine;
    const Plan& whole;  ///< of the run
    std::optional<Kill> kill;
    std::string name = "sim";             ///< of its marks
    const ResumedRun* resumed = nullptr;  ///< null: it is the first
};

/// Of each row that has any, by index: the rows whose answers it came after when it was recorded.
using TurnsBefore = std::map<std::uint32_t, std::vector<std::uint32_t>>;

/// What a row's prompt is made of.
struct SimPrompt {
    std::uint32_t name_space = 0;
    std::uint32_t input_length = 0;
    std::vector<std::uint64_t> ids;
};
/// Where the run decides the order of its requests; else none.
struct SimPrompts {
    std::map<std::uint32_t, SimPrompt> of_row;  ///< by index
    std::set<std::uint32_t> sent_before;        ///< in earlier segments, as far as that is known
    std::uint32_t block_size = 0;
    std::uint32_t pre = 0;  ///< tokens of the template
    std::uint32_t post = 0;
};

/// Bytes of the files of a run when they had been flushed.
struct Flushed {
    std::int64_t at_ns = 0;  ///< run time
    std::array<std::uint64_t, 4> bytes{};
};
inline constexpr const char* flushed_files[] = {"requests.jsonl", "fired.jsonl", "client.jsonl",
                                                "periods.jsonl"};

/// A request that left, as the engine has told.
struct SentRequest {
    std::uint32_t row = 0;
    std::uint32_t pass = 0;
    std::uint32_t attempt = 0;
    std::int64_t fired_ns = 0;  ///< run time
    Side side = Side::none;
};

struct SimResult {
    // What was written.
    std::string jsonl;
    std::string fired_jsonl;
    std::string periods_jsonl;
    std::int64_t period_ns = 0;
    std::vector<std::uint32_t> marked;    ///< rows that a resumption would take to have left
    std::set<std::uint32_t> again;        ///< rows that may have left before, and are sent again
    std::set<std::uint64_t> marks;        ///< `marked`, by row and side
    std::vector<Record> records;          ///< read back from `jsonl`
    std::vector<std::string> unreadable;  ///< lines that could not be read back
    bool disk_failed = false;

    // What the writer counted.
    AssemblerCounts counts;
    std::array<std::uint64_t, outcome_count> outcomes{};  ///< of the summary

    // What the driver and the servers saw.
    std::uint64_t bytes_delivered = 0;
    std::uint64_t bytes_accepted = 0;
    std::uint64_t segments_resent = 0;
    bool sends_block = false;   ///< a send may wait in the socket, however long
    bool flushes_fail = false;  ///< ... or in our queue, because the kernel takes nothing
    std::uint64_t warm_sends = 0;
    std::uint64_t overdue_sends = 0;  ///< on connections idle beyond what their server had said
    std::uint64_t misread = 0;        ///< connections whose TLS could not read what was sent
    std::uint64_t handshakes = 0;     ///< completed; some of them with a session taken up
    std::uint64_t resumed = 0;
    bool overload = false;
    bool bytewise = false;  ///< every read is one byte
    bool calm = false;      ///< nothing kept the process from reading, and nobody set the clock
    /// [row] run times at which the kernel took parts of it, of the latest try.
    std::map<std::uint32_t, std::vector<std::int64_t>> parts_ns;
    Duration latency_max{0};                   ///< ... until we could know of it
    TaintLimits limits;                        ///< of the certificate
    std::map<std::uint32_t, Duration> waited;  ///< [row] the longest that a byte of its answer did
    struct LastRead {
        std::int64_t came_ns = 0;  ///< its last byte, to the client's kernel
        std::int64_t read_ns = 0;
    };
    std::map<std::uint32_t, LastRead> last_reads;  ///< [row] the last read of its answer; run time
    /// [row] of each event of its answer: its last byte, with the line end that closes its chunk of
    /// HTTP where that came in the same read. Not of TLS.
    std::map<std::uint32_t, std::vector<LastRead>> event_reads;
    /// [row] when the first byte came that nobody had read when its exchange was over; run time.
    std::map<std::uint32_t, std::int64_t> unread_ns;
    Timeouts timeouts;
    struct Sleep {
        std::int64_t at_ns = 0;  ///< run time, which stands still meanwhile
        std::int64_t length_ns = 0;
    };
    std::vector<Sleep> sleeps;             ///< of the host
    Duration unread_max{0};                ///< as `SimDriver::unread_max`
    Duration end_unseen_max{0};            ///< as `SimDriver::end_unseen_max`
    Duration arithmetic_max{0};            ///< the longest that a step of TLS may have taken
    std::optional<ArrivalRules> arrivals;  ///< as asked for
    std::map<std::uint32_t, std::int64_t> due_ns;  ///< [row] as planned; not of those that wait
    std::vector<Dependency> dependencies;          ///< of closed sessions
    UserRules users;                               ///< those that were asked for
    OptionalNs measured_from_ns;                   ///< of them; none: it did not come to that
    struct Wanted {
        std::int64_t at_ns = 0;  ///< run time
        std::uint32_t users = 0;
    };
    std::vector<Wanted> wanted;     ///< whenever more users were wanted than before
    std::uint64_t warmup_rows = 0;  ///< that the summary has counted apart
    std::map<std::uint32_t, std::int64_t> recorded_ns;  ///< [row] of users: due as recorded
    std::map<std::uint32_t, std::uint32_t> trees;       ///< [row] of users: a row of its tree
    SimPrompts prompts;
    TurnsBefore turns_before;  ///< of the whole trace
    bool live = false;         ///< prompts hold the answers of the run
    bool dual = false;         ///< each row went to both sides
    Side spared = Side::none;  ///< nothing that anybody did could disturb this one
    std::uint64_t seed = 0;
    /// [row] of live conversations: the row whose answer comes before its messages.
    std::map<std::uint32_t, std::uint32_t> goes_on_behind;
    bool stopped = false;  ///< before all was sent: by the user, or for want of a disk
    std::map<std::uint32_t, mock::RequestLog> truth;  ///< [row] the earliest stamps of each
    std::int64_t zero_ns = 0;                         ///< time 0 on their clock
    /// From the start of the writer until the first due instant; none where nothing was to be sent.
    std::optional<std::int64_t> lead_ns;
    std::vector<std::uint32_t> scripted_rows;

    // What its end tells whoever resumes it.
    bool stood = false;  ///< it had begun: run.json names it
    bool killed = false;
    bool in_turn = false;               ///< while the engine was at work
    std::int64_t first_due_ns = 0;      ///< of its first row
    std::int64_t died_ns = 0;           ///< run time
    std::set<std::uint32_t> left;       ///< rows that were fired, whatever the files say
    std::vector<SentRequest> sent;      ///< each time
    std::uint64_t requests_marked = 0;  ///< that may have left, by its marks
    std::vector<Flushed> flushes;
    std::string summary;  ///< `summary_of` the writer's sums

    // What is left over.
    ConnectionRule connection = ConnectionRule::reuse;
    Balance balance = Balance::turn;
    std::uint32_t engines = 1;
    std::uint32_t inflight_max = 0;
    bool capped_by_host = false;
    BudgetRules budgets;              ///< those that were asked for
    AbandonRules abandon;             ///< the same
    std::vector<StopRule> stop_when;  ///< the same
    OptionalNs stop_wanted_ns;  ///< run time at which the writer had found one of them to hold
    std::optional<StoppedWhen> stop_found;
    bool stopped_early = false;  ///< the engine knew of it before its end
    std::map<std::uint32_t, std::uint32_t> expected_cached;  ///< [row] as the plan expects
    std::uint64_t rows = 0;
    std::uint64_t stale_retries = 0;
    std::uint64_t closed_idle = 0;   ///< idle connections that their server closed
    std::uint64_t retired_idle = 0;  ///< ... that were closed before
    std::uint64_t bytes_stray = 0;   ///< received, and of no exchange
    std::size_t sockets_open = 0;
    std::uint32_t ops_in_flight = 0;
    std::uint64_t frames_live = 0;
    std::size_t body_bytes_held = 0;
    std::uint64_t events_left = 0;
    std::uint64_t turns = 0;
    struct Weight {
        std::uint64_t heap_bytes = 0;  ///< in use
        std::uint64_t records = 0;     ///< given by then
    };
    std::vector<Weight> weights;  ///< at `weighed_at_ns`
    bool ended = false;           ///< within the bound on turns
};

SimResult run(const Trace& trace, const SimOptions& options);
SimResult run_segment(const Trace& trace, const SimOptions& options, const Segment& segment);

}  // namespace driftless::sim
