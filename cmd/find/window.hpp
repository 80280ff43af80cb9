/// The window of a search: the flag of its replays that says how long one lasts, and by how much it
/// is lengthened. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace driftless {

class Window {
  public:
    /// Looks for `--for` or `--duration` among the flags of a replay; the last one counts.
    explicit Window(std::vector<std::string> replay_flags);

    /// Whether there is a time that can still be lengthened: it is below `longest` times what was
    /// typed.
    bool can_grow() const;
    /// Lengthens it so that a run that had `rows` would have `wanted`, with a fifth to spare.
    void grow(std::uint64_t rows, std::uint64_t wanted);

    /// The flags with the window as it is now.
    std::vector<std::string> flags() const;
    /// "20s"; empty where there is none.
    std::string text() const;

    static constexpr double longest = 64;  ///< times what was typed

  private:
    std::vector<std::string> flags_;
    std::size_t at_ = 0;         ///< index of the word that holds the time
    std::string before_;         ///< of that word: "--for=", or nothing
    std::int64_t typed_ns_ = 0;  ///< 0: there is none
    double times_ = 1;
};

}  // namespace driftless
