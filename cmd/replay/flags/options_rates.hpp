/// The flags of rates.
///
/// Included by options.cpp only, like the flags that it adds to.
#pragma once

#include "cmd/options_flags.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/flags/rate_values.hpp"
#include "cmd/values.hpp"

namespace driftless {

inline void add_rate_flags(Flags& flags, ReplayOptions& options) {
    RateFlags& rates = options.workload.rates;
    flags.group("Rate");
    flags.value("--rate", "R",
                "rows per second (10, 2.5/s, 600/m), in file order, instead of recorded\n"
                "instants; with --sessions open or closed, sessions per second;\n"
                "inf: all at time 0, capped by --max-inflight [as recorded]",
                nullptr, parse_rate, rates.rate);
    flags.value("--arrivals", "LAW",
                "gaps of the rate: constant, poisson, gamma:K (K below 1 is burstier),\n"
                "or recorded (the recorded gaps, scaled to the rate) [poisson]",
                nullptr, parse_arrivals, rates.arrivals);
    flags.value("--ramp", "FROM:TO:OVER",
                "a rate that changes over a time, then stays: 1:20:60s, optionally\n"
                "followed by :linear, :exponential or :steps=N [none]",
                nullptr, parse_ramp, rates.ramp);
    flags.value("--shape", "FILE",
                "rate from lines of SECONDS,RATE, linear between; the last stays [none]", nullptr,
                parse_text, rates.shape_file);
    flags.value("--abandon", "P:T1..T2",
                "10%:2s..10s: clients give up this share of the requests, at a seeded\n"
                "time after the fire; they count as abandoned, not as failed [none]",
                nullptr, parse_abandon, options.sending.abandon);
}

}  // namespace driftless
