/// RetryingAsker: one question of a preflight, asked again where its answer is none: a limit of
/// requests, a connection that breaks off, a server that fails or is still loading. It waits in
/// between and reads no answer. Owned by the preflight.
#pragma once

#include <string>

#include "engine/preflight/preflight_context.hpp"
#include "engine/task/task.hpp"

namespace driftless {

class RetryingAsker {
  public:
    /// `--wait-ready` counts from here.
    explicit RetryingAsker(PreflightContext& context) : context_(context), begun_(context.now()) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// One question. A limit of requests is no answer to it: it is asked again, a few times. So is
    /// one that the server breaks off or fails at, and under `--wait-ready` one of the rows' API
    /// while nobody answers behind a gateway. False where no answer came: the asker says why.
    Task<bool> fetch(const std::string& method, const std::string& path, const std::string& body,
                     BodyWatch watch = {});

    /// The user wants to wait longer for a server that is not ready.
    bool patient() const;
    Task<void> pause(Duration length);
    /// Between two questions to a server that is not ready.
    static constexpr Duration ready_pause = milliseconds(500);

  private:
    Duration busy_pause(int times);
    bool broke(bool answered) const;
    void note_broken(bool answered);

    PreflightContext& context_;
    Instant begun_;
    bool busy_noted_ = false;
    bool broken_noted_ = false;
};

}  // namespace driftless
