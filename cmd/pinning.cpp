#include "cmd/pinning.hpp"

#include "engine/host/host.hpp"

namespace driftless {

std::string pinning_refusal(std::uint32_t cpu, const Error& error) {
    const std::string flag = "--cpu " + std::to_string(cpu) + ": ";
    if (error.code != ErrorCode::invalid) {
        return flag + "cannot pin the thread there: " + reason_of(error);
    }
    return flag + "this process is not allowed on that CPU; use one of " +
           cpu_list_text(allowed_cpus());
}

}  // namespace driftless
