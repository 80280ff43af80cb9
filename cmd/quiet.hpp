/// Quiet: standard output leads nowhere until the result is there.
///
/// All commands that run something print alike: standard output has what was chosen, then the
/// result; standard error has progress, warnings and errors. `--quiet` keeps only the result of the
/// former, and only warnings and errors of the latter. Notes are printed in many places; holding
/// back the stream covers all of them.
#pragma once

namespace driftless {

class Quiet {
  public:
    /// Holds standard output back from here on, if `quiet`.
    explicit Quiet(bool quiet);
    ~Quiet();
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

    /// What is printed from here on is seen again. Harmless where nothing is held back.
    void end();

  private:
    int kept_ = -1;  ///< standard output as it was; -1: nothing is held back
};

}  // namespace driftless
