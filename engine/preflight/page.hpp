/// PageAsker: one page of a server at a time, for those who have no run: its status and body, by
/// the same way as a preflight. Owned by whoever asks; refers to the driver and the server.
#pragma once

#include <string>

#include "engine/preflight/asker.hpp"

namespace driftless {

class PageAsker {
  public:
    PageAsker(Driver& driver, const AskedServer& server);

    /// GET of a path. Bounded by the server's timeout, and ended by its `stop_requests`. Null where
    /// no answer came; valid until the next call.
    const Reply* get(const std::string& path);
    /// Why none came.
    std::string why() const { return asker_.why(); }

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return asker_.frames(); }
    ReadyList& ready() { return asker_.ready(); }

  private:
    Task<void> ask();

    Loop loop_;
    Asker asker_;
    std::string path_;
    bool answered_ = false;
    bool done_ = false;
};

}  // namespace driftless
