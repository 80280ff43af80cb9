// The laws can fail: for each of them a bug is planted, beside the product or in its output, and
// that law names it. The same runs without the bug break none.

#include "engine/replay/lane_parts.hpp"
#include "tests/sim/effort.hpp"
#include "tests/sim/lawful.hpp"
#include "tests/sim/planted_runs.hpp"
#include "tests/sim/swarm.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::sim {

namespace {

Record& ok_record(SimResult& result) {
    return *std::find_if(result.records.begin(), result.records.end(), [](const Record& record) {
        return record.outcome == Outcome::ok && record.chunk_ns.size() > 1;
    });
}

Record& record_of(SimResult& result, std::uint32_t row) {
    return *std::find_if(result.records.begin(), result.records.end(),
                         [row](const Record& record) { return record.row == row; });
}

/// It says whether it has overtaken the turn before it.
Record& turn_record(SimResult& result) {
    return *std::find_if(result.records.begin(), result.records.end(),
                         [](const Record& record) { return record.overtaken.has_value(); });
}

// What a file loses or repeats is seen, by the records as by fired.jsonl.
TEST(Laws, HoldWithoutABug) {
    EXPECT_EQ(broken_laws(run_with(Bug::none)), "");
    EXPECT_EQ(broken_laws(run_of_single_rows(Bug::none)), "");
    EXPECT_EQ(broken_laws(run_of_sides(Bug::none)), "");
    EXPECT_EQ(broken_laws(run_of_engines(Bug::none)), "");
}

struct WorldBug {
    Bug bug;
    const char* law;
};
// Beside the product, in the world that it is run in.
constexpr WorldBug world_bugs[] = {
    {Bug::early_stamps, "no stamp before its cause"},
    {Bug::early_stamps, "servers agree"},
    {Bug::lost_byte, "received bytes are accounted for"},
    {Bug::wrong_count, "ok is exact"},
    {Bug::leaked_body, "bodies are returned"},
    {Bug::forgotten_event, "every event is read"},
    {Bug::unread_event, "every event is read"},
    {Bug::unsaid_limit, "limits of connections are kept"},
    {Bug::early_look, "no operation in flight"},
    {Bug::early_look, "sockets are closed"},
    {Bug::early_look, "frames are returned"},
    {Bug::unmarked, "marks say who left"},
    {Bug::endless, "the run ends"},
    {Bug::planned_twice, "one record per row"},
    {Bug::early_engine, "nothing leaves early"},
    {Bug::early_engine, "dues are the plan's"},
    {Bug::early_turns, "turns wait for their parents"},
    {Bug::early_turns, "failures end their trees"},
    {Bug::lost_release, "no release is lost"},
    {Bug::extra_user, "users play one tree each"},
    {Bug::other_rate, "rows arrive as asked"},
    {Bug::extra_row, "no more rows are open than asked"},
    {Bug::shuffled_rows, "single rows come in file order"},
    {Bug::split_trees, "users play one tree each"},
    {Bug::lost_time, "nothing is due when the time is up"},
    {Bug::early_start, "trees go on where they were primed"},
    {Bug::deaf_engine, "nothing leaves when the run has to stop"},
    {Bug::wide_budgets, "budgets are kept"},
    {Bug::other_patience, "requests are abandoned as drawn"},
    {Bug::no_barriers, "no turn before what its barrier names"},
    {Bug::file_order, "hits are expected in the order of the run"},
    {Bug::eager_users, "users begin when they are wanted"},
    {Bug::lonely_rows, "overtaken is what the instants say"},
    {Bug::forgotten_words, "prompts hold what was said"},
    {Bug::unfilled_prompts, "prompts are filled up"},
    {Bug::uncounted_loss, "losses are reported"},
    {Bug::greedy_send, "sent bytes were taken"},
    {Bug::crossed_send, "servers can read what is sent"},
    {Bug::other_servers, "sessions stay on their server"},
    {Bug::other_lanes, "connections are as asked"},
    {Bug::other_names, "rows are who they say"},
    {Bug::no_fired_file, "fired.jsonl says who left"},
    {Bug::shared_file, "lines read back"},
    {Bug::blind_look, "late reads are known"},
    {Bug::blind_look, "bytes are read in time"},
    {Bug::blind_to_ends, "ends are seen in time"},
    {Bug::no_proof, "no false alarm of late reads"},
    {Bug::trusted_clock, "chunks came within their bounds"},
    {Bug::late_zero, "time 0 leaves time"},
    {Bug::fast_clock, "periods hold what came in them"},
    {Bug::mixed_sides, "each row goes once to each side"},
    {Bug::one_later, "each row goes once to each side"},
    {Bug::fair_no_more, "sides have the plan's order"},
    {Bug::shared_place, "no side disturbs the other"},
    {Bug::one_engines_marks, "marks say who left"},
};

/// As if a budget had kept it from leaving.
void leave_unsent(Record& record, std::int64_t held_ns) {
    record.outcome = Outcome::not_sent;
    record.fired_ns.reset();
    record.ended_ns.reset();
    record.late_cause = LateCause::budget;
    record.held_ns = held_ns;
}

struct OutputBug {
    const char* law;
    void (*plant)(SimResult&);
    bool of_users = false;
    bool of_rows = false;  ///< that are kept open, each a tree of its own
    bool of_sides = false;
};
// In what was written and counted.
const OutputBug output_bugs[] = {
    {"users play one tree each", [](SimResult& result) { result.users.users = 1; }, true},
    {"users do not rest", [](SimResult& result) { ++result.records.back().due_ns; }, true},
    {"trees are played whole", [](SimResult& result) { result.records.pop_back(); }, true},
    {"users do not rest", [](SimResult& result) { ++result.records.back().due_ns; }, true, true},
    {"trees are played whole", [](SimResult& result) { result.records.pop_back(); }, true, true},
    {"the warm-up comes first",
     [](SimResult& result) { result.records.front().phase = Phase::warmup; }, true},
    {"failed turns are sent again", [](SimResult& result) { result.records.front().attempt = 1; },
     true},
    {"idle time is capped", [](SimResult& result) { result.users.idle.tree_ns = -1; }, true},
    {"one record per row", [](SimResult& result) { result.records.pop_back(); }},
    {"one record per row", [](SimResult& result) { result.records.push_back(result.records[0]); }},
    {"one record per row", [](SimResult& result) { --result.counts.ended; }},
    {"outcomes sum up", [](SimResult& result) { --result.outcomes[0]; }},
    {"outcomes sum up", [](SimResult& result) { ok_record(result).outcome = Outcome::truncated; }},
    {"lines read back", [](SimResult& result) { result.unreadable.emplace_back("{\"row\":1"); }},
    {"fired.jsonl says who left", [](SimResult& result) { lose_last_line(result.fired_jsonl); }},
    {"dues are the plan's", [](SimResult& result) { ++ok_record(result).due_ns; }},
    {"nothing leaves early",
     [](SimResult& result) {
         Record& record = ok_record(result);
         record.fired_ns = record.due_ns - 1;
     }},
    {"chunks in order",
     [](SimResult& result) {
         std::swap(ok_record(result).chunk_ns.front(), ok_record(result).chunk_ns.back());
     }},
    {"outcomes fit stamps",
     [](SimResult& result) { ok_record(result).outcome = Outcome::not_sent; }},
    {"outcomes fit stamps", [](SimResult& result) { ok_record(result).ended_ns.reset(); }},
    {"outcomes fit stamps", [](SimResult& result) { leave_unsent(ok_record(result), 0); }},
    {"outcomes fit stamps",
     [](SimResult& result) {
         Record& record = ok_record(result);
         leave_unsent(record, 1);
         record.error = "row 1 failed";
     }},
    {"outcomes fit stamps", [](SimResult& result) { ok_record(result).status.reset(); }},
    {"servers agree",
     [](SimResult& result) {
         Record& record = ok_record(result);
         record.fired_ns = *record.first_token_ns;
     }},
    {"answers past a limit are told",
     [](SimResult& result) { result.timeouts.total = Duration{1}; }},
    {"timeouts keep to what came",
     [](SimResult& result) {
         Record& record = ok_record(result);
         record.outcome = Outcome::timeout_total;
         result.unread_ns[record.row] = *record.fired_ns;
     }},
    {"overtaken is what the instants say",
     [](SimResult& result) {
         Record& record = turn_record(result);
         record.overtaken = !*record.overtaken;
     }},
    {"overtaken is what the instants say",
     [](SimResult& result) { turn_record(result).overtaken.reset(); }},
    {"overtaken is what the instants say",  // the first row of a session
     [](SimResult& result) { record_of(result, 0).overtaken = false; }},
    {"ok is exact", [](SimResult& result) { ++*ok_record(result).output_tokens; }},
    {"rows are who they say", [](SimResult& result) { ok_record(result).trace_id.reset(); }},
    {"rows are who they say",
     [](SimResult& result) { ok_record(result).headers.at(0).value = "sim-1000"; }},
    {"received bytes are accounted for",
     [](SimResult& result) { ++ok_record(result).bytes_received; }},
    {"connections are as asked",
     [](SimResult& result) { ok_record(result).connection_state = ConnectionState::sticky; }},
    {"connections are as asked",
     [](SimResult& result) { result.connection = ConnectionRule::fresh; }},
    {"sessions stay on their server",
     [](SimResult& result) {
         result.balance = Balance::session;
         for (Record& record : result.records) {
             record.session = "the only one";
         }
         ok_record(result).url = "http://elsewhere";
     }},
    {"chunks came within their bounds",
     [](SimResult& result) {  // one that waited for longer than it says
         const Record& record = ok_record(result);
         for (SimResult::LastRead& event : result.event_reads[record.row]) {
             event.came_ns =
                 event.read_ns == record.last_token_ns ? *record.fired_ns : event.came_ns;
         }
     }},
    {"chunks came within their bounds",
     [](SimResult& result) { ++*ok_record(result).first_late_ns; }},
    {"chunks came within their bounds",
     [](SimResult& result) {
         ok_record(result).chunk_late_ns.back() = *ok_record(result).receive_delay_ns + 1;
         ok_record(result).last_late_ns = ok_record(result).chunk_late_ns.back();
     }},
    {"untainted rows are true",
     [](SimResult& result) {
         Record& record = ok_record(result);
         result.parts_ns[record.row] = {*record.fired_ns + result.limits.wire_ns + 1};
     }},
    {"untainted rows are true",
     [](SimResult& result) {
         Record& record = ok_record(result);
         result.waited[record.row] = Duration{result.limits.receive_delay_ns + 1};
     }},
    {"untainted rows are true",
     [](SimResult& result) {
         Record& record = ok_record(result);
         record.due_ns = *record.fired_ns - result.limits.drift_ns - 1;
     }},
    {"no false alarm of late reads",
     [](SimResult& result) { ok_record(result).receive_delay_ns = calm_delay_max.ns + 1; }},
    {"no false alarm of late reads",
     [](SimResult& result) { ok_record(result).tainted = {"read_late"}; }},
    {"parts that waited are reported",
     [](SimResult& result) {  // none of them for long
         const Record& record = ok_record(result);
         const std::int64_t third_ns = result.limits.receive_delay_ns / 3;
         std::vector<std::int64_t>& parts_ns = result.parts_ns[record.row];
         for (std::int64_t i = 0; i < 6; ++i) {
             parts_ns.push_back(parts_ns.back() + third_ns);
         }
     }},
    {"parts that waited are reported",
     [](SimResult& result) { ok_record(result).tainted = {"sent_late"}; }},
    {"only a full cap holds back",
     [](SimResult& result) {
         ok_record(result).late_cause = LateCause::inflight;
         ok_record(result).held_ns = RoomTimes::unseen_max.ns + *ok_record(result).drift_ns + 1;
     }},
    {"late bodies make rows late",
     [](SimResult& result) { ok_record(result).late_cause = LateCause::prepare; }, true, true},
    {"sleeps of the host are reported",
     [](SimResult& result) {
         result.sleeps.push_back({*ok_record(result).fired_ns + 1, 1'000'000'000});
     }},
    {"requests are abandoned as drawn",
     [](SimResult& result) { ok_record(result).outcome = Outcome::abandoned; }},
    {"requests are abandoned as drawn",
     [](SimResult& result) {  // all, as soon as they have left
         result.abandon = {1, 0, 0, 0};
     }},
    {"runs stop for what they have measured",
     [](SimResult& result) { result.stopped_early = true; }},
    {"losses are reported", [](SimResult& result) { ok_record(result).retransmits = 1; }},
    {"losses are reported",
     [](SimResult& result) { ok_record(result).tainted = {"retransmitted"}; }},
    {"our limits taint",
     [](SimResult& result) { ok_record(result).late_cause = LateCause::limit; }},
    {"our limits taint",
     [](SimResult& result) { ok_record(result).outcome = Outcome::client_failed; }},
    {"lost answers count nothing",
     [](SimResult& result) { ok_record(result).tainted = {"payload_dropped"}; }},
    {"lost answers count nothing",  // but for what an early event had said
     [](SimResult& result) {
         Record lost{.tainted = {"entries_dropped"}, .cached_tokens = 0};
         result.records.push_back(lost);
     }},
    {"sent bytes were taken", [](SimResult& result) { ++ok_record(result).bytes_sent; }},
    {"each row goes once to each side",
     [](SimResult& result) { ok_record(result).side = Side::none; }, false, false, true},
    {"each row goes once to each side",
     [](SimResult& result) { ok_record(result).side = Side::a; }},
    {"sides have the plan's order", [](SimResult& result) { ++result.seed; }, false, false, true},
    {"sides have lanes of their own",
     [](SimResult& result) {
         for (Record& record : result.records) {
             record.connection = 1;
             record.connect_ns = 0;
         }
     },
     false, false, true},
    {"no side disturbs the other",
     [](SimResult& result) {
         std::find_if(result.records.begin(), result.records.end(), [&](const Record& record) {
             return record.side == result.spared && record.outcome == Outcome::ok;
         })->outcome = Outcome::truncated;
     },
     false, false, true},
    {"periods follow one another", [](SimResult& result) { ++result.period_ns; }},
    {"periods follow one another", [](SimResult& result) { result.periods_jsonl.pop_back(); }},
    {"periods sum up", [](SimResult& result) { lose_last_line(result.periods_jsonl); }},
    {"periods sum up", [](SimResult& result) { ++*ok_record(result).output_tokens; }},
    {"periods sum up", [](SimResult& result) { result.records.back().user = 7; }, true},
    {"periods hold what came in them",
     [](SimResult& result) { *ok_record(result).fired_ns += result.period_ns; }},
    {"periods hold what came in them",
     [](SimResult& result) { ok_record(result).chunk_ns.back() += result.period_ns; }},
};

TEST(Laws, HoldWhereRowsComeFastOrWait) {
    EXPECT_GT(lawful(run(dense_trace(), SimOptions{.inflight_max = 2000})).unread_max, Duration{0});
    // A flag that stays raised with nothing behind it costs no row its certainty where an entry
    // that brings nothing is taken for proof; one that is not is only seen in that weather.
    SimOptions options{.seed = 3, .weather = {.stuck_flag = 1}};
    EXPECT_EQ(broken_laws(run(trace_with_a_gap(0), options)), "");
    options.weather.stuck_flag = 0;
    options.bug = Bug::no_proof;
    EXPECT_EQ(broken_laws(run(trace_with_a_gap(0), options)), "");
    // What waits for the first row gets no answer, and all else is sent.
    options = {.server = {.faults = {{mock::Fault::http_500, 1, 0}}}, .closed = true};
    const SimResult result = lawful(run(trace_of_turns(), options));
    EXPECT_EQ(result.outcomes[static_cast<std::size_t>(Outcome::http_5xx)], 1u);
    EXPECT_EQ(result.outcomes[static_cast<std::size_t>(Outcome::not_sent)], 2u);
    EXPECT_EQ(result.outcomes[static_cast<std::size_t>(Outcome::ok)], planted_rows - 3);
}

TEST(Laws, CatchBugsOfAllKindsAndOtherDice) {
    for (const WorldBug& planted : world_bugs) {
        EXPECT_EQ(unnamed(broken_laws(run_with(planted.bug)), planted.law), "");
    }
    const SimResult sides = run_of_sides(Bug::none);
    const SimResult single_rows = run_of_single_rows(Bug::none);
    const SimResult users = run_of_users(Bug::none);
    const SimResult plain = run_with(Bug::none);
    for (const OutputBug& planted : output_bugs) {
        SimResult result = planted.of_sides   ? sides
                           : planted.of_rows  ? single_rows
                           : planted.of_users ? users
                                              : plain;
        planted.plant(result);
        EXPECT_EQ(unnamed(broken_laws(result), planted.law), "");
    }
    // Every pair of stamps that the law of causes speaks of is looked at.
    const SimResult sound = run_with(Bug::none);
    for (const StampOrder& order : stamp_orders()) {
        SimResult result = sound;
        Record& record = ok_record(result);
        if (order.cause == &Record::error_event_ns) {  // an ok row has none
            record.error_event_ns = record.ended_ns;
        }
        ASSERT_TRUE((record.*order.cause).has_value() && (record.*order.effect).has_value());
        record.*order.effect = *(record.*order.cause) - 1;
        const std::string said = std::string(order.effect_name) + " before " + order.cause_name;
        EXPECT_TRUE(says(broken_laws(result), said)) << said;
    }
    // Other dice give other bytes: the comparison of two runs of one seed sees a difference.
    EXPECT_EQ(run_with(Bug::none).jsonl, run_with(Bug::none).jsonl);
    EXPECT_NE(run_with(Bug::none).jsonl, run_with(Bug::other_dice).jsonl);
    // No law is without a bug.
    EXPECT_EQ(untried(laws(), world_bugs, output_bugs), "");
}

// A swarm of seeds, each with its own mix of faults: every law holds in each of them, and the same
// seed gives the same bytes. DRIFTLESS_SIM_SEEDS says how many; `sim_swarm` runs any number.

constexpr std::uint32_t rows = 200;
constexpr std::uint64_t seeds_for_all = 1000;  // every outcome is met

/// Every law holds in the runs of so many seeds; `use` gets each.
template <class Use>
void play_seeds(std::uint64_t count, SimResult (*run_seed)(std::uint64_t, std::uint32_t), Use use) {
    for (std::uint64_t seed = 1; seed <= seeds(count); ++seed) {
        const SimResult result = run_seed(seed, rows);
        ASSERT_EQ(broken_laws(result), "") << "seed " << seed;
        use(seed, result);
    }
}

// Same seed: byte-identical files, whatever the weather.
TEST(Swarm, SameSeedSameBytes) {
    for (std::uint64_t seed = 1; seed <= repeats(20); ++seed) {
        const SimResult first = run_swarm(seed, rows);
        const SimResult again = run_swarm(seed, rows);
        ASSERT_FALSE(first.fired_jsonl.empty());
        ASSERT_TRUE(first.jsonl == again.jsonl) << "seed " << seed;
        ASSERT_TRUE(first.fired_jsonl == again.fired_jsonl) << "seed " << seed;
    }
}

// Over all seeds the faults have really struck: every outcome is met that the simulator can bring
// about (it resumes no run).
TEST(Swarm, LawsHoldWhateverTheFaults) {
    std::map<Outcome, std::uint64_t> outcomes;
    std::uint64_t retries = 0;
    std::uint64_t tainted = 0;
    std::uint64_t full_disks = 0;
    std::uint64_t came_whole = 0;  // under --no-stream
    std::uint64_t stopped_early = 0;
    play_seeds(seeds_for_all, run_swarm, [&](std::uint64_t seed, const SimResult& result) {
        const bool streams = swarm_options(seed).stream;
        for (const Record& record : result.records) {
            ++outcomes[record.outcome];
            retries += record.stale_retries;
            tainted += record.tainted.empty() ? 0 : 1;
            came_whole += !streams && record.outcome == Outcome::ok ? 1 : 0;
        }
        full_disks += result.disk_failed ? 1 : 0;
        stopped_early += result.stopped_early ? 1 : 0;
    });
    for (unsigned i = 0; i < outcome_count; ++i) {
        const auto outcome = static_cast<Outcome>(i);
        const bool beyond = outcome == Outcome::interrupted;
        const bool seen = outcomes[outcome] > 0;
        EXPECT_TRUE(beyond ? !seen : seen || seeds(seeds_for_all) < seeds_for_all)
            << name_of(outcome);
        RecordProperty(name_of(outcome), std::to_string(outcomes[outcome]));
    }
    EXPECT_GT(outcomes[Outcome::ok], 0u);
    EXPECT_GT(retries, 0u);
    EXPECT_TRUE(tainted > 0 || seeds(seeds_for_all) < seeds_for_all);
    EXPECT_GT(full_disks, 0u);
    EXPECT_GT(came_whole, 0u);
    EXPECT_GT(stopped_early, 0u);
}

// Rows that wait for each other: some are sent behind their parents, some are dropped behind those
// that failed, and every law holds.
TEST(Swarm, LawsHoldUnderClosedSessions) {
    constexpr std::uint64_t seeds_of_closed = 200;
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;
    play_seeds(seeds_of_closed, run_closed_swarm, [&](std::uint64_t, const SimResult& result) {
        for (const Record& record : result.records) {
            const bool waits = !result.due_ns.contains(record.row);
            sent += waits && record.fired_ns ? 1 : 0;
            dropped += waits && !result.stopped && !record.fired_ns ? 1 : 0;
        }
    });
    EXPECT_GT(sent, 0u);
    EXPECT_GT(dropped, 0u);
}

TEST(Swarm, LawsHoldUnderUsersOfTheSameSeed) {
    for (std::uint64_t seed = 1; seed <= repeats(20); ++seed) {
        const SimResult first = run_users_swarm(seed, rows);
        const SimResult again = run_users_swarm(seed, rows);
        ASSERT_TRUE(first.jsonl == again.jsonl) << "seed " << seed;
        ASSERT_TRUE(first.periods_jsonl == again.periods_jsonl) << "seed " << seed;
    }
    // Trees that users play, one behind the other, to their ends or until the time is up.
    constexpr std::uint64_t seeds_of_users = 200;
    std::uint64_t whole = 0;
    std::uint64_t cut = 0;
    play_seeds(seeds_of_users, run_users_swarm, [&](std::uint64_t, const SimResult& result) {
        (result.records.size() == rows ? whole : cut) += 1;
    });
    EXPECT_GT(whole, 0u);
    EXPECT_GT(cut, 0u);
}

// Conversations that hold the answers of the run, with and without users: prompts are filled up,
// and too long ones are told.
TEST(Swarm, LawsHoldInTalks) {
    constexpr std::uint64_t seeds_of_talks = 200;
    std::uint64_t held = 0;
    std::uint64_t filled = 0;
    std::uint64_t over = 0;
    play_seeds(seeds_of_talks, run_talks_swarm, [&](std::uint64_t, const SimResult& result) {
        for (const Record& record : result.records) {
            held += record.live_turns.value_or(0);
            filled += record.padded_tokens.value_or(0) > 0 ? 1 : 0;
            over += record.padded_tokens.value_or(0) < 0 ? 1 : 0;
        }
    });
    EXPECT_GT(held, 0u);
    EXPECT_GT(filled, 0u);
    EXPECT_TRUE(over > 0 || seeds(seeds_of_talks) < seeds_of_talks);
}

// The second ring changes no byte from run to run.
TEST(Swarm, SameSeedSameTalks) {
    for (std::uint64_t seed = 1; seed <= repeats(10); ++seed) {
        ASSERT_TRUE(run_talks_swarm(seed, rows).jsonl == run_talks_swarm(seed, rows).jsonl)
            << "seed " << seed;
    }
}

}  // namespace
}  // namespace driftless::sim
