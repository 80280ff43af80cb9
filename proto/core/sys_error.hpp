/// The Error for an errno value, by the one table that there is.
#pragma once

#include "proto/core/result.hpp"

namespace driftless {

/// `doing`: what failed, as in Error; it is not copied.
Error error_from_errno(int sys_errno, const char* doing);

}  // namespace driftless
