/// Witness: what really happened to each row of a simulated run, as its driver tells it: when the
/// kernel took parts of the request, when bytes of the answer came, when the host slept. Writes it
/// into the result, in run time. Owned by the run.

#include "tests/sim/sim_run.hpp"

#include <unistd.h>

#include <atomic>

#include "cmd/replay/engine_crew.hpp"
#include "tests/sim/laws.hpp"
#include "tests/sim/sim_parts.hpp"
#include "tests/sim/sim_run_host.hpp"

namespace driftless::sim {

class Witness {
  public:
    Witness(const Trace& trace, const Plan& plan, SimResult& result);

    /// Tells the driver whom to tell.
    void watch(SimDriver& driver);

  private:
    void note_send(const Op& op, Instant at);
    void note_read(const Op& op, const ReadTimes& times);
    void note_events(std::uint32_t row, const ReadTimes& times);
    void note_sleep(Instant at, Duration length);
    std::uint32_t row_of(std::uint32_t planned) const;
    std::int64_t in_run(Instant at) const { return at.ns - result_.zero_ns; }

    const Trace& trace_;
    const Plan& plan_;
    SimResult& result_;
    std::map<std::uint32_t, char> last_bytes_;  ///< [row] of the latest read
};

Witness::Witness(const Trace& trace, const Plan& plan, SimResult& result)
    : trace_(trace), plan_(plan), result_(result) {}

void Witness::watch(SimDriver& driver) {
    driver.tell_sends([this](const Op& op, Instant at) { note_send(op, at); });
    driver.tell_reads([this](const Op& op, const ReadTimes& times) { note_read(op, times); });
    driver.tell_sleeps([this](Instant at, Duration length) { note_sleep(at, length); });
}

std::uint32_t Witness::row_of(std::uint32_t planned) const {
    return trace_.rows[plan_.rows[planned % plan_.rows.size()].row].index;
}

// Of a send of a row. That of a second try leaves later than its stamp says.
void Witness::note_send(const Op& op, Instant at) {
    const Lane& lane = *static_cast<const Lane*>(op.owner);
    if (lane.state == LaneState::busy) {
        std::vector<std::int64_t>& parts_ns = result_.parts_ns[row_of(lane.exchange.request)];
        parts_ns.resize(lane.exchange.accepted == 0 ? 0 : parts_ns.size());
        parts_ns.push_back(in_run(at));
    }
}

// Of a read that belongs to a row. What came before its request left is no part of the answer.
void Witness::note_read(const Op& op, const ReadTimes& times) {
    const Lane& lane = *static_cast<const Lane*>(op.owner);
    const bool busy = lane.state == LaneState::busy;
    if (!busy && (lane.state != LaneState::closing || !lane.used)) {
        return;
    }
    const std::uint32_t row = row_of(lane.exchange.request);
    if (!busy || lane.exchange.over) {
        result_.unread_ns.try_emplace(row, in_run(times.first_came));
        return;
    }
    Duration& longest = result_.waited[row];
    const Duration waited = times.read - std::max(times.first_came, lane.exchange.fired);
    const bool first = lane.exchange.bytes_received == 0;  // of this try
    longest = first ? waited : std::max(longest, waited);
    result_.last_reads[row] = {in_run(times.last_came), in_run(times.read)};
    if (first) {
        result_.event_reads[row].clear();
        last_bytes_[row] = '\0';
    }
    if (lane.tls == nullptr) {
        note_events(row, times);
    }
}

// An event ends with an empty line.
void Witness::note_events(std::uint32_t row, const ReadTimes& times) {
    char& before = last_bytes_[row];
    std::size_t piece = 0;
    std::size_t piece_end = times.pieces.front().size;
    for (std::size_t i = 0; i < times.bytes.size(); ++i) {
        const char byte = times.bytes[i];
        if (byte == '\n' && before == '\n') {
            const bool closes = times.bytes.substr(i + 1).starts_with("\r\n");
            const std::size_t last = closes ? i + 2 : i;
            while (last >= piece_end && piece + 1 < times.pieces.size()) {
                piece_end += times.pieces[++piece].size;
            }
            result_.event_reads[row].push_back(
                {in_run(times.pieces[piece].came), in_run(times.read)});
        }
        before = byte;
    }
}

void Witness::note_sleep(Instant at, Duration length) {
    if (result_.zero_ns != 0) {  // before that no row is open
        result_.sleeps.push_back({in_run(at), length.ns});
    }
}

namespace {

/// The parts of a run, in the order of their lives, and the loop over them.
class Simulation {
  public:
    Simulation(const Trace& trace, const SimOptions& options, const Segment& segment)
        : served_(served(trace, options)),
          trace_(served_ ? served_->trace : trace),
          options_(options),
          segment_(segment),
          plan_(plan_in(segment)),
          shares_(sim_shares(trace_, engines_plan(plan_, options.bug), options)),
          witness_(trace_, shares_.empty() ? plan_ : shares_.front().plan, result_),
          dialect_(dialect_of(Api::openai_chat)),
          frame_(frame_of(dialect_, options.stream)),
          heads_(heads_of(dialect_, options.targets)),
          row_fields_(fields_of(trace_, plan_, options)),
          prompts_(trace_, WordTable::built_in(), prompts_of(options)),
          ring_(options.ring_bytes, options.inflight_max),
          engine_plan_(shares_.empty() ? engines_plan(plan_, options.bug) : shares_.front().plan),
          tls_(tls_of(options)),
          driver_(options.bug == Bug::other_dice ? ~dice_of(options, segment)
                                                 : dice_of(options, segment),
                  options.weather, server_of(options), options.script, bugs_of(options.bug),
                  tls_.get()),
          host_(trace_, plan_, options, segment, driver_, ring_, marks_, result_) {
        result_.period_ns = options.period_ns;
        if (segment.resumed == nullptr && !segment.kill) {  // it has a record of each row
            result_.arrivals = options.arrivals;
        }
        CHECK(static_cast<bool>(bodies_.open(options.body_bytes, options.body_bytes)));
        for (std::size_t number = 1; number < shares_.size(); ++number) {
            SimEngine& engine = *others_.emplace_back(std::make_unique<SimEngine>(
                trace_, options, mix64(dice_of(options, segment) + number), shares_[number]));
            witnesses_.emplace_back(trace_, engine.share.plan, result_);
        }
        for (std::size_t number = 0; number < others_.size() && !options.unwatched; ++number) {
            witnesses_[number].watch(others_[number]->driver);
        }
        if (!options.unwatched) {
            witness_.watch(driver_);
        }
        for (const Planned& planned : plan_.rows) {
            const TraceRow& row = trace_.rows[planned.row];
            if (!options.closed || trace_.dependencies_of(row).empty()) {
                result_.due_ns[row.index] = planned.due_ns;
            }
        }
        if (options.closed) {
            result_.dependencies = waits_within(trace_, plan_);
            result_.prompts = prompts_in(trace_, options, segment);
        }
        if (options.users.users > 0) {
            result_.users = options.users;
            result_.trees = options.users.single_rows ? single_rows_of(trace_) : trees_of(trace_);
            result_.due_ns.clear();
            for (const Planned& planned : plan_.rows) {
                result_.recorded_ns[trace_.rows[planned.row].index] = planned.due_ns;
            }
        }
        result_.turns_before = turns_before(trace_);
        if (options.bug == Bug::lonely_rows) {
            lonely_ = without_turns(trace_);
        }
        if (served_) {
            result_.live = true;
            LiveRules rules{
                .kept = {.text = options.bug != Bug::forgotten_words},
                .goes_on_unanswered = options.users.failures.rule == FailureRule::go_on};
            live_.emplace(trace_, *turns(), rules, plan_.rows.size());
            live_->histories.bound(bodies_.region_bytes() / 2);
            for (std::uint32_t row = 0; row < trace_.rows.size(); ++row) {
                if (turns()->goes_on(row)) {
                    result_.goes_on_behind[trace_.rows[row].index] =
                        trace_.rows[turns()->of(row).behind].index;
                }
            }
        }
        if (segment.resumed != nullptr) {
            for (const std::uint32_t row : segment.resumed->remaining.again) {
                result_.again.insert(trace_.rows[row].index);
            }
        }
    }

    SimResult go() {
        RunSegment named{
            .run_id = segment_.name,
            .first_due_ns = plan_.rows.empty() ? plan_.last_due_ns : plan_.rows.front().due_ns};
        RunSteps order(driver_, host_, {config(), Summary(), named, marks_, segment_.resumed});
        if (plan_.rows.empty()) {  // all had left
            (void)order.play_without_rows();
        } else {
            replay(order);
        }
        if (const RecordWriter* const writer = order.writer(); writer != nullptr) {
            result_.disk_failed = writer->failed();
            result_.summary = summary_of(writer->summary(), writer->client());
        }
        read_files();
        result_.truth = truth_of(driver_.core());
        for (const std::unique_ptr<SimEngine>& engine : others_) {
            result_.truth.merge(truth_of(engine->driver.core()));
        }
        forget_several_tries();
        return std::move(result_);
    }

  private:
    AssemblerConfig config() {
        AssemblerConfig made = assembler_of(lonely_ ? *lonely_ : trace_, plan_, dialect_, options_);
        made.histories = live_ ? &live_->histories : nullptr;
        made.periods.users_wanted = &host_.users_wanted();
        made.periods.stop_wanted = &host_.stop_wanted();
        return made;
    }
    const std::atomic<std::uint32_t>* users_wanted() {
        eager_ = options_.users.users;
        return !options_.grow.any()               ? nullptr
               : options_.bug == Bug::eager_users ? &eager_
                                                  : &host_.users_wanted();
    }

    void replay(RunSteps& order) {
        {
            const ArmerOptions arm = arming();
            Schedule schedule = schedule_of(engine_plan_, 0);
            Armer armer(trace_, schedule, prompts_, bodies_, heads_, frame_, arm);
            Run replay(
                driver_,
                {trace_, schedule, armer, bodies_, ring_, endpoints_of(tls_.get(), options_),
                 host_.stop_requests(), nullptr, options_.bug == Bug::unmarked ? nullptr : &marks_,
                 live_ ? &live_->replies : nullptr, users_wanted(),
                 options_.bug == Bug::deaf_engine ? nullptr : &host_.stop_wanted()},
                settings_at(0));
            std::vector<EventSource> sources = set_up_others(requests_end_of(schedule));
            SimEngines engines(replay, driver_, others_);
            if (!others_.empty()) {
                host_.read_from(engines, std::move(sources));
            }
            result_.first_due_ns = engines.first_due_ns();
            const OrderEnd end = order.play(engines);
            if (end == OrderEnd::broken_off) {
                host_.settle();
            }
            if (end != OrderEnd::refused || result_.stood) {
                plant_leftovers();
                count_what_is_left(replay, *order.writer());
                add_worlds(result_, others_, trace_, plan_, options_);
            }
            if (end == OrderEnd::broken_off) {  // so that nothing of it outlives its parts
                engines.abandon();
            }
            for (const std::unique_ptr<SimEngine>& engine : others_) {
                engine->run.reset();  // before what it is over goes
            }
        }
        if (leaked_ != nullptr) {
            bodies_.give(leaked_);
        }
    }

    ArmerOptions arming() {
        ArmerOptions arm;
        arm.run_id = options_.bug == Bug::other_names ? "other" : run_id;
        arm.targets = options_.targets;
        arm.balance = options_.bug == Bug::other_servers ? Balance::turn : options_.balance;
        arm.row_fields = &row_fields_;
        arm.traceparent = options_.own_fields;
        arm.for_tls = tls_ != nullptr;
        arm.replies = live_ ? &live_->replies : nullptr;
        if (options_.dual) {
            arm.against = {&prompts_, &frame_};
        }
        arm.positions = shares_.empty() ? nullptr : &shares_.front().positions;
        return arm;
    }

    /// What engine `number` plays of its share.
    Schedule schedule_of(const Plan& plan, std::uint32_t number) const {
        const bool knows = segment_.resumed != nullptr && options_.bug != Bug::forgotten_past;
        return played_schedule(trace_, plan, options_,
                               knows ? segment_.resumed->remaining.earlier : EarlierRows(),
                               place(number), turns());
    }

    ShardPlace place(std::uint32_t number) const {
        return shares_.empty() ? ShardPlace()
                               : ShardPlace{number, static_cast<std::uint32_t>(shares_.size())};
    }

    ReplaySettings settings_at(std::uint32_t number) const {
        return driftless::settings_at(settings_of(options_), place(number));
    }

    std::vector<EventSource> set_up_others(std::uint32_t first_end) {
        std::vector<EventSource> sources{
            {&ring_, shares_.empty() ? nullptr : &shares_.front().positions, first_end}};
        for (const std::unique_ptr<SimEngine>& engine : others_) {
            const auto number = static_cast<std::uint32_t>(sources.size());
            RunParts parts = engine->set_up(trace_, schedule_of(engine->share.plan, number), heads_,
                                            frame_, arming(), host_.stop_requests(), options_);
            parts.stop_wanted = &host_.stop_wanted();
            engine->run.emplace(engine->driver, parts, settings_at(number));
            sources.push_back(
                {&engine->ring, &engine->share.positions, requests_end_of(*engine->schedule)});
        }
        return sources;
    }

    void plant_leftovers() {
        if (options_.bug == Bug::leaked_body) {
            leaked_ = bodies_.take(1);
        } else if (options_.bug == Bug::unread_event) {
            Event event;
            event.kind = EventKind::sent;
            (void)ring_.push(event);
        }
    }

    void count_what_is_left(Run& replay, const RecordWriter& writer) {
        result_.dual = options_.dual;
        if (options_.spared) {
            result_.spared = *options_.spared == 0 ? Side::a : Side::b;
        }
        result_.seed = options_.seed;
        result_.connection = options_.connection;
        result_.inflight_max = options_.inflight_max;
        result_.capped_by_host = options_.capped_by_host;
        result_.budgets = options_.budgets;
        result_.abandon = options_.abandon;
        result_.stop_when = options_.stop_when;
        result_.stop_found = writer.stopped_when();
        result_.stopped_early = replay.stopped_early();
        for (const Planned& planned : plan_.rows) {
            const std::uint32_t row = trace_.rows[planned.row].index;
            result_.expected_cached[row] = planned.expected_cached_tokens;
        }
        result_.balance = options_.balance;
        result_.rows = options_.users.users > 0 ? replay.rows_taken() : plan_.rows.size();
        result_.measured_from_ns = replay.measured_from_ns();
        result_.warmup_rows = writer.summary().figures().warmup_rows;
        result_.counts = writer.counts();
        for (std::size_t i = 0; i < outcome_count; ++i) {
            result_.outcomes[i] = writer.summary().figures().outcomes[i] - result_.outcomes[i];
        }
        result_.stopped = writer.failed() || host_.stop_requests() > 0 || replay.drained() ||
                          replay.stopped_early();
        result_.bytes_delivered = driver_.bytes_delivered();
        result_.bytes_accepted = driver_.bytes_accepted();
        result_.segments_resent = driver_.segments_resent();
        result_.sends_block = options_.weather.block_send > 0;
        result_.flushes_fail = options_.weather.busy_flush > 0;
        result_.latency_max = options_.weather.latency_max;
        result_.warm_sends = driver_.warm_sends();
        result_.unread_max = driver_.unread_max();
        result_.end_unseen_max = driver_.end_unseen_max();
        // A record that takes 0.1 ms is a hundred times as long as a true one.
        result_.overload = options_.overload || options_.tls.record_max > Duration{0};
        result_.bytewise = options_.weather.bytewise;
        result_.calm = is_calm(options_);
        result_.limits = config().limits;
        result_.timeouts = options_.timeouts;
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
            if (options_.dual) {
                result_.marks = marked_sendings(trace_, plan_, marks_);
            } else {
                result_.marked = marked_rows(trace_, marks_);
            }
            result_.requests_marked = marks_.requests();
        }
        while (ring_.front() != nullptr) {
            ++result_.events_left;
            ring_.pop();
        }
    }

    /// What others have seen of a row is told of none of its records where it has several.
    void forget_several_tries() {
        const bool repeats = rows_repeat(options_.users);
        if ((result_.disk_failed && repeats) || options_.dual) {
            result_.truth.clear();  // records of several tries may be lost, or are of two sides
            result_.waited.clear();
            result_.parts_ns.clear();
            result_.last_reads.clear();
            result_.event_reads.clear();
            result_.unread_ns.clear();
        }
        std::set<std::uint32_t> seen;
        for (const Record& record : result_.records) {
            if (!seen.insert(record.row).second) {
                result_.truth.erase(record.row);
                result_.waited.erase(record.row);
                result_.parts_ns.erase(record.row);
                result_.last_reads.erase(record.row);
                result_.event_reads.erase(record.row);
                result_.unread_ns.erase(record.row);
            }
        }
    }

    /// Of its own rows; those of the segments before it are told apart by its plan.
    void read_files() {
        std::set<std::uint32_t> own;
        for (const Planned& planned : plan_.rows) {
            own.insert(trace_.rows[planned.row].index);
        }
        result_.jsonl = segment_.disk.read("requests.jsonl");
        result_.fired_jsonl = segment_.disk.read("fired.jsonl").substr(host_.fired_before());
        result_.periods_jsonl = segment_.disk.read("periods.jsonl").substr(host_.periods_before());
        ReadBack read = read_back(result_.jsonl);
        result_.unreadable = std::move(read.unreadable);
        for (Record& record : read.records) {
            if (own.contains(record.row)) {
                result_.records.push_back(std::move(record));
            }
        }
    }

    const LiveTurns* turns() const { return served_ ? &*served_->live : nullptr; }

    const std::optional<TraceWithBodies> served_;
    const Trace& trace_;
    const SimOptions& options_;
    const Segment& segment_;
    SimResult result_;
    std::optional<Trace> lonely_;  ///< for the writer, by a bug
    const Plan plan_;
    const std::vector<PlanShare> shares_;  ///< of several engines; else none
    Witness witness_;
    const Dialect& dialect_;
    const BodyFrame frame_;
    const std::vector<RequestHead> heads_;
    const RowFields row_fields_;
    PromptBuilder prompts_;
    BodyPool bodies_;
    EventRing ring_;
    std::optional<LiveRun> live_;
    const Plan engine_plan_;               ///< the same, but for a bug
    const std::unique_ptr<TlsWorld> tls_;  ///< null: plain http everywhere
    FiredMarks marks_;
    SimDriver driver_;
    SimRunHost host_;
    std::vector<std::unique_ptr<SimEngine>> others_;
    std::deque<Witness> witnesses_;  ///< of the others
    char* leaked_ = nullptr;
    std::atomic<std::uint32_t> eager_{0};  ///< all users, by a bug
};

}  // namespace

SimResult run(const Trace& trace, const SimOptions& options) {
    SimDisk disk;
    SimMachine machine;
    const Plan plan = plan_of(trace, options);
    return run_segment(trace, options, {disk, machine, plan, {}});
}

SimResult run_segment(const Trace& trace, const SimOptions& options, const Segment& segment) {
    return Simulation(trace, options, segment).go();
}

// Plans of simulated runs, and the marks of their rows.

Plan plan_of(const Trace& trace, const SimOptions& options) {
    Result<Plan> plan = make_plan(trace, PlanOptions{.seed = options.seed});
    CHECK(static_cast<bool>(plan));
    if (options.arrivals) {
        ArrivalRules rules = *options.arrivals;
        if (options.bug == Bug::other_rate) {
            rules.curve = RateCurve(rules.curve.last_rate() * 1.001);
        }
        plan = arrive(rules, trace, std::move(plan).value());
        CHECK(static_cast<bool>(plan));
    }
    if (options.dual) {
        plan = dual_plan(trace, std::move(plan).value(), options.seed);
        CHECK(static_cast<bool>(plan));
    }
    if (options.bug == Bug::planned_twice) {
        plan.value().rows[1].row = plan.value().rows[0].row;
    }
    return std::move(plan).value();
}

Plan plan_in(const Segment& segment) {
    return segment.resumed != nullptr ? segment.resumed->remaining_plan() : segment.whole;
}

Plan engines_plan(Plan plan, Bug bug) {
    const auto turned = [](Side side) { return side == Side::a ? Side::b : Side::a; };
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
        Planned& planned = plan.rows[i];
        planned.due_ns -= bug == Bug::early_engine ? 1'000'000 : 0;
        planned.due_ns += bug == Bug::one_later && i + 1 == plan.rows.size() ? 1 : 0;
        if (bug == Bug::mixed_sides && i / 2 % 3 == 0) {
            planned.side = Side::a;
        } else if (bug == Bug::fair_no_more && i % 2 == 0 && planned.side == Side::b) {
            planned.side = turned(planned.side);
            plan.rows[i + 1].side = turned(plan.rows[i + 1].side);
        }
    }
    return plan;
}

FiredMarks marks_of(std::size_t rows) {
    const std::string name = "sim-" + std::to_string(::getpid());
    Result<FiredMarks> marks = FiredMarks::create(name, rows);
    CHECK(static_cast<bool>(marks));
    FiredMarks::remove(name);
    return std::move(marks).value();
}

std::vector<std::uint32_t> marked_rows(const Trace& trace, const FiredMarks& marks) {
    std::vector<std::uint32_t> marked;
    for (std::uint32_t at = 0; at < trace.rows.size(); ++at) {
        if (marks.marked(at)) {
            marked.push_back(trace.rows[at].index);
        }
    }
    return marked;
}

std::set<std::uint64_t> marked_sendings(const Trace& trace, const Plan& plan,
                                        const FiredMarks& marks) {
    std::set<std::uint64_t> marked;
    for (const Planned& planned : plan.rows) {
        if (marks.marked(mark_of(planned.row, planned.side))) {
            marked.insert(sending_number(trace.rows[planned.row].index, 0, planned.side));
        }
    }
    return marked;
}

}  // namespace driftless::sim
