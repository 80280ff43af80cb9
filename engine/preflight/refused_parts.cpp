#include "engine/preflight/refused_parts.hpp"

#include <algorithm>
#include <utility>

namespace driftless {

namespace {

/// Whether the server minds something else of the body now, or nothing any more.
bool did_help(const Probe& without, const Probe& before) {
    return without.ok || (refuses_body(without) && reason_of(without) != reason_of(before));
}

}  // namespace

Task<void> RefusedParts::leave_out(const std::string& prompt, Probe& one) {
    tried_.clear();
    dropped_.clear();
    Probe latest = one;
    co_await leave_out_each(prompt, latest);
    if (!latest.ok && tried_.size() > 1 && dropped_.empty()) {
        co_await leave_out_all(prompt, latest);
    }
    if (!latest.ok) {
        dropped_.clear();
        apply();
    }
    for (const Dropped& dropped : dropped_) {
        context_.note(note_of(dropped));
    }
    one = std::move(latest);
}

/// One part after the other, until a body is accepted or none is left to try. A part stays out
/// where the server minds something else without it.
Task<void> RefusedParts::leave_out_each(const std::string& prompt, Probe& latest) {
    std::string refusal = context_.asker.reply().body;
    while (!latest.ok && !context_.asker.stopped()) {  // bounded: `next_part` tells each part once
        const std::optional<Part> part = next_part(refusal);
        if (!part) {
            break;
        }
        tried_.push_back(*part);
        dropped_.push_back({*part, reason_of(latest)});
        apply();
        Probe without = co_await sender_.send(prompt);
        if (did_help(without, latest)) {
            latest = std::move(without);
            refusal = context_.asker.reply().body;
        } else {
            dropped_.pop_back();
        }
    }
}

/// None of them alone was what the server minds: all that were tried, together.
Task<void> RefusedParts::leave_out_all(const std::string& prompt, Probe& latest) {
    for (const Part part : tried_) {
        dropped_.push_back({part, reason_of(latest)});
    }
    apply();
    Probe without = co_await sender_.send(prompt);
    if (without.ok) {
        latest = std::move(without);
    }
}

/// The part to leave out next: those that the refusal names come first; nothing where all that the
/// body has were tried.
std::optional<RefusedParts::Part> RefusedParts::next_part(std::string_view refusal) const {
    std::optional<Part> unnamed;
    for (const Part part : all_parts) {
        const bool named = refusal.find(name_of(part)) != refusal.npos;
        const bool was_tried = std::find(tried_.begin(), tried_.end(), part) != tried_.end();
        if (was_tried || !in_body(part, named || refusal.empty())) {
            continue;
        }
        if (named) {
            return part;
        }
        unnamed = unnamed ? unnamed : part;
    }
    return unnamed;
}

/// The rows' bodies have this part. Another name of the length is tried only where the refusal
/// `may_mean` this one: it names it, or says nothing.
bool RefusedParts::in_body(Part part, bool may_mean) const {
    const BodySpec& body = context_.plan.body;
    const Dialect& dialect = *context_.plan.dialect;
    switch (part) {
        case Part::ignore_eos:
            return body.ignore_eos && body.output == OutputRule::exact;
        case Part::stream_options:
            return dialect.has_stream_options && body.stream;
        case Part::length_name:
            break;
    }
    return dialect.has_two_length_names && body.length_member.empty() &&
           body.output != OutputRule::free && may_mean;
}

/// As the part stands in the body.
std::string_view RefusedParts::name_of(Part part) const {
    switch (part) {
        case Part::ignore_eos:
            return "ignore_eos";
        case Part::stream_options:
            return "stream_options";
        case Part::length_name:
            break;
    }
    return context_.plan.dialect->length_member;
}

bool RefusedParts::was_dropped(Part part) const {
    return std::any_of(dropped_.begin(), dropped_.end(),
                       [part](const Dropped& one) { return one.part == part; });
}

/// Sets which parts the next probes, and the rows, go without.
void RefusedParts::apply() {
    const BodySpec& body = context_.plan.body;
    PreflightFindings& found = context_.findings;
    found.ignore_eos = body.ignore_eos && !was_dropped(Part::ignore_eos);
    found.stream_options = body.stream_options && !was_dropped(Part::stream_options);
    found.length_member = was_dropped(Part::length_name)
                              ? std::string(other_length_member(*context_.plan.dialect))
                              : body.length_member;
}

/// What rows lack without a part.
std::string RefusedParts::note_of(const Dropped& dropped) const {
    const std::string refuses = "the server refuses " + std::string(name_of(dropped.part)) + " (" +
                                dropped.reason + "): rows are sent ";
    switch (dropped.part) {
        case Part::ignore_eos:
            return refuses + "without it and may end early; --output cap counts no row as short";
        case Part::stream_options:
            return "warning: " + refuses + "without it, and the server may count no tokens" +
                   (context_.plan.body.continuous_usage ? "; --continuous-usage has no effect"
                                                        : "");
        case Part::length_name:
            break;
    }
    return refuses + "with " + context_.findings.length_member;
}

}  // namespace driftless
