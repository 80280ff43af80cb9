/// PreflightContext: what the parts of a preflight share: the plan, the one who asks, what was
/// found so far, and why it failed. Owned by the preflight; each part holds a reference. It decides
/// nothing.
#pragma once

#include <string>
#include <utility>

#include "engine/preflight/asker.hpp"
#include "engine/preflight/findings.hpp"
#include "engine/preflight/preflight_plan.hpp"

namespace driftless {

struct PreflightContext {
    /// Requests are numbered from `first`.
    PreflightContext(Loop& loop, const PreflightPlan& given, std::uint32_t first)
        : plan(given), asker(loop, plan.server, first), model(given.body.model) {}
    PreflightContext(const PreflightContext&) = delete;  // the asker refers to the plan
    PreflightContext& operator=(const PreflightContext&) = delete;

    const PreflightPlan plan;
    Asker asker;
    std::string model;  ///< as rows name it; `findings.model` is the same, masked
    PreflightFindings findings;
    PreflightFailure failure;

    void note(std::string line) { findings.notes.push_back(std::move(line)); }
    /// Says why the preflight ends here; false.
    bool fail(std::string why) {
        failure.text = std::move(why);
        return false;
    }
    Instant now() const { return asker.loop().driver().now(); }
};

}  // namespace driftless
