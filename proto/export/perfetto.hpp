/// PerfettoTrace: a trace of Perfetto's TrackEvent packets, appended to a string: tracks, slices,
/// instants.
///
/// A trace is a sequence of packets, each complete by itself: a truncated file opens up to its last
/// whole packet, and two traces one after the other are one trace. Fields and their numbers:
/// perfetto.dev/docs/reference/synthetic-track-event and
/// perfetto.dev/docs/reference/trace-packet-proto.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace driftless {

enum class ArgumentKind : std::uint8_t { integer, number, boolean, text };

/// What a slice or an instant says of itself (a debug annotation).
struct TraceArgument {
    std::uint32_t name = 0;  ///< index among the names that `begin` was given
    ArgumentKind kind = ArgumentKind::integer;
    std::int64_t integer = 0;  ///< a boolean: 0 or 1
    double number = 0;
    std::string_view text{};
};

class PerfettoTrace {
  public:
    /// `sequence`, not 0, tells traces apart that are put one behind the other. The caller owns
    /// `out` and may empty it between the calls.
    PerfettoTrace(std::string& out, std::uint32_t sequence) : out_(out), sequence_(sequence) {}

    /// The first packet: the names of all arguments, which packets then refer to by number.
    void begin(std::span<const std::string_view> argument_names);
    /// Tells of a track before anything is on it. `uuid` is unique among all traces that are put
    /// together; `parent` 0: none. Tracks of one name and parent are shown as one.
    void track(std::uint64_t uuid, std::uint64_t parent, std::string_view name);

    // `at_ns` is never negative. Slices of a track must nest, and begin and end in the order of
    // time; of equal times the order of the calls counts.
    void slice_begin(std::uint64_t track, std::int64_t at_ns, std::string_view name,
                     std::span<const TraceArgument> arguments = {});
    void slice_end(std::uint64_t track, std::int64_t at_ns);
    void instant(std::uint64_t track, std::int64_t at_ns, std::string_view name,
                 std::span<const TraceArgument> arguments = {});

  private:
    void event(std::uint32_t type, std::uint64_t track, std::int64_t at_ns, std::string_view name,
               std::span<const TraceArgument> arguments);

    std::string& out_;
    std::uint32_t sequence_;
};

}  // namespace driftless
