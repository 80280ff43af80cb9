/// Quiet: standard output leads nowhere until the result is there.
///
/// What is printed where, for all commands that run something: standard output has what was chosen
/// and what came of it, in that order; standard error has progress, warnings and errors. `--quiet`
/// leaves the result of the first, and warnings and errors of the second. Notes are printed in many
/// places; holding back the stream means that none of them can forget to ask.
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
