// What must end the process: a function each, which the program is told to run by name. The comment
// `// Dies with: TEXT` above a function says what it must print then.
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/task.hpp"
#include "engine/base/time.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/io_ring.hpp"
#include "engine/plan/schedule.hpp"
#include "engine/record/ring.hpp"
#include "engine/record/writer.hpp"
#include "proto/api/dialect.hpp"
#include "proto/core/errors.hpp"

namespace driftless {
namespace {

// Keeps every operation for ever. Only `submit` is ever called.
class Keeper final : public Driver {
  public:
    Instant now() override { return {}; }
    Result<Socket> open_socket(const Address&) override { return Error{}; }
    Result<Socket> listen(const Address&, int) override { return Error{}; }
    Result<Address> local_address(Socket) override { return Error{}; }
    void shutdown(Socket) override {}
    void close(Socket) override {}
    void submit(Op& op) override { set_slot(op, 0); }
    bool flush() override { return true; }
    void find_ends(std::span<const QuietReceive>) override {}
    Instant unread_since(Instant now) override { return now; }
    std::optional<ResendCounts> resent(Socket) override { return {}; }
    TurnResult turn(const Turn&) override { return {}; }
    StampSupport switch_on_stamps(Socket) override { return {}; }
    bool stamps_waiting(Instant) override { return false; }
    std::uint32_t collect_stamps(std::uint32_t, const Op*) override { return 0; }
    ClockSample sample_clock() override { return {}; }
    std::int64_t suspended_ns() override { return 0; }
    void warm_send() override {}
    std::uint32_t in_flight() const override { return 1; }
    DriverCounters counters() const override { return {}; }
    DriverFacts facts() const override { return {}; }
};

struct Home {
    FramePool pool;
    ReadyList list;
    FramePool& frames() { return pool; }
    ReadyList& ready() { return list; }
};

Task<> wait_for(Home&, Signal& signal) {
    co_await signal.wait();
}

// Root coroutines end before their owner does.
// Dies with: check failed: live_ == 0
void jobs_destroyed_while_running() {
    Home home;
    Signal signal;
    Jobs jobs;
    jobs.spawn(wait_for(home, signal));
}

// Slots are bounded: an operation beyond them is the fault of whoever counted, never a lost one.
// Dies with: check failed: first_free_ != Op::no_slot
void op_beyond_the_slots() {
    OpSlots slots;
    slots.open(1);
    Op first;
    Op second;
    slots.take(first);
    slots.take(second);
}

// An operation that a driver holds may not go away: the kernel would write into freed memory.
// Dies with: check failed: !in_flight()
void op_destroyed_in_flight() {
    Keeper driver;
    Op op;
    driver.submit(op);
}

// A completion of an operation that has ended must never reach the one that has its slot now.
// Dies with: check failed: op != nullptr
void op_ended_completes_again() {
    OpSlots slots;
    slots.open(1);
    Op op;
    slots.take(op);
    const std::uint64_t ended = slots.user_data_of(op);
    slots.free(op);
    slots.take(op);
    (void)slots.op_of(ended);
}

// An operation that a driver holds may not be handed to it again: its completions would be mixed.
// Dies with: check failed: in_flight() == (slot == no_slot)
void op_submitted_twice() {
    Keeper driver;
    Op op;
    driver.submit(op);
    driver.submit(op);
}

// The records of a run are complete once: a second time, rows would get a second record.
// Dies with: check failed: stage_ == Stage::recording
void records_finished_twice() {
    const Trace trace;
    const Plan plan;
    AssemblerConfig config;
    config.trace = &trace;
    config.plan = &plan;
    config.dialect = &dialect_of(Api::openai_chat);
    RecordWriter writer(config, Summary(), RecordSinks());
    writer.finish();
    writer.finish();
}

// Nothing ends that is not on its way: whoever waits for that end would go too soon.
// Dies with: check failed: has_taken(due)
void request_ended_before_its_turn() {
    Plan plan;
    plan.rows.push_back({0, 0, 0});
    Schedule schedule(plan);
    schedule.ended(*schedule.peek(), 0, true);
}

// Nothing is sent before it is due.
// Dies with: check failed: has_taken(due) && at_ns >= due.due_ns
void request_fired_early() {
    Plan plan;
    plan.rows.push_back({10, 0, 0});
    Schedule schedule(plan);
    schedule.fired(schedule.take(), 9);
}

// Reading the value of a failed result is a programmer's error in every build mode.
// Dies with: check failed: value_.has_value()
void result_read_on_the_wrong_side() {
    const Result<int> result = Error{ErrorCode::not_found, 0, "look"};
    (void)result.value();
}

// A payload above the ring's limit is cut by its producer, never by the ring.
// Dies with: check failed: payload.size() <= payload_bytes_max
void ring_payload_over_the_limit() {
    EventRing ring(1 << 20, 16);
    const std::string payload(EventRing::payload_bytes_max + 1, 'x');
    ring.push(Event{}, payload);
}

// A slot of the driver has one operation: what takes it while it is taken would get its stamps.
// Dies with: check failed: armed.user_data == 0
void stamps_armed_twice() {
    TransmitStamps stamps;
    stamps.open(16, false);
    stamps.arm(7, Socket{0});
    stamps.arm(7, Socket{0});
}

// A suspended coroutine is never destroyed: whoever owns it lets it end.
// Dies with: check failed: handle_.done()
void task_destroyed_while_suspended() {
    Home home;
    Signal signal;
    const Task<> task = wait_for(home, signal);
}

// A timer that the heap still points to may not go away.
// Dies with: check failed: !set()
void timer_destroyed_while_set() {
    Timers timers(1);
    {
        Timer timer;
        timer.handler = [](Timer&, Instant) {};
        timers.set(timer, Instant{1});
    }
}

// One timer more than there is room for is a programmer's error, not a reallocation.
// Dies with: check failed: heap_.size() < timers_max_
void timers_overflow() {
    Timers timers(1);
    Timer first;
    Timer second;
    first.handler = second.handler = [](Timer&, Instant) {};
    timers.set(first, Instant{1});
    timers.set(second, Instant{2});
}

struct Death {
    const char* name;
    void (*run)();
};
constexpr Death deaths[] = {
    {"jobs_destroyed_while_running", jobs_destroyed_while_running},
    {"op_beyond_the_slots", op_beyond_the_slots},
    {"op_destroyed_in_flight", op_destroyed_in_flight},
    {"op_ended_completes_again", op_ended_completes_again},
    {"op_submitted_twice", op_submitted_twice},
    {"records_finished_twice", records_finished_twice},
    {"request_ended_before_its_turn", request_ended_before_its_turn},
    {"request_fired_early", request_fired_early},
    {"result_read_on_the_wrong_side", result_read_on_the_wrong_side},
    {"ring_payload_over_the_limit", ring_payload_over_the_limit},
    {"stamps_armed_twice", stamps_armed_twice},
    {"task_destroyed_while_suspended", task_destroyed_while_suspended},
    {"timer_destroyed_while_set", timer_destroyed_while_set},
    {"timers_overflow", timers_overflow},
};

}  // namespace
}  // namespace driftless

int main(int count, char** words) {
    const std::string_view name = count > 1 ? words[1] : "";
    for (const driftless::Death& death : driftless::deaths) {
        if (name == death.name) {
            death.run();
        }
    }
    std::puts("nothing has died");
}
