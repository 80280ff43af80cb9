/// Fd: a file descriptor that is closed where its owner ends. Move-only.
#pragma once

#include <unistd.h>

#include <utility>

namespace driftless {

class Fd {
  public:
    Fd() = default;
    /// Owns it; below 0: there is none.
    explicit Fd(int number) : number_(number) {}
    Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Fd() { close(); }

    int number() const { return number_; }
    bool is_open() const { return number_ >= 0; }
    void close() {
        if (is_open()) {
            (void)::close(std::exchange(number_, -1));
        }
    }

  private:
    int number_ = -1;
};

}  // namespace driftless
