/// ServerPages: the pages on which a server tells about itself: its models, their limits, the size
/// of its cache blocks. Sends no prompt. Owned by the preflight.
#pragma once

#include <string>

#include "engine/preflight/retrying_asker.hpp"

namespace driftless {

class ServerPages {
  public:
    ServerPages(PreflightContext& context, RetryingAsker& retrying)
        : context_(context), retrying_(retrying) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// `GET /v1/models`, again and again under `--wait-ready`, until it lists a model: gateways
    /// answer before they have a worker. It need not be the one that the user named, which may be
    /// an alias that is never listed. A server without that page is fine where the user named the
    /// model. False: the preflight has failed.
    Task<bool> ask_models();
    /// The page on which some servers tell their context, each in its own words; only where the
    /// models told none.
    Task<void> ask_info();
    /// The size of the cache's blocks, where nothing has reported it: vLLM's /metrics do.
    Task<void> ask_metrics();

  private:
    void read_models();
    bool choose_model();
    bool fail_models();

    PreflightContext& context_;
    RetryingAsker& retrying_;
    std::string first_model_;  ///< of the list, unmasked
};

}  // namespace driftless
