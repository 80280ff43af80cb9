// Taints and whom they blame; the client's own seconds; what was sent and what servers counted.

#include "proto/figures/taint.hpp"

#include "proto/figures/run_timeline.hpp"
#include "proto/figures/server_counts.hpp"
#include "proto/figures/verdict.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// A row is blamed on the seconds in which its bytes can have waited.

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

ClientTotals ten_seconds() {
    ClientTotals totals;
    for (std::int64_t i = 0; i < 10; ++i) {
        totals.add(ClientSample{
            .from_ns = i * second_ns, .to_ns = (i + 1) * second_ns, .run_delay_ns = 0});
    }
    return totals;
}

std::vector<TaintedRow> stream_that_waited(std::int64_t late_ns) {
    return {{0, 10 * second_ns, late_ns, Suspect::reading}};
}

// The client was stopped for 2 s; what had come meanwhile was read in the second behind it, where
// the last of it had waited longest.
TEST(Blame, AStopMayLieBeforeItsSecondButNotFarBefore) {
    ClientTotals totals = ten_seconds();
    totals.each[4].gap_max_ns = 2 * second_ns;
    totals.each[4].receive_delay_max_ns = 2 * second_ns;
    totals.each[5].receive_delay_max_ns = 2 * second_ns + 8'000'000;
    const Blame blame = blame_of(stream_that_waited(2 * second_ns + 8'000'000), totals);
    EXPECT_EQ(std::tuple(blame.host, blame.client), std::tuple(1u, 0u));
    EXPECT_EQ(blame.gap_max_ns, 2 * second_ns);
    // A wait of 300 ms that was seen in the sixth second did not begin in the fourth.
    totals = ten_seconds();
    totals.each[3].gap_max_ns = 400'000'000;
    totals.each[5].receive_delay_max_ns = 300'000'000;
    const Blame other_blame = blame_of(stream_that_waited(300'000'000), totals);
    EXPECT_EQ(std::tuple(other_blame.host, other_blame.client), std::tuple(0u, 1u));
}

std::string host_reason(const ClientTotals& totals) {
    Reasons reasons;
    add_host_reason(blame_of(stream_that_waited(second_ns), totals), totals, reasons);
    return reasons.empty() ? "" : reasons.front();
}

// A stop of 2 s ends in a second of which others took a part: two figures, each with its own words.
TEST(Blame, AStopAndItsEngineAreToldApart) {
    ClientTotals totals = ten_seconds();
    totals.each[4].gap_max_ns = 2 * second_ns;
    totals.each[4].receive_delay_max_ns = second_ns;
    const std::string stopped =
        "at that time the engine was stopped for up to 2000.000 ms without a break (a signal, a "
        "debugger, a CPU quota, or all of this host)";
    EXPECT_EQ(host_reason(totals), stopped);
    totals.each[4].taken_ns = 136'494'000;
    EXPECT_EQ(host_reason(totals), stopped +
                                       "; others used the CPU for 136.494 ms of a second (13.6 %; "
                                       "--realtime or a quieter CPU, --cpu N, avoids that)");
    totals.each[4].gap_max_ns = 2 * totals.each[4].taken_ns;  // it may have waited for its CPU
    EXPECT_EQ(host_reason(totals),
              "at that time others used the CPU for 136.494 ms of a second (13.6 %; --realtime or "
              "a quieter CPU, "
              "--cpu N, avoids that); the engine was "
              "stopped or kept from its CPU for up to 272.988 ms without a break");
    // Of several engines the one is named that was stopped, and that whose CPU others had.
    ClientTotals other_totals;
    for (std::int64_t engine = 0; engine < 3; ++engine) {
        other_totals.add({.to_ns = second_ns,
                          .engine = engine,
                          .busy_fire_ns = engine == 0 ? second_ns / 2 : 0,
                          .spin_gap_max_ns = engine == 1 ? 2 * second_ns : 0,
                          .run_delay_ns = engine == 2 ? second_ns / 4 : 0});
    }
    EXPECT_EQ(host_reason(other_totals),
              "at that time engine 1 was stopped for up to 2000.000 ms without a break (a signal, "
              "a debugger, a CPU quota, or all of this host); others used the CPU of engine 2 for "
              "250.000 ms of a second (25.0 %; --realtime or a quieter CPU, --cpu N, avoids that)");
    Reasons reasons;
    add_load_reason(other_totals, reasons);
    EXPECT_EQ(reasons.front(),
              "engine 0 was busy for at most 50.0 % of a second, and nothing was lost; others used "
              "the CPU of engine 2 for at most 25.0 % of a second");
}

// Which rows are tainted: beyond a limit that grows by rank, and never for what the user wanted.

Reasons taints_of(Record record, const TaintLimits& limits, std::uint32_t rank = 0) {
    add_taints(record, {}, limits, rank);
    return record.tainted;
}

TEST(Taint, ADriftBeyondItsLimitUnlessTheUserHeldTheRowBack) {
    Record record{.drift_ns = 120};
    EXPECT_EQ(taints_of(record, {.drift_ns = 100}), Reasons{"late"});
    EXPECT_EQ(taints_of(record, {.drift_ns = 120}), Reasons{});
    EXPECT_EQ(taints_of(record, {.drift_ns = 100, .rank_ns = 10}, 2), Reasons{});
    EXPECT_EQ(taints_of(record, {.drift_ns = 100, .rank_ns = 10}, 1), Reasons{"late"});
    const TaintLimits limits{.drift_ns = 100, .rank_ns = 10, .drift_most_ns = 115};
    EXPECT_EQ(drift_limit_ns(limits, 0), 100);
    EXPECT_EQ(drift_limit_ns(limits, 1), 110);
    EXPECT_EQ(drift_limit_ns(limits, 2), 115);
    EXPECT_EQ(drift_limit_ns({.rank_ns = 10}, 5), 0);
    record = {.drift_ns = 115};
    EXPECT_EQ(taints_of(record, limits, 7), Reasons{});
    record.drift_ns = 116;
    EXPECT_EQ(taints_of(record, limits, 7), Reasons{"late"});
    record = {.drift_ns = 1'000'000'000, .receive_delay_ns = 1'000'000'000};
    EXPECT_EQ(taints_of(record, {}), Reasons{});
    record = {.drift_ns = 1'000'000'000,
              .held_ns = 1'000'000'000 - 100,
              .late_cause = LateCause::inflight};
    EXPECT_EQ(taints_of(record, {.drift_ns = 100}), Reasons{});
    record.held_ns -= 1;  // later than its release by more than the limit: that was us
    EXPECT_EQ(taints_of(record, {.drift_ns = 100}), Reasons{"late"});
    // Nobody asked for it: tainted by however little, and without a calibration, too.
    record = {.drift_ns = 101, .held_ns = 101, .late_cause = LateCause::limit};
    EXPECT_EQ(taints_of(record, {}), Reasons{"limit"});
    EXPECT_EQ(taints_of(record, {.drift_ns = 100}), Reasons{"limit"});
    record = {.outcome = Outcome::client_failed};
    EXPECT_EQ(taints_of(record, {}), Reasons{"client_failed"});
}

// Not every retransmission makes a request late, so that the count alone is no reason.
TEST(Taint, ARequestThatWasLostReadLateOrOnTheWireLate) {
    Record record{.retransmits = 2};
    add_taints(record, {}, {}, 0);
    EXPECT_EQ(record.tainted, Reasons{});
    add_taints(record, {.request_lost = true}, {}, 0);
    EXPECT_EQ(record.tainted, Reasons{"retransmitted"});
    record = {.receive_delay_ns = 2'000};
    EXPECT_EQ(taints_of(record, {.receive_delay_ns = 1'000}), Reasons{"read_late"});
    // From `fired_ns` on, whatever came between it and the wire: a call that took long, or a queue.
    record = {.fired_ns = 10'000, .submit_ns = 800, .wire_ns = 11'000};
    EXPECT_EQ(taints_of(record, {.wire_ns = 1'000}), Reasons{});
    record.wire_ns = 11'001;
    EXPECT_EQ(taints_of(record, {.wire_ns = 1'000}), Reasons{"wire_late"});
    EXPECT_EQ(taints_of(record, {}), Reasons{});
    // It had left when the call that fired it was over and its completion seen.
    const auto reasons = [](std::int64_t submit_ns, std::int64_t accept_ns) {
        Record other_record{.fired_ns = 10'000, .submit_ns = submit_ns, .ended_ns = 12'000};
        add_taints(other_record, {.accept_ns = accept_ns}, {.wire_ns = 1'000}, 0);
        return other_record.tainted;
    };
    EXPECT_EQ(reasons(1'000, 1'000), Reasons{});
    EXPECT_EQ(reasons(1'001, 1'000), Reasons{"wire_late"});
    EXPECT_EQ(reasons(1'000, 1'001), Reasons{"wire_late"});
    EXPECT_EQ(reasons(0, -1), Reasons{"wire_late"});  // never taken whole: not before its end
}

// What the taints were judged by stands in the record; a row that never left has neither.
TEST(Taint, ARowThatWaitedOrWasSentAgain) {
    Record record;
    add_taints(record, {.accept_ns = 70, .request_waited_ns = 5}, {}, 0);
    EXPECT_EQ(record.wire_delay_bound_ns, std::nullopt);
    EXPECT_EQ(record.request_delay_ns, std::nullopt);
    record.fired_ns = 10'000;
    record.ended_ns = 12'000;
    record.submit_ns = 60;
    add_taints(record, {.accept_ns = 70, .request_waited_ns = 5}, {}, 0);
    EXPECT_EQ(std::tuple(record.wire_delay_bound_ns, record.request_delay_ns), std::tuple(70, 5));
    add_taints(record, {}, {}, 0);
    EXPECT_EQ(record.wire_delay_bound_ns, 2'000) << "never taken: not before its end";
    record.wire_ns = 10'050;
    add_taints(record, {.accept_ns = 70}, {}, 0);
    EXPECT_EQ(record.wire_delay_bound_ns, 50);
    record = {.fired_ns = 10'000};
    record.wire_ns = 1'000'000;  // of the second time
    record.stale_retries = 1;
    EXPECT_EQ(taints_of(record, {.wire_ns = 1'000}), Reasons{"retried"});
    record = {};
    add_taints(record, {.request_waited_ns = 1'000}, {.receive_delay_ns = 1'000}, 0);
    EXPECT_EQ(record.tainted, Reasons{});
    add_taints(record, {.request_waited_ns = 1'001}, {.receive_delay_ns = 1'000}, 0);
    EXPECT_EQ(record.tainted, Reasons{"sent_late"});
}

// When and to whom a taint happened, and the worst of the rows that have none.

Record sent_row() {
    return {.due_ns = 1'000,
            .fired_ns = 1'100,
            .drift_ns = 100,
            .submit_ns = 10,
            .wire_ns = 1'150,
            .ended_ns = 9'000,
            .receive_delay_ns = 30};
}

TaintedRow tainted(Record record, std::initializer_list<std::string_view> reasons) {
    record.tainted.assign(reasons.begin(), reasons.end());
    return tainted_row_of(record);
}

TEST(Tainted, SaysWhenItHappenedAndToWhom) {
    Record record = sent_row();
    TaintedRow row = tainted(record, {taint_read_late});
    EXPECT_EQ(std::tuple(row.from_ns, row.to_ns, row.late_ns), std::tuple(1'100, 9'000, 30));
    EXPECT_EQ(row.suspect, Suspect::reading);
    row = tainted(record, {taint_end_unsure});
    EXPECT_EQ(row.suspect, Suspect::reading);
    EXPECT_EQ(row.late_ns, abandoned_late_max_ns) << "at least: of one that read nothing, too";
    row = tainted(record, {taint_wire_late});
    EXPECT_EQ(std::tuple(row.to_ns, row.late_ns), std::tuple(1'150, 50));
    EXPECT_EQ(row.suspect, Suspect::wire);
    record.late_cause = LateCause::guard;
    row = tainted(record, {taint_late, taint_read_late});
    EXPECT_EQ(std::tuple(row.from_ns, row.to_ns, row.late_ns), std::tuple(1'000, 1'100, 100));
    EXPECT_EQ(row.suspect, Suspect::work);
    EXPECT_EQ(tainted(sent_row(), {taint_retried}).suspect, Suspect::network);
    EXPECT_EQ(tainted(sent_row(), {taint_retried, taint_payload_dropped}).suspect, Suspect::ours);
    record = sent_row();
    record.sent_ns = 1'200;
    record.request_delay_ns = 90;
    row = tainted(record, {taint_sent_late});
    EXPECT_EQ(std::tuple(row.to_ns, row.late_ns), std::tuple(1'200, 90));
    EXPECT_EQ(row.suspect, Suspect::work);
    // Without a kernel stamp by what the client saw; a record before schema 7 has the call alone.
    record = sent_row();
    record.wire_ns = std::nullopt;
    EXPECT_EQ(tainted(record, {taint_wire_late}).late_ns, 10);
    record.wire_delay_bound_ns = 700;
    row = tainted(record, {taint_wire_late});
    EXPECT_EQ(std::tuple(row.to_ns, row.late_ns), std::tuple(1'800, 700));
    TaintFigures figures;
    figures.add(record);
    EXPECT_EQ(figures.untainted.wire_delay_max_ns, 700);
}

TEST(Tainted, ALackOfOursGoesFirstThenTheWorst) {
    EXPECT_EQ(tainted(sent_row(), {taint_limit, taint_wire_late}).suspect, Suspect::ours);
    EXPECT_EQ(tainted(sent_row(), {taint_retransmitted, taint_client_failed}).suspect,
              Suspect::ours);
    EXPECT_EQ(tainted(sent_row(), {taint_wire_late, taint_retransmitted}).suspect,
              Suspect::network);
    TaintFigures figures;
    figures.add(sent_row());
    Record worse = sent_row();
    worse.drift_ns = 5'000;
    worse.receive_delay_ns = 5'000;
    worse.tainted = {std::string(taint_late)};
    figures.add(worse);
    Record held = sent_row();
    held.drift_ns = 7'000;
    held.held_ns = 6'900;  // as the user wanted it
    held.late_cause = LateCause::inflight;
    figures.add(held);
    EXPECT_EQ(figures.untainted.drift_max_ns, 100);
    EXPECT_EQ(figures.untainted.receive_delay_max_ns, 30);
    EXPECT_EQ(figures.untainted.wire_delay_max_ns, 50);
}

// Of rows that were sent, or were to be; a row that nobody tried to send is in neither number.
TEST(Tainted, TheShareIsOfRowsThatWereSent) {
    TaintFigures figures;
    EXPECT_EQ(figures.share(0, 0, 0), 0.0);
    figures.add(sent_row());
    figures.add(Record());
    EXPECT_EQ(figures.share(0, 0, 0), 0.0);
    figures.add({.tainted = {std::string(taint_payload_dropped)}});
    EXPECT_EQ(figures.share(0, 0, 0), 0.5);
    figures.add({.outcome = Outcome::interrupted});
    figures.add(sent_row());
    EXPECT_EQ(figures.share(1, 0, 0), 0.5);   // two of four
    EXPECT_EQ(figures.share(1, 4, 0), 0.75);  // six of eight
    EXPECT_EQ(figures.read_late_only, 0u);
    Record read_late = sent_row();
    read_late.tainted = {std::string(taint_read_late)};
    figures.add(read_late);
    EXPECT_EQ(figures.read_late_only, 0u) << "by nobody knows how much";
    read_late.last_late_ns = 1;
    figures.add(read_late);
    read_late.tainted.emplace_back(taint_late);
    figures.add(read_late);
    EXPECT_EQ(std::tuple(figures.read_late_only, figures.share(0, 0, 0), figures.share(0, 0, 1)),
              std::tuple(1u, 4.0 / 7, 3.0 / 7));
}

// The client's sums: unknown until a sample knows, and costs per request and per chunk.

std::string json_of(const ClientTotals* totals) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_client(json, totals);
    json.end_object();
    return text;
}

TEST(ClientTotals, SumsWhatIsKnownAndTheWritersRate) {
    ClientTotals totals;
    ClientSample second{.rows_fired = 4, .wake_error_max_ns = 50, .user_ns = 5, .minor_faults = 0};
    totals.add({.rows_fired = 3, .wake_error_max_ns = 70});
    EXPECT_EQ(totals.sums.minor_faults, -1);
    totals.add(second);
    totals.add(second);
    EXPECT_EQ(std::tuple(totals.sums.rows_fired, totals.sums.minor_faults), std::tuple(11, 0));
    EXPECT_EQ(std::tuple(totals.sums.user_ns, totals.sums.wake_error_max_ns), std::tuple(10, 70));
    EXPECT_EQ(totals.sums.system_ns, -1);
    // The writer's rate is that of the second in which it read most for its CPU time, of those that
    // say something; what it was busy with is a share of what others left of the second.
    ClientTotals other_totals;
    ClientSample sample{.to_ns = 1'000'000'000};
    other_totals.add(sample);  // nobody measured it
    EXPECT_EQ(other_totals.sums.writer_chunks, -1);
    EXPECT_EQ(values_of(json_of(&other_totals), "client/writer_busy_share_max"), "null");
    sample.writer_chunks = 99'000;
    sample.writer_cpu_ns = 99'999'999;
    sample.writer_run_delay_ns = 0;
    other_totals.add(sample);
    EXPECT_EQ(other_totals.writer_chunks_per_cpu_s, -1) << "it has slept";
    sample.writer_cpu_ns = 100'000'000;
    other_totals.add(sample);
    EXPECT_EQ(other_totals.writer_chunks_per_cpu_s, 990'000);
    sample.writer_chunks = 250'000;
    sample.writer_cpu_ns = 400'000'000;
    sample.writer_run_delay_ns = 500'000'000;
    other_totals.add(sample);
    EXPECT_EQ(other_totals.writer_chunks_per_cpu_s, 990'000);
    EXPECT_EQ(other_totals.sums.writer_chunks, 448'000);
    EXPECT_DOUBLE_EQ(other_totals.writer_busy_max, 0.8);
    sample.writer_run_delay_ns = 700'000'000;  // some of it before the second began
    other_totals.add(sample);
    EXPECT_DOUBLE_EQ(other_totals.writer_busy_max, 1.0);
    const JsonText json(json_of(&other_totals));
    EXPECT_EQ(values_of(json.root.find("client"), "writer_chunks_per_cpu_s, writer_busy_share_max"),
              "990000, 1");
}

TEST(ClientTotals, JsonDividesByRequestsAndChunks) {
    ClientTotals totals;
    totals.add(ClientSample{
        .to_ns = 1'000'000'000, .rows_fired = 4, .system_calls = 10, .bytes_sent = 1000});
    const JsonText json(json_of(&totals));
    const JsonValue client = json.root.find("client");
    EXPECT_EQ(values_of(client, "bytes_sent, user_ns, writer_chunks_per_cpu_s"),
              "1000, null, null");
    EXPECT_EQ(values_of(client, "per_request/bytes_sent, per_request/system_calls"), "250, 2.5");
    EXPECT_EQ(values_of(client, "per_request/user_ns, per_chunk/system_calls"), "null, null");
    EXPECT_EQ(json_of(nullptr), R"({"client":null})");
}

// How late rows left, by stage, cause and place in their instant. Expectations are worked out by
// hand.

Record sent(std::uint32_t row, std::int64_t due_ns, std::int64_t drift_ns) {
    return {.row = row, .due_ns = due_ns, .fired_ns = due_ns + drift_ns, .drift_ns = drift_ns};
}

const Distribution& of_cause(const SendingFigures& figures, LateCause cause) {
    return figures.by_cause[static_cast<std::size_t>(cause)];
}

// From the due instant to the wire is drift and wire delay; the call's length stands beside them.
TEST(Sending, AddsTheStagesUpAndCountsPlaces) {
    Sending sending;
    Record record = sent(0, 1'000, 300);
    record.submit_ns = 9'000;
    record.wire_ns = 1'000 + 300 + 5'000;
    record.receive_delay_ns = 70'000;
    sending.add(record);
    sending.add(sent(1, 2'000, 500));  // without kernel stamps
    sending.add(Record{});             // never sent
    const SendingFigures figures = sending.figures();
    EXPECT_EQ(std::tuple(figures.drift.count, figures.submit.max), std::tuple(2u, 9'000));
    EXPECT_EQ(std::tuple(figures.wire_delay.count, figures.wire_delay.max), std::tuple(1u, 5'000));
    EXPECT_EQ(figures.wire_drift.max, 5'300);
    EXPECT_EQ(std::tuple(figures.receive_delay.max, figures.wire_unknown), std::tuple(70'000, 1u));
    // Of five rows due at once the second and the last found no connection: the fourth left in its
    // place, to which its limit was held. An instant of which nothing left says nothing.
    Sending other_sending;
    for (std::uint32_t row = 0; row < 5; ++row) {
        Record other_record = sent(row, 1'000, 10);
        if (row == 1 || row == 4) {
            other_record.fired_ns.reset();
        }
        other_sending.add(other_record);
    }
    for (std::uint32_t row = 5; row < 15; ++row) {
        other_sending.add({.row = row, .due_ns = 2'000});
    }
    const SendingFigures other_figures = other_sending.figures();
    EXPECT_EQ(other_figures.drift.count, 3u);
    EXPECT_EQ(other_figures.instant_rows_max, 4u);
    ASSERT_EQ(other_figures.by_rank.size(), 2u);
    EXPECT_EQ(other_figures.by_rank[1].first, 2u);
    EXPECT_EQ(other_figures.by_rank[1].drift.count, 2u);
}

// Each late cause has its own drift; what the user held back is in none.
TEST(Sending, TellsCausesApartAndWhatCapsHeldBack) {
    Sending sending;
    Record wake = sent(0, 0, 8'000);
    wake.late_cause = LateCause::wake;
    Record lane = sent(1, 0, 90'000);
    lane.late_cause = LateCause::lane;
    Record held = sent(2, 0, 5'000'000);
    held.late_cause = LateCause::inflight;
    held.wire_ns = 5'004'000;
    for (const Record& record : {wake, lane, held, sent(3, 1, 100)}) {
        sending.add(record);
    }
    const SendingFigures figures = sending.figures();
    EXPECT_EQ(std::tuple(figures.drift.count, figures.drift.max), std::tuple(3u, 90'000));
    EXPECT_EQ(of_cause(figures, LateCause::none).count, 1u);
    EXPECT_EQ(of_cause(figures, LateCause::wake).max, 8'000);
    EXPECT_EQ(of_cause(figures, LateCause::lane).max, 90'000);
    EXPECT_EQ(of_cause(figures, LateCause::inflight).count, 0u);
    EXPECT_EQ(std::tuple(figures.wire_delay.count, figures.wire_drift.count), std::tuple(1u, 0u));
    // What a cap held back is told, with how long and how late; the host's cap is in the drift,
    // too.
    Sending other_sending;
    for (const LateCause cause : {LateCause::inflight, LateCause::limit, LateCause::budget}) {
        Record other_held = sent(cause == LateCause::limit ? 1 : 0, 0, 5'000'000);
        other_held.late_cause = cause;
        other_held.held_ns = cause == LateCause::limit ? 3'000'000 : 4'000'000;
        other_sending.add(other_held);
    }
    const SendingFigures other_figures = other_sending.figures();
    EXPECT_EQ(other_figures.held_by_user.held.count, 1u);
    EXPECT_EQ(other_figures.held_by_user.held.max, 4'000'000);
    EXPECT_EQ(other_figures.held_by_user.drift.max, 5'000'000);
    EXPECT_EQ(other_figures.held_by_budget.held.max, 4'000'000);
    EXPECT_EQ(other_figures.held_by_budget.drift.count, 1u);
    EXPECT_EQ(other_figures.held_by_host.held.max, 3'000'000);
    EXPECT_EQ(other_figures.held_by_host.drift.count, 1u);
    EXPECT_EQ(other_figures.drift.count, 1u);
}

// The place among the rows of one instant, in file order whatever the order of the records; a row
// that was held back keeps its place and is not counted.
TEST(Sending, RanksTheRowsOfAnInstant) {
    Sending sending;
    Record held = sent(6, 500, 9'000'000);
    held.late_cause = LateCause::inflight;
    sending.add(held);
    for (const std::uint32_t row : {4u, 2u, 5u, 3u}) {
        sending.add(sent(row, 500, row * 1'000));
    }
    sending.add(sent(0, 100, 10));
    sending.add(sent(7, 700, 20));
    sending.add(sent(8, 700, 5'000));
    const std::vector<RankFigures> ranks = sending.figures().by_rank;
    ASSERT_EQ(ranks.size(), 3u);
    EXPECT_EQ(ranks[0].first, 0u);  // rows 0, 2, 7
    EXPECT_EQ(ranks[0].last, 0u);
    EXPECT_EQ(std::tuple(ranks[0].drift.count, ranks[0].drift.median()), std::tuple(3u, 20));
    EXPECT_EQ(ranks[0].drift.max, 2'000);
    EXPECT_EQ(ranks[1].first, 1u);  // rows 3, 8
    EXPECT_EQ(std::tuple(ranks[1].drift.count, ranks[1].drift.max), std::tuple(2u, 5'000));
    EXPECT_EQ(ranks[2].first, 2u);  // rows 4, 5
    EXPECT_EQ(ranks[2].last, 3u);
    EXPECT_EQ(std::tuple(ranks[2].drift.count, ranks[2].drift.max), std::tuple(2u, 5'000));
    const SendingFigures figures = Sending().figures();
    EXPECT_EQ(figures.drift.count, 0u);
    EXPECT_TRUE(figures.by_rank.empty());
}

// The likely cause of prompts that are off is read from the shape of the differences; what is said
// names the remedy. Servers here are worked out by hand: a length in, a count out.

constexpr Overhead template_tokens = {5, 3};

// Rows of 100 to 1,990 tokens, counted as `count` does.
template <typename Count>
PromptFigures counted_as(Count count, Overhead overhead = template_tokens) {
    PromptCounts counts(overhead);
    for (std::uint32_t i = 0; i < 190; ++i) {
        const std::uint32_t length = 100 + 10 * i;
        counts.add(length, count(length, i));
    }
    return counts.figures();
}

// Nothing is off: nothing is said. Rows without a count are unknown, not exact.
TEST(PromptCounts, ExactRowsNeedNoWordsOthersHaveACause) {
    PromptCounts counts(template_tokens);
    counts.add(600, 600);
    counts.add(600, std::nullopt);
    const PromptFigures figures = counts.figures();
    EXPECT_EQ(std::tuple(figures.exact, figures.unknown, figures.off), std::tuple(1u, 1u, 0u));
    EXPECT_EQ(std::tuple(figures.cause, figures.explanation), std::tuple(PromptCause::none, ""));
    // The same difference everywhere is the template; the flag that is named fixes it.
    const auto by = [](std::int64_t off) {
        return counted_as([off](std::uint32_t length, std::uint32_t) { return length + off; });
    };
    const PromptFigures more = by(4);
    EXPECT_EQ(std::tuple(more.off, more.largest_off), std::tuple(190u, 4));
    EXPECT_EQ(more.cause, PromptCause::overhead);
    EXPECT_TRUE(says(more.explanation, "--overhead 9,3 "));
    EXPECT_TRUE(says(by(-6).explanation, "--overhead 0,2 "));
    EXPECT_TRUE(says(by(-8).explanation, "--overhead 0,0 "));
    EXPECT_EQ(by(-9).cause, PromptCause::words) << "no template is shorter than nothing";
    EXPECT_TRUE(says(by(-9).explanation, "counts 9 tokens fewer than were sent"));
    // One word in ten costs two tokens: the difference grows, and the words are to blame; so they
    // are where a wrong template comes on top, and where words merge.
    const auto splits = [](std::uint32_t length, std::uint32_t) {
        return std::int64_t{length} + length / 10;
    };
    const PromptFigures other_figures = counted_as(splits);
    EXPECT_EQ(other_figures.cause, PromptCause::words);
    EXPECT_TRUE(says(other_figures.explanation, {"+100 tokens per 1,000", "--tokenizer"}));
    EXPECT_EQ(
        counted_as([](std::uint32_t, std::uint32_t) { return 1; }).explanation,
        "the server reports about as many tokens for a long prompt as for a short one: it does "
        "not count them");
    const auto merges = [](std::uint32_t length, std::uint32_t) {
        return std::int64_t{length} + 7 - length / 50;
    };
    EXPECT_EQ(counted_as(merges).cause, PromptCause::words);
}

// Rows that are recorded shorter than the template cannot be exact, and blame nothing else.
TEST(PromptCounts, ShortRowsAreToldApartFromAMix) {
    PromptCounts counts(template_tokens);
    counts.add(8, 9);
    counts.add(3, 9);
    counts.add(9, 9);
    counts.add(600, 600);
    PromptFigures figures = counts.figures();
    EXPECT_EQ(std::tuple(figures.off, figures.short_off, figures.largest_off, figures.cause),
              std::tuple(2u, 2u, 6, PromptCause::short_rows));
    EXPECT_TRUE(says(figures.explanation, "2 rows"));
    counts.add(700, 703);
    counts.add(800, 803);
    counts.add(500, 503);
    figures = counts.figures();
    EXPECT_EQ(figures.short_off, 2u);
    EXPECT_NE(figures.cause, PromptCause::short_rows);
    // A template that changes from row to row, and a server that cuts long prompts, are neither.
    const auto changing = [](std::uint32_t length, std::uint32_t i) {
        return std::int64_t{length} + (i * 7 % 5);
    };
    const PromptFigures other_figures = counted_as(changing);
    EXPECT_EQ(other_figures.cause, PromptCause::mixed);
    EXPECT_TRUE(says(other_figures.explanation, "+0 to +4"));
    PromptCounts equal_lengths(template_tokens);
    equal_lengths.add(600, 601);
    equal_lengths.add(600, 602);
    EXPECT_EQ(equal_lengths.figures().cause, PromptCause::mixed);
    // The order of rows does not change what is said.
    PromptCounts up;
    PromptCounts down;
    for (std::uint32_t i = 0; i < 100; ++i) {
        up.add(100 + i, 100 + i + i / 10);
        const std::uint32_t j = 99 - i;
        down.add(100 + j, 100 + j + j / 10);
    }
    EXPECT_EQ(up.figures().explanation, down.figures().explanation);
    EXPECT_EQ(up.figures().cause, PromptCause::words);
}

}  // namespace
}  // namespace driftless
