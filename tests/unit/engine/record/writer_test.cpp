// From the ring to files.

#include "engine/record/writer.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "engine/history/fired_marks.hpp"
#include "engine/prompt/rows_underway.hpp"
#include "tests/unit/engine/record/script.hpp"
#include "tests/unit/refusing_kernel.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// The event ring loses nothing it promised to keep, keeps order and bytes, and says what it drops.

namespace {

using Push = EventRing::Push;

Event make_event(EventKind kind, std::uint32_t row) {
    Event event;
    event.kind = kind;
    event.request = row;
    return event;
}

std::string pattern(std::uint64_t seed, std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
        text[i] = static_cast<char>(seed + i * 7);
    }
    return text;
}

// What goes in comes out: order, fields and payload bytes, through many wraps of the memory.
TEST(EventRing, KeepsOrderAndBytesThroughWraps) {
    EventRing ring(1 << 18, 4);
    Random random(1);
    std::deque<std::string> expected;
    std::uint32_t pushed = 0;
    std::uint32_t popped = 0;
    const auto drain = [&](std::uint64_t count) {
        for (; count > 0 && ring.front() != nullptr; --count) {
            ASSERT_EQ(ring.front()->request, popped++);
            ASSERT_EQ(EventRing::payload_of(*ring.front()), expected.front());
            expected.pop_front();
            ring.pop();
        }
    };
    for (std::size_t bytes = 0; bytes < 8 * ring.capacity_bytes();) {
        const std::size_t size =
            random.below(10) == 0 ? random.below(EventRing::payload_bytes_max) : random.below(400);
        expected.push_back(pattern(pushed, size));
        ASSERT_EQ(ring.push(make_event(EventKind::chunk, pushed), expected.back()), Push::whole);
        bytes += 64 + size;
        ++pushed;
        // Two events of the largest size at most stay behind, so that nothing is ever refused.
        drain(expected.size() > 2 ? expected.size() : random.below(3));
    }
    drain(expected.size());
    EXPECT_EQ(popped, pushed);
    // The largest payload fits a ring of the smallest size, at every position of the memory.
    EventRing other_ring(1, 1);
    const std::string payload = pattern(3, EventRing::payload_bytes_max);
    for (std::uint32_t i = 0; i < 3 * other_ring.capacity_bytes() / EventRing::payload_bytes_max;
         ++i) {
        ASSERT_EQ(other_ring.push(make_event(EventKind::part, i), payload), Push::whole);
        const Event* event = other_ring.front();
        ASSERT_NE(event, nullptr);
        ASSERT_EQ(event->request, i);
        ASSERT_EQ(EventRing::payload_of(*event), payload);
        other_ring.pop();
        ASSERT_EQ(other_ring.push(make_event(EventKind::chunk, i), {}), Push::whole);
        ASSERT_EQ(other_ring.front()->length, 0u);
        other_ring.pop();
        ASSERT_EQ(other_ring.front(), nullptr);
    }
}

// Without a consumer: payloads are dropped first, then chunk entries, then the rest of a row, and
// the ends of as many rows as may be open always find room.
TEST(EventRing, FillsInSteps) {
    constexpr std::size_t rows = 64;
    EventRing ring(1, rows);
    std::size_t whole = 0;
    std::size_t bare = 0;
    Push result = Push::whole;
    while ((result = ring.push(make_event(EventKind::chunk, 0), "abc")) == Push::whole) {
        ++whole;
    }
    EXPECT_EQ(result, Push::payload_dropped);
    const std::size_t cells = ring.capacity_bytes() / 64;
    EXPECT_EQ(whole, (cells - 6 * rows - cells / 8) / 2);
    while (ring.push(make_event(EventKind::chunk, 0), "abc") == Push::payload_dropped) {
        ++bare;
    }
    EXPECT_GE(bare + 2, cells / 8);
    EXPECT_EQ(ring.push(make_event(EventKind::part, 0), ""), Push::entry_dropped);

    std::size_t others = 0;
    const EventKind kinds[] = {EventKind::wire, EventKind::sent, EventKind::head};
    while (ring.push(make_event(kinds[others % 3], 0)) == Push::whole) {
        ++others;
    }
    EXPECT_EQ(others, 3 * rows);
    EXPECT_EQ(ring.push(make_event(EventKind::sample, 0), pattern(0, 300)), Push::entry_dropped);

    std::uint32_t fired = 0;
    while (ring.has_room_for_row()) {
        ASSERT_EQ(ring.push(make_event(EventKind::armed, fired)), Push::whole);
        ASSERT_EQ(ring.push(make_event(EventKind::fired, fired)), Push::whole);
        ++fired;
    }
    EXPECT_EQ(fired, rows);
    EXPECT_EQ(ring.push(make_event(EventKind::armed, fired)), Push::entry_dropped);
    EXPECT_EQ(ring.push(make_event(EventKind::fired, fired)), Push::entry_dropped);
    EXPECT_EQ(ring.push(Script::ended(fired, 0, Outcome::not_sent)), Push::entry_dropped);
    for (std::uint32_t row = 0; row < rows; ++row) {
        ASSERT_EQ(ring.push(Script::ended(row, 0, Outcome::ok)), Push::whole);
    }
    EXPECT_EQ(ring.push(Script::ended(0, 0, Outcome::ok)), Push::entry_dropped);
    EXPECT_EQ(ring.high_bytes(), ring.capacity_bytes());
    EXPECT_EQ(ring.spare_times(), 1U) << "what waits fills it";

    // All of it is there, flagged, in order, and afterwards the ring is as good as new.
    std::size_t seen_bare = 0;
    std::size_t ends = 0;
    for (; ring.front() != nullptr; ring.pop()) {
        const Event& event = *ring.front();
        seen_bare += (event.flags & event_payload_dropped) != 0 ? 1 : 0;
        ends += event.kind == EventKind::end ? 1 : 0;
        ASSERT_EQ(event.length, event.kind == EventKind::chunk && event.flags == 0 ? 3u : 0u);
    }
    EXPECT_EQ(ring.spare_times(), UINT64_MAX) << "nothing waits";
    EXPECT_EQ(std::tuple(seen_bare, ends), std::tuple(bare + 1, rows));
    EXPECT_EQ(ring.push(make_event(EventKind::chunk, 0), "abc"), Push::whole);
}

// A payload may leave just the reserve free and not one cell less.
TEST(EventRing, PayloadReserveIsExact) {
    for (const std::size_t missing : {std::size_t{0}, std::size_t{1}}) {
        EventRing ring(1, 8);
        const std::size_t cells = ring.capacity_bytes() / 64;
        const std::size_t reserve = 6 * 8 + cells / 8;
        for (std::size_t used = 0; used < cells - reserve - 3 + missing; ++used) {
            ASSERT_EQ(ring.push(make_event(EventKind::chunk, 0)), Push::whole);
        }
        EXPECT_EQ(ring.push(make_event(EventKind::chunk, 0), pattern(0, 128)),
                  missing == 0 ? Push::whole : Push::payload_dropped);
    }
}

// Two threads: every fired and end arrives, in order, whatever the consumer's pace; what is
// missing of the chunks is exactly what `push` said it dropped, and no payload is damaged.
TEST(EventRing, TwoThreadsLoseNothingPromised) {
    constexpr std::uint32_t rows = 40000;
    constexpr std::uint32_t open_max = 16;
    EventRing ring(1, open_max);
    std::atomic<bool> done{false};
    std::uint64_t dropped_payloads = 0;
    std::uint64_t dropped_entries = 0;
    std::thread producer([&] {
        Random random(2);
        const std::string payload = pattern(0, 4096);
        for (std::uint32_t row = 0; row < rows; ++row) {
            while (!ring.has_room_for_row()) {
                std::this_thread::yield();
            }
            CHECK(ring.push(make_event(EventKind::fired, row)) == Push::whole);
            for (std::uint64_t chunk = random.below(8); chunk > 0; --chunk) {
                Event event = make_event(EventKind::chunk, row);
                const std::size_t size = random.below(payload.size());
                event.stamp_ns = static_cast<std::int64_t>(size);
                const Push push = ring.push(event, std::string_view(payload).substr(0, size));
                dropped_payloads += push == Push::payload_dropped ? 1 : 0;
                dropped_entries += push == Push::entry_dropped ? 1 : 0;
            }
            CHECK(ring.push(Script::ended(row, 0, Outcome::ok)) == Push::whole);
        }
        done.store(true);
    });
    Random random(3);
    const std::string payload = pattern(0, 4096);
    std::uint32_t fired = 0;
    std::uint32_t ended = 0;
    std::uint64_t chunks = 0;
    std::uint64_t bare = 0;
    bool good = true;
    while (true) {
        const bool last = done.load();
        std::uint64_t budget = random.below(500);
        for (; budget > 0 && ring.front() != nullptr; --budget, ring.pop()) {
            const Event& event = *ring.front();
            if (event.kind == EventKind::fired) {
                good = good && event.request == fired++;
            } else if (event.kind == EventKind::end) {
                good = good && event.request == ended++;
            } else {
                ++chunks;
                const bool dropped = (event.flags & event_payload_dropped) != 0;
                bare += dropped ? 1 : 0;
                const auto size = dropped ? 0 : static_cast<std::size_t>(event.stamp_ns);
                good = good &&
                       EventRing::payload_of(event) == std::string_view(payload).substr(0, size);
            }
        }
        if (last && budget > 0) {
            break;
        }
        if (budget > 0) {
            std::this_thread::yield();
        }
    }
    producer.join();
    EXPECT_TRUE(good);
    EXPECT_EQ(std::tuple(fired, ended, bare), std::tuple(rows, rows, dropped_payloads));
    Random again(2);
    std::uint64_t made = 0;
    for (std::uint32_t row = 0; row < rows; ++row) {
        const std::uint64_t count = again.below(8);
        made += count;
        for (std::uint64_t i = 0; i < count; ++i) {
            again.next();
        }
    }
    EXPECT_EQ(chunks + dropped_entries, made);
    EXPECT_LE(ring.high_bytes(), ring.capacity_bytes());
}

// What the events of several engines are called in the run: every request, connection and user has
// a number that no other one has.

Event armed(std::uint32_t request, std::uint32_t user) {
    return Event::of_armed(Due{.request = request, .user = user}, 0);
}

// Two engines have rows 0, 2, 4 and 1, 3 of a plan of 5, and play each of them twice.
TEST(EventSource, NumbersPlayingsOverAllEnginesButOne) {
    const std::vector<std::uint32_t> even{0, 2, 4};
    const std::vector<std::uint32_t> odd{1, 3};
    const EventSource engines[] = {{nullptr, &even, 6}, {nullptr, &odd, 4}};
    std::set<std::uint32_t> requests;
    std::set<std::uint32_t> users;
    for (std::uint32_t engine = 0; engine < 2; ++engine) {
        for (std::uint32_t request = 0; request < engines[engine].requests_end; ++request) {
            const Event event = numbered(armed(request, request), engines[engine], {engine, 2}, 5);
            const std::vector<std::uint32_t>& rows = *engines[engine].positions;
            EXPECT_EQ(event.request % 5, rows[request % rows.size()]);
            EXPECT_EQ(event.request / 5, request / rows.size());
            EXPECT_TRUE(requests.insert(event.request).second);
            EXPECT_TRUE(users.insert(event.user).second);
        }
    }
    EXPECT_EQ(*requests.rbegin(), 9u);
    EXPECT_EQ(numbered(armed(4, 0), engines[1], {1, 2}, 5).request, UINT32_MAX) << "it has four";
    const Event event = numbered(armed(7, Due::no_user), {}, {0, 1}, 5);
    EXPECT_EQ(std::tuple(event.request, event.user), std::tuple(7u, Due::no_user));
    const std::vector<std::uint32_t> rows{1, 3};
    const EventSource without_users{nullptr, &rows};
    EXPECT_EQ(numbered(armed(1, Due::no_user), without_users, {1, 2}, 4).request, 3u);
    EXPECT_EQ(numbered(armed(2, Due::no_user), without_users, {1, 2}, 4).request, UINT32_MAX);
}

// From the ring to the files: every line whole, every row once, inline and with a thread, and a
// disk that is full is an error and no loss of the ring.

struct Files {
    std::string requests, fired, client, responses;
    RecordSinks sinks() {
        return RecordSinks{.requests = LineSink(&requests),
                           .fired = LineSink(&fired),
                           .client = LineSink(&client),
                           .responses = LineSink(&responses)};
    }
};

Result<RecordSinks> make_sinks(const std::string& folder) {
    std::string failed;
    return open_sinks({folder, "", false, true}, true, failed);
}

// What writes these rows into the files of a folder, or into strings, and its ring.
struct Writing {
    Writing(std::uint32_t rows, RecordSinks sinks, std::size_t ring_bytes, std::size_t open_max)
        : input(rows), ring(ring_bytes, open_max), writer(input.config(), {}, std::move(sinks)) {
        writer.read_from({{&ring}});
    }
    Writing(std::uint32_t rows, const ScratchFolder& folder, std::size_t ring_bytes,
            std::size_t open_max)
        : Writing(rows, make_sinks(folder.path()).value(), ring_bytes, open_max) {}

    ScriptTrace input;
    EventRing ring;
    RecordWriter writer;
};

// The events of a whole row with one token.
void push_row(EventRing& ring, std::uint32_t row) {
    const auto push = [&](EventKind kind, std::int64_t at, std::string_view payload = {}) {
        Event event =
            kind == EventKind::end ? Script::ended(row, at) : Script::event(kind, row, at);
        event.status = 200;
        CHECK(ring.push(event, payload) == EventRing::Push::whole);
    };
    const std::int64_t due = 1'000'000 * static_cast<std::int64_t>(row);
    push(EventKind::armed, -5000);
    push(EventKind::fired, due + 250);
    push(EventKind::part, due + 400, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    push(EventKind::head, due + 400);
    push(EventKind::chunk, due + 500,
         "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n");
    push(EventKind::chunk, due + 600, "data: [DONE]\n\n");
    push(EventKind::end, due + 700);
}

void push_rows(EventRing& ring, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t row = from; row < to; ++row) {
        push_row(ring, row);
    }
}

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Inline, into strings: before `begin` only armed rows are taken; afterwards each row has its line,
// its fired line, and the sums are those of the records.
TEST(RecordWriter, DrainsInlineIntoStrings) {
    ScriptTrace input(3);
    input.trace.rows[1].index = 7;
    Files files;
    AssemblerConfig config = input.config();
    config.save_responses = 1;
    RecordWriter writer(config, {}, files.sinks());
    EventRing ring(1, 4);
    writer.read_from({{&ring}});
    ring.push(Script::event(EventKind::armed, 0, -9000));
    push_row(ring, 1);
    EXPECT_EQ(writer.drain(100), 2u);
    writer.begin({script_zero_ns});
    EXPECT_EQ(writer.drain(2), 2u);
    EXPECT_EQ(writer.drain(100), 4u);
    EXPECT_EQ(files.fired,
              R"({"row":7,"due_ns":1000000,"fired_ns":1000250,"held_ns":0,"late_cause":"none"})"
              "\n");
    const Record record = read_alone(read_record, files.requests).value();
    EXPECT_EQ(values_of(record, "row, armed_ns, outcome"), "7, -5000, ok");
    EXPECT_EQ(files.responses,
              "{\"row\":7,\"text\":\"hi\",\"reasoning\":\"\",\"tool_calls\":\"\",\"cut\":false}\n");
    writer.finish();
    EXPECT_EQ(lines_of(files.requests), 3u);
    EXPECT_EQ(writer.summary().figures().rows, 3u);
    EXPECT_EQ(writer.counts().unended, 2u);
    EXPECT_FALSE(writer.failed());
}

// A sample is one line with every field; instants from time 0, -1 is null. The line holds against
// the shipped schema, whose keys are exactly those of a line, in order.
TEST(RecordWriter, WritesClientSamples) {
    Files files;
    Writing run(1, files.sinks(), 1, 4);
    run.writer.begin({script_zero_ns});
    ClientSample sample{.from_ns = script_zero_ns,
                        .to_ns = script_zero_ns + 1'000'000'000,
                        .rows_fired = 12,
                        .steal_ns = 99};
    Event event = Script::event(EventKind::sample, 0, 0);
    run.ring.push(event, {reinterpret_cast<const char*>(&sample), sizeof sample});
    run.writer.drain(10);
    const JsonText json(files.client);
    EXPECT_EQ(json.root.size(), sizeof sample / sizeof(std::int64_t));
    const JsonText schema(source_file("proto/run/client.schema.json"));
    EXPECT_EQ(schema_errors(schema.root, json.root), std::vector<std::string>());
    std::vector<std::string> properties = keys_of(json.root);
    properties.emplace_back("shard");  // in no line of a run
    EXPECT_EQ(keys_of(schema.root.find("properties")), properties);
    // `writer_cpu_ns`: it has no thread.
    EXPECT_EQ(
        values_of(json.root, "from_ns, to_ns, rows_fired, steal_ns, writer_cpu_ns, run_delay_ns"),
        "0, 1000000000, 12, 99, null, null");
}

/// What a writer without a thread makes of these rows.
void write_inline(std::uint32_t rows, Files& files) {
    Writing run(rows, files.sinks(), 4 << 20, rows);
    run.writer.begin({script_zero_ns});
    push_rows(run.ring, 0, rows);
    run.writer.drain(SIZE_MAX);
    run.writer.finish();
}

// The same events inline and through the thread give the same bytes; the thread takes no signals
// and shows progress at the end.
TEST(RecordWriter, ThreadWritesTheSameBytes) {
    constexpr std::uint32_t rows = 2000;
    Files files;
    write_inline(rows, files);

    const ScratchFolder folder;
    Writing run(rows, folder, 4 << 20, rows);
    struct Seen {
        Progress last;
        bool blocked = false;
    } seen;
    const auto show = [](void* owner, const Progress& progress) {
        auto& target = *static_cast<Seen*>(owner);
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        target.blocked = sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGTERM) == 1;
        target.last = progress;
    };
    ASSERT_TRUE(run.writer.start_thread(nullptr, {show, &seen}));
    run.writer.begin({script_zero_ns});
    push_rows(run.ring, 0, rows);
    run.writer.stop();
    EXPECT_EQ(read_bytes(folder / "requests.jsonl"), files.requests);
    EXPECT_EQ(read_bytes(folder / "fired.jsonl"), files.fired);
    EXPECT_EQ(lines_of(files.requests), rows);
    EXPECT_FALSE(std::filesystem::exists(folder / "responses.jsonl"));
    EXPECT_TRUE(seen.blocked);
    EXPECT_EQ(std::tuple(seen.last.ended, seen.last.fired), std::tuple(rows, rows));
    EXPECT_EQ(seen.last.inflight, 0u);
    EXPECT_EQ(std::accumulate(seen.last.outcomes.begin(), seen.last.outcomes.end(), 0u), rows);
    EXPECT_EQ(seen.last.drift_max_ns, 250);
    EXPECT_FALSE(run.writer.failed());
    EXPECT_EQ(run.writer.counts().unended, 0u);
}

// In its thread it tells what it has read, and for how much CPU time, on lines of the first engine.
TEST(RecordWriter, SamplesTellOfTheWritersThread) {
    constexpr std::uint32_t rows = 4;
    ScriptTrace input(rows);
    const ScratchFolder folder;
    RecordSinks sinks = make_sinks(folder.path()).value();
    EventRing first(1 << 20, rows);
    EventRing second(1 << 20, rows);
    RecordWriter writer(input.config(), {}, std::move(sinks));
    writer.read_from({{&first}, {&second}});
    writer.begin({script_zero_ns});
    std::int64_t at_ns = 1'000'000;
    const auto sample = [&](EventRing& ring) {
        const ClientSample empty;
        ring.push(Script::event(EventKind::sample, 0, ++at_ns),
                  {reinterpret_cast<const char*>(&empty), sizeof empty});
    };
    sample(second);
    push_rows(first, 0, rows);
    sample(first);
    ASSERT_TRUE(writer.start_thread(nullptr, {}));
    writer.stop();
    EXPECT_GT(writer.client().sums.writer_cpu_ns, 0);
    EXPECT_GE(writer.client().sums.writer_run_delay_ns, 0);
    EXPECT_GE(writer.client().sums.writer_chunks, rows);
    EXPECT_EQ(writer.client().each.size(), 2u);
    EXPECT_TRUE(says(read_bytes(folder / "client.jsonl"), R"("writer_cpu_ns":null)"));
}

// Beside its engine it gives way after a few events, until too much waits; then it hurries,
// elsewhere where it may. Whatever comes of that, nothing is lost, and the files are the same.
TEST(RecordWriter, AThreadThatGivesWayWritesTheSameBytes) {
    constexpr std::uint32_t rows = 2000;
    Files files;
    write_inline(rows, files);

    const cpu_set_t all = cpu_set_of(allowed_cpus());
    for (const bool may_leave : {false, true}) {
        const ScratchFolder folder;
        Writing run(rows, folder, 4 << 20, rows);
        const WriterSeat seat{cpu_set_of({allowed_cpus().front()}), true,
                              may_leave ? std::optional(all) : std::nullopt};
        run.writer.begin({script_zero_ns});
        push_rows(run.ring, 0, rows / 2);
        ASSERT_TRUE(run.writer.start_thread(&seat, {}));
        push_rows(run.ring, rows / 2, rows);
        run.writer.stop();
        EXPECT_EQ(read_bytes(folder / "requests.jsonl"), files.requests);
        EXPECT_EQ(read_bytes(folder / "fired.jsonl"), files.fired);
    }
}

// Names of the files in the order in which they grew since `watch` began.
std::vector<std::string> grown(int watch) {
    std::vector<std::string> names;
    alignas(inotify_event) char events[64 * 1024];
    const ssize_t bytes = ::read(watch, events, sizeof events);
    for (ssize_t at = 0; at < bytes;) {
        const auto* event = reinterpret_cast<const inotify_event*>(events + at);
        names.emplace_back(event->name);
        at += static_cast<ssize_t>(sizeof *event + event->len);
    }
    return names;
}

// Whenever the process dies, a row that has a record is in fired.jsonl: that is written first, as
// buffers overflow and at the end.
TEST(RecordWriter, WritesWhoLeftFirstAndNeverOverwrites) {
    for (const std::uint32_t rows : {3u, 2000u}) {
        const ScratchFolder folder;
        Writing run(rows, folder, 1 << 20, 4);
        run.writer.begin({script_zero_ns});
        const int watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        ASSERT_GE(::inotify_add_watch(watch, folder.path().c_str(), IN_MODIFY), 0);
        std::vector<std::string> order;
        for (std::uint32_t row = 0; row < rows; ++row) {
            push_row(run.ring, row);
            run.writer.drain(100);
            std::ranges::move(grown(watch), std::back_inserter(order));
        }
        EXPECT_EQ(order.empty(), rows == 3);
        run.writer.finish();
        std::ranges::move(grown(watch), std::back_inserter(order));
        ::close(watch);
        ASSERT_GE(order.size(), 2u);
        std::string before;
        for (const std::string& name : order) {
            EXPECT_TRUE(name != "requests.jsonl" || before == "fired.jsonl") << "after " << before;
            before = name;
        }
    }
    // A file that exists is not touched.
    const ScratchFolder folder;
    folder.write("fired.jsonl", "mine");
    std::string failed;
    const Result<RecordSinks> sinks = open_sinks({folder.path(), "", false, true}, true, failed);
    ASSERT_FALSE(sinks);
    EXPECT_EQ(sinks.error().code, ErrorCode::exists);
    EXPECT_EQ(failed, folder / "fired.jsonl");
    EXPECT_EQ(read_bytes(folder / "fired.jsonl"), "mine");
    EXPECT_FALSE(std::filesystem::exists(folder / "requests.jsonl")) << "made and left";
    EXPECT_EQ(make_sinks("/nowhere/at/all").error().code, ErrorCode::not_found);
}

// A file that may not grow any more, as on a full disk: an error to be seen, the ring is drained
// all the same, and the file ends with a whole line.
TEST(RecordWriter, AFullDiskIsAnErrorAndNoStall) {
    const ScratchFolder folder;
    Writing run(2000, folder, 1, 4);
    run.writer.begin({script_zero_ns});
    struct sigaction ignore{};
    struct sigaction before{};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &ignore, &before);
    rlimit old_limit{};
    getrlimit(RLIMIT_FSIZE, &old_limit);
    rlimit limit = old_limit;
    limit.rlim_cur = 10'000;
    setrlimit(RLIMIT_FSIZE, &limit);
    for (std::uint32_t row = 0; row < 100; ++row) {
        push_row(run.ring, row);
        run.writer.drain(100);
    }
    run.writer.finish();
    setrlimit(RLIMIT_FSIZE, &old_limit);
    sigaction(SIGXFSZ, &before, nullptr);
    EXPECT_TRUE(run.writer.failed());
    EXPECT_EQ(run.writer.error().code, ErrorCode::exhausted);
    EXPECT_EQ(run.writer.failed_path(), folder / "requests.jsonl");
    EXPECT_EQ(std::tuple(run.writer.counts().ended, run.ring.front()), std::tuple(2000u, nullptr));
    const std::string text = read_bytes(folder / "requests.jsonl");
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(text.back(), '\n');
    EXPECT_LE(text.size(), 10'000u);
}

// What the kernel refuses of files, threads and memory of a run: each is an error with its errno,
// and what was begun is given back.

namespace fs = std::filesystem;

class RecordRefused : public RefusingKernel {
  protected:
    const ScratchFolder folder_;
};

TEST_F(RecordRefused, FilesOfARun) {
    const std::string path = folder_ / "lines";
    for (const auto& [sys_errno, code] :
         {std::pair{EACCES, ErrorCode::denied}, std::pair{EROFS, ErrorCode::denied},
          std::pair{ENOENT, ErrorCode::not_found}, std::pair{ENOSPC, ErrorCode::exhausted},
          std::pair{EDQUOT, ErrorCode::exhausted}, std::pair{EMFILE, ErrorCode::exhausted},
          std::pair{EIO, ErrorCode::io_failed}}) {
        EXPECT_TRUE(while_refusing({{SYS_openat, sys_errno}}, [&, code = code] {
            EXPECT_EQ(LineSink::create(path).error().code, code);
            EXPECT_EQ(LineSink::append(path).error().code, code);
            std::string failed;
            EXPECT_EQ(open_sinks({folder_.path(), "", false, true}, false, failed).error().code,
                      code);
            EXPECT_TRUE(failed.starts_with(folder_.path())) << failed;
        }));
    }
}

// A file that cannot be read or cut is not written behind a torn line.
TEST_F(RecordRefused, TornLines) {
    const std::string path = folder_ / "lines";
    std::ofstream(path) << "whole\ntorn";
    for (const long call : {SYS_pread64, SYS_ftruncate}) {
        EXPECT_TRUE(while_refusing({{call, EIO}}, [&path] {
            const Result<LineSink> sink = LineSink::append(path);
            ASSERT_FALSE(sink);
            EXPECT_EQ(sink.error().code, ErrorCode::io_failed);
            EXPECT_STREQ(sink.error().doing, "cut a torn line off a file of the run");
        }));
    }
    EXPECT_EQ(fs::file_size(path), 10U) << "as it was";
}

TEST_F(RecordRefused, TheWritersThread) {
    for (const auto& [sys_errno, code] :
         {std::pair{EAGAIN, ErrorCode::exhausted}, std::pair{EPERM, ErrorCode::denied}}) {
        EXPECT_TRUE(
            while_refusing({{SYS_clone3, sys_errno}, {SYS_clone, sys_errno}}, [code = code] {
                ScriptTrace input(4);
                RecordWriter writer(input.config(), {}, {});
                EventRing ring(1, 4);
                writer.read_from({{&ring}});
                const auto started = writer.start_thread(nullptr, {});
                ASSERT_FALSE(started);
                EXPECT_EQ(started.error().code, code);
                writer.stop();  // there is nothing to wait for
            }));
    }
}

TEST_F(RecordRefused, MarksOfARun) {
    constexpr std::size_t rows = 64 * 1021;  // and three words: 8 KiB
    constexpr std::uint32_t bytes = 8192;
    const auto says = [](std::initializer_list<RefusedCall> refusals, const char* doing,
                         ErrorCode code) {
        EXPECT_TRUE(while_refusing(refusals, [doing, code] {
            const Result<FiredMarks> made = FiredMarks::create("0badcafe", rows);
            ASSERT_FALSE(made);
            EXPECT_STREQ(made.error().doing, doing);
            EXPECT_EQ(made.error().code, code);
        }));
        EXPECT_EQ(FiredMarks::open("0badcafe", rows).error().code, ErrorCode::not_found)
            << "left behind: " << doing;
    };
    says({{SYS_openat, EACCES}}, "create the marks of a run", ErrorCode::denied);
    says({{SYS_fallocate, ENOMEM}}, "take memory for the marks of a run", ErrorCode::exhausted);
    says({{SYS_mmap, ENOMEM, 1, bytes}}, "map the marks of a run", ErrorCode::exhausted);
    const Result<FiredMarks> made = FiredMarks::create("0badcafe", rows);
    ASSERT_TRUE(made);
    for (const RefusedCall refusal :
         {RefusedCall{SYS_newfstatat, ENOMEM}, RefusedCall{SYS_mmap, ENOMEM, 1, bytes}}) {
        EXPECT_TRUE(while_refusing({refusal, {SYS_fstat, ENOMEM}}, [] {
            EXPECT_EQ(FiredMarks::open("0badcafe", rows).error().code, ErrorCode::exhausted);
        }));
    }
    EXPECT_EQ(FiredMarks::open("0badcafe", rows + 1).error().code, ErrorCode::invalid);
    FiredMarks::remove("0badcafe");
}

TEST_F(RecordRefused, MemoryOfBodies) {
    constexpr std::uint32_t bytes = 1 << 20;
    EXPECT_TRUE(while_refusing({{SYS_mmap, ENOMEM, 1, bytes}}, [] {
        BodyPool pool;
        const Result<void> opened = pool.open(bytes);
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, ErrorCode::exhausted);
        EXPECT_EQ(opened.error().sys_errno, ENOMEM);
    }));
}

}  // namespace
}  // namespace driftless
