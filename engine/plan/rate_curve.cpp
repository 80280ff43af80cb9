#include "engine/plan/rate_curve.hpp"

#include <algorithm>
#include <cmath>

#include "proto/core/check.hpp"
#include "proto/core/portable_math.hpp"

namespace driftless {

namespace {

/// Arrivals so long after the begin of a piece.
double expected_by(double seconds, double length_s, double from, double to, RampForm form) {
    if (form == RampForm::linear || from == to) {
        return seconds * (from + (to - from) * seconds / length_s / 2);
    }
    const double slope = portable_log(to / from) / length_s;
    return from * (portable_exp(slope * seconds) - 1) / slope;
}

}  // namespace

void RateCurve::add(double length_s, double from, double to, RampForm form) {
    CHECK(length_s > 0 && from >= 0 && to >= 0 && std::isfinite(from) && std::isfinite(to));
    CHECK(form == RampForm::linear || (from > 0 && to > 0));
    Piece piece{end_s_, length_s, from, to, arrivals_, 0, form};
    piece.expected = expected_by(length_s, length_s, from, to, form);
    pieces_.push_back(piece);
    end_s_ += length_s;
    arrivals_ += piece.expected;
    last_rate_ = to;
}

/// Seconds from the begin of the piece, in which so many are expected; fewer than in all of it.
double RateCurve::within(const Piece& piece, double arrivals) {
    if (arrivals <= 0) {
        return 0;
    }
    double seconds = 0;
    if (piece.form == RampForm::linear || piece.from == piece.to) {
        const double rise = (piece.to - piece.from) / piece.length_s;
        const double square = piece.from * piece.from + 2 * arrivals * rise;
        seconds = 2 * arrivals / (piece.from + std::sqrt(std::max(square, 0.0)));
    } else {
        const double slope = portable_log(piece.to / piece.from) / piece.length_s;
        const double growth = 1 + arrivals * slope / piece.from;
        const double least = std::min(1.0, piece.to / piece.from);
        seconds = portable_log(std::max(growth, least)) / slope;
    }
    return std::min(seconds, piece.length_s);
}

const RateCurve::Piece* RateCurve::piece_at(double seconds) const {
    const auto piece = std::upper_bound(
        pieces_.begin(), pieces_.end(), seconds,
        [](double wanted, const Piece& one) { return wanted < one.begin_s + one.length_s; });
    return piece == pieces_.end() ? nullptr : &*piece;
}

std::optional<double> RateCurve::seconds_at(double arrivals) const {
    CHECK(arrivals >= 0);
    const auto piece = std::upper_bound(
        pieces_.begin(), pieces_.end(), arrivals,
        [](double wanted, const Piece& one) { return wanted < one.arrivals + one.expected; });
    if (piece != pieces_.end()) {
        return piece->begin_s + within(*piece, arrivals - piece->arrivals);
    }
    if (last_rate_ == 0) {
        return std::nullopt;
    }
    return end_s_ + std::max(arrivals - arrivals_, 0.0) / last_rate_;
}

double RateCurve::arrivals_by(double seconds) const {
    const Piece* const piece = piece_at(seconds);
    if (piece == nullptr) {
        return arrivals_ + (seconds - end_s_) * last_rate_;
    }
    return piece->arrivals + expected_by(seconds - piece->begin_s, piece->length_s, piece->from,
                                         piece->to, piece->form);
}

}  // namespace driftless
