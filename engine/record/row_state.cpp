#include "engine/record/row_state.hpp"

#include <utility>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// Memory that a finished row may keep for the next one.
constexpr std::size_t kept_bytes_max = 64 * 1024;

std::string emptied(std::string&& text) {
    std::string kept = std::move(text);
    kept.clear();
    if (kept.capacity() > kept_bytes_max) {
        kept.shrink_to_fit();
    }
    return kept;
}

}  // namespace

void RowState::reset(const Due& whose, std::uint32_t number_in_run, bool keep_text) {
    std::string old_head = emptied(std::move(head));
    std::string old_pending = emptied(std::move(pending));
    AnswerState old_answer = std::move(answer);
    old_answer.reset(keep_text);
    *this = RowState{};
    head = std::move(old_head);
    pending = std::move(old_pending);
    answer = std::move(old_answer);
    due = whose;
    number = number_in_run;
    CHECK(head.empty() && pending.empty() && body == BodyKind::unknown);
}

}  // namespace driftless
