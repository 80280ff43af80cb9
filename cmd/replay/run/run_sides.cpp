#include "cmd/replay/run/run_sides.hpp"

#include <cerrno>
#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/screen/guard.hpp"
#include "engine/history/finished_trees.hpp"

namespace driftless {

/// Before anything is sent: an address that another process has stops the run.
int RunSides::start_page() {
    const std::optional<Url>& place = parts_.invocation().options.metrics.listen;
    if (!place) {
        return exit_done;
    }
    const std::string text = place_text(*place);
    const Result<std::vector<Address>> found = resolve(place->host, place->port);
    if (!found || found.value().empty()) {
        complain(
            "driftless: --listen %s: is not an address of this host; use 127.0.0.1 or "
            "another local address",
            text.c_str());
        return exit_usage;
    }
    if (const Result<void> listens = page_.listen(found.value().front()); !listens) {
        const bool is_taken = listens.error().sys_errno == EADDRINUSE;
        complain("driftless: --listen %s: %s", text.c_str(),
                 is_taken ? "another process listens there; use another port"
                          : reason_of(listens.error()).c_str());
        return exit_usage;
    }
    if (const Result<void> started = page_.start(&cpus_); !started) {
        return fail_host("thread of --listen", started.error());
    }
    print_line("listening: http://%s/metrics has this run's own figures", text.c_str());
    return exit_done;
}

int RunSides::start(std::uint32_t segment) {
    const int code = start_page();
    return code == exit_done ? metrics_.start(segment, cpus_) : code;
}

int RunSides::open(const std::string& folder, std::uint32_t segment) {
    int code = events_.open(folder, segment);
    if (code == exit_done) {
        code = metrics_.open(folder, segment);
    }
    if (code != exit_done && segment == 0) {
        discard();
    }
    return code;
}

int RunSides::begin(Instant zero, std::int64_t from_ns) {
    metrics_.begin(zero);
    return events_.start(zero, from_ns, cpus_);
}

void RunSides::stop() {
    metrics_.stop();
    events_.stop();
    page_.stop();
}

void RunSides::discard() {
    events_.discard();
    metrics_.discard();
}

void RunSides::sum_up(const std::string& folder, const SummaryFigures& figures,
                      SummaryInfo& info) const {
    info.server = metrics_.totals(folder, figures.timeline.spans);
    if (info.server && info.server->joules) {
        const std::string& records = parts_.invocation().options.results.records_path;
        info.finished_trees =
            count_finished_trees(records.empty() ? folder + "/requests.jsonl" : records);
    }
}

}  // namespace driftless
