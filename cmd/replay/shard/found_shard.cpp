#include "cmd/replay/shard/found_shard.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cmd/replay/flags/shard_values.hpp"
#include "cmd/values.hpp"

namespace driftless {

namespace {

constexpr const char* own_count = "DRIFTLESS_SHARDS";
constexpr const char* slurm_part = "SLURM_PROCID";
constexpr const char* slurm_count = "SLURM_NTASKS";

struct Pair {
    const char* part;
    const char* count;
};
constexpr std::array<Pair, 4> pairs{Pair{"JOB_COMPLETION_INDEX", own_count},
                                    Pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                    Pair{"PMI_RANK", "PMI_SIZE"}, Pair{"PMIX_RANK", "PMI_SIZE"}};
constexpr std::array<const char*, 2> job_step{"SLURM_JOB_ID", "SLURM_STEP_ID"};
/// What SLURM_STEP_ID is in a batch script, where it is set at all: no step.
constexpr const char* batch_step = "4294967291";

const std::string* value_of(const Variables& variables, const char* name) {
    const auto found = std::find_if(variables.begin(), variables.end(),
                                    [name](const auto& one) { return one.first == name; });
    return found == variables.end() ? nullptr : &found->second;
}

std::string is(const char* name, const std::string& value) {
    return std::string(name) + " is " + value;
}

FoundShard refused(const std::string& why) {
    return {"", {}, why + " (--shard none: this process sends the whole trace)"};
}

/// A number; else `why` says what it is.
std::optional<std::uint32_t> number_of(const char* name, const std::string& value,
                                       std::uint32_t least, std::string& why) {
    const Result<std::uint64_t> number = parse_count(value);
    if (!number || number.value() < least || number.value() > shards_max) {
        why = std::string(name) + " is \"" + value + "\", which is not a number from " +
              std::to_string(least) + " to " + std::to_string(shards_max) +
              "; correct it, or give --shard I/N";
        return {};
    }
    return static_cast<std::uint32_t>(number.value());
}

/// The variable that says of how many; null: none does.
const char* count_name_of(const Variables& variables, const Pair& pair) {
    if (value_of(variables, pair.count) != nullptr) {
        return pair.count;
    }
    return value_of(variables, own_count) != nullptr ? own_count : nullptr;
}

/// `variables` has the part and the count.
FoundShard read_pair(const Variables& variables, const Pair& pair) {
    const std::string& part = *value_of(variables, pair.part);
    const char* const count_name = count_name_of(variables, pair);
    const std::string* const count = value_of(variables, count_name);
    std::string why;
    const std::optional<std::uint32_t> index = number_of(pair.part, part, 0, why);
    const std::optional<std::uint32_t> parts =
        index ? number_of(count_name, *count, 1, why) : std::nullopt;
    if (!parts) {
        return refused(why);
    }
    if (*index >= *parts) {
        return refused(is(pair.part, part) + " and " + is(count_name, *count) +
                       ", but shards are counted from 0; correct one, or give --shard I/N");
    }
    return {pair.part, {*index, *parts}, ""};
}

/// A batch script has the variables of a task, and is none.
bool is_batch_script(const Variables& variables) {
    const std::string* const step = value_of(variables, job_step[1]);
    return value_of(variables, job_step[0]) != nullptr && (step == nullptr || *step == batch_step);
}

FoundShard of_slurm(const Variables& variables) {
    const std::string* const part = value_of(variables, slurm_part);
    const std::string* const count = value_of(variables, slurm_count);
    if (part != nullptr && count == nullptr && *part != "0") {  // 0 is a batch script, too
        return refused(is(slurm_part, *part) +
                       ", but the number of tasks is not known; set SLURM_NTASKS, or give --shard "
                       "I/N");
    }
    if (part == nullptr || count == nullptr || *count == "1") {
        return {};
    }
    if (is_batch_script(variables)) {
        return refused(is(slurm_count, *count) +
                       ", but this process is the batch script, not a task; start it with "
                       "srun, or give --shard I/N");
    }
    return read_pair(variables, {slurm_part, slurm_count});
}

/// A rank without a number of ranks, as Open MPI and Slurm set PMIX_RANK beside variables that have
/// both: it only has to agree with those.
FoundShard beside_rank(const Variables& variables, const char* name, FoundShard found) {
    const std::string& rank = *value_of(variables, name);
    if (found.from.empty()) {
        return refused(is(name, rank) +
                       ", but the number of shards is not known; set DRIFTLESS_SHARDS to the "
                       "number of processes, or give --shard I/N");
    }
    if (rank != std::to_string(found.place.index)) {
        return refused(found.from + " says shard " + text_of(found.place) + " and " +
                       is(name, rank) + "; unset one of them, or give --shard I/N");
    }
    return found;
}

/// DRIFTLESS_SHARDS beside a shard that a launcher has numbered.
FoundShard checked(const Variables& variables, FoundShard found) {
    const std::string* const own = value_of(variables, own_count);
    if (own == nullptr) {
        return found;
    }
    if (found.from.empty()) {
        return refused(is(own_count, *own) +
                       ", but no variable says which shard this is; set JOB_COMPLETION_INDEX, or "
                       "give --shard I/N");
    }
    if (*own != std::to_string(found.place.count)) {
        return refused(is(own_count, *own) + ", but " + found.from + " is one of " +
                       std::to_string(found.place.count) + "; correct one, or give --shard I/N");
    }
    return found;
}

}  // namespace

Variables read_variables() {
    Variables variables;
    const auto read = [&variables](const char* name) {
        const char* const value = std::getenv(name);
        if (value != nullptr && value[0] != '\0' && value_of(variables, name) == nullptr) {
            variables.emplace_back(name, value);
        }
    };
    for (const Pair& pair : pairs) {
        read(pair.part);
        read(pair.count);
    }
    for (const char* const name : {slurm_part, slurm_count, job_step[0], job_step[1]}) {
        read(name);
    }
    return variables;
}

FoundShard find_shard(const Variables& variables) {
    FoundShard found;
    const char* lone_rank = nullptr;
    for (const Pair& pair : pairs) {
        if (value_of(variables, pair.part) == nullptr) {
            continue;
        }
        if (count_name_of(variables, pair) == nullptr) {
            lone_rank = pair.part;
            continue;
        }
        FoundShard other = read_pair(variables, pair);
        if (!other.refused.empty()) {
            return other;
        }
        if (!found.from.empty() && found.place != other.place) {
            return refused(found.from + " says shard " + text_of(found.place) + " and " +
                           other.from + " says " + text_of(other.place) +
                           "; unset one of them, or give --shard I/N");
        }
        if (found.from.empty()) {
            found = std::move(other);
        }
    }
    if (found.from.empty()) {
        found = of_slurm(variables);
    }
    if (lone_rank != nullptr && found.refused.empty()) {
        found = beside_rank(variables, lone_rank, std::move(found));
    }
    return found.refused.empty() ? checked(variables, std::move(found)) : found;
}

}  // namespace driftless
