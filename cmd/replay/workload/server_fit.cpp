#include "cmd/replay/workload/server_fit.hpp"

#include <algorithm>
#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/screen/guard.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

/// Each row once, though two servers get it.
std::vector<Planned> rows_once(const Plan& plan) {
    std::vector<Planned> rows = plan.rows;
    std::erase_if(rows, [](const Planned& planned) { return planned.side == Side::b; });
    return rows;
}

}  // namespace

std::int64_t longest_row(const Trace& trace, const Plan& plan) {
    std::int64_t longest = 0;
    for (const Planned& planned : plan.rows) {
        const TraceRow& row = trace.rows[planned.row];
        const bool is_known = row.input_length > 0;  // else a recorded request, in words
        longest = std::max(longest, is_known ? std::int64_t{row.input_length} + row.output_length
                                             : std::int64_t{0});
    }
    return longest;
}

int check_context(const Workload& workload, ModelRoom room) {
    const std::int64_t longest = longest_row(workload.trace, workload.plan);
    const auto too_long = [&](const Planned& planned) {
        const TraceRow& row = workload.trace.rows[planned.row];
        return (room.context >= 0 &&
                std::int64_t{row.input_length} + row.output_length > room.context) ||
               (room.input >= 0 && row.input_length > room.input);
    };
    const std::vector<Planned> rows = rows_once(workload.plan);
    const auto count = std::count_if(rows.begin(), rows.end(), too_long);
    if (count == 0) {
        const bool known = room.context >= 0 || room.input >= 0;
        if (longest == 0) {
            print_line(
                "server: no length of a row is known, so none is held against the model's "
                "context");
            return exit_done;
        }
        std::printf(known
                        ? "server: the longest row needs %lld tokens of the model's context\n"
                        : "server: the model's context length is not known; the longest row needs "
                          "%lld tokens\n",
                    static_cast<long long>(longest));
        return exit_done;
    }
    const TraceRow& first =
        workload.trace.rows[std::find_if(rows.begin(), rows.end(), too_long)->row];
    const bool by_input =
        room.context < 0 || std::int64_t{first.input_length} + first.output_length <= room.context;
    complain(
        "driftless: %lld rows do not fit the model's %s of %lld tokens, the first at "
        "line %u (%u in, %u out); serve a longer context, or %s",
        static_cast<long long>(count), by_input ? "longest prompt" : "context",
        static_cast<long long>(by_input ? room.input : room.context), first.line,
        first.input_length, first.output_length,
        by_input
            ? "select other rows with --start, --end and --limit"
            : ("leave their session trees out with --max-context " + std::to_string(room.context))
                  .c_str());
    return exit_input;
}

std::string short_answers_warning(OutputRule output, const Workload& workload,
                                  std::uint32_t least) {
    const std::vector<Planned> rows = rows_once(workload.plan);
    const auto asks_for_less = [&](const Planned& planned) {
        const std::uint32_t asked = workload.trace.rows[planned.row].output_length;
        return asked > 0 && asked < least;
    };
    const auto count =
        output == OutputRule::free ? 0 : std::count_if(rows.begin(), rows.end(), asks_for_less);
    return count == 0 ? ""
                      : std::to_string(count) + " of " + std::to_string(rows.size()) +
                            " rows ask for fewer than the " + std::to_string(least) +
                            " tokens that the server accepted in the preflight, and may be "
                            "refused; --output free asks for no length";
}

std::string split_warning(const Workload& workload, const Overhead& overhead, bool templated) {
    const std::vector<Planned> rows = rows_once(workload.plan);
    const auto sharing = std::count_if(rows.begin(), rows.end(), [](const Planned& planned) {
        return planned.expected_cached_tokens > 0;
    });
    if (sharing == 0) {
        return "";
    }
    const std::uint32_t around = overhead.pre + overhead.post;
    const std::string tokens = std::to_string(around);
    const std::string in_front = overhead.post > 0 ? std::to_string(overhead.pre) + " are"
                                 : around == 1     ? "it is"
                                                   : "all " + tokens + " are";
    return "the server counts " + tokens + (templated ? " template" : "") +
           (around == 1 ? " token" : " tokens") +
           " around a prompt and does not show how many of them come first; " + in_front +
           " assumed to come first, so cache blocks may be shifted by up to " +
           counted(around, "token", "tokens") + ", and each of the " + std::to_string(sharing) +
           " rows (of " + std::to_string(rows.size()) +
           ") that share a prefix may miss one; --overhead PRE,POST with PRE+POST = " + tokens +
           " sets the split" +
           (templated ? "; --tokenizer with the model's folder finds it if the chat template there "
                        "is a common one"
                      : "");
}

}  // namespace driftless
