/// `driftless merge`: the runs of the shards of one replay become one run.
#pragma once

namespace driftless {

/// Exit codes: 0 done, 2 usage, 3 the runs cannot be merged, 7 the host fails.
int run_merge(int argc, char** argv);

}  // namespace driftless
