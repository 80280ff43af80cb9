/// Probes: points at which bpftrace, perf or SystemTap can look into a running replay (USDT), in
/// the order in which a request meets them: fire, receive, chunk, record. Instants are readings of
/// CLOCK_MONOTONIC. Each is one no-op instruction until somebody attaches, and nothing at all where
/// <sys/sdt.h> (Debian: systemtap-sdt-dev) was missing at build. They decide nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(DRIFTLESS_PROBES)
#include <sys/sdt.h>
#else
#define DTRACE_PROBE2(provider, name, a, b) ((void)(a), (void)(b))
#define DTRACE_PROBE3(provider, name, a, b, c) ((void)(a), (void)(b), (void)(c))
#endif

namespace driftless {

/// A row was handed to the kernel: planned position, due and fired instants, ns.
inline void probe_fire(std::uint32_t planned, std::int64_t due_ns, std::int64_t fired_ns) {
    DTRACE_PROBE3(driftless, fire, planned, due_ns, fired_ns);
}

/// Bytes of an answer were taken up: planned position, bytes, stamp.
inline void probe_receive(std::uint32_t planned, std::size_t bytes, std::int64_t stamp_ns) {
    DTRACE_PROBE3(driftless, receive, planned, bytes, stamp_ns);
}

/// An event of a stream was found in them: planned position, bytes, stamp.
inline void probe_chunk(std::uint32_t planned, std::size_t bytes, std::int64_t stamp_ns) {
    DTRACE_PROBE3(driftless, chunk, planned, bytes, stamp_ns);
}

/// The writer finished a record: row in the trace, outcome (number in record.hpp).
inline void probe_record(std::uint32_t row, unsigned outcome) {
    DTRACE_PROBE2(driftless, record, row, outcome);
}

}  // namespace driftless
