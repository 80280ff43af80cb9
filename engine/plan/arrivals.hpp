/// Arrivals: rows that come at a rate: how the rate goes with time (RateCurve), how gaps are drawn
/// (UnitGaps), and the plan that comes of both.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/plan.hpp"
#include "proto/core/errors.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// RateCurve: a rate of arrivals as a function of time, and when the expected number of them
// reaches a value: the inverse of its integral, in closed form. A process of mean gap 1 that is
// taken through it keeps its law at every instant (the time change of point processes).
//
// Made of pieces, one behind the other from time 0; behind the last one a rate holds for ever.
// Rates are arrivals per second. The same bits on every machine (proto/core/numbers.hpp).

/// How a rate goes from one value to another.
enum class RampForm : std::uint8_t { linear, exponential };

class RateCurve {
  public:
    /// One rate for ever. Rates are finite and not negative.
    explicit RateCurve(double per_second) : last_rate_(per_second) {}

    /// A piece behind the others, of a length above 0; behind it `to` holds. Exponential: both
    /// rates are above 0.
    void add(double length_s, double from, double to, RampForm form = RampForm::linear);

    /// That rate holds behind the last piece, in the place of where it leads to.
    void hold(double per_second) { last_rate_ = per_second; }

    /// The latest instant, in seconds, at which no more than so many arrivals are expected; nothing
    /// where the curve ends with rate 0 before. `arrivals` is not negative.
    std::optional<double> seconds_at(double arrivals) const;
    /// Arrivals that are expected by then.
    double arrivals_by(double seconds) const;

    /// It holds behind the last piece.
    double last_rate() const { return last_rate_; }
    /// Nothing ever arrives.
    bool is_zero() const { return last_rate_ == 0 && arrivals_ == 0; }

  private:
    struct Piece {
        double begin_s = 0;
        double length_s = 0;
        double from = 0;
        double to = 0;
        double arrivals = 0;  ///< that are expected before it
        double expected = 0;  ///< .. and within it
        RampForm form = RampForm::linear;
    };
    const Piece* piece_at(double seconds) const;
    static double within(const Piece& piece, double arrivals);

    std::vector<Piece> pieces_;
    double end_s_ = 0;     ///< of the last piece
    double arrivals_ = 0;  ///< that are expected in all pieces
    double last_rate_ = 0;
};

// UnitGaps: the gaps of an arrival process whose mean gap is 1, by their number.
//
// Gap i depends on the law, the seed and i alone, on every machine: who sends every Nth row of a
// trace takes its gaps from the same sequence as who sends all of them.

enum class ArrivalLaw : std::uint8_t {
    constant,  ///< all gaps are 1
    poisson,   ///< exponential
    gamma,     ///< of a shape: 1 is exponential, below 1 burstier, above 1 more even
    recorded,  ///< as the trace has them; none is drawn
};

/// Bounds of the shape of a gamma law: at the least, one gap in a thousand is longer than 0.001; at
/// the most, gaps differ by a thousandth.
inline constexpr double gamma_shape_min = 0.01;
inline constexpr double gamma_shape_max = 1e6;

class UnitGaps {
  public:
    /// `shape`: of a gamma law, within its bounds.
    UnitGaps(ArrivalLaw law, double shape, std::uint64_t seed);

    /// The gap in front of arrival `number`, from 1 on.
    double gap(std::uint64_t number) const;

  private:
    ArrivalLaw law_;
    double shape_;
    std::uint64_t seed_;
};

// Arrivals: rows that come at a rate, in the place of their recorded instants. Rows are taken in
// the order of the file; what they ask for and share stays.
//
// The first one arrives at time 0 (or where the rate begins), and arrival i behind i gaps of an
// arrival process, taken through the curve of the rate. It
// depends on the rules, the seed and i alone: those who send a part of the trace each take their
// places from one sequence.

/// A rate that goes by the number of the row, from the first to the last: what vllm bench ramps.
struct RampOverRows {
    double from = 0;  ///< per second, above 0
    double to = 0;
    RampForm form = RampForm::linear;
};

struct ArrivalRules {
    bool all_at_once = false;  ///< `--rate inf`: nothing below means anything
    RateCurve curve = RateCurve(1);
    std::optional<RampOverRows> over_rows;  ///< in the place of the curve
    ArrivalLaw law = ArrivalLaw::poisson;
    double shape = 1;  ///< of a gamma law
    /// The drawn gaps are stretched so that their mean is exactly 1: what vllm bench sends, and no
    /// Poisson process.
    bool scaled = false;
    std::uint64_t seed = 0;
    /// Trees of sessions arrive, each as it was recorded behind its first row; else rows do.
    bool by_trees = false;
    /// `--duration`: what would arrive later is not sent.
    std::optional<std::int64_t> duration_ns;
};

/// So many arrivals, in ns from time 0; fewer, where the rate ends before. `recorded_ns`: of a
/// recorded law, their instants. Errors: invalid, where those are all the same; out_of_range, where
/// the last one is due in 73 years.
Result<std::vector<std::int64_t>> arrival_times(const ArrivalRules& rules, std::size_t count,
                                                const std::vector<std::int64_t>& recorded_ns = {});

/// The plan with the dues of the arrivals, without the rows that do not arrive. Errors: as above;
/// not_found, where none arrives.
Result<Plan> arrive(const ArrivalRules& rules, const Trace& trace, Plan plan);

/// Arrivals a second from the first to the last due; nothing where all come at once. Of trees: of
/// their first rows.
std::optional<double> planned_rate(const ArrivalRules& rules, const Trace& trace, const Plan& plan);

}  // namespace driftless
