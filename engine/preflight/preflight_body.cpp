/// The part of the preflight that finds what of a body a server takes: `ignore_eos`,
/// `stream_options`, and the name of the member that bounds an answer.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "engine/preflight/preflight.hpp"

namespace driftless {

namespace {

/// What a server may refuse and rows can go without.
enum class Part : std::uint8_t { ignore_eos, stream_options, length_name };
constexpr Part parts[] = {Part::ignore_eos, Part::stream_options, Part::length_name};

/// A part that was left out, and the refusal for which it was.
struct Dropped {
    Part part;
    std::string reason;
};

bool has(const std::vector<Part>& some, Part part) {
    return std::find(some.begin(), some.end(), part) != some.end();
}

bool was_dropped(const std::vector<Dropped>& dropped, Part part) {
    return std::any_of(dropped.begin(), dropped.end(),
                       [part](const Dropped& one) { return one.part == part; });
}

/// The name of a part as it stands in the body.
std::string_view name_of(Part part, const Dialect& dialect) {
    switch (part) {
        case Part::ignore_eos:
            return "ignore_eos";
        case Part::stream_options:
            return "stream_options";
        case Part::length_name:
            break;
    }
    return dialect.length_member;
}

/// The parts that the body has, in the order in which they are tried: those that the refusal names
/// come first. Another name of the length is tried only where the refusal names it, or nothing.
std::vector<Part> order_of(const PreflightPlan& plan, std::string_view refusal) {
    const BodySpec& body = plan.body;
    const Dialect& dialect = *plan.dialect;
    std::vector<Part> named;
    std::vector<Part> others;
    for (const Part part : parts) {
        const bool is_named = refusal.find(name_of(part, dialect)) != refusal.npos;
        const bool stands =
            part == Part::ignore_eos ? body.ignore_eos && body.output == OutputRule::exact
            : part == Part::stream_options
                ? dialect.has_stream_options && body.stream
                : dialect.has_two_length_names && body.length_member.empty() &&
                      body.output != OutputRule::free && (is_named || refusal.empty());
        if (stands) {
            (is_named ? named : others).push_back(part);
        }
    }
    named.insert(named.end(), others.begin(), others.end());
    return named;
}

/// What rows lack without a part, as a note.
std::string note_of(const Dropped& dropped, const PreflightPlan& plan,
                    const std::string& length_member) {
    const std::string refuses = "the server refuses " +
                                std::string(name_of(dropped.part, *plan.dialect)) + " (" +
                                dropped.reason + "): rows go ";
    switch (dropped.part) {
        case Part::ignore_eos:
            return refuses + "without it and may end early; --output cap counts no row as short";
        case Part::stream_options:
            return "warning: " + refuses + "without it, and the server may count no tokens" +
                   (plan.body.continuous_usage ? "; --continuous-usage has no effect" : "");
        case Part::length_name:
            break;
    }
    return refuses + "with " + length_member;
}

/// Sets which parts the next probes go without.
void leave_out(const std::vector<Dropped>& dropped, const PreflightPlan& plan,
               PreflightFindings& found) {
    found.ignore_eos = plan.body.ignore_eos && !was_dropped(dropped, Part::ignore_eos);
    found.stream_options = plan.body.stream_options && !was_dropped(dropped, Part::stream_options);
    found.length_member = was_dropped(dropped, Part::length_name)
                              ? std::string(other_length_member(*plan.dialect))
                              : plan.body.length_member;
}

/// The first part, in the order for this refusal, that has not been tried.
std::optional<Part> next_part(const PreflightPlan& plan, std::string_view refusal,
                              const std::vector<Part>& tried) {
    const std::vector<Part> order = order_of(plan, refusal);
    const auto next =
        std::find_if(order.begin(), order.end(), [&](Part part) { return !has(tried, part); });
    return next == order.end() ? std::nullopt : std::optional(*next);
}

/// Whether the server minds something else of the body now, or nothing any more.
bool did_help(const Probe& without, const Probe& before) {
    return without.ok || (refuses_body(without) && reason_of(without) != reason_of(before));
}

}  // namespace

/// A body was refused: leaves out one part after the other, and keeps one out where the server
/// minds something else then; at last all of them. `one` becomes an answer, or the refusal of what
/// it minds beside them.
Task<void> Preflight::leave_out_refused(const std::string& word, Probe& one) {
    std::vector<Dropped> dropped;
    std::vector<Part> tried;
    Probe latest = one;
    std::string body = asker_.reply().body;
    std::optional<Part> next = next_part(plan_, body, tried);
    while (next && !latest.ok && !asker_.stopped()) {  // each part once
        tried.push_back(*next);
        dropped.push_back({*next, reason_of(latest)});
        leave_out(dropped, plan_, findings_);
        Probe without = co_await probe(word);
        if (did_help(without, latest)) {
            latest = std::move(without);
            body = asker_.reply().body;
        } else {
            dropped.pop_back();
        }
        next = next_part(plan_, body, tried);
    }
    if (!latest.ok && tried.size() > 1 && dropped.empty()) {
        for (const Part part : tried) {
            dropped.push_back({part, reason_of(latest)});
        }
        leave_out(dropped, plan_, findings_);
        Probe without = co_await probe(word);
        if (without.ok) {
            latest = std::move(without);
        }
    }
    if (latest.ok) {
        for (const Dropped& part : dropped) {
            findings_.notes.push_back(note_of(part, plan_, findings_.length_member));
        }
    } else {
        leave_out({}, plan_, findings_);
    }
    one = std::move(latest);
}

}  // namespace driftless
