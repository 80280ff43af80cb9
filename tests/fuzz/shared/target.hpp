/// Fuzz targets: each says what it does with any bytes. All are one program, which runs the one
/// that FUZZ_TARGET names, and lists them without it.
#pragma once

#include "proto/core/errors.hpp"
#include "tests/std.hpp"

namespace driftless {

struct FuzzTarget {
    std::string name;
    std::function<void(std::string_view bytes)> run;
};

/// The targets of one source, made before main. Their list lives until the process ends.
class FuzzTargets {
  public:
    FuzzTargets(std::initializer_list<FuzzTarget> targets) { all().insert(all().end(), targets); }

    static std::vector<FuzzTarget>& all() {
        static std::vector<FuzzTarget> list;
        return list;
    }
};

}  // namespace driftless
