/// WarmUp: what is sent before the measurement, and when that begins.
///
///     priming --every primer ended--> warming --each further request ended--> over
///
/// Primers bring the server to where first trees begin (start_point.hpp). Then each user may send
/// so many requests more. What is released meanwhile and is neither is held until it is over.
/// Plain counts, owned by the releases; memory is taken when it is made.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "proto/core/check.hpp"

namespace driftless {

class WarmUp {
  public:
    enum class Stage : std::uint8_t { priming, warming, over };

    /// There is none: the measurement begins at time 0.
    WarmUp() : stage_(Stage::over) {}
    WarmUp(std::uint32_t users, std::uint32_t requests_each, std::size_t held_max)
        : requests_left_(users, requests_each) {
        held_.reserve(held_max);
    }

    Stage stage() const { return stage_; }
    bool is_over() const { return stage_ == Stage::over; }
    /// Everything of the stage has ended.
    bool stage_has_ended() const {
        return (stage_ == Stage::priming ? primers_ : primers_ + requests_) == 0;
    }

    void add_primer() { ++primers_; }
    /// A request that will be sent: whether it is one of the further ones of its user.
    bool take(std::uint32_t user) {
        if (is_over() || requests_left_[user] == 0) {
            return false;
        }
        --requests_left_[user];
        ++requests_;
        return true;
    }
    void note_end(bool of_primer) {
        std::uint32_t& unended = of_primer ? primers_ : requests_;
        CHECK(unended > 0);
        --unended;
    }
    void go_on() {
        CHECK(!is_over() && stage_has_ended());
        stage_ = stage_ == Stage::priming ? Stage::warming : Stage::over;
    }

    /// A request that waits for the end of the warm-up and nothing else, in that pass.
    struct Held {
        std::uint32_t request = 0;
        std::uint32_t pass = 0;
    };
    void hold(const Held& held) { held_.push_back(held); }
    /// Empty from here on.
    std::vector<Held> take_held() { return std::exchange(held_, {}); }

  private:
    Stage stage_ = Stage::priming;
    std::uint32_t primers_ = 0;                 ///< that have not ended
    std::uint32_t requests_ = 0;                ///< further ones that have not ended
    std::vector<std::uint32_t> requests_left_;  ///< [users]
    std::vector<Held> held_;
};

}  // namespace driftless
