/// MeetGuests: the connections that a MeetHost has, and how far each of them is. It keeps them
/// apart: what one says touches no other, but for what ends the meeting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/meet/meet_host.hpp"
#include "engine/meet/meet_line.hpp"
#include "proto/json/document.hpp"

namespace driftless {

class MeetGuests {
  public:
    /// `setting` outlives it.
    explicit MeetGuests(const MeetSetting& setting);

    /// A connection to the listening socket; what it has sent already is read. Where there are too
    /// many, the one that has been silent for longest makes room: never a guest that said who it
    /// is.
    void add(MeetSocket socket, const std::string& address);
    /// Reads what has come of each; at most `nap_ms` until something does, at `listener` too.
    void serve(int listener, int nap_ms);

    /// Why nobody begins, once it is known; else empty.
    const std::string& failure() const { return failure_; }
    bool all_measured() const;
    /// Those that neither are here nor have been measured.
    std::vector<std::uint32_t> absent() const;
    /// Those whose clocks have not been compared, here or not.
    std::vector<std::uint32_t> unmeasured() const;

    /// To all of them; their answers are awaited.
    void start(std::int64_t at_ns);
    bool all_set() const;
    /// Those that have not confirmed time 0.
    std::vector<std::uint32_t> not_set() const;
    void go();
    /// Tells all of them why nobody begins.
    void refuse_all(const std::string& why);

  private:
    enum class Stage : std::uint8_t { stranger, waiting, measuring, measured, set, gone };
    struct Guest {
        MeetLine line;
        std::string address;
        Stage stage = Stage::stranger;
        std::uint32_t index = 0;
        std::uint32_t asked = 0;
        std::int64_t greets_until_ns = 0;
    };

    void hear(Guest& guest);
    void take(Guest& guest, const MeetMessage& message);
    void greet(Guest& guest, const MeetHello& hello);
    void refuse(Guest& guest, const std::string& why);
    void drop(Guest& guest, const std::string& why);
    void say_of_stranger(const std::string& note);
    void make_room();
    void let_measure();
    void sweep();
    Guest* known(std::uint32_t index);

    const MeetSetting& setting_;
    std::vector<Guest> guests_;
    std::vector<bool> done_;  ///< [parts] after the run: their clocks are measured
    JsonDocument document_;
    bool starting_ = false;
    std::uint32_t strangers_said_ = 0;
    std::string failure_;
};

}  // namespace driftless
