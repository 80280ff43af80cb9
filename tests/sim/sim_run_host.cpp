#include "tests/sim/sim_run_host.hpp"

#include <malloc.h>

#include "tests/sim/sim_parts.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint64_t turns_max = 2'000'000;
constexpr std::uint64_t turns_of_an_endless_run = 2'000;

}  // namespace

SimRunHost::SimRunHost(const Trace& trace, const Plan& plan, const SimOptions& options,
                       const Segment& segment, SimDriver& driver, EventRing& ring,
                       const FiredMarks& marks, SimResult& result)
    : trace_(trace),
      plan_(plan),
      options_(options),
      segment_(segment),
      driver_(driver),
      sources_{{&ring}},
      ring_(ring),
      marks_(marks),
      result_(result),
      random_(mix64(dice_of(options, segment))),
      fired_before_(segment.disk.size("fired.jsonl")),
      periods_before_(segment.disk.size("periods.jsonl")) {}

std::int64_t SimRunHost::first_due_ns() const {
    return result_.first_due_ns;
}

/// Asked before each call is done: false where the process has died, right now or before.
bool SimRunHost::lives() {
    if (!dead_ && segment_.kill && (resuming_ || ++calls_ == segment_.kill->call)) {
        die();
    }
    return !dead_;
}

std::optional<RecordSinks> SimRunHost::open_files() {
    if (!lives()) {
        return {};
    }
    SimDisk& disk = segment_.disk;
    const bool is_new = segment_.resumed == nullptr;
    if (is_new) {  // what a run left that died before its run.json is taken again
        for (const char* const name : flushed_files) {
            std::filesystem::remove(disk.folder() + "/" + name);
        }
    }
    std::optional<RecordSinks> sinks = sinks_of(disk, is_new, options_.bug);
    disk.begin(options_.disk);
    fired_before_ = disk.size("fired.jsonl");
    periods_before_ = disk.size("periods.jsonl");
    resuming_ = segment_.kill && segment_.kill->resuming && !is_new;
    if (resuming_) {
        disk.die_after(Random(segment_.kill->dice).below(20'000));
    }
    return sinks;
}

FiredMarks SimRunHost::create_marks(const std::string& name, std::size_t rows) {
    if (!lives()) {
        return {};
    }
    CHECK(rows == marks_for(trace_.rows.size(), plan_.dual) &&
          !segment_.machine.marks.contains(name));
    if (options_.bug == Bug::early_forgetting) {
        segment_.machine.marks.clear();
    }
    segment_.machine.marks[name] = {};
    return marks_of(rows);
}

bool SimRunHost::name_segment(const RunSegment& segment, Instant zero) {
    if (!lives() || options_.run_json_fault == RunJsonFault::naming) {
        return false;
    }
    driver_.stand_still(options_.run_json_synced);
    zero_ = zero;
    segment_.machine.segments.push_back(segment);
    segment_.machine.closed = false;
    result_.stood = true;
    note_flushed(first_due_ns() - time_zero_lead.ns);
    return true;
}

void SimRunHost::remove_marks(const std::string& name) {
    if (lives()) {
        segment_.machine.marks.erase(name);
    }
}

bool SimRunHost::set_time_zero(Instant zero) {
    if (!lives() || options_.run_json_fault == RunJsonFault::time_zero) {
        return false;
    }
    driver_.stand_still(options_.bug == Bug::late_zero ? Duration{0} : options_.run_json_written);
    zero_ = zero;
    return true;
}

bool SimRunHost::start_writer(RecordWriter& writer) {
    if (!lives()) {
        return false;
    }
    if (options_.bug == Bug::late_zero) {
        driver_.stand_still(options_.run_json_written);
    }
    writer_ = &writer;
    writer.read_from(sources_);
    result_.zero_ns = zero_.ns;
    result_.lead_ns = (zero_ - driver_.now()).ns + first_due_ns();
    result_.outcomes = writer.summary().figures().outcomes;
    return true;
}

bool SimRunHost::turned() {
    const std::uint64_t most = options_.bug == Bug::endless ? turns_of_an_endless_run : turns_max;
    const std::int64_t at_ns = (now() - zero_).ns;
    stop_requests_ = stops_asked(options_, at_ns);
    if (segment_.kill && at_ns >= segment_.kill->at_ns) {
        die_soon();
    }
    if (dead_) {
        return false;
    }
    weigh(at_ns);
    const bool looks_early = options_.bug == Bug::early_look;
    if (looks_early || random_.uniform() < options_.drain_share) {
        drain(drain_all);
        const bool is_fast = options_.bug == Bug::fast_clock;
        writer_->look(zero_.ns + at_ns + (is_fast ? seconds(1).ns : 0));
        note_wanted(at_ns);
        flush(at_ns);
    }
    const bool seems_over = writer_->counts().ended == plan_.rows.size();
    return ++result_.turns < most && !(looks_early && seems_over);
}

void SimRunHost::note_wanted(std::int64_t at_ns) {
    const std::uint32_t users = users_wanted_;
    if (users != (result_.wanted.empty() ? 0 : result_.wanted.back().users)) {
        result_.wanted.push_back({at_ns, users});
    }
    if (stop_wanted_ && !result_.stop_wanted_ns) {
        result_.stop_wanted_ns = at_ns;
    }
}

void SimRunHost::stop_writer(RecordWriter& writer) {
    driver_.die_after(0, nullptr);
    if (!lives()) {
        return;
    }
    if (options_.bug == Bug::forgotten_event) {  // behind the end of its row
        Event event;
        event.kind = EventKind::sent;
        (void)ring_.push(event);
    }
    drain(drain_all);
    if (segment_.kill && segment_.kill->call == 0) {
        die_at_the_end();
    } else {
        writer.finish();
    }
}

void SimRunHost::close_books(const RecordWriter&) {
    if (lives()) {
        segment_.machine.closed = true;
        result_.ended = true;
    }
}

void SimRunHost::discard(const RecordWriter* writer) {
    if (!dead_ && writer != nullptr) {
        segment_.machine.segments.clear();
        result_.stood = false;
        remove_sinks(writer->sinks());
    }
}

void SimRunHost::settle() {
    if (dead_) {
        let_arrive();
        return;
    }
    drain(drain_all);
    writer_->finish();
    result_.ended = options_.bug == Bug::early_look;
}

void SimRunHost::note_death() {
    segment_.disk.die_after(0);
    dead_ = true;
    result_.killed = true;
    result_.died_ns =
        writer_ != nullptr ? (driver_.now() - zero_).ns : first_due_ns() - time_zero_lead.ns;
}

/// All is over for the engine; the writer is in its last lines.
void SimRunHost::die_at_the_end() {
    segment_.disk.die_after(Random(segment_.kill->dice).below(200'000));
    writer_->finish();
    note_death();
}

void SimRunHost::die_soon() {
    if (segment_.kill->steps == 0) {
        die();
    } else if (!dying_) {
        dying_ = true;
        driver_.die_after(segment_.kill->steps, [this] {
            result_.in_turn = true;
            result_.marked = marked_rows(trace_, marks_);
            result_.requests_marked = marks_.requests();
            die();
        });
    }
}

/// For the writer between two writes, or in the middle of one.
void SimRunHost::die() {
    Random random(segment_.kill->dice);
    if (writer_ != nullptr && random.below(3) > 0) {
        drain(random.below(200));
        segment_.disk.die_after(random.below(random.below(2) == 0 ? 500 : 100'000));
        writer_->flush();
    }
    note_death();
    drain(drain_all);  // into nothing: what had left is in these events
}

/// What the kernel had taken still arrives, or does not.
void SimRunHost::let_arrive() {
    if (Random(mix64(segment_.kill->dice)).below(2) == 0) {
        for (const Instant until = driver_.now() + milliseconds(1); driver_.now() < until;) {
        }
        // A spin enters, whatever the turn before it has found.
        (void)driver_.turn({driver_.now(), 0, Wait::spin, true});
    }
}

Instant SimRunHost::now() const {
    return engines_ == nullptr ? driver_.now() : engines_->now();
}

/// Whose event the writer takes next: the oldest of the first of each.
const EventSource* SimRunHost::next_source() const {
    const EventSource* next = nullptr;
    for (const EventSource& source : sources_) {
        const Event* const event = source.ring->front();
        if (event != nullptr &&
            (next == nullptr || event->stamp_ns < next->ring->front()->stamp_ns)) {
            next = &source;
        }
    }
    return next;
}

void SimRunHost::drain(std::size_t events_max) {
    if (writer_ == nullptr) {
        return;
    }
    for (const EventSource* source = next_source(); source != nullptr && events_max > 0;
         --events_max) {
        if (!options_.unwatched) {
            note_sent(*source->ring->front(), *source);
        }
        if (writer_->drain(1) == 0) {
            break;
        }
        source = next_source();
    }
}

void SimRunHost::note_sent(const Event& event, const EventSource& source) {
    const std::uint32_t request = source.positions == nullptr || event.kind == EventKind::sample
                                      ? event.request
                                      : source.positions->at(event.request);
    if (event.kind == EventKind::armed) {
        armed_[request] = event.armed_due();
    } else if (event.kind == EventKind::fired) {
        const Due& due = armed_.at(request);
        const std::uint32_t row = trace_.rows[due.row].index;
        result_.left.insert(row);
        result_.sent.push_back({row, due.pass, due.attempt, event.stamp_ns - zero_.ns, due.side});
    }
}

void SimRunHost::weigh(std::int64_t at_ns) {
    const std::size_t done = result_.weights.size();
    if (done == options_.weighed_at_ns.size() || at_ns < options_.weighed_at_ns[done]) {
        return;
    }
    const struct mallinfo2 heap = ::mallinfo2();
    result_.weights.push_back({heap.uordblks + heap.hblkhd, writer_->counts().ended});
}

/// As the writer's thread does when it has drained.
void SimRunHost::flush(std::int64_t at_ns) {
    if (at_ns >= flush_at_ns_) {
        writer_->flush();
        note_flushed(at_ns);
        flush_at_ns_ = at_ns + flush_every_ns;
    }
}

void SimRunHost::note_flushed(std::int64_t at_ns) {
    if (options_.unwatched) {
        return;
    }
    Flushed& flushed = result_.flushes.emplace_back();
    flushed.at_ns = at_ns;
    for (std::size_t i = 0; i < flushed.bytes.size(); ++i) {
        flushed.bytes[i] = segment_.disk.size(flushed_files[i]);
    }
}

// The host under a simulated process: it sets its clock, stops the process, sleeps.

namespace {
constexpr std::int64_t pause_ns = 2'000'000'000;
constexpr std::int64_t clock_step_ns = 1'000'000'000;
constexpr std::int64_t sleep_ns = 5'000'000'000;
}  // namespace

void SimDriver::let_host_act() {
    if (chance(weather_.step_clock)) {
        realtime_ahead_ns_ += up_to(2 * clock_step_ns).ns - clock_step_ns;
    }
    if (chance(weather_.pause)) {
        stand_still(up_to(pause_ns));
    }
    if (weather_.suspend > 0 && chance(weather_.suspend)) {
        suspend(up_to(sleep_ns));
    }
}

// The kernel does nothing for a process that does not enter it: what came meanwhile is not visible.
void SimDriver::stand_still(Duration length) {
    if (length.ns > 0) {
        hidden_from_ = shown();
        happen_until(now_ + length);
        stood_until_ = now_;
        stood_ = stood_ + length;
    }
}

// Our clock stands still, the time of day goes on, and what was on its way to us comes meanwhile:
// by our clock it came before we fell asleep. Servers wait for us; they need none of the time.
void SimDriver::suspend(Duration length) {
    suspended_ns_ += length.ns;
    realtime_ahead_ns_ += length.ns;
    auto before = std::exchange(happenings_, {});
    while (!before.empty()) {
        auto node = before.extract(before.begin());
        if (node.mapped().kind == Happening::Kind::to_client) {
            node.key().first -= length.ns;
        }
        happenings_.insert(std::move(node));
    }
    stood_until_ = now_;
    if (on_sleep_) {
        on_sleep_(now_, length);
    }
}

}  // namespace driftless::sim
