// Rows that are armed: their bodies and sides.

#include "engine/prompt/arm.hpp"

#include "engine/io/tls.hpp"
#include "tests/unit/engine/prompt/rows_to_arm.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// Rows underway are found by their numbers until their turn comes, in any order; each has one home,
// and goes its way in checked steps.

namespace {

Due due_of(std::uint32_t number) {
    return {number * 1000, number, number, 0};
}

void end(RowsUnderway& rows, RowUnderway& row) {
    rows.take(row, due_of(row.due.request));
    row.enter(RowStage::ended);
    rows.remove(row);
}

// Numbers with one remainder share a chain; each is found, and taken from any place in it.
TEST(RowsUnderway, AreToldApartInOneChain) {
    for (const std::uint32_t first : {1u, 5u, 9u}) {
        RowsUnderway rows(4);
        for (const std::uint32_t number : {1u, 5u, 9u}) {
            (void)rows.add(due_of(number));
        }
        RowUnderway* row = rows.find(first);
        ASSERT_NE(row, nullptr);
        rows.take(*row, {7, first, first, 3});
        EXPECT_EQ(row->due.rank, 3u) << "the rank is known now";
        EXPECT_EQ(rows.untaken(), 2u);
        EXPECT_EQ(rows.count(), 3u) << "it is still on its way";
        for (const std::uint32_t number : {1u, 5u, 9u}) {
            EXPECT_EQ(rows.find(number) != nullptr, number != first);
        }
    }
}

// Against a map that nobody can get wrong, through more rows than there is room for at first. No
// row moves.
TEST(RowsUnderway, AgreeWithAMapAndBeginAnew) {
    RowsUnderway rows(16);
    rows.reserve(10);
    std::map<std::uint32_t, RowUnderway*> untaken;
    std::set<RowUnderway*> taken;
    Random random(7);
    for (int step = 0; step < 40'000; ++step) {
        const auto number = static_cast<std::uint32_t>(random.below(1024));
        const auto known = untaken.find(number);
        ASSERT_EQ(rows.find(number), known == untaken.end() ? nullptr : known->second);
        if (known == untaken.end()) {
            untaken[number] = &rows.add(due_of(number));
        } else if (random.below(2) == 0) {
            end(rows, *known->second);
            untaken.erase(known);
        } else {
            rows.take(*known->second, due_of(number));
            taken.insert(known->second);
            untaken.erase(known);
        }
        if (taken.size() > 64) {
            RowUnderway& row = **taken.begin();
            row.enter(RowStage::ended);
            rows.remove(row);
            taken.erase(taken.begin());
        }
        ASSERT_EQ(rows.untaken(), untaken.size());
        ASSERT_EQ(rows.count(), untaken.size() + taken.size());
    }
    std::set<RowUnderway*> seen;
    rows.for_each_untaken([&](RowUnderway& row) { seen.insert(&row); });
    EXPECT_EQ(seen.size(), untaken.size());
    RowsUnderway other_rows(1);
    RowUnderway& first = other_rows.add(due_of(1));
    first.tries = 1;
    first.cause = LateCause::lane;
    end(other_rows, first);
    const RowUnderway& second = other_rows.add(due_of(2));
    EXPECT_EQ(&second, &first);
    EXPECT_EQ(std::tuple(second.tries, second.cause), std::tuple(0u, LateCause::none));
    EXPECT_EQ(second.stage, RowStage::wanted);
}

// Every way that is drawn in rows_underway.hpp, and no other.
TEST(RowUnderway, GoesItsWayInStepsThatAreDrawn) {
    using enum RowStage;
    const std::set<std::pair<RowStage, RowStage>> drawn{
        {arming, wanted},   {armed, wanted},    {bound, wanted},      {again, wanted},
        {wanted, arming},   {again, arming},    {arming, armed},      {armed, bound},
        {waiting, bound},   {armed, waiting},   {again, waiting},     {wanted, waiting},
        {armed, in_flight}, {bound, in_flight}, {waiting, in_flight}, {bound, again},
        {in_flight, again}, {arming, again},    {armed, again}};
    for (std::uint8_t from = 0; from <= static_cast<std::uint8_t>(ended); ++from) {
        for (std::uint8_t to = 0; to <= static_cast<std::uint8_t>(ended); ++to) {
            const std::pair step{static_cast<RowStage>(from), static_cast<RowStage>(to)};
            const bool expected =
                drawn.contains(step) || (step.second == ended && step.first != ended);
            EXPECT_EQ(may_follow(step.first, step.second), expected) << int{from} << int{to};
        }
    }
}

// The body pool gives disjoint memory, refuses what does not fit, and is whole again at the end.

struct Block {
    char* at;
    std::size_t bytes;
    char mark;
};

// Ten thousand random takes and gives: no block ever touches another, and once all are back the
// region can be taken in one piece again.
TEST(BodyPool, BlocksAreDisjointAndMergeAgain) {
    BodyPool pool;
    ASSERT_TRUE(pool.open(1 << 20));
    Random random(3);
    std::vector<Block> blocks;
    for (int i = 0; i < 10'000; ++i) {
        if (random.below(2) == 0 || blocks.empty()) {
            const std::size_t bytes = 1 + random.below(100'000);
            char* at = pool.take(bytes);
            if (at != nullptr) {
                const char mark = static_cast<char>(i);
                std::memset(at, mark, bytes);
                blocks.push_back({at, bytes, mark});
            }
            continue;
        }
        const std::size_t pick = random.below(blocks.size());
        const Block block = blocks[pick];
        for (std::size_t byte = 0; byte < block.bytes; byte += 97) {
            ASSERT_EQ(block.at[byte], block.mark);
        }
        pool.give(block.at);
        blocks[pick] = blocks.back();
        blocks.pop_back();
    }
    for (const Block& block : blocks) {
        pool.give(block.at);
    }
    EXPECT_EQ(pool.used_bytes(), 0u);
    EXPECT_LE(pool.used_bytes_max(), pool.region_bytes());
    char* whole = pool.take(pool.region_bytes());
    ASSERT_NE(whole, nullptr);
    pool.give(whole);
}

// What is full says so: a block that is one byte too large for the region, and any further block.
// The spare block is for one taker, where nothing else is left.
TEST(BodyPool, HasASpareBlockAndRefusesWhatDoesNotFit) {
    BodyPool pool;
    ASSERT_TRUE(pool.open(8192, 5000));
    char* all = pool.take_or_spare(8000);
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(pool.take(1), nullptr);
    EXPECT_EQ(pool.take_or_spare(5001), nullptr);
    char* spare = pool.take_or_spare(5000);
    ASSERT_NE(spare, nullptr);
    EXPECT_EQ(spare, all + 8192);
    spare[4999] = 'x';
    EXPECT_EQ(pool.take_or_spare(1), nullptr);
    pool.give(spare);
    EXPECT_EQ(pool.take_or_spare(1), spare);
    pool.give(spare);
    pool.give(all);
    EXPECT_EQ(pool.used_bytes(), 0U);
    BodyPool other_pool;
    ASSERT_TRUE(other_pool.open(64 * 1024));
    EXPECT_EQ(other_pool.take(other_pool.region_bytes() + 1), nullptr);
    char* whole = other_pool.take(other_pool.region_bytes());
    ASSERT_NE(whole, nullptr);
    EXPECT_EQ(other_pool.take(1), nullptr);
    other_pool.give(whole);
    char* leaf = other_pool.take(1);
    ASSERT_NE(leaf, nullptr);
    other_pool.give(leaf);
}

// Requests are built ahead of their turn, in slices and within bounds, and again where their bytes
// are lost; whatever becomes of a row, its memory comes back.

using Rows = std::vector<SmallRow>;

constexpr std::size_t leaf = BodyPool::leaf_bytes;

// `rows` rows, a ms apart.
std::vector<SmallRow> apart(std::uint32_t rows) {
    std::vector<SmallRow> small(rows);
    for (std::uint32_t i = 0; i < rows; ++i) {
        small[i].due = milliseconds(i);
    }
    return small;
}

RowsToArm::Options pool(std::size_t leaves, std::size_t spare_leaves = 0) {
    return RowsToArm::Options{.pool_bytes = leaves * leaf, .spare_bytes = spare_leaves * leaf};
}

// It has left, and its bytes are gone with a stale connection.
void lose_after_fire(RowsToArm& rows, RowUnderway& row) {
    rows.armer.give_back(row);
    row.enter(RowStage::in_flight);
    row.tries = 1;
    row.enter(RowStage::again);
}

// Its connection has ended before it left: it has kept its storage.
void lose_bound(RowUnderway& row) {
    row.enter(RowStage::bound);
    row.bytes = {};
    row.enter(RowStage::again);
}

TEST(Armer, BuildsWholeRequestsUpToItsHorizonInSlices) {
    RowsToArm rows(apart(3));
    rows.arm(milliseconds(1).ns);
    EXPECT_NE(rows.armer.ready(rows.due(0)), nullptr);
    EXPECT_NE(rows.armer.ready(rows.due(1)), nullptr);
    EXPECT_EQ(rows.armer.ready(rows.due(2)), nullptr);
    EXPECT_EQ(rows.armer.armed_count(), 2u);
    EXPECT_FALSE(rows.armer.all_armed());
    rows.arm();
    EXPECT_TRUE(rows.armer.all_armed());
    // The head names the length of the body that follows it, and the row.
    RowsToArm::Options options;
    options.armer.run_id = "0badcafe";
    RowsToArm other_rows(apart(2), options);
    other_rows.arm();
    const std::string_view bytes = other_rows.armer.ready(other_rows.due(1))->bytes;
    const std::size_t head_end = bytes.find("\r\n\r\n");
    ASSERT_NE(head_end, bytes.npos);
    const std::string_view head = bytes.substr(0, head_end + 2);
    const std::string_view body = bytes.substr(head_end + 4);
    EXPECT_TRUE(head.starts_with("POST /v1/completions HTTP/1.1\r\n"));
    EXPECT_TRUE(says(head, {"X-Request-Id: 0badcafe-0000-8000-8000-000000000001\r\n",
                            "Content-Length: " + std::to_string(body.size()) + "\r\n"}));
    EXPECT_TRUE(body.starts_with(R"({"prompt":")"));
    EXPECT_TRUE(body.ends_with(R"(","max_tokens":2,"stream":true})"));
    // 30 tokens in slices of 10: the row is ready with the last, and armed when that was done.
    RowsToArm third_rows(Rows{{.tokens = 30}});
    for (const std::int64_t at : {1, 2, 3}) {
        EXPECT_EQ(third_rows.armer.ready(third_rows.due(0)), nullptr) << at;
        EXPECT_EQ(third_rows.armer.armed_count(), 0u) << "it is only being built";
        EXPECT_TRUE(third_rows.armer.step(Instant{at}, 0, 10));
    }
    ASSERT_NE(third_rows.armer.ready(third_rows.due(0)), nullptr);
    EXPECT_EQ(third_rows.armer.ready(third_rows.due(0))->armed, Instant{3});
    EXPECT_FALSE(third_rows.armer.step(Instant{4}, 0, 10));
}

// Records are written from the storage's first byte on, and never reach plain bytes.
TEST(Armer, LeavesRoomForRecordsAndWaitsForMemory) {
    RowsToArm::Options options;
    options.armer.for_tls = true;
    RowsToArm rows(Rows{{.tokens = 10'000}}, options);
    rows.arm();
    const RowUnderway& row = *rows.armer.ready(rows.due(0));
    EXPECT_GE(static_cast<std::size_t>(row.bytes.data() - row.storage),
              seal_room(row.bytes.size()));
    RowsToArm other_rows(Rows{{}, {}});
    other_rows.arm();
    (void)other_rows.take();
    RowUnderway& second = other_rows.take();
    EXPECT_EQ(second.due.request, 1u);
    EXPECT_EQ(second.due.rank, 1u) << "another row of that instant goes before it";
    EXPECT_TRUE(second.taken);
    EXPECT_EQ(other_rows.armer.ready(second.due), nullptr);
    EXPECT_EQ(other_rows.armer.armed_count(), 0u);
    other_rows.armer.discard(second);
    EXPECT_EQ(other_rows.armer.rows().count(), 1u);
    EXPECT_EQ(other_rows.bodies.used_bytes(), leaf) << "of the first";
    // What has found no memory is built when some has come free.
    RowsToArm third_rows(apart(3), pool(2));
    third_rows.arm();
    EXPECT_EQ(third_rows.armer.ready(third_rows.due(2)), nullptr);
    EXPECT_TRUE(third_rows.armer.lacks_room());
    EXPECT_FALSE(third_rows.armer.all_armed());
    third_rows.armer.give_back(third_rows.take());
    EXPECT_FALSE(third_rows.armer.lacks_room());
    third_rows.arm();
    EXPECT_NE(third_rows.armer.ready(third_rows.due(2)), nullptr);
    EXPECT_FALSE(third_rows.armer.lacks_room());
    // A row whose turn has come makes room for another one.
    RowsToArm::Options other_options{.armer = {.armed_max = 2}};
    RowsToArm other_other_rows(apart(3), other_options);
    other_other_rows.arm();
    EXPECT_TRUE(other_other_rows.armer.full());
    EXPECT_EQ(other_other_rows.armer.armed_count(), 2u);
    EXPECT_FALSE(other_other_rows.armer.lacks_room()) << "there is memory";
    (void)other_other_rows.take();
    EXPECT_FALSE(other_other_rows.armer.full());
    other_other_rows.arm();
    EXPECT_NE(other_other_rows.armer.ready(other_other_rows.due(2)), nullptr);
}

// Neither memory nor places are left: a row that has kept its storage needs none of them. It has
// the bytes that it had, and counts once.
TEST(Armer, BuildsARowAgainInItsOwnStorage) {
    RowsToArm::Options options = pool(2);
    options.armer.armed_max = 1;
    RowsToArm rows(apart(3), options);
    rows.arm();
    const std::uint64_t digest = rows.armer.prompts_digest();
    RowUnderway& row = rows.take();
    const std::string bytes(row.bytes);
    const char* const storage = row.storage;
    rows.arm();
    const std::uint64_t both = rows.armer.prompts_digest();
    EXPECT_NE(both, digest);
    EXPECT_TRUE(rows.armer.full());
    lose_bound(row);
    rows.armer.arm_again(row);
    EXPECT_EQ(rows.armer.again_count(), 1u);
    EXPECT_EQ(rows.armer.take_again(), nullptr) << "it is not built yet";
    rows.arm(INT64_MAX, Instant{9});
    EXPECT_EQ(rows.armer.take_again(), &row);
    EXPECT_EQ(rows.armer.again_count(), 0u);
    EXPECT_EQ(std::tuple(row.storage, row.bytes), std::tuple(storage, bytes));
    EXPECT_EQ(row.armed, Instant{9});
    EXPECT_EQ(rows.armer.prompts_digest(), both);
}

// One that has lost its storage takes the spare block where all memory is that of rows behind it.
TEST(Armer, BuildsARowAgainInTheSpareBlock) {
    for (const std::size_t spare : {0, 1}) {
        RowsToArm rows(apart(3), pool(2, spare));
        rows.arm();
        RowUnderway& row = rows.take();
        const std::string bytes(row.bytes);
        lose_after_fire(rows, row);
        rows.arm();  // the last row has that memory now
        EXPECT_NE(rows.armer.ready(rows.due(2)), nullptr);
        rows.armer.arm_again(row);
        rows.arm();
        EXPECT_EQ(rows.armer.take_again(), spare > 0 ? &row : nullptr);
        EXPECT_FALSE(rows.armer.lacks_room()) << "that is said of the next row alone";
        if (spare == 0) {
            rows.armer.give_back(rows.take());
            rows.arm();
            EXPECT_EQ(rows.armer.take_again(), &row);
        }
        EXPECT_EQ(row.bytes, bytes);
    }
}

// One without storage may have to wait, and those that have theirs need not wait behind it.
TEST(Armer, BuildsRowsWithStorageAndRetriesFirst) {
    RowsToArm rows(apart(3), pool(2));
    rows.arm();
    RowUnderway& bare = rows.take();
    RowUnderway& kept = rows.take();
    lose_after_fire(rows, bare);
    rows.arm();  // the last row has that memory now
    lose_bound(kept);
    rows.armer.arm_again(bare);
    rows.armer.arm_again(kept);
    rows.arm();
    EXPECT_EQ(rows.armer.take_again(), &kept);
    EXPECT_EQ(rows.armer.take_again(), nullptr);
    EXPECT_EQ(rows.armer.again_count(), 1u);
    // A row that is built again goes before those that come after it.
    RowsToArm other_rows(apart(2));
    other_rows.arm(0);
    RowUnderway& row = other_rows.take();
    lose_bound(row);
    other_rows.armer.arm_again(row);
    EXPECT_TRUE(other_rows.armer.step(Instant{1}, INT64_MAX, 4096));
    EXPECT_EQ(other_rows.armer.take_again(), &row);
    EXPECT_EQ(other_rows.armer.ready(other_rows.due(1)), nullptr);
}

// The row that is next is not armed, and those behind it have taken every place and all memory but
// the spare block: it is built all the same, and counts as any other prompt.
TEST(Armer, BuildsALateRowThoughOthersAreInTheWay) {
    RowsToArm::Options options = pool(2, 1);
    options.dependencies = {{.row = 1, .on = 0, .trigger = Trigger::dispatch}};
    options.armer.armed_max = 2;
    RowsToArm rows(Rows{{milliseconds(0)}, {milliseconds(1)}, {milliseconds(2)}, {milliseconds(3)}},
                   options);
    rows.arm();  // row 1 waits for the first, so that those behind it come before it
    RowUnderway& first = rows.take();
    rows.armer.give_back(first);
    rows.arm();
    ASSERT_EQ(rows.armer.ready(rows.due(1)), nullptr);
    ASSERT_TRUE(rows.armer.full());
    rows.schedule.fired(first.due, 0);
    const std::uint64_t digest = rows.armer.prompts_digest();
    const Due due = rows.schedule.take();
    ASSERT_EQ(due.request, 1u);
    const RowUnderway& late = rows.keep(rows.armer.arm_late(due));
    EXPECT_TRUE(late.taken);
    EXPECT_EQ(rows.armer.again_count(), 1u);
    rows.arm();
    EXPECT_EQ(rows.armer.take_again(), &late);
    EXPECT_EQ(late.stage, RowStage::armed);
    EXPECT_FALSE(late.bytes.empty());
    EXPECT_NE(rows.armer.prompts_digest(), digest);
}

// Nothing of a row that will not be sent stays behind, wherever it was, and the others go on.
TEST(Armer, GivesUpRowsInEveryStage) {
    for (const int slices : {0, 1, 2}) {  // unknown, being built, armed
        RowsToArm rows(Rows{{.tokens = 20}, {.due = milliseconds(1), .tokens = 20}});
        for (int i = 0; i < slices; ++i) {
            EXPECT_TRUE(rows.armer.step(Instant{1}, 0, 10));
        }
        RowUnderway& row = rows.armer.give_up(rows.schedule.take());
        EXPECT_TRUE(row.taken) << slices;
        EXPECT_EQ(row.storage, nullptr);
        EXPECT_EQ(rows.bodies.used_bytes(), 0u) << slices;
        EXPECT_EQ(rows.armer.armed_count(), 0u);
        rows.armer.discard(row);
        EXPECT_EQ(rows.armer.rows().count(), 0u);
        rows.arm();
        EXPECT_NE(rows.armer.ready(rows.due(1)), nullptr);
        EXPECT_EQ(rows.armer.all_armed(), slices == 2);  // else the digest is not of all rows
    }
    // A stop in each stage of a row: all memory comes back, and nothing is built any more.
    for (int slices = 0; slices <= 4; ++slices) {
        RowsToArm rows(Rows{{.tokens = 20}, {.due = milliseconds(1), .tokens = 20}});
        for (int i = 0; i < slices; ++i) {
            EXPECT_TRUE(rows.armer.step(Instant{1}, INT64_MAX, 10));
        }
        EXPECT_TRUE(rows.armer.stop().empty());
        EXPECT_EQ(rows.bodies.used_bytes(), 0u) << slices;
        EXPECT_EQ(rows.armer.all_armed(), slices == 4) << "before the stop, after " << slices;
        EXPECT_EQ(rows.armer.ready(rows.due(0)), nullptr);
        EXPECT_FALSE(rows.armer.step(Instant{2}, INT64_MAX, 10));
    }
}

// Rows that were to be built again come out in the order in which that was asked for, whether they
// were built by then or not; none of them has bytes.
TEST(Armer, HandsBackWhatWasToBeBuiltAgain) {
    for (const int slices : {0, 1, 2, 3}) {
        RowsToArm rows(Rows{{.tokens = 20}, {.tokens = 20}});
        rows.arm();
        RowUnderway& bare = rows.take();
        RowUnderway& kept = rows.take();
        lose_after_fire(rows, bare);
        lose_bound(kept);
        rows.armer.arm_again(bare);
        rows.armer.arm_again(kept);
        for (int i = 0; i < slices; ++i) {
            EXPECT_TRUE(rows.armer.step(Instant{1}, 0, 10));
        }
        RowList back = rows.armer.stop();
        for (RowUnderway* row : {&bare, &kept}) {
            ASSERT_EQ(back.pop_front(), row);
            EXPECT_EQ(row->stage, RowStage::again) << slices;
            EXPECT_EQ(row->storage, nullptr) << slices;
            EXPECT_TRUE(row->bytes.empty());
        }
        EXPECT_TRUE(back.empty());
        EXPECT_EQ(rows.armer.again_count(), 0u);
        EXPECT_EQ(rows.bodies.used_bytes(), 0u);
    }
}

// A connection has the bytes of a bound row, and gives them back itself.
TEST(Armer, LeavesBoundRowsAloneAndDigestsInAnyOrder) {
    RowsToArm rows(Rows{{}});
    rows.arm();
    RowUnderway& row = *rows.armer.ready(rows.due(0));
    row.enter(RowStage::bound);
    EXPECT_TRUE(rows.armer.stop().empty());
    EXPECT_EQ(row.stage, RowStage::bound);
    EXPECT_NE(row.storage, nullptr);
    rows.armer.give_back(row);
    EXPECT_EQ(rows.bodies.used_bytes(), 0u);
    // The digest says which prompts were built, not when.
    RowsToArm forward(
        Rows{{.due = milliseconds(0), .tokens = 5}, {.due = milliseconds(1), .tokens = 9}});
    RowsToArm given_up(
        Rows{{.due = milliseconds(0), .tokens = 5}, {.due = milliseconds(1), .tokens = 9}});
    forward.arm();
    given_up.arm(0);
    EXPECT_NE(given_up.armer.prompts_digest(), forward.armer.prompts_digest());
    (void)given_up.take();
    given_up.arm();
    EXPECT_EQ(given_up.armer.prompts_digest(), forward.armer.prompts_digest());
}

// Dual fire: each request goes to its side's server, in its words, with its model, under a name of
// its own; with one overhead the prompts are the same bytes.
TEST(Sides, HaveRequestsOfTheirOwn) {
    const Trace trace = RowsToArm::trace_of({SmallRow{}}, {});
    const BodyFrame frame{R"({"model":"m","prompt":")", R"(","max_tokens":)", "}", true};
    const BodyFrame against_frame{R"({"model":"longer","prompt":")", R"(","max_tokens":)", "}",
                                  true};
    PromptBuilder prompts(trace, WordTable::built_in(), {});
    PromptBuilder shorter(trace, WordTable::built_in(), PromptOptions{.overhead = {2, 1}});
    for (PromptBuilder* const against : {&prompts, &shorter}) {
        Plan plan{.rows = {{0, 0, 0, Side::b}, {0, 0, 0, Side::a}}, .dual = true};
        Schedule schedule(plan);
        BodyPool bodies;
        ASSERT_TRUE(bodies.open(1 << 20, 0));
        const std::vector<RequestHead> heads(2, RowsToArm::head());
        ArmerOptions options;
        options.run_id = "0badcafe";
        options.targets = 2;
        options.against = {against, &against_frame};
        Armer armer(trace, schedule, prompts, bodies, heads, frame, options);
        while (armer.step(Instant{1}, INT64_MAX, 4096)) {
        }
        RowUnderway& b = armer.take(schedule.take());
        RowUnderway& a = armer.take(schedule.take());
        EXPECT_EQ(std::tuple(armer.target_of(a.due), armer.target_of(b.due)), std::tuple(0u, 1u));
        EXPECT_TRUE(says(a.bytes, "-0000-8000-8000-000000000000\r\n"));
        EXPECT_TRUE(says(b.bytes, "-0000-8000-9000-000000000000\r\n"));
        const auto prompt_of = [](std::string_view bytes) {
            const std::string_view key = R"("prompt":")";
            const std::size_t begin = bytes.find(key) + key.size();
            return std::string(bytes.substr(begin, bytes.find('"', begin) - begin));
        };
        EXPECT_TRUE(says(a.bytes, R"({"model":"m",)"));
        EXPECT_TRUE(says(b.bytes, R"({"model":"longer",)"));
        const auto words = [](const std::string& text) {
            return 1 + std::count(text.begin(), text.end(), ' ');
        };
        EXPECT_EQ(words(prompt_of(a.bytes)), 5);
        EXPECT_EQ(words(prompt_of(b.bytes)), against == &prompts ? 5 : 2);
        const bool same = 2 * armer.against_digest() == armer.prompts_digest();
        EXPECT_EQ(same, against == &prompts);
        EXPECT_EQ(same, prompt_of(a.bytes) == prompt_of(b.bytes));
        armer.give_back(a);
        armer.give_back(b);
    }
}

}  // namespace
}  // namespace driftless
