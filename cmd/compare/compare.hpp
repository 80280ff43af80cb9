/// `driftless compare`: is one server better than the other, or is it chance? Two runs, two groups
/// of repeats, or the two sides of one run, by the files that they wrote.
#pragma once

namespace driftless {

/// `argv[0]` is the command's name. Returns the exit code.
int run_compare(int argc, char** argv);

}  // namespace driftless
