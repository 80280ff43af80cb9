/// Outgoing: bytes of a connection on their way out.
///
/// Those that are ready leave before what is produced; under Fault::slow the first bytes of an
/// answer leave one by one, a byte for each produce, and the rest as it comes. Knows nothing of
/// time.
#pragma once

#include <cstdint>
#include <string>

namespace driftless::mock {

/// Bytes that Fault::slow sends one by one.
inline constexpr std::uint32_t slow_bytes = 200;

class Outgoing {
  public:
    /// Forgets everything: a new connection.
    void clear();

    /// What is appended here leaves at the next produce, before all else.
    std::string& ready() { return ready_; }
    /// An answer follows, whose first bytes leave one by one or do not.
    void begin_answer(bool slow) { slow_left_ = slow ? slow_bytes : 0; }

    bool is_waiting() const { return !ready_.empty() || !slow_.empty(); }

    /// Around each produce: `begin` gives the place for what is produced, behind what was ready;
    /// `finish` appends what may leave of it to `out`, the same string.
    std::string& begin(std::string& out);
    void finish(std::string& out);

  private:
    std::string ready_;
    std::string slow_;  ///< produced, leaving byte by byte
    std::uint32_t slow_left_ = 0;
    bool is_slow_ = false;  ///< what is produced goes through `slow_`
};

}  // namespace driftless::mock
