// What the events of several engines are called in the run: every request, connection and user has
// a number that no other one has.

#include "engine/record/writer.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/engine/record/script.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

Event armed(std::uint32_t request, std::uint32_t user) {
    Due due{.request = request, .user = user};
    return Event::of_armed(due, 0);
}

// Two engines have rows 0, 2, 4 and 1, 3 of a plan of 5, and play each of them twice.
TEST(EventSource, NumbersPlayingsOfRowsOverAllEngines) {
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
}

TEST(EventSource, LeavesWhatOneEnginePlays) {
    const Event event = numbered(armed(7, Due::no_user), {}, {0, 1}, 5);
    EXPECT_EQ(event.request, 7u);
    EXPECT_EQ(event.user, Due::no_user);
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
        RecordSinks sinks;
        sinks.requests = LineSink(&requests);
        sinks.fired = LineSink(&fired);
        sinks.client = LineSink(&client);
        sinks.responses = LineSink(&responses);
        return sinks;
    }
};

Result<RecordSinks> make_sinks(const std::string& folder) {
    std::string failed;
    return create_sinks({folder, "", false, true}, failed);
}

// The events of a whole row with one token.
void push_row(EventRing& ring, std::uint32_t row) {
    const auto push = [&](EventKind kind, std::int64_t at, std::string_view payload = {}) {
        Event event = Script::event(kind, row, at);
        event.status = 200;
        if (kind == EventKind::end) {
            event.end = {};
            event.end.outcome = Outcome::ok;
        }
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
    JsonDocument document;
    const Record record = read_record(document, files.requests).value();
    EXPECT_EQ(record.row, 7u);
    EXPECT_EQ(record.armed_ns, -5000);
    EXPECT_EQ(record.outcome, Outcome::ok);
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
    ScriptTrace input(1);
    Files files;
    RecordWriter writer(input.config(), {}, files.sinks());
    writer.begin({script_zero_ns});
    EventRing ring(1, 4);
    writer.read_from({{&ring}});
    ClientSample sample;
    sample.from_ns = script_zero_ns;
    sample.to_ns = script_zero_ns + 1'000'000'000;
    sample.rows_fired = 12;
    sample.steal_ns = 99;
    Event event = Script::event(EventKind::sample, 0, 0);
    ring.push(event, {reinterpret_cast<const char*>(&sample), sizeof sample});
    writer.drain(10);
    JsonDocument document;
    const JsonValue root = document.parse(files.client).value();
    EXPECT_EQ(root.size(), sizeof sample / sizeof(std::int64_t));
    JsonDocument schema_document;
    const std::string text = source_file("proto/run/client.schema.json");
    const JsonValue schema = schema_document.parse(text).value();
    EXPECT_EQ(schema_errors(schema, root), std::vector<std::string>());
    JsonValue property = schema.find("properties").first();
    for (JsonValue field = root.first(); field.present(); field = field.next()) {
        EXPECT_EQ(field.key(), property.key());
        property = property.next();
    }
    EXPECT_EQ(root.find("from_ns").as_i64(), 0);
    EXPECT_EQ(root.find("to_ns").as_i64(), 1'000'000'000);
    EXPECT_EQ(root.find("rows_fired").as_i64(), 12);
    EXPECT_EQ(root.find("steal_ns").as_i64(), 99);
    EXPECT_TRUE(root.find("writer_cpu_ns").is(JsonType::null)) << "it has no thread";
    EXPECT_TRUE(root.find("run_delay_ns").is(JsonType::null));
}

/// What a writer without a thread makes of these rows.
void write_inline(ScriptTrace& input, std::uint32_t rows, Files& files) {
    EventRing ring(4 << 20, rows);
    RecordWriter writer(input.config(), {}, files.sinks());
    writer.read_from({{&ring}});
    writer.begin({script_zero_ns});
    for (std::uint32_t row = 0; row < rows; ++row) {
        push_row(ring, row);
    }
    writer.drain(SIZE_MAX);
    writer.finish();
}

// The same events inline and through the thread give the same bytes; the thread takes no signals
// and shows progress at the end.
TEST(RecordWriter, ThreadWritesTheSameBytes) {
    constexpr std::uint32_t rows = 2000;
    ScriptTrace input(rows);
    Files files;
    write_inline(input, rows, files);

    const ScratchFolder folder;
    Result<RecordSinks> sinks = make_sinks(folder.path());
    ASSERT_TRUE(sinks);
    EventRing ring(4 << 20, rows);
    RecordWriter writer(input.config(), {}, std::move(sinks).value());
    writer.read_from({{&ring}});
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
    ASSERT_TRUE(writer.start_thread(nullptr, {show, &seen}));
    writer.begin({script_zero_ns});
    for (std::uint32_t row = 0; row < rows; ++row) {
        push_row(ring, row);
    }
    writer.stop();
    EXPECT_EQ(read_bytes(folder / "requests.jsonl"), files.requests);
    EXPECT_EQ(read_bytes(folder / "fired.jsonl"), files.fired);
    EXPECT_EQ(lines_of(files.requests), rows);
    EXPECT_FALSE(std::filesystem::exists(folder / "responses.jsonl"));
    EXPECT_TRUE(seen.blocked);
    EXPECT_EQ(seen.last.ended, rows);
    EXPECT_EQ(seen.last.fired, rows);
    EXPECT_EQ(seen.last.inflight, 0u);
    EXPECT_EQ(std::accumulate(seen.last.outcomes.begin(), seen.last.outcomes.end(), 0u), rows);
    EXPECT_EQ(seen.last.drift_max_ns, 250);
    EXPECT_FALSE(writer.failed());
    EXPECT_EQ(writer.counts().unended, 0u);
}

// In its thread it tells what it has read, and for how much CPU time, on lines of the first engine.
TEST(RecordWriter, SamplesTellOfTheWritersThread) {
    constexpr std::uint32_t rows = 4;
    ScriptTrace input(rows);
    const ScratchFolder folder;
    Result<RecordSinks> sinks = make_sinks(folder.path());
    ASSERT_TRUE(sinks);
    EventRing first(1 << 20, rows);
    EventRing second(1 << 20, rows);
    RecordWriter writer(input.config(), {}, std::move(sinks).value());
    writer.read_from({{&first}, {&second}});
    writer.begin({script_zero_ns});
    std::int64_t at_ns = 1'000'000;
    const auto sample = [&](EventRing& ring) {
        const ClientSample empty;
        ring.push(Script::event(EventKind::sample, 0, ++at_ns),
                  {reinterpret_cast<const char*>(&empty), sizeof empty});
    };
    sample(second);
    for (std::uint32_t row = 0; row < rows; ++row) {
        push_row(first, row);
    }
    sample(first);
    ASSERT_TRUE(writer.start_thread(nullptr, {}));
    writer.stop();
    EXPECT_GT(writer.client().writer_cpu_ns, 0);
    EXPECT_GE(writer.client().writer_run_delay_ns, 0);
    EXPECT_GE(writer.client().writer_chunks, rows);
    EXPECT_EQ(writer.client().each.size(), 2u);
    const std::string lines = read_bytes(folder / "client.jsonl");
    EXPECT_TRUE(says(lines, R"("writer_cpu_ns":null)"));
}

// Beside its engine it gives way after a few events, until too much waits; then it hurries,
// elsewhere where it may. Whatever comes of that, nothing is lost, and the files are the same.
TEST(RecordWriter, AThreadThatGivesWayWritesTheSameBytes) {
    constexpr std::uint32_t rows = 2000;
    ScriptTrace input(rows);
    Files files;
    write_inline(input, rows, files);

    const cpu_set_t all = cpu_set_of(allowed_cpus());
    for (const bool may_leave : {false, true}) {
        const ScratchFolder folder;
        Result<RecordSinks> sinks = make_sinks(folder.path());
        ASSERT_TRUE(sinks);
        EventRing ring(4 << 20, rows);
        RecordWriter writer(input.config(), {}, std::move(sinks).value());
        writer.read_from({{&ring}});
        const WriterSeat seat{cpu_set_of({allowed_cpus().front()}), true,
                              may_leave ? std::optional(all) : std::nullopt};
        writer.begin({script_zero_ns});
        for (std::uint32_t row = 0; row < rows / 2; ++row) {
            push_row(ring, row);
        }
        ASSERT_TRUE(writer.start_thread(&seat, {}));
        for (std::uint32_t row = rows / 2; row < rows; ++row) {
            push_row(ring, row);
        }
        writer.stop();
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
TEST(RecordWriter, WritesWhoLeftBeforeWhoEnded) {
    for (const std::uint32_t rows : {3u, 2000u}) {
        const ScratchFolder folder;
        ScriptTrace input(rows);
        Result<RecordSinks> sinks = make_sinks(folder.path());
        ASSERT_TRUE(sinks);
        RecordWriter writer(input.config(), {}, std::move(sinks).value());
        writer.begin({script_zero_ns});
        const int watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        ASSERT_GE(::inotify_add_watch(watch, folder.path().c_str(), IN_MODIFY), 0);
        EventRing ring(1 << 20, 4);
        writer.read_from({{&ring}});
        std::vector<std::string> order;
        for (std::uint32_t row = 0; row < rows; ++row) {
            push_row(ring, row);
            writer.drain(100);
            for (std::string& name : grown(watch)) {
                order.push_back(std::move(name));
            }
        }
        EXPECT_EQ(order.empty(), rows == 3);
        writer.finish();
        for (std::string& name : grown(watch)) {
            order.push_back(std::move(name));
        }
        ::close(watch);
        ASSERT_GE(order.size(), 2u);
        std::string before;
        for (const std::string& name : order) {
            EXPECT_TRUE(name != "requests.jsonl" || before == "fired.jsonl") << "after " << before;
            before = name;
        }
    }
}

// A file that exists is not touched.
TEST(RecordWriter, NeverOverwrites) {
    const ScratchFolder folder;
    {
        folder.write("fired.jsonl", "mine");
    }
    std::string failed;
    const Result<RecordSinks> sinks = create_sinks({folder.path(), "", false, true}, failed);
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
    ScriptTrace input(2000);
    Result<RecordSinks> sinks = make_sinks(folder.path());
    ASSERT_TRUE(sinks);
    RecordWriter writer(input.config(), {}, std::move(sinks).value());
    writer.begin({script_zero_ns});
    EventRing ring(1, 4);
    writer.read_from({{&ring}});
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
        push_row(ring, row);
        writer.drain(100);
    }
    writer.finish();
    setrlimit(RLIMIT_FSIZE, &old_limit);
    sigaction(SIGXFSZ, &before, nullptr);
    EXPECT_TRUE(writer.failed());
    EXPECT_EQ(writer.error().code, ErrorCode::exhausted);
    EXPECT_EQ(writer.failed_path(), folder / "requests.jsonl");
    EXPECT_EQ(writer.counts().ended, 2000u);
    EXPECT_EQ(ring.front(), nullptr);
    const std::string text = read_bytes(folder / "requests.jsonl");
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(text.back(), '\n');
    EXPECT_LE(text.size(), 10'000u);
}

}  // namespace

}  // namespace driftless
