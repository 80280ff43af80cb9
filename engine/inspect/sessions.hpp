/// Sessions: how rows belong together in time.
#pragma once

#include <span>

#include "engine/inspect/figures.hpp"

namespace driftless {

/// Of the selected rows.
SessionFigures sessions_of(const Trace& trace, std::span<const Planned> rows);

}  // namespace driftless
