#include "cmd/sweep/dry_run.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cmd/cells/cell.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/stop.hpp"
#include "cmd/whole_file.hpp"
#include "proto/core/sys_error.hpp"

namespace driftless {

namespace {

constexpr double ns_per_second = 1e9;

/// A folder of ours that is gone afterwards.
class Scratch {
  public:
    Scratch() {
        const char* temporary = std::getenv("TMPDIR");
        path_ = std::string(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp") +
                "/driftless-sweep-XXXXXX";
        made_ = ::mkdtemp(path_.data()) != nullptr;
    }
    ~Scratch() {
        std::error_code ignored;
        made_ ? void(std::filesystem::remove_all(path_, ignored)) : void();
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    bool made() const { return made_; }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
    bool made_ = false;
};

struct Estimate {
    std::uint64_t rows = 0;
    double seconds = 0;
    bool at_least = false;  ///< answers decide how long it takes
};

/// Of a closed loop: what --for says, else the least that its gaps allow.
std::optional<Estimate> read_estimate(const std::string& folder) {
    const Result<std::string> text = read_whole_file(folder + "/run.json");
    JsonDocument document;
    const Result<JsonValue> root =
        text ? document.parse(text.value()) : Result<JsonValue>(text.error());
    if (!root) {
        return std::nullopt;
    }
    const JsonValue plan = root.value().find("plan");
    Estimate estimate;
    estimate.rows = plan.find("rows").as_u64().value_or(0);
    const std::optional<double> least = plan.find("least_ns").as_double();
    const std::optional<double> profile = plan.find("users").find("for_ns").as_double();
    const bool closed = plan.find("users").is(JsonType::object) || least;
    estimate.at_least = closed && !profile;
    estimate.seconds = (profile ? *profile
                        : least ? *least
                                : plan.find("last_due_ns").as_double().value_or(0)) /
                       ns_per_second;
    return estimate;
}

void print_cell(const PlannedCell& cell, const CellEnd& end,
                const std::optional<Estimate>& estimate) {
    if (!estimate) {
        print_line("%s: %s", cell.name.c_str(), end.why.c_str());
        return;
    }
    print_line("%s: %llu rows, %s%.1f s", cell.name.c_str(),
               static_cast<unsigned long long>(estimate->rows),
               estimate->at_least ? "at least " : "", estimate->seconds);
}

}  // namespace

int dry_run_sweep(const Ledger& ledger) {
    const Scratch scratch;
    if (!scratch.made()) {
        return fail_host("TMPDIR", error_from_errno(errno, "make a temporary folder"));
    }
    double seconds = 0;
    bool at_least = false;
    bool failed = false;
    for (const LedgerCell& cell : ledger.cells) {
        if (cell.planned.repeat > 1 || stop_requests().load() > 0) {
            continue;
        }
        const std::string folder = scratch.path() + "/" + cell.planned.folder;
        std::vector<std::string> arguments = arguments_of(ledger.plan, cell.planned);
        arguments.emplace_back("--dry-run");
        const CellEnd end = run_cell({arguments, folder});
        const std::optional<Estimate> estimate = read_estimate(folder);
        print_cell(cell.planned, end, estimate);
        failed = failed || !estimate;
        seconds += estimate ? estimate->seconds : 0;
        at_least = at_least || (estimate && estimate->at_least);
    }
    if (stop_requests().load() > 0) {
        return exit_interrupted;
    }
    print_line(
        "dry run: %zu cells, %s%.1f s of load, plus hooks, waiting for an idle server, preflight "
        "and up to a second of calibration per cell; nothing was sent",
        ledger.cells.size(), at_least ? "at least " : "",
        seconds * static_cast<double>(ledger.plan.repeat));
    return failed ? exit_input : exit_done;
}

}  // namespace driftless
