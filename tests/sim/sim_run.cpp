#include "tests/sim/sim_run.hpp"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

#include "engine/prompt/arm.hpp"
#include "engine/prompt/vocab.hpp"
#include "engine/record/writer.hpp"
#include "engine/replay/run.hpp"
#include "tests/sim/small_disk.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint64_t turns_max = 2'000'000;
constexpr std::uint64_t turns_of_an_endless_run = 2'000;
constexpr std::size_t drain_all = SIZE_MAX;
constexpr Duration lead = milliseconds(200);

ReplaySettings settings_of(const SimOptions& options) {
    ReplaySettings settings;
    settings.inflight_max = options.inflight_max;
    settings.lanes_max =
        options.connections_fixed > 0 ? options.connections_fixed : options.inflight_max;
    settings.connections_fixed = options.connections_fixed;
    settings.connection =
        options.bug == Bug::other_lanes ? ConnectionRule::reuse : options.connection;
    settings.framing = options.stream ? Framing::sse : Framing::whole;
    settings.warm_sends = options.warm_sends;
    settings.timeouts = options.timeouts;
    settings.grace = milliseconds(50);
    return settings;
}

Plan plan_of(const Trace& trace, const SimOptions& options) {
    PlanOptions plan_options;
    plan_options.seed = options.seed;
    Result<Plan> plan = make_plan(trace, plan_options);
    CHECK(static_cast<bool>(plan));
    if (options.bug == Bug::planned_twice) {
        plan.value().rows[1].row = plan.value().rows[0].row;
    }
    return std::move(plan).value();
}

Plan later(Plan plan) {
    for (Planned& planned : plan.rows) {
        planned.due_ns += 1'000'000;
    }
    return plan;
}

BodyFrame frame_of(const Dialect& dialect, bool stream) {
    BodySpec spec;
    spec.stream = stream;
    spec.model = "mock-model";
    Result<BodyFrame> frame = dialect.frame(spec);
    CHECK(static_cast<bool>(frame));
    return std::move(frame).value();
}

std::vector<RequestHead> heads_of(const Dialect& dialect, std::uint32_t targets) {
    RequestHeadSpec spec;
    spec.target = dialect.default_path;
    spec.host = "simulated";
    return std::vector<RequestHead>(targets, RequestHead(spec));
}

PromptOptions prompts_of(const SimOptions& options) {
    PromptOptions prompts;
    prompts.seed = options.seed;
    prompts.overhead = {options.server.overhead.pre, options.server.overhead.post};
    return prompts;
}

constexpr const char* run_id = "sim";

/// Without a name: simulations run side by side.
FiredMarks marks_of(const Trace& trace, const void* owner) {
    const std::string name = "sim-" + std::to_string(::getpid()) + "-" +
                             std::to_string(reinterpret_cast<std::uintptr_t>(owner));
    Result<FiredMarks> marks = FiredMarks::create(name, trace.rows.size());
    CHECK(static_cast<bool>(marks));
    FiredMarks::remove(name);
    return std::move(marks).value();
}

/// Long enough that some heads outweigh their bodies.
RowFields fields_of(const Trace& trace, const Plan& plan, const SimOptions& options) {
    const std::string longest(3'000, 'x');
    std::vector<FieldTemplate> templates;
    std::string unknown;
    for (const Header& header : {Header{"X-Session", "{session}"}, Header{"X-Row", "{row}"},
                                 Header{"X-Long", longest + "{row}"}}) {
        templates.push_back(parse_field_template(header, unknown));
    }
    InputErrors errors;
    RowFields fields(options.own_fields ? templates : std::vector<FieldTemplate>(), trace, plan,
                     errors);
    CHECK(errors.empty());
    return fields;
}

AssemblerConfig assembler_of(const Trace& trace, const Plan& plan, const Dialect& dialect,
                             const SimOptions& options) {
    AssemblerConfig config;
    config.trace = &trace;
    config.plan = &plan;
    config.dialect = &dialect;
    config.stream = options.stream;
    for (std::uint32_t i = 0; i < options.targets; ++i) {
        config.urls.push_back("http://simulated/" + std::to_string(i));
    }
    if (options.own_fields) {
        config.trace_run_id = run_id;
        config.record_headers = {"X-Request-Id"};
    }
    return config;
}

mock::CoreOptions server_of(const SimOptions& options) {
    mock::CoreOptions server = options.server;
    server.keep_log = true;
    server.overhead.pre += options.bug == Bug::wrong_count ? 1 : 0;
    return server;
}

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
          disk_(options.disk_bytes),
          written_plan_(options.bug == Bug::early_engine ? later(plan_) : plan_),
          writer_(assembler_of(trace, written_plan_, dialect_, options), Summary(), sinks()),
          driver_(options.bug == Bug::other_dice ? ~options.seed : options.seed, options.weather,
                  server_of(options), options.script,
                  {options.bug == Bug::early_stamps, options.bug == Bug::lost_byte,
                   options.bug == Bug::unsaid_limit, options.bug == Bug::greedy_send}) {
        CHECK(static_cast<bool>(bodies_.open(options.body_bytes, options.body_bytes)));
        marks_ = marks_of(trace, this);
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
        RecordSinks sinks;
        sinks.requests = disk_.bounded() ? disk_.open() : LineSink(&result_.jsonl);
        sinks.fired = LineSink(options_.bug == Bug::no_fired_file ? &lost_jsonl_
                               : options_.bug == Bug::shared_file ? &result_.jsonl
                                                                  : &result_.fired_jsonl);
        sinks.client = LineSink(&client_jsonl_);
        return sinks;
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
            watch_clock((driver_.now() - zero).ns);
            if (random.uniform() < options_.drain_share) {
                drain();
            }
            if (writer_.failed()) {
                replay.stop();  // as cmd/replay does
            }
        }
        if (options_.bug != Bug::unread_event) {
            drain();
        }
        const SmallDisk::Limit limit(disk_);
        writer_.finish();
    }

    void watch_clock(std::int64_t at_ns) {
        stop_requests_ = (options_.stop_at_ns >= 0 && at_ns >= options_.stop_at_ns ? 1 : 0) +
                         (options_.stop_again_ns >= 0 && at_ns >= options_.stop_again_ns ? 1 : 0);
    }

    void drain() {
        const SmallDisk::Limit limit(disk_);
        (void)writer_.drain(ring_, drain_all);
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
        if (disk_.bounded()) {
            result_.jsonl = disk_.read();
        }
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
    std::string client_jsonl_;
    std::string lost_jsonl_;
    const Plan plan_;
    const Dialect& dialect_;
    const BodyFrame frame_;
    const std::vector<RequestHead> heads_;
    const RowFields row_fields_;
    PromptBuilder prompts_;
    BodyPool bodies_;
    EventRing ring_;
    SmallDisk disk_;
    const Plan written_plan_;  ///< the same, but for a bug
    RecordWriter writer_;
    SimDriver driver_;
    FiredMarks marks_;
    std::atomic<int> stop_requests_{0};
    char* leaked_ = nullptr;
};

}  // namespace

SimResult run(const Trace& trace, const SimOptions& options) {
    return Simulation(trace, options).go();
}

}  // namespace driftless::sim
