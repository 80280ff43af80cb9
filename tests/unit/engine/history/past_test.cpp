// What a run's files say of its past.

#include "engine/history/past.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/record/line_sink.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// A run is read back from its files: sums, open rows, the last sign of life; a torn end is counted,
// and everything else that is wrong is named with file and line.

namespace {

std::string record_line(std::uint32_t row, std::int64_t ended_ns) {
    return jsonl_of(Record{.row = row,
                           .api = "openai-chat",
                           .fired_ns = ended_ns - 100,
                           .ended_ns = ended_ns,
                           .outcome = Outcome::ok});
}

std::string fired_line(std::uint32_t row, std::int64_t fired_ns) {
    return "{\"row\":" + std::to_string(row) + ",\"fired_ns\":" + std::to_string(fired_ns) + "}\n";
}

std::string sample_line(std::int64_t to_ns) {
    ClientSample sample{.from_ns = to_ns - 1000, .to_ns = to_ns, .chunks = 7};
    std::string line;
    append_client_sample(line, sample, 0);
    return line;
}

// What a resumed run gives up has its records before run.json names the new segment; a run that was
// killed in between goes on.
TEST(Past, TakesTheSegmentThatIsNotNamedYet) {
    RunFacts facts;
    facts.segments.resize(2);
    const auto add = [&facts](std::uint32_t segment, std::uint32_t pass) {
        const std::string line = jsonl_of({.pass = pass, .segment = segment});
        const Result<void> added = Past(facts).add_record(line);
        return added ? std::string() : std::string(added.error().doing);
    };
    EXPECT_EQ(add(1, 0), "");
    EXPECT_EQ(add(2, 0), "");
    EXPECT_EQ(add(3, 0), "segment");
    EXPECT_EQ(add(0, 1), "pass");
    facts.has_users = true;
    EXPECT_EQ(add(0, 1), "");
    facts.info.merged.emplace();  // its records have the segments of each shard
    EXPECT_EQ(add(9, 1), "");
}

// Dual fire: a row has a record of each side, and may be open at one of them.
TEST(Past, TellsSidesApartAndRefusesFifos) {
    Past past(RunFacts{});
    for (const Side side : {Side::a, Side::b}) {
        const std::string line = jsonl_of(
            {.row = 3, .side = side, .fired_ns = 5, .ended_ns = 10, .outcome = Outcome::ok});
        EXPECT_TRUE(past.add_record(line));
        EXPECT_EQ(past.add_record(line).error().code, ErrorCode::exists);
    }
    EXPECT_EQ(past.records(), 2u);
    EXPECT_TRUE(past.has_record(3, Side::a) && past.has_record(3, Side::b));
    EXPECT_TRUE(past.add_fired(R"({"row":3,"side":"a","fired_ns":5})"));
    EXPECT_TRUE(past.add_fired(R"({"row":4,"side":"b","fired_ns":7})"));
    ASSERT_EQ(past.open().size(), 1u);
    EXPECT_EQ(past.open().at(sending_number(4, 0, Side::b)).fired_ns, 7);
    EXPECT_EQ(past.add_fired(R"({"row":4,"side":"c","fired_ns":7})").error().code,
              ErrorCode::out_of_range);
    // A FIFO would make the reader wait for someone who writes.
    const ScratchFolder folder;
    for (const char* name : {"requests.jsonl", "fired.jsonl", "client.jsonl"}) {
        const std::string path = folder.path() + "/" + name;
        ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
        Past other_past(RunFacts{});
        std::string why;
        EXPECT_FALSE(read_past(folder.path(), "", other_past, why));
        EXPECT_EQ(why, path + ": is not a regular file, so it cannot be read again");
        std::filesystem::remove(path);
    }
}

TEST(Past, ReadsTheFilesOfARunWhereverTheyEnd) {
    const ScratchFolder folder;
    folder.write("requests.jsonl", record_line(2, 500) + record_line(0, 900));
    folder.write("fired.jsonl", fired_line(0, 100) + fired_line(1, 200) + fired_line(2, 300));
    folder.write("client.jsonl", sample_line(1000) + sample_line(2000));
    Past past(RunFacts{});
    std::string why;
    const Result<PastFiles> files = read_past(folder.path(), "", past, why);
    ASSERT_TRUE(files) << why;
    EXPECT_EQ(past.records(), 2u);
    EXPECT_TRUE(past.has_record(2));
    EXPECT_FALSE(past.has_record(1));
    EXPECT_EQ(past.ends(), (RowEnds{{2, true}, {0, true}}));
    ASSERT_EQ(past.open().size(), 1u);
    EXPECT_EQ(past.open().at(1).fired_ns, 200);
    EXPECT_EQ(past.known_ns(), 2000);
    EXPECT_EQ(std::tuple(past.client().sums.chunks, past.client().seconds), std::tuple(14, 2u));
    EXPECT_EQ(past.summary().figures().completed, 2u);
    EXPECT_EQ(files.value().requests.torn + files.value().fired.torn, 0u);
    // Cut at every byte: what is whole is read, the rest counted, and nothing is an error.
    const ScratchFolder other_folder;
    const std::string whole = record_line(0, 900) + record_line(1, 1900);
    const std::size_t first = record_line(0, 900).size();
    for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
        other_folder.write("requests.jsonl", whole.substr(0, cut));
        Past other_past(RunFacts{});
        std::string other_why;
        const Result<PastFiles> other_files =
            read_past(other_folder.path(), "", other_past, other_why);
        ASSERT_TRUE(other_files) << other_why << cut;
        const std::size_t lines = cut == whole.size() ? 2 : cut >= first ? 1 : 0;
        EXPECT_EQ(other_past.records(), lines);
        EXPECT_EQ(std::tuple(other_files.value().requests.whole),
                  std::tuple(lines == 2   ? whole.size()
                             : lines == 1 ? first
                                          : 0));
        EXPECT_EQ(other_files.value().requests.whole + other_files.value().requests.torn, cut);
    }
}

TEST(Past, NamesWhatIsWrongAndWhatHeldOpenRows) {
    const ScratchFolder folder;
    const auto why_of = [&](const char* name, const std::string& text) {
        for (const char* file : {"requests.jsonl", "fired.jsonl", "client.jsonl"}) {
            std::filesystem::remove(folder / file);
        }
        folder.write(name, text);
        Past past(RunFacts{});
        std::string why;
        EXPECT_FALSE(read_past(folder.path(), "", past, why)) << text;
        return why;
    };
    EXPECT_TRUE(says(why_of("requests.jsonl", record_line(3, 1) + record_line(3, 2)),
                     "requests.jsonl:2: the row already has a record"));
    EXPECT_TRUE(says(why_of("requests.jsonl", "{}\n"), ":1: row is missing"));
    EXPECT_TRUE(says(why_of("fired.jsonl", "{\"row\":1}\n"), ":1: fired_ns is missing"));
    EXPECT_TRUE(says(why_of("fired.jsonl", fired_line(0, 1) + "\n"), ":2: "));
    EXPECT_TRUE(says(why_of("fired.jsonl", "{\"row\":4294967296,\"fired_ns\":1}\n"),
                     "row is out of range"));
    EXPECT_TRUE(says(why_of("client.jsonl", "{\"from_ns\":1}\n"), "to_ns is missing"));
    // A row that was sent again left when it left the last time; one with a record is not open,
    // whichever line came first.
    Past past(RunFacts{});
    ASSERT_TRUE(past.add_fired("{\"row\":7,\"fired_ns\":10}"));
    ASSERT_TRUE(past.add_fired("{\"row\":7,\"fired_ns\":20}"));
    EXPECT_EQ(past.open().at(7).fired_ns, 20);
    ASSERT_TRUE(past.add_record(record_line(7, 30)));
    EXPECT_TRUE(past.open().empty());
    ASSERT_TRUE(past.add_fired("{\"row\":7,\"fired_ns\":40}"));
    EXPECT_TRUE(past.open().empty());
    EXPECT_EQ(past.known_ns(), 40);
    // What held a row back is known of one that never ended, too; early runs did not write it.
    Past held(RunFacts{});
    ASSERT_TRUE(held.add_fired(R"({"row":7,"fired_ns":9,"held_ns":5,"late_cause":"inflight"})"));
    ASSERT_TRUE(held.add_fired(R"({"row":8,"fired_ns":9})"));
    EXPECT_EQ(held.open().at(7).held_ns, 5);
    EXPECT_EQ(held.open().at(7).late_cause, LateCause::inflight);
    EXPECT_EQ(held.open().at(8).late_cause, LateCause::none);
    const auto wrong = [&](const char* fired) { return held.add_fired(fired).error().doing; };
    EXPECT_STREQ(wrong(R"({"row":7,"fired_ns":9,"held_ns":5,"late_cause":"x"})"), "late_cause");
    EXPECT_STREQ(wrong(R"({"row":7,"fired_ns":9,"held_ns":"x","late_cause":"none"})"), "held_ns");
}

TEST(ClientSample, SurvivesItsLine) {
    ClientSample sample{
        .from_ns = 5, .to_ns = 1'000'000'005, .drift_max_ns = INT64_MAX, .steal_ns = 3};
    std::string line;
    append_client_sample(line, sample, 5);
    const ClientSample back = read_alone(read_client_sample, line).value();
    EXPECT_EQ(back.run_delay_ns, -1);
    std::string again;
    append_client_sample(again, back, 0);
    EXPECT_EQ(again, line);
    for (const char* lacking : {"from_ns", "to_ns", "chunks"}) {
        const std::size_t at = again.find("\"" + std::string(lacking) + "\"");
        ASSERT_NE(at, std::string::npos);
        std::string without = again;
        without[at + 1] = 'X';
        EXPECT_EQ(read_alone(read_client_sample, without).error().code, ErrorCode::missing);
    }
    std::string older = again;  // before schema 16
    older.replace(older.find(",\"writer_chunks\""), std::string::npos, "}");
    EXPECT_EQ(read_alone(read_client_sample, older).value().writer_cpu_ns, -1);
    EXPECT_EQ(read_alone(read_client_sample, line.substr(0, 9)).error().code, ErrorCode::bad_json);
}

// A file goes on behind its last whole line, wherever it was cut, and however long the torn one is.
TEST(LineSink, AppendsBehindTheLastWholeLine) {
    const ScratchFolder folder;
    const std::string path = folder / "lines";
    const std::string long_line(10'000, 'x');
    for (const std::string& torn : {std::string(), std::string("t"), long_line}) {
        for (const std::string& whole : {std::string(), std::string("a\nbb\n"), long_line + "\n"}) {
            folder.write("lines", whole + torn);
            {
                LineSink sink = LineSink::append(path).value();
                sink.buffer() += "new\n";
                sink.commit();
            }
            EXPECT_EQ(read_bytes(path), whole + "new\n");
        }
    }
    EXPECT_FALSE(LineSink::append("/nowhere/at/all"));
}

// How many rows left and have no record: by the files, the books of the run, or nobody.

class Lost : public testing::Test {
  protected:
    Lost() {
        facts_.rows = 100;
        facts_.segments.resize(2);
    }
    void record(std::uint32_t row, std::uint32_t segment, bool left = true) {
        Record record{
            .row = row, .segment = segment, .outcome = left ? Outcome::ok : Outcome::not_sent};
        if (left) {
            record.fired_ns = 1;
        }
        ASSERT_TRUE(static_cast<bool>(past_.add_record(jsonl_of(record))));
    }
    void leave(std::uint32_t row) {
        ASSERT_TRUE(static_cast<bool>(
            past_.add_fired(R"({"row":)" + std::to_string(row) + R"(,"fired_ns":1})")));
    }

    RunFacts facts_;
    Past past_{facts_};
};

// The last half second was not written: neither a record nor a line of fired.jsonl tells of it.
TEST_F(Lost, WhatNoFileTellsOfIsLost) {
    record(0, 0);
    record(1, 1);
    record(2, 1, false);
    leave(3);
    EXPECT_EQ(std::tuple(past_.left(), past_.left_before(1)), std::tuple(2u, 1u));
    const Unrecorded lost = unrecorded_rows(facts_, past_, 17);
    EXPECT_EQ(lost.rows, 15u);
    EXPECT_TRUE(lost.all_known);
}

// By the files alone it is a lower bound.
TEST_F(Lost, WithoutBooksOrMarksMoreMayBeLost) {
    record(0, 0);
    leave(3);
    const Unrecorded lost = unrecorded_rows(facts_, past_, std::nullopt);
    EXPECT_EQ(lost.rows, 1u);
    EXPECT_FALSE(lost.all_known);
}

// A row may be marked that did not leave: no more are lost than have no record.
TEST_F(Lost, NoMoreThanHaveNoRecord) {
    facts_.rows = 2;
    record(0, 0);
    EXPECT_EQ(unrecorded_rows(facts_, past_, 50).rows, 1u);
    record(1, 0);
    EXPECT_EQ(unrecorded_rows(facts_, past_, 50).rows, 0u);
    EXPECT_TRUE(unrecorded_rows(facts_, past_, std::nullopt).all_known);
}

/// Users send a row once in each pass, and again where it has failed.
class LostOfUsers : public testing::Test {
  protected:
    LostOfUsers() {
        facts_.rows = 2;
        facts_.has_users = true;
        facts_.segments.resize(1);
    }
    void record(std::uint32_t row, std::uint32_t pass, std::uint32_t attempt, std::int64_t at_ns) {
        Record record{.row = row,
                      .pass = pass,
                      .attempt = attempt,
                      .user = 0,
                      .fired_ns = at_ns,
                      .outcome = Outcome::http_5xx};
        ASSERT_TRUE(static_cast<bool>(past().add_record(jsonl_of(record))));
    }
    void leave(std::uint32_t row, std::uint32_t pass, std::int64_t at_ns) {
        ASSERT_TRUE(static_cast<bool>(past().add_fired(
            R"({"row":)" + std::to_string(row) + R"(,"pass":)" + std::to_string(pass) +
            R"(,"fired_ns":)" + std::to_string(at_ns) + "}")));
    }
    Past& past() {
        if (!past_) {
            past_.emplace(facts_);
        }
        return *past_;
    }

    RunFacts facts_;
    std::optional<Past> past_;
};

// More records than rows, and still one that has none: the second try of a row in a later pass.
TEST_F(LostOfUsers, TriesAndPassesAreRequestsOfTheirOwn) {
    record(0, 0, 0, 1);
    record(1, 0, 0, 2);
    record(0, 1, 0, 3);
    for (const std::int64_t at_ns : {1, 3, 7}) {
        leave(0, at_ns == 1 ? 0 : 1, at_ns);
    }
    leave(1, 0, 2);
    EXPECT_EQ(past().left_open(), 1u);
    const Unrecorded lost = unrecorded_rows(facts_, past(), std::nullopt);
    EXPECT_EQ(lost.rows, 1u);
    EXPECT_FALSE(lost.all_known);
    EXPECT_EQ(unrecorded_rows(facts_, past(), 9).rows, 6u);
    EXPECT_TRUE(unrecorded_rows(facts_, past(), 9).all_known);
}

// Marks count requests, of which there are more than rows; the books of a run that ended say so.
TEST_F(LostOfUsers, MarksCountRequests) {
    const std::string name = "test-" + std::to_string(::getpid()) + "-unrecorded";
    FiredMarks marks = FiredMarks::create(name, 2).value();
    FiredMarks::remove(name);
    for (int request = 0; request < 5; ++request) {
        marks.mark(0);
        marks.count_request();
    }
    EXPECT_EQ(fired_in_all(facts_, past(), &marks), 5u);
    EXPECT_EQ(fired_in_all(facts_, past(), nullptr), std::nullopt);
    facts_.has_users = false;
    EXPECT_EQ(fired_in_all(facts_, past(), &marks), 1u);
    facts_.ended = true;
    facts_.end.rows_fired = 8;
    EXPECT_EQ(fired_in_all(facts_, past(), nullptr), 8u);
}

// Marks of rows outlive the process that set them, however it ends, and are read by the number of
// rows and the run that they are of.

/// Of this process and test; removed at the end.
class Marks : public testing::Test {
  protected:
    ~Marks() override { FiredMarks::remove(id_); }
    const std::string id_ = "test-" + std::to_string(::getpid()) + "-" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(Marks, OutliveAKill) {
    constexpr std::size_t rows = 1000;
    const std::set<std::uint32_t> left{0, 1, 63, 64, 500, 998, 999};
    const pid_t child = ::fork();
    if (child == 0) {
        Result<FiredMarks> marks = FiredMarks::create(id_, rows);
        for (const std::uint32_t row : left) {
            marks.value().mark(row);
            marks.value().count_request();
            marks.value().mark(row);  // in the next pass
            marks.value().count_request();
        }
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const FiredMarks marks = FiredMarks::open(id_, rows).value();
    for (std::uint32_t row = 0; row < rows; ++row) {
        EXPECT_EQ(marks.marked(row), left.contains(row)) << row;
    }
    EXPECT_EQ(marks.count(), left.size());
    EXPECT_EQ(marks.requests(), 2 * left.size());
}

TEST_F(Marks, OfSeveralEnginesAreReadAsOne) {
    constexpr std::size_t rows = 200;
    {
        Result<FiredMarks> first = FiredMarks::create(id_, rows, 0, 3);
        Result<FiredMarks> second = FiredMarks::create(id_, rows, 1, 3);
        Result<FiredMarks> third = FiredMarks::create(id_, rows, 2, 3);
        ASSERT_TRUE(first && second && third);
        EXPECT_EQ(FiredMarks::create(id_, rows, 2, 3).error().code, ErrorCode::exists);
        first.value().mark(3);
        first.value().count_request();
        second.value().mark(64);
        second.value().count_request();
        second.value().count_request();
        third.value().mark(199);
    }
    for (int look = 0; look < 2; ++look) {  // a look changes nothing
        const FiredMarks all = FiredMarks::open(id_, rows).value();
        EXPECT_EQ(all.count(), 3u);
        EXPECT_TRUE(all.marked(3) && all.marked(64) && all.marked(199));
        EXPECT_EQ(all.requests(), 3u);
    }
    FiredMarks::remove(id_);
    for (std::uint32_t engine = 0; engine < 3; ++engine) {  // none is left
        EXPECT_TRUE(FiredMarks::create(id_, rows, engine, 3)) << engine;
    }
}

// Those of the engines that are left would say of its rows that they had not left: they would be
// sent to the server a second time.
TEST_F(Marks, AreGoneWhereThoseOfAnEngineAre) {
    for (std::uint32_t gone = 0; gone < 3; ++gone) {
        for (std::uint32_t engine = 0; engine < 3; ++engine) {
            ASSERT_TRUE(FiredMarks::create(id_, 10, engine, 3));
        }
        EXPECT_TRUE(FiredMarks::open(id_, 10));
        const std::string suffix = gone == 0 ? "" : "." + std::to_string(gone);
        ASSERT_EQ(::unlink(("/dev/shm/driftless-" + id_ + suffix).c_str()), 0);
        EXPECT_EQ(FiredMarks::open(id_, 10).error().code, ErrorCode::not_found) << gone;
        for (std::uint32_t engine = 0; engine < 3; ++engine) {
            const std::string name = engine == 0 ? "" : "." + std::to_string(engine);
            (void)::unlink(("/dev/shm/driftless-" + id_ + name).c_str());
        }
    }
}

TEST_F(Marks, AreOfOneRun) {
    for (const std::size_t rows : {1, 63, 64, 65, 4096 * 8, 4096 * 8 + 1}) {
        Result<FiredMarks> marks = FiredMarks::create(id_, rows);
        ASSERT_TRUE(marks) << rows;
        EXPECT_EQ(FiredMarks::create(id_, rows).error().code, ErrorCode::exists);
        EXPECT_EQ(FiredMarks::open(id_, rows + 1).error().code, ErrorCode::invalid);
        marks.value().mark(static_cast<std::uint32_t>(rows - 1));
        marks.value().mark(static_cast<std::uint32_t>(rows + 64));  // of no row: nothing happens
        const Result<FiredMarks> again = FiredMarks::open(id_, rows);
        ASSERT_TRUE(again) << rows;
        EXPECT_TRUE(again.value().marked(static_cast<std::uint32_t>(rows - 1)));
        EXPECT_FALSE(again.value().marked(static_cast<std::uint32_t>(rows + 64)));
        FiredMarks::remove(id_);
        EXPECT_EQ(FiredMarks::open(id_, rows).error().code, ErrorCode::not_found);
    }
}

// /dev/shm is everybody's: marks that others made or may write to are not believed, and a link that
// stands in their place is not followed.
TEST_F(Marks, OfOthersAreNotRead) {
    const std::string path = "/dev/shm/driftless-" + id_;
    ASSERT_TRUE(FiredMarks::create(id_, 10));
    for (const mode_t mode : {0640u, 0604u, 0620u, 0602u, 0666u}) {
        ASSERT_EQ(::chmod(path.c_str(), mode), 0);
        EXPECT_EQ(FiredMarks::open(id_, 10).error().code, ErrorCode::denied) << mode;
    }
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    EXPECT_TRUE(FiredMarks::open(id_, 10));
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
        EXPECT_EQ(FiredMarks::open(id_, 10).error().code, ErrorCode::denied);
    }
    const std::string other = id_ + "-target";
    ASSERT_TRUE(FiredMarks::create(other, 10));
    FiredMarks::remove(id_);
    ASSERT_EQ(::symlink(("/dev/shm/driftless-" + other).c_str(), path.c_str()), 0);
    EXPECT_FALSE(FiredMarks::open(id_, 10));
    FiredMarks::remove(id_);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(FiredMarks::open(id_, 10).error().code, ErrorCode::denied);
    FiredMarks::remove(other);
}

TEST_F(Marks, MayBeNone) {
    FiredMarks none;
    none.mark(0);
    EXPECT_FALSE(none.marked(0));
}

// Trees are counted from the records as `report --trees` counts them: whole in the end, or not.

std::string line_of(std::uint32_t row, const char* session, Outcome outcome) {
    Record record{
        .row = row, .api = "openai-chat", .fired_ns = 0, .ended_ns = 5, .outcome = outcome};
    if (session != nullptr) {
        record.session = session;
    }
    return jsonl_of(record);
}

TEST(FinishedTrees, AreWholeInTheEnd) {
    const ScratchFolder folder;
    const std::string path = folder / "requests.jsonl";
    std::ofstream(path) << line_of(0, "a", Outcome::ok) << line_of(1, "a", Outcome::ok)
                        << line_of(2, "b", Outcome::ok) << line_of(3, "b", Outcome::http_5xx)
                        << line_of(4, "c", Outcome::http_5xx) << line_of(4, "c", Outcome::ok)
                        << line_of(5, nullptr, Outcome::ok) << "{\"row\":6";  // torn by a kill
    EXPECT_EQ(count_finished_trees(path), 2U);
    const ScratchFolder other;
    const std::string odd = other / "requests.jsonl";
    EXPECT_EQ(count_finished_trees(odd), 0U);
    std::ofstream(odd) << "{}\n";
    EXPECT_EQ(count_finished_trees(odd), std::nullopt);
}

}  // namespace
}  // namespace driftless
