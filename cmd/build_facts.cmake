# Writes OUT, a source file that says what is built: -DSOURCE=DIR -DOUT=FILE -DCOMPILER=.. -DMODE=..
# It is written only where it changes. Without git, or outside a clone, there is no commit; then the
# date is that of SOURCE_DATE_EPOCH, or today.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --match=none
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE} log -1 --format=%cs
                OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT date)
  string(TIMESTAMP date %Y-%m-%d UTC)
endif()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[// Written by cmd/build_facts.cmake.
#include "cmd/base/program.hpp"

namespace driftless {

const BuildFacts& build_facts() {
    static constexpr BuildFacts facts{"@commit@", "@date@", "@COMPILER@", "@MODE@"};
    return facts;
}

}  // namespace driftless
]])
