/// What run.json says of `--goodput`: the limits of the rows of no group, and of each group.
#pragma once

#include "engine/stats/goodput.hpp"
#include "proto/json/write.hpp"

namespace driftless {

void write_goodput(JsonWriter& json, const GoodputRules& rules);

}  // namespace driftless
