/// Shard: which part of the plan this process sends, and what follows for its flags. The command
/// line is the same for all shards: caps are divided among them, and file names get the shard's
/// number.
#pragma once

#include <string>
#include <vector>

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/shard/found_shard.hpp"

namespace driftless {

/// Settles `line.options.shard`: by `--shard`, else by the environment. A run that is taken up has
/// recorded its own part, or that it has none (`taken_up`: the options are those of an earlier
/// run). What the environment said is in `line.arguments` afterwards; caps and file names are those
/// of the part. Returns what is wrong, with the remedy, or the empty text.
std::string settle_shard(const Variables& variables, bool taken_up, ReplayCommandLine& line);

/// The same by the environment of this process, and whether `--start-at` is still to come. Prints
/// what is wrong; returns an exit code.
int settle_part(bool taken_up, ReplayCommandLine& line);

/// Which part of its plan a run with these arguments sent.
ShardPlace shard_in(const std::vector<std::string>& arguments);

/// "bodies.jsonl.gz" of part 1: "bodies-shard-1.jsonl.gz".
std::string file_of_shard(const std::string& path, std::uint32_t index);

}  // namespace driftless
