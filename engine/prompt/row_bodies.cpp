#include "engine/prompt/row_bodies.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "engine/plan/row_values.hpp"
#include "proto/api/body.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

constexpr std::size_t shown_bytes_max = 80;  // of a value in a message

void refuse(const Trace& trace, const TraceRow& row, std::string problem, InputErrors& errors) {
    InputError error;
    error.file = trace.file_of(row);
    error.line = row.line;
    error.field = "extra";
    error.value = trace.extra_of(row).substr(0, shown_bytes_max);
    error.problem = "cannot be in this row's body: " + problem;
    error.remedy = "correct the row";
    errors.add(std::move(error));
}

}  // namespace

RowBodies::RowBodies(const RowBodySpec& spec, const Trace& trace, const Plan& plan,
                     InputErrors& errors) {
    if (!spec.members && trace.extras.empty()) {
        return;
    }
    const bool marked = spec.members && (spec.members->has(Placeholder::pass) ||
                                         spec.members->has(Placeholder::user));
    RowValues values(trace);
    std::unordered_map<std::string, std::uint32_t> numbers;  // by the members
    of_row_.assign(trace.rows.size(), 0);
    for (const Planned& planned : plan.rows) {
        const TraceRow& row = trace.rows[planned.row];
        values.set(row);
        BodySpec body = spec.body;
        if (spec.members) {
            body.extra_body = spec.members->fill(
                [&](const FieldTemplate& field) { return values.json_of(field); });
        }
        const std::string_view extra = trace.extra_of(row);
        body.extra_body = extra.empty() ? body.extra_body : joined_objects(extra, body.extra_body);
        const auto next = static_cast<std::uint32_t>(frames_.size());
        const auto [known, is_new] = numbers.emplace(body.extra_body, next);
        of_row_[planned.row] = known->second;
        if (!is_new) {
            continue;
        }
        Result<BodyFrame> frame = spec.dialect.frame(body);
        const std::string why =
            extra.empty() ? std::string() : refused_extra(spec.dialect, spec.body, extra);
        if (!frame || !why.empty()) {
            refuse(trace, row, frame ? why : why.empty() ? frame.error().doing : why, errors);
            frame = BodyFrame();
        } else {
            CHECK(frame.value().before.starts_with(spec.opening));
            frame.value().before.erase(0, spec.opening.size());
        }
        for (std::string* part :
             {&frame.value().before, &frame.value().between, &frame.value().after}) {
            *part = marked ? with_marks(std::move(*part)) : std::move(*part);
        }
        add(frame.value());
    }
}

void RowBodies::add(const BodyFrame& frame) {
    const std::uint64_t begin = bytes_.size();
    std::size_t number_bytes = 0;
    for (const std::string* part : {&frame.before, &frame.between, &frame.after}) {
        bytes_ += *part;
        number_bytes += marked_bytes_max(*part) - part->size();
    }
    number_bytes_max_ = std::max(number_bytes_max_, number_bytes);
    frames_.push_back({begin, static_cast<std::uint32_t>(frame.before.size()),
                       static_cast<std::uint32_t>(frame.between.size()),
                       static_cast<std::uint32_t>(frame.after.size()), frame.has_length});
}

FrameView RowBodies::of(std::uint32_t row) const {
    const Frame& frame = frames_[of_row_[row]];
    const std::string_view all =
        std::string_view(bytes_).substr(frame.begin, frame.before + frame.between + frame.after);
    return {all.substr(0, frame.before), all.substr(frame.before, frame.between),
            all.substr(frame.before + frame.between), frame.has_length};
}

}  // namespace driftless
