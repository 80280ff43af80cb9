/// The servers of further `--url`s: each is asked everything that the first was, before a row is
/// sent. A server that is down or serves another model would cost its share of the rows.
#pragma once

#include "cmd/or_exit.hpp"
#include "cmd/replay/invocation.hpp"
#include "cmd/replay/server/server.hpp"
#include "engine/io/driver.hpp"

namespace driftless {

/// `first` has been asked. Prints a line for each of the others, and returns what must hold for all
/// of them (words, context, ignore_eos).
OrExit<Server> meet_others(const Invocation& invocation, Driver& driver, Server first);

}  // namespace driftless
