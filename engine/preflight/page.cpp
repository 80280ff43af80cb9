#include "engine/preflight/page.hpp"

namespace driftless {

namespace {

constexpr std::size_t page_timers = 8;

}  // namespace

PageAsker::PageAsker(Driver& driver, const AskedServer& server)
    : loop_(driver, page_timers), asker_(loop_, server) {}

const Reply* PageAsker::get(const std::string& path) {
    path_ = path;
    done_ = false;
    loop_.jobs().spawn(ask());
    asker_.run_until(done_);
    return answered_ ? &asker_.reply() : nullptr;
}

/// Root job; ends in `done_`.
Task<void> PageAsker::ask() {
    answered_ = co_await asker_.fetch("GET", path_, "");
    done_ = true;
}

}  // namespace driftless
