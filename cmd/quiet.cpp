#include "cmd/quiet.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace driftless {

Quiet::Quiet(bool quiet) {
    if (!quiet) {
        return;
    }
    std::fflush(stdout);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    kept_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (nowhere >= 0 && kept_ >= 0) {
        (void)::dup2(nowhere, STDOUT_FILENO);
    }
    if (nowhere >= 0) {
        (void)::close(nowhere);
    }
}

Quiet::~Quiet() {
    end();
}

void Quiet::end() {
    if (kept_ >= 0) {
        std::fflush(stdout);
        (void)::dup2(kept_, STDOUT_FILENO);
        (void)::close(kept_);
        kept_ = -1;
    }
}

}  // namespace driftless
