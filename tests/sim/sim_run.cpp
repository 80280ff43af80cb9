#include "tests/sim/sim_run.hpp"

#include <atomic>
#include <utility>

#include "engine/prompt/vocab.hpp"
#include "engine/record/writer.hpp"
#include "engine/replay/run.hpp"
#include "tests/sim/sim_disk.hpp"
#include "tests/sim/sim_parts.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint64_t turns_max = 2'000'000;
constexpr std::uint64_t turns_of_an_endless_run = 2'000;
constexpr std::size_t drain_all = SIZE_MAX;
constexpr Duration lead = milliseconds(200);

/// The parts of a run, in the order of their lives, and the loop over them.
class Simulation {
  public:
    Simulation(const Trace& trace, const SimOptions& options)
        : trace_(trace),
          options_(options),
          plan_(plan_of(trace, options)),
          dialect_(dialect_of(Api::openai_chat)),
          frame_(frame_of(dialect_, options.stream)),
          heads_(heads_of(dialect_, options.targets)),
          row_fields_(fields_of(trace, plan_, options)),
          prompts_(trace, WordTable::built_in(), prompts_of(options)),
          ring_(options.ring_bytes, options.inflight_max),
          written_plan_(options.bug == Bug::early_engine ? later(plan_) : plan_),
          writer_(assembler_of(trace, written_plan_, dialect_, options), Summary(), sinks()),
          driver_(options.bug == Bug::other_dice ? ~options.seed : options.seed, options.weather,
                  server_of(options), options.script,
                  {options.bug == Bug::early_stamps, options.bug == Bug::lost_byte,
                   options.bug == Bug::unsaid_limit, options.bug == Bug::greedy_send}) {
        CHECK(static_cast<bool>(bodies_.open(options.body_bytes, options.body_bytes)));
        disk_.begin(options.disk);
        marks_ = marks_of(trace);
    }

    SimResult go() {
        {
            ArmerOptions arm;
            arm.run_id = options_.bug == Bug::other_names ? "other" : run_id;
            arm.targets = options_.targets;
            arm.balance = options_.bug == Bug::other_servers ? Balance::turn : options_.balance;
            arm.row_fields = &row_fields_;
            arm.traceparent = options_.own_fields;
            Armer armer(trace_, plan_, prompts_, bodies_, heads_, frame_, arm);
            Run replay(
                driver_,
                {trace_, plan_, armer, bodies_, ring_, std::vector<Endpoint>(options_.targets),
                 stop_requests_, nullptr, options_.bug == Bug::unmarked ? nullptr : &marks_},
                settings_of(options_));
            play(replay);
            plant_leftovers();
            count_what_is_left(replay);
            end_for_certain(replay);
        }
        if (leaked_ != nullptr) {
            bodies_.give(leaked_);
        }
        read_files();
        read_truth();
        return std::move(result_);
    }

  private:
    RecordSinks sinks() {
        std::string failed;
        Result<RecordSinks> made = create_sinks(disk_.folder(), "", false, failed);
        CHECK(static_cast<bool>(made));
        if (options_.bug == Bug::no_fired_file) {
            made.value().fired = LineSink();
        } else if (options_.bug == Bug::shared_file) {
            Result<LineSink> shared = LineSink::append(made.value().requests.path());
            CHECK(static_cast<bool>(shared));
            made.value().fired = std::move(shared).value();
        }
        return std::move(made).value();
    }

    void play(Run& replay) {
        const std::uint64_t most =
            options_.bug == Bug::endless ? turns_of_an_endless_run : turns_max;
        while (!replay.warm() && ++result_.turns < most) {
            (void)replay.turn();
        }
        const Instant zero = driver_.now() + lead;
        result_.zero_ns = zero.ns;
        replay.begin(zero);
        writer_.begin(zero);
        Random random(mix64(options_.seed));
        while (++result_.turns < most && !result_.ended) {
            result_.ended = !replay.turn() || is_held_to_be_over();
            const std::int64_t at_ns = (driver_.now() - zero).ns;
            watch_clock(at_ns);
            if (random.uniform() < options_.drain_share) {
                drain();
                flush(at_ns);
            }
            if (writer_.failed()) {
                replay.stop();  // as cmd/replay does
            }
        }
        if (options_.bug != Bug::unread_event) {
            drain();
        }
        writer_.finish();
    }

    void watch_clock(std::int64_t at_ns) {
        stop_requests_ = (options_.stop_at_ns >= 0 && at_ns >= options_.stop_at_ns ? 1 : 0) +
                         (options_.stop_again_ns >= 0 && at_ns >= options_.stop_again_ns ? 1 : 0);
    }

    void drain() { (void)writer_.drain(ring_, drain_all); }

    /// As the writer's thread does when it has drained.
    void flush(std::int64_t at_ns) {
        if (at_ns >= flush_at_ns_) {
            writer_.flush();
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
                drain();
            }
        }
    }

    void count_what_is_left(Run& replay) {
        result_.connection = options_.connection;
        result_.balance = options_.balance;
        result_.rows = plan_.rows.size();
        result_.counts = writer_.counts();
        result_.outcomes = writer_.summary().figures().outcomes;
        result_.disk_failed = writer_.failed();
        result_.bytes_delivered = driver_.bytes_delivered();
        result_.bytes_accepted = driver_.bytes_accepted();
        result_.warm_sends = driver_.warm_sends();
        result_.overdue_sends = driver_.overdue_sends();
        result_.scripted_rows = driver_.scripted_rows();
        result_.stale_retries = replay.lane_counts().stale_retries;
        result_.closed_idle = replay.lane_counts().closed_idle;
        result_.retired_idle = replay.lane_counts().retired_idle;
        result_.bytes_stray = replay.lane_counts().bytes_stray;
        result_.ops_in_flight = driver_.in_flight();
        result_.sockets_open = driver_.sockets_open();
        result_.frames_live = replay.frame_marks().live;
        result_.body_bytes_held = bodies_.used_bytes();
        for (std::uint32_t at = 0; at < trace_.rows.size(); ++at) {
            if (marks_.marked(at)) {
                result_.marked.push_back(trace_.rows[at].index);
            }
        }
        while (ring_.front() != nullptr) {
            ++result_.events_left;
            ring_.pop();
        }
    }

    /// A run that broke off is taken down, so that nothing of it outlives its parts.
    void end_for_certain(Run& replay) {
        if (!result_.ended || options_.bug == Bug::early_look) {
            replay.abandon();
        }
    }

    void read_files() {
        result_.jsonl = disk_.read("requests.jsonl");
        result_.fired_jsonl = disk_.read("fired.jsonl");
        JsonDocument document;
        std::string_view rest = result_.jsonl;
        while (!rest.empty()) {  // ends: each line takes a byte at least
            const std::string_view line = rest.substr(0, rest.find('\n') + 1);
            const std::string_view whole = line.empty() ? rest : line;
            Result<Record> record = read_record(document, whole);
            std::string again;
            if (record) {
                append_jsonl(again, record.value());
                result_.records.push_back(std::move(record).value());
            }
            if (again != whole) {
                result_.unreadable.emplace_back(whole);
            }
            rest.remove_prefix(whole.size());
        }
    }

    void read_truth() {
        for (mock::RequestLog entry; driver_.core().take_finished(entry);) {
            if (entry.row) {
                keep_truth(std::move(entry));
            }
        }
    }

    /// Of a row that was tried again: the earliest of each stamp.
    void keep_truth(mock::RequestLog&& entry) {
        const auto row = static_cast<std::uint32_t>(*entry.row);
        const auto [known, fresh] = result_.truth.try_emplace(row, entry);
        if (!fresh) {
            known->second.start_ns = std::min(known->second.start_ns, entry.start_ns);
            if (known->second.token_ns.empty()) {
                known->second.token_ns = std::move(entry.token_ns);
            }
        }
    }

    const Trace& trace_;
    const SimOptions& options_;
    SimResult result_;
    const Plan plan_;
    const Dialect& dialect_;
    const BodyFrame frame_;
    const std::vector<RequestHead> heads_;
    const RowFields row_fields_;
    PromptBuilder prompts_;
    BodyPool bodies_;
    EventRing ring_;
    SimDisk disk_;
    const Plan written_plan_;  ///< the same, but for a bug
    RecordWriter writer_;
    SimDriver driver_;
    FiredMarks marks_;
    std::atomic<int> stop_requests_{0};
    std::int64_t flush_at_ns_ = 0;
    char* leaked_ = nullptr;
};

}  // namespace

SimResult run(const Trace& trace, const SimOptions& options) {
    return Simulation(trace, options).go();
}

}  // namespace driftless::sim
