/// RefusedParts: what a server refuses of a body and rows can go without: `ignore_eos`,
/// `stream_options`, the name of the member that bounds an answer. Leaves them out one after the
/// other until a body is accepted. Owned by BodyForm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/preflight/probe_sender.hpp"

namespace driftless {

class RefusedParts {
  public:
    RefusedParts(PreflightContext& context, ProbeSender& sender)
        : context_(context), sender_(sender) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// A body with this prompt was refused, and `one` is the refusal: leaves out one part after the
    /// other, and keeps one in where the server minds the same without it; at last all of them.
    /// `one` becomes an answer, or the refusal of what the server minds beside them.
    Task<void> leave_out(const std::string& prompt, Probe& one);

  private:
    enum class Part : std::uint8_t { ignore_eos, stream_options, length_name };
    /// A part that is left out, and the refusal for which it is.
    struct Dropped {
        Part part;
        std::string reason;
    };

    Task<void> leave_out_each(const std::string& prompt, Probe& latest);
    Task<void> leave_out_all(const std::string& prompt, Probe& latest);
    std::optional<Part> next_part(std::string_view refusal) const;
    bool in_body(Part part, bool may_mean) const;
    std::string_view name_of(Part part) const;
    bool was_dropped(Part part) const;
    void apply();
    std::string note_of(const Dropped& dropped) const;

    static constexpr Part all_parts[] = {Part::ignore_eos, Part::stream_options, Part::length_name};

    PreflightContext& context_;
    ProbeSender& sender_;
    std::vector<Part> tried_;
    std::vector<Dropped> dropped_;
};

}  // namespace driftless
