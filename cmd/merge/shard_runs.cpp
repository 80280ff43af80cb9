#include "cmd/merge/shard_runs.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "cmd/compare/same_work.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/secrets.hpp"
#include "cmd/whole_file.hpp"

namespace driftless {

namespace {

int read_shard_run(const std::string& given, ShardRun& out, std::string& why) {
    out.folder = given;
    while (out.folder.size() > 1 && out.folder.back() == '/') {
        out.folder.pop_back();
    }
    if (struct stat there{}; ::stat(out.folder.c_str(), &there) != 0 && errno == ENOENT) {
        why = mask_url(out.folder) +
              ": does not exist; correct the name, or leave it out (a shard that is not given is "
              "counted as missing)";
        return exit_usage;
    }
    if (why = read_run(out.folder, out.facts); !why.empty()) {
        return exit_usage;
    }
    if (out.facts.info.merged) {
        why = out.folder + ": is already a merged run; give the folders of its shards";
        return exit_usage;
    }
    if (!out.facts.shard) {
        why = out.folder +
              ": is not a shard: it was played without --shard and holds all rows; use "
              "driftless report " +
              out.folder;
        return exit_usage;
    }
    Result<std::string> text = read_regular_file(out.path("run.json"));
    if (!text) {
        why = out.path("run.json") + ": " + why_unreadable(text.error());
        return exit_input;
    }
    out.run_json = std::move(text).value();
    Result<FolderLock> lock = FolderLock::take(out.folder);
    if (!lock && lock.error().code == ErrorCode::exists) {
        why = out.folder + ": the run has not ended; wait for its end";
        return exit_input;
    }
    if (!lock) {
        why = out.folder + ": cannot be read: " + reason_of(lock.error());
        return exit_input;
    }
    out.lock = std::move(lock).value();
    return exit_done;
}

/// What differs between shards that should be of one replay; the empty text: nothing does.
std::string why_not_one_replay(const std::vector<ShardRun>& shards) {
    std::vector<PlayedRun> runs;
    for (const ShardRun& shard : shards) {
        PlayedRun& run = runs.emplace_back();
        run.folder = shard.folder;
        run.facts = shard.facts;
        run.facts.rows = shard.facts.shard->plan_rows;
    }
    std::string text;
    for (const WorkDifference& one : shard_differences(runs)) {
        const auto& [weight, what, first, other, name, remedy] = one;
        text +=
            "\n  " + what + ": " + runs.front().folder + " " + first + ", " + name + " " + other;
    }
    return text.empty() ? "" : "these are not shards of one replay:" + text;
}

std::string why_given_twice(const std::vector<std::string>& folders) {
    std::map<std::pair<dev_t, ino_t>, std::string> seen;
    for (const std::string& folder : folders) {
        struct stat facts{};
        if (::stat(folder.c_str(), &facts) != 0) {
            continue;  // said when it is read
        }
        const auto [first, is_new] = seen.try_emplace({facts.st_dev, facts.st_ino}, folder);
        if (!is_new) {
            return folder + ": is the same folder as " + first->second + "; give each shard once";
        }
    }
    return "";
}

}  // namespace

std::string why_inside_a_shard(const std::vector<std::string>& folders, std::string out) {
    while (!out.empty()) {  // ends: each turn takes a component away
        const std::size_t slash = out.find_last_not_of('/', out.rfind('/'));
        out = out.rfind('/') == std::string::npos ? "."
              : slash == out.npos                 ? "/"
                                                  : out.substr(0, slash + 1);
        struct stat parent{};
        if (::stat(out.c_str(), &parent) != 0) {
            continue;
        }
        for (const std::string& folder : folders) {
            struct stat facts{};
            if (::stat(folder.c_str(), &facts) == 0 && facts.st_dev == parent.st_dev &&
                facts.st_ino == parent.st_ino) {
                return "--out lies inside of shard folder " + folder + "; name a folder elsewhere";
            }
        }
        if (out == "/" || out == ".") {
            break;
        }
    }
    return "";
}

int read_shards(const std::vector<std::string>& folders, std::vector<ShardRun>& out,
                std::string& why) {
    if (why = why_given_twice(folders); !why.empty()) {
        return exit_usage;
    }
    for (const std::string& folder : folders) {
        if (const int code = read_shard_run(folder, out.emplace_back(), why); code != exit_done) {
            return code;
        }
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const ShardRun& a, const ShardRun& b) { return a.index() < b.index(); });
    why = why_not_one_replay(out);
    return why.empty() ? exit_done : exit_input;
}

}  // namespace driftless
