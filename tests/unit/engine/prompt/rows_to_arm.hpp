/// RowsToArm: a few rows with a schedule, and an armer with all that it works with. For tests that
/// drive a part of the engine by hand; each test owns its own.
#pragma once

#include "engine/prompt/arm.hpp"
#include "engine/prompt/word_table.hpp"
#include "tests/unit/made.hpp"

namespace driftless {

struct SmallRow {
    Duration due{0};
    std::uint32_t session = no_session;  ///< below 4
    std::uint32_t tokens = 5;            ///< of the prompt
};

struct RowsToArm {
    struct Options {
        ArmerOptions armer;
        std::size_t pool_bytes = 1 << 20;  ///< a row takes one leaf
        std::size_t spare_bytes = 0;
        std::vector<Dependency> dependencies;  ///< none: every due is known
    };

    explicit RowsToArm(const std::vector<SmallRow>& rows) : RowsToArm(rows, Options{}) {}
    RowsToArm(const std::vector<SmallRow>& rows, const Options& options)
        : trace(trace_of(rows, options.dependencies)),
          plan(plan_of(trace)),
          schedule(options.dependencies.empty() ? Schedule(plan) : Schedule(trace, plan, Speed())),
          heads(options.armer.targets, head()),
          prompts(trace, WordTable::built_in(), {}),
          armer(trace, schedule, prompts, bodies, heads, frame, options.armer) {
        CHECK(static_cast<bool>(bodies.open(options.pool_bytes, options.spare_bytes)));
    }

    ~RowsToArm() {
        for (RowUnderway* row : kept_) {
            armer.give_back(*row);
        }
    }

    /// Arms what is due up to then, as far as there is room.
    void arm(std::int64_t horizon_ns = INT64_MAX, Instant now = Instant{1}) {
        while (armer.step(now, horizon_ns, 4096)) {
        }
    }
    /// The due of the request, whose turn has not come; its rank is 0.
    Due due(std::uint32_t request) const {
        const Planned& planned = plan.rows[request];
        return {planned.due_ns, request, planned.row, 0};
    }
    /// The turn of the schedule's next row, which is armed, has come.
    RowUnderway& take() { return keep(armer.take(schedule.take())); }
    /// What the row still has in the end is given back.
    RowUnderway& keep(RowUnderway& row) {
        kept_.push_back(&row);
        return row;
    }

    static RequestHead head() {
        return RequestHead({.target = "/v1/completions", .host = "simulated"});
    }
    static Trace trace_of(const std::vector<SmallRow>& rows,
                          const std::vector<Dependency>& dependencies) {
        Trace trace{.sessions = {"a", "b", "c", "d"}, .dependencies = dependencies};
        for (const SmallRow& small : rows) {
            append_row(trace, {.at_ns = small.due.ns,
                               .input_length = small.tokens,
                               .output_length = 2,
                               .session = small.session});
        }
        return trace;
    }
    static Plan plan_of(const Trace& trace) {
        Plan plan;
        for (const TraceRow& row : trace.rows) {
            plan.rows.push_back({row.at_ns, row.index, 0});
        }
        return plan;
    }

    const Trace trace;
    const Plan plan;
    Schedule schedule;
    const BodyFrame frame{R"({"prompt":")", R"(","max_tokens":)", R"(,"stream":true})", true};
    const std::vector<RequestHead> heads;
    PromptBuilder prompts;
    BodyPool bodies;
    Armer armer;

  private:
    std::vector<RowUnderway*> kept_;
};

}  // namespace driftless
