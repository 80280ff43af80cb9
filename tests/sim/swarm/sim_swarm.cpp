// sim_swarm FIRST COUNT [killed|closed|killed_closed|users|killed_users|talks|dual|engines]: so
// many simulated runs of 200 rows from seed FIRST on, one process for each CPU that it may use
// (taskset chooses them); with `killed`, runs that die and are resumed; with `closed`, runs whose
// rows wait for each other; with `killed_closed`, both; with `users`, runs of users that play
// trees; with `killed_users`, such runs that die; with `talks`, conversations that hold the answers
// of the run; with `dual`, rows that go to two servers; with `engines`, several engines. Prints
// every seed that breaks a law or dies, then what the runs met and how long they took. With
// DRIFTLESS_SIM_DIGESTS set, also a digest of what each run wrote (tests/freeze compares them by
// build). Exit 1 when a law was broken, 2 for wrong words.
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proto/core/hash.hpp"
#include "tests/sim/killed_laws.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

constexpr std::uint32_t rows = 200;
constexpr std::uint64_t tell_every = 5'000;
constexpr std::size_t workers_max = 64;

enum class Mode : std::uint8_t {
    alive,
    killed,
    closed,
    killed_closed,
    users,
    killed_users,
    talks,
    dual,
    engines
};

/// One process's share, in memory that its parent sees: of a process that died, too.
struct Share {
    std::uint64_t next = 0;  ///< the seed that is being run
    std::uint64_t end = 0;
    std::uint64_t step = 1;
    std::uint64_t runs = 0;
    std::uint64_t broken = 0;
    std::uint64_t stale_retries = 0;
    std::uint64_t tainted = 0;
    std::uint64_t full_disks = 0;
    std::uint64_t segments = 0;  ///< of runs that die
    std::uint64_t handshakes = 0;
    std::uint64_t resumed = 0;
    std::array<std::uint64_t, outcome_count> outcomes{};
};

double now_s() {
    timespec time{};
    (void)::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void count(Share& share, const Record& record) {
    ++share.outcomes[static_cast<std::size_t>(record.outcome)];
    share.stale_retries += record.stale_retries;
    share.tainted += record.tainted.empty() ? 0 : 1;
}

/// Of every file that a run wrote.
void tell_digest(const Share& share, std::string_view part, std::string_view text) {
    static const bool is_asked = std::getenv("DRIFTLESS_SIM_DIGESTS") != nullptr;
    if (is_asked) {
        Xxh64 digest;
        digest.add(text);
        std::printf("digest %lu %.*s %016lx\n", share.next, static_cast<int>(part.size()),
                    part.data(), digest.value());
        std::fflush(stdout);
    }
}

void tell_digests(const Share& share, const SimResult& result) {
    tell_digest(share, "requests", result.jsonl);
    tell_digest(share, "fired", result.fired_jsonl);
    tell_digest(share, "periods", result.periods_jsonl);
}

std::string run_alive(Share& share, Mode mode) {
    const SimResult result = mode == Mode::closed    ? run_closed_swarm(share.next, rows)
                             : mode == Mode::users   ? run_users_swarm(share.next, rows)
                             : mode == Mode::talks   ? run_talks_swarm(share.next, rows)
                             : mode == Mode::dual    ? run_dual_swarm(share.next, rows)
                             : mode == Mode::engines ? run_engines_swarm(share.next, rows)
                                                     : run_swarm(share.next, rows);
    tell_digests(share, result);
    share.full_disks += result.disk_failed ? 1 : 0;
    share.handshakes += result.handshakes;
    share.resumed += result.resumed;
    for (const Record& record : result.records) {
        count(share, record);
    }
    return broken_laws(result);
}

std::string run_killed(Share& share, Mode mode) {
    const KilledRun run = mode == Mode::killed_closed ? run_killed_closed_swarm(share.next, rows)
                                                      : run_killed_swarm(share.next, rows);
    tell_digest(share, "requests", run.jsonl);
    tell_digest(share, "summary", run.rebuilt);
    share.segments += run.lives.size();
    for (const Life& life : run.lives) {
        share.full_disks += life.result.disk_failed ? 1 : 0;
        share.handshakes += life.result.handshakes;
        share.resumed += life.result.resumed;
    }
    for (const Record& record : run.records) {
        count(share, record);
    }
    return broken_laws(run);
}

std::string run_killed_users(Share& share) {
    const KilledUsers run = run_killed_users_swarm(share.next, rows);
    tell_digests(share, run.whole);
    tell_digests(share, run.died);
    share.segments += run.died.stood ? 1 : 0;
    share.handshakes += run.whole.handshakes;
    share.resumed += run.whole.resumed;
    for (const Record& record : run.records) {
        count(share, record);
    }
    return broken_laws(run);
}

void run_one(Share& share, Mode mode) {
    const bool dies = mode == Mode::killed || mode == Mode::killed_closed;
    const std::string broken = mode == Mode::killed_users ? run_killed_users(share)
                               : dies                     ? run_killed(share, mode)
                                                          : run_alive(share, mode);
    ++share.runs;
    if (!broken.empty()) {
        ++share.broken;
        std::printf("seed %lu breaks a law\n%s", share.next, broken.c_str());
        std::fflush(stdout);
    }
}

pid_t start(Share& share, Mode mode) {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
        for (; share.next < share.end; share.next += share.step) {
            run_one(share, mode);
            if (share.runs % tell_every == 0) {
                std::fprintf(stderr, "%lu runs, up to seed %lu\n", share.runs, share.next);
            }
        }
        ::_exit(0);
    }
    return child;
}

/// Waits for all; one that died on a seed is started again behind it.
void attend(std::map<pid_t, Share*>& workers, Mode mode) {
    while (!workers.empty()) {  // ends: a worker ends, or its share shrinks by a seed
        int status = 0;
        const pid_t child = ::waitpid(-1, &status, 0);
        const auto found = workers.find(child);
        if (found == workers.end()) {
            return;  // no child is left
        }
        Share& share = *found->second;
        workers.erase(found);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            std::printf("seed %lu dies, status %d\n", share.next, status);
            ++share.broken;
            share.next += share.step;
            workers.emplace(start(share, mode), &share);
        }
    }
}

std::size_t cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    (void)::sched_getaffinity(0, sizeof set, &set);
    const auto count = static_cast<std::size_t>(CPU_COUNT(&set));
    return count < 1 ? 1 : count > workers_max ? workers_max : count;
}

std::uint64_t sum(std::span<const Share> shares, std::uint64_t Share::* figure) {
    std::uint64_t all = 0;
    for (const Share& share : shares) {
        all += share.*figure;
    }
    return all;
}

void tell(std::span<const Share> shares, double seconds) {
    for (std::size_t i = 0; i < outcome_count; ++i) {
        std::uint64_t count = 0;
        for (const Share& share : shares) {
            count += share.outcomes[i];
        }
        std::printf("%-20s %12lu\n", name_of(static_cast<Outcome>(i)), count);
    }
    std::printf(
        "stale retries        %12lu\ntainted rows         %12lu\n"
        "full disks           %12lu\nsegments             %12lu\n"
        "TLS handshakes       %12lu\nsessions taken up    %12lu\n",
        sum(shares, &Share::stale_retries), sum(shares, &Share::tainted),
        sum(shares, &Share::full_disks), sum(shares, &Share::segments),
        sum(shares, &Share::handshakes), sum(shares, &Share::resumed));
    const std::uint64_t runs = sum(shares, &Share::runs);
    std::printf("%lu runs of %u rows in %.1f s by %zu processes, %lu broke a law\n", runs, rows,
                seconds, shares.size(), sum(shares, &Share::broken));
}

int swarm(std::uint64_t first, std::uint64_t count, Mode mode) {
    const std::size_t workers = cpus();
    void* memory = ::mmap(nullptr, workers * sizeof(Share), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    const std::span<Share> shares(static_cast<Share*>(memory), workers);
    const double began = now_s();
    std::map<pid_t, Share*> running;
    for (std::size_t i = 0; i < workers; ++i) {
        shares[i].next = first + i;
        shares[i].end = first + count;
        shares[i].step = workers;
        running.emplace(start(shares[i], mode), &shares[i]);
    }
    attend(running, mode);
    tell(shares, now_s() - began);
    return sum(shares, &Share::broken) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace driftless::sim

int main(int argc, char** argv) {
    using driftless::sim::Mode;
    const std::string_view word = argc == 4 ? argv[3] : "";
    const Mode mode = word == "killed"          ? Mode::killed
                      : word == "closed"        ? Mode::closed
                      : word == "killed_closed" ? Mode::killed_closed
                      : word == "users"         ? Mode::users
                      : word == "talks"         ? Mode::talks
                      : word == "killed_users"  ? Mode::killed_users
                      : word == "dual"          ? Mode::dual
                      : word == "engines"       ? Mode::engines
                                                : Mode::alive;
    if (argc != 3 && mode == Mode::alive) {
        std::fprintf(stderr,
                     "usage: sim_swarm FIRST COUNT "
                     "[killed|closed|killed_closed|users|killed_users|talks|dual|engines]\n"
                     "(seeds; runs of 200 rows)\n");
        return 2;
    }
    return driftless::sim::swarm(std::strtoull(argv[1], nullptr, 10),
                                 std::strtoull(argv[2], nullptr, 10), mode);
}
