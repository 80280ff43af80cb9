#include "tests/sim/sim_run.hpp"

#include <atomic>
#include <utility>

#include "engine/prompt/vocab.hpp"
#include "engine/record/writer.hpp"
#include "engine/replay/run.hpp"
#include "tests/sim/sim_disk.hpp"
#include "tests/sim/sim_parts.hpp"
#include "tests/sim/witness.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint64_t turns_max = 2'000'000;
constexpr std::uint64_t turns_of_an_endless_run = 2'000;
constexpr std::size_t drain_all = SIZE_MAX;
constexpr Duration lead = milliseconds(200);

/// The parts of a run, in the order of their lives, and the loop over them.
class Simulation {
  public:
    Simulation(const Trace& trace, const SimOptions& options, const Segment& segment)
        : trace_(trace),
          options_(options),
          segment_(segment),
          plan_(plan_in(segment)),
          witness_(trace, plan_, result_),
          disk_(segment.disk),
          dialect_(dialect_of(Api::openai_chat)),
          frame_(frame_of(dialect_, options.stream)),
          heads_(heads_of(dialect_, options.targets)),
          row_fields_(fields_of(trace, plan_, options)),
          prompts_(trace, WordTable::built_in(), prompts_of(options)),
          ring_(options.ring_bytes, options.inflight_max),
          engine_plan_(options.bug == Bug::early_engine ? earlier(plan_) : plan_),
          writer_(config(), segment.past != nullptr ? segment.past->summary() : Summary(),
                  sinks_of(segment.disk, segment.past == nullptr, options.bug),
                  segment.past != nullptr ? segment.past->client() : ClientTotals()),
          tls_(tls_of(options)),
          driver_(options.bug == Bug::other_dice ? ~dice() : dice(), options.weather,
                  server_of(options), options.script, bugs_of(options.bug), tls_.get()) {
        CHECK(static_cast<bool>(bodies_.open(options.body_bytes, options.body_bytes)));
        witness_.watch(driver_);
        marks_ = marks_of(trace);
        for (const Planned& planned : plan_.rows) {
            const TraceRow& row = trace.rows[planned.row];
            if (!options.closed || trace.dependencies_of(row).empty()) {
                result_.due_ns[row.index] = planned.due_ns;
            }
        }
        if (options.closed) {
            result_.dependencies = waits_within(trace, plan_);
        }
        if (segment.remaining != nullptr) {
            mark_again(*segment.remaining, marks_);
            for (const std::uint32_t row : segment.remaining->again) {
                result_.again.insert(trace.rows[row].index);
            }
        }
    }

    SimResult go() {
        note_beginning();
        if (result_.stood && plan_.rows.empty()) {  // all had left
            writer_.begin(driver_.now());
            writer_.finish();
            result_.ended = true;
        } else if (result_.stood) {
            replay();
        }
        result_.summary = summary_of(writer_.summary(), writer_.client());
        read_files();
        result_.truth = truth_of(driver_.core());
        return std::move(result_);
    }

  private:
    std::uint64_t dice() const {
        return segment_.number == 0 ? options_.seed : mix64(options_.seed + segment_.number);
    }

    AssemblerConfig config() const {
        AssemblerConfig config = assembler_of(trace_, plan_, dialect_, options_);
        config.segment = segment_.number;
        config.numbers =
            segment_.remaining != nullptr ? segment_.remaining->positions : config.numbers;
        config.closed = options_.closed;
        return config;
    }

    /// The rows that are given up have their records before the first turn.
    void note_beginning() {
        disk_.begin(options_.disk);
        fired_before_ = disk_.size("fired.jsonl");
        if (segment_.past != nullptr) {
            result_.killed = segment_.kill && segment_.kill->resuming;
            if (result_.killed) {
                disk_.die_after(Random(segment_.kill->dice).below(20'000));
            }
            const InterruptedRun run{trace_, segment_.whole,  *segment_.past, nullptr,
                                     0,      options_.closed, Speed()};
            writer_.add(settled_records(run, *segment_.remaining, config()));
            result_.disk_failed = writer_.failed();
            result_.stood = !result_.killed && !result_.disk_failed;
        }
        if (!result_.stood) {
            disk_.die_after(0);
        }
        result_.outcomes = writer_.summary().figures().outcomes;
        note_flushed(plan_.rows.empty() ? 0 : plan_.rows.front().due_ns - lead.ns);
    }

    void note_flushed(std::int64_t at_ns) {
        Flushed& flushed = result_.flushes.emplace_back();
        flushed.at_ns = at_ns;
        for (std::size_t i = 0; i < flushed.bytes.size(); ++i) {
            flushed.bytes[i] = disk_.size(flushed_files[i]);
        }
    }

    void replay() {
        {
            ArmerOptions arm;
            arm.run_id = options_.bug == Bug::other_names ? "other" : run_id;
            arm.targets = options_.targets;
            arm.balance = options_.bug == Bug::other_servers ? Balance::turn : options_.balance;
            arm.row_fields = &row_fields_;
            arm.traceparent = options_.own_fields;
            arm.for_tls = tls_ != nullptr;
            const Trace waits = options_.closed ? waits_of(trace_, options_.bug) : Trace();
            const bool knows = segment_.remaining != nullptr && options_.bug != Bug::forgotten_past;
            const EarlierRows earlier = knows ? segment_.remaining->earlier : EarlierRows();
            Schedule schedule = options_.closed ? Schedule(waits, engine_plan_, Speed(), earlier)
                                                : Schedule(engine_plan_);
            Armer armer(trace_, schedule, prompts_, bodies_, heads_, frame_, arm);
            Run replay(driver_,
                       {trace_, schedule, armer, bodies_, ring_, endpoints_of(tls_.get(), options_),
                        stop_requests_, nullptr, options_.bug == Bug::unmarked ? nullptr : &marks_},
                       settings_of(options_));
            result_.first_due_ns =
                options_.closed ? schedule.first_due_ns() : plan_.rows.front().due_ns;
            play(replay);
            plant_leftovers();
            count_what_is_left(replay);
            end_for_certain(replay);
        }
        if (leaked_ != nullptr) {
            bodies_.give(leaked_);
        }
    }

    void play(Run& replay) {
        const std::uint64_t most =
            options_.bug == Bug::endless ? turns_of_an_endless_run : turns_max;
        while (!replay.warm() && ++result_.turns < most) {
            (void)replay.turn();
        }
        const Instant zero = driver_.now() + lead - Duration{result_.first_due_ns};
        result_.zero_ns = zero.ns;
        replay.begin(zero);
        writer_.begin(zero);
        Random random(mix64(dice()));
        while (++result_.turns < most && !result_.ended && !result_.killed) {
            result_.ended = !replay.turn() || is_held_to_be_over();
            const std::int64_t at_ns = (driver_.now() - zero).ns;
            watch_clock(at_ns);
            if (segment_.kill && at_ns >= segment_.kill->at_ns) {
                die_soon();
            }
            if (result_.killed) {
                break;
            }
            if (random.uniform() < options_.drain_share) {
                drain(drain_all);
                flush(at_ns);
            }
            if (writer_.failed()) {
                replay.stop();  // as cmd/replay does
            }
        }
        if (result_.killed) {
            result_.ended = false;
            let_arrive();
            return;
        }
        driver_.die_after(0, nullptr);
        if (options_.bug != Bug::unread_event) {
            drain(drain_all);
        }
        if (segment_.kill && result_.ended) {
            die_at_the_end();
        } else {
            writer_.finish();
        }
    }

    /// All is over for the engine; the writer is in its last lines.
    void die_at_the_end() {
        disk_.die_after(Random(segment_.kill->dice).below(200'000));
        writer_.finish();
        disk_.die_after(0);
        result_.killed = true;
        result_.ended = false;
        result_.died_ns = (driver_.now() - Instant{result_.zero_ns}).ns;
    }

    void die_soon() {
        if (segment_.kill->steps == 0) {
            die();
        } else if (!dying_) {
            dying_ = true;
            driver_.die_after(segment_.kill->steps, [this] {
                result_.in_turn = true;
                note_marks();
                die();
            });
        }
    }

    /// For the writer between two writes, or in the middle of one.
    void die() {
        Random random(segment_.kill->dice);
        if (random.below(3) > 0) {
            drain(random.below(200));
            disk_.die_after(random.below(random.below(2) == 0 ? 500 : 100'000));
            writer_.flush();
        }
        disk_.die_after(0);
        drain(drain_all);  // into nothing: what had left is in these events
        result_.killed = true;
        result_.died_ns = (driver_.now() - Instant{result_.zero_ns}).ns;
    }

    /// What the kernel had taken still arrives, or does not.
    void let_arrive() {
        if (Random(mix64(segment_.kill->dice)).below(2) == 0) {
            for (const Instant until = driver_.now() + milliseconds(1); driver_.now() < until;) {
            }
            // A spin enters, whatever the turn before it has found.
            (void)driver_.turn({driver_.now(), 0, Wait::spin, true});
        }
    }

    void watch_clock(std::int64_t at_ns) { stop_requests_ = stops_asked(options_, at_ns); }

    void drain(std::size_t events_max) {
        for (const Event* event = ring_.front(); event != nullptr && events_max > 0; --events_max) {
            if (event->kind == EventKind::fired) {
                result_.left.insert(trace_.rows[plan_.rows[event->request].row].index);
            }
            if (writer_.drain(ring_, 1) == 0) {
                break;
            }
            event = ring_.front();
        }
    }

    /// As the writer's thread does when it has drained.
    void flush(std::int64_t at_ns) {
        if (at_ns >= flush_at_ns_) {
            writer_.flush();
            note_flushed(at_ns);
            flush_at_ns_ = at_ns + flush_every_ns;
        }
    }

    bool is_held_to_be_over() const {
        return options_.bug == Bug::early_look && writer_.counts().ended == plan_.rows.size();
    }

    void plant_leftovers() {
        if (options_.bug == Bug::leaked_body) {
            leaked_ = bodies_.take(1);
        } else if (options_.bug == Bug::forgotten_event || options_.bug == Bug::unread_event) {
            Event event;
            event.kind = EventKind::sent;
            (void)ring_.push(event);
            if (options_.bug == Bug::forgotten_event) {
                drain(drain_all);
            }
        }
    }

    void count_what_is_left(Run& replay) {
        result_.connection = options_.connection;
        result_.inflight_max = options_.inflight_max;
        result_.balance = options_.balance;
        result_.rows = plan_.rows.size();
        result_.counts = writer_.counts();
        for (std::size_t i = 0; i < outcome_count; ++i) {
            result_.outcomes[i] = writer_.summary().figures().outcomes[i] - result_.outcomes[i];
        }
        result_.disk_failed = writer_.failed();
        result_.stopped = writer_.failed() || stop_requests_ > 0;
        result_.bytes_delivered = driver_.bytes_delivered();
        result_.bytes_accepted = driver_.bytes_accepted();
        result_.segments_resent = driver_.segments_resent();
        result_.sends_block = options_.weather.block_send > 0;
        result_.flushes_fail = options_.weather.busy_flush > 0;
        result_.latency_max = options_.weather.latency_max;
        result_.warm_sends = driver_.warm_sends();
        result_.unread_max = driver_.unread_max();
        // A record that takes 0.1 ms is a hundred times as long as a true one.
        result_.overload = options_.overload || options_.tls.record_max > Duration{0};
        result_.calm = is_calm(options_);
        result_.limits = config().limits;
        result_.arithmetic_max = options_.tls.step_max + options_.tls.record_max;
        result_.overdue_sends = driver_.overdue_sends();
        result_.misread = driver_.misread();
        result_.handshakes = tls_ != nullptr ? tls_->handshakes() : 0;
        result_.resumed = tls_ != nullptr ? tls_->resumed() : 0;
        result_.scripted_rows = driver_.scripted_rows();
        result_.stale_retries = replay.lane_counts().stale_retries;
        result_.closed_idle = replay.lane_counts().closed_idle;
        result_.retired_idle = replay.lane_counts().retired_idle;
        result_.bytes_stray = replay.lane_counts().bytes_stray;
        result_.ops_in_flight = driver_.in_flight();
        result_.sockets_open = driver_.sockets_open();
        result_.frames_live = replay.frame_marks().live;
        result_.body_bytes_held = bodies_.used_bytes();
        if (!result_.in_turn) {
            note_marks();
        }
        while (ring_.front() != nullptr) {
            ++result_.events_left;
            ring_.pop();
        }
    }

    void note_marks() { result_.marked = marked_rows(trace_, marks_); }

    /// A run that broke off is taken down, so that nothing of it outlives its parts.
    void end_for_certain(Run& replay) {
        if (!result_.ended || options_.bug == Bug::early_look) {
            replay.abandon();
        }
    }

    /// Of its own rows; those of the segments before it are told apart by its plan.
    void read_files() {
        std::set<std::uint32_t> own;
        for (const Planned& planned : plan_.rows) {
            own.insert(trace_.rows[planned.row].index);
        }
        result_.jsonl = disk_.read("requests.jsonl");
        result_.fired_jsonl = disk_.read("fired.jsonl").substr(fired_before_);
        ReadBack read = read_back(result_.jsonl);
        result_.unreadable = std::move(read.unreadable);
        for (Record& record : read.records) {
            if (own.contains(record.row)) {
                result_.records.push_back(std::move(record));
            }
        }
    }

    const Trace& trace_;
    const SimOptions& options_;
    const Segment& segment_;
    SimResult result_;
    const Plan plan_;
    Witness witness_;
    SimDisk& disk_;
    const Dialect& dialect_;
    const BodyFrame frame_;
    const std::vector<RequestHead> heads_;
    const RowFields row_fields_;
    PromptBuilder prompts_;
    BodyPool bodies_;
    EventRing ring_;
    const Plan engine_plan_;  ///< the same, but for a bug
    RecordWriter writer_;
    const std::unique_ptr<TlsWorld> tls_;  ///< null: plain http everywhere
    SimDriver driver_;
    FiredMarks marks_;
    std::atomic<int> stop_requests_{0};
    std::int64_t flush_at_ns_ = 0;
    std::uint64_t fired_before_ = 0;  ///< bytes of the segments before it
    bool dying_ = false;
    char* leaked_ = nullptr;
};

}  // namespace

SimResult run(const Trace& trace, const SimOptions& options) {
    SimDisk disk;
    const Plan plan = plan_of(trace, options);
    return run_segment(trace, options, {disk, plan});
}

SimResult run_segment(const Trace& trace, const SimOptions& options, const Segment& segment) {
    return Simulation(trace, options, segment).go();
}

}  // namespace driftless::sim
