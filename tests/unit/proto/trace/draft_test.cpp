#include "proto/trace/draft.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace driftless {
namespace {

TraceRow row_of(std::uint32_t session) {
    TraceRow row;
    row.session = session;
    return row;
}

// Ids belong to the row that is added next; those of a row that was not added are dropped.
TEST(TraceDraft, GivesARowTheIdsSinceTheyBegan) {
    Trace trace;
    TraceDraft draft(trace);
    draft.begin_file("a");
    draft.ids().begin();
    draft.ids().add(7);
    draft.ids().begin();
    draft.ids().add(std::vector<std::uint64_t>{1, 2, 3});
    draft.ids().cut(2);
    EXPECT_EQ(draft.ids().count(), 2u);
    const TraceRow added = draft.add({});
    EXPECT_EQ(added.ids_begin, 0u);
    EXPECT_EQ(added.ids_count, 2u);
    EXPECT_EQ(draft.ids().count(), 0u);
    draft.ids().add(9);
    draft.finish();
    EXPECT_EQ(trace.ids.size(), 2u);
}

// The line of the first row without a list is the one that an error names.
TEST(TraceDraft, NotesRowsWithoutIds) {
    Trace trace;
    TraceDraft draft(trace);
    draft.ids().note_missing(4);
    draft.ids().note_missing(9);
    EXPECT_EQ(draft.ids().rows_missing(), 2u);
    EXPECT_EQ(draft.ids().first_line_missing(), 4u);
}

// What a format says of namespaces holds unless the user says where equal ids are equal.
TEST(TraceDraft, PutsRowsIntoNamespacesByScope) {
    const auto places = [](IdScope scope) {
        Trace trace;
        TraceDraft draft(trace);
        draft.name_spaces().set_scope(scope);
        std::vector<std::uint32_t> seen;
        for (const char* file : {"a", "b"}) {
            draft.begin_file(file);
            const std::uint32_t session = draft.sessions().find("s");
            seen.push_back(draft.add(row_of(session)).name_space);
            draft.name_spaces().begin();
            seen.push_back(draft.add(row_of(no_session)).name_space);
            draft.name_spaces().enter("x");
            seen.push_back(draft.add(row_of(session)).name_space);
        }
        return seen;
    };
    using Places = std::vector<std::uint32_t>;
    EXPECT_EQ(places(IdScope::format), (Places{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(places(IdScope::file), (Places{0, 0, 0, 1, 1, 1}));
    EXPECT_EQ(places(IdScope::all), (Places{0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(places(IdScope::session), (Places{0, 1, 0, 2, 3, 2}));
}

// Segments of one log share a namespace, sessions and names of requests; other files do not.
TEST(TraceDraft, SharesNamesAcrossSegmentsOnly) {
    for (const bool one_log : {false, true}) {
        Trace trace;
        TraceDraft draft(trace);
        if (one_log) {
            draft.share_name_space();
        }
        draft.begin_file("a");
        const std::uint32_t session = draft.sessions().find("s");
        draft.sessions().find("of this file alone");
        draft.name_request("r");
        const std::uint32_t first = draft.add({}).name_space;
        draft.begin_file("b");
        EXPECT_EQ(draft.sessions().find("s") == session, one_log);
        EXPECT_EQ(draft.find_request("r"), one_log ? 0 : no_row);
        EXPECT_EQ(draft.add({}).name_space == first, one_log);
        draft.finish();
        EXPECT_EQ(trace.remarks.size(), one_log ? 0U : 1U)
            << "people may take them for one session";
    }
}

// A turn waits for the one before it; the first one waits for nothing.
TEST(TraceDraft, MakesTurnsWaitForEachOther) {
    Trace trace;
    TraceDraft draft(trace);
    draft.begin_file("a");
    for (const std::int64_t delay_ns : {0, 50}) {
        TraceRow row = row_of(draft.sessions().find("s"));
        draft.sessions().next_turn(row, delay_ns);
        draft.add(row);
    }
    EXPECT_EQ(trace.rows[1].turn, 2u);
    ASSERT_EQ(trace.dependencies.size(), 1u);
    EXPECT_EQ(trace.dependencies[0].row, 1u);
    EXPECT_EQ(trace.dependencies[0].on, 0u);
    EXPECT_EQ(trace.dependencies[0].delay_ns, 50);
}

}  // namespace
}  // namespace driftless
