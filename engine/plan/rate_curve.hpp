/// RateCurve: a rate of arrivals as a function of time, and when the expected number of them
/// reaches a value: the inverse of its integral, in closed form. A process of mean gap 1 that is
/// taken through it keeps its law at every instant (the time change of point processes).
///
/// Made of pieces, one behind the other from time 0; behind the last one a rate holds for ever.
/// Rates are arrivals per second. The same bits on every machine (proto/core/portable_math.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace driftless {

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

}  // namespace driftless
