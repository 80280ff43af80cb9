# What is tested, by folder. Every .cpp that appears in a folder is built; no list to keep.
find_package(GTest REQUIRED)
include(GoogleTest)

# So many processes that none runs for a minute under sanitizers; there a digest, which is of millions of
# characters, is left out: TokenizerGolden reads them by the same code. tests/run begins four tests a CPU,
# most of which wait for clocks: what computes counts for three.
function(add_gtests target shards)
  set(filter)
  if(MODE STREQUAL "fuzz")
    set(filter --gtest_filter=-TokenizerDigest.*)
  endif()
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${target}.${shard} COMMAND ${target} --gtest_brief=1 ${filter})
    set_tests_properties(${target}.${shard} PROPERTIES COST 100 PROCESSORS 3 ENVIRONMENT
      "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

# Only the sources that read test data are told where it lies: a compiler cache can share all others
# between checkouts. A source with definitions of its own would not be compiled together with others.
set(data_paths TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" SHARED_DATA="${PROJECT_SOURCE_DIR}/../shared")
function(tell_data_paths)
  foreach(source ${ARGN})
    file(STRINGS ${source} uses REGEX "TEST_DATA|SHARED_DATA|make_trace.hpp" LIMIT_COUNT 1)
    if(uses)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS ${data_paths})
    endif()
  endforeach()
endfunction()

# unit: a folder for each room, a file for each of its stories. golden: bytes, then what they mean.
file(GLOB_RECURSE unit_sources CONFIGURE_DEPENDS tests/unit/*.cpp tests/golden/*.cpp tests/tls/*.cpp)
if(UNITY)
  tell_data_paths(${PROJECT_SOURCE_DIR}/tests/golden/cases.cpp)  # it is the simulator's, too
else()
  tell_data_paths(${unit_sources})
endif()
list(APPEND unit_sources ${PROJECT_SOURCE_DIR}/tests/comparison/made_runs.cpp)
# Under the race detector only those of what two threads, or a thread and the kernel, share.
if(MODE STREQUAL "thread")
  list(FILTER unit_sources INCLUDE REGEX
       "tests/unit/(engine/(record|io|watch)/.*|cmd/mock/server_test|cmd/replay/progress_line_test|[a-z_]*)\\.cpp$")
endif()
add_executable(unit_tests ${unit_sources})
target_link_libraries(unit_tests PRIVATE driftless_cmd GTest::gtest_main OpenSSL::SSL LibArchive::LibArchive
                      PkgConfig::XLSXWRITER)
# Speed is half of what a test costs to compile.
target_compile_options(unit_tests PRIVATE -O0 $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
# These go through megabytes, byte by byte; a precompiled header is for one optimisation only.
set_source_files_properties(
  tests/unit/engine/prompt/digest_test.cpp tests/unit/engine/prompt/golden.cpp
  PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
add_gtests(unit_tests 16)

# comparison_truth: comparisons whose truth is known, as many as it is told; minutes.
add_executable(comparison_truth tests/comparison/comparison_truth.cpp tests/comparison/made_runs.cpp)
target_compile_options(comparison_truth PRIVATE ${warnings})
target_link_libraries(comparison_truth PRIVATE driftless_cmd Threads::Threads)
add_test(NAME comparison_truth_at_toy_size COMMAND comparison_truth 2 200 "1,000 rows")
add_test(NAME comparison_truth_of_slow_rows_at_toy_size COMMAND comparison_truth 2 200 "over 200")

# sim: the product's replay in virtual time, a seed per run.
# sim_swarm runs as many seeds as it is told, on as many CPUs.
file(GLOB sim_sources CONFIGURE_DEPENDS tests/sim/*.cpp)
file(GLOB sim_tests_sources CONFIGURE_DEPENDS tests/sim/*_test.cpp)
list(REMOVE_ITEM sim_sources ${sim_tests_sources})
add_library(sim STATIC ${sim_sources} tests/golden/cases.cpp tests/tls/certificates.cpp)
target_link_libraries(sim PUBLIC driftless_cmd PRIVATE OpenSSL::SSL)
target_link_options(sim INTERFACE -Wl,--wrap=write)  # sim_disk.hpp stands between
add_executable(sim_tests ${sim_tests_sources})
target_link_libraries(sim_tests PRIVATE sim GTest::gtest_main)
target_compile_options(sim_tests PRIVATE -O0)  # as of unit_tests
add_gtests(sim_tests 32)
add_executable(sim_swarm tests/sim/swarm/sim_swarm.cpp)
target_link_libraries(sim_swarm PRIVATE sim)

# fuzz: a target for each parser of outside bytes, all of them one program.
if(MODE STREQUAL "fuzz")
  file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*.cpp)
  add_executable(fuzz ${fuzz_sources})
  target_link_libraries(fuzz PRIVATE sim OpenSSL::SSL simdjson::simdjson)  # json is held against simdjson itself
  target_compile_definitions(fuzz PRIVATE TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  target_compile_options(fuzz PRIVATE -fsanitize=fuzzer-no-link)
  target_link_options(fuzz PRIVATE -fsanitize=fuzzer)
  compile_together(fuzz)
  target_precompile_headers(fuzz PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/shared/target.hpp
                            ${PROJECT_SOURCE_DIR}/proto/json/document.hpp)
endif()

if(UNITY)
  target_compile_definitions(unit_tests PRIVATE ${data_paths})
endif()
compile_together(unit_tests)
compile_together(sim)
compile_together(sim_tests)

# Half of what a test costs to compile is reading headers. A compiler cache cannot share what was built
# with a precompiled header, so it goes without; then a source that forgets an include does not compile.
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(of_sim ${PROJECT_SOURCE_DIR}/tests/sim/laws.hpp ${PROJECT_SOURCE_DIR}/tests/sim/swarm.hpp)
  target_precompile_headers(sim PRIVATE ${PROJECT_SOURCE_DIR}/tests/std.hpp ${of_sim})
  target_precompile_headers(sim_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests/test.hpp ${of_sim})
  target_precompile_headers(unit_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests/test.hpp
                            ${PROJECT_SOURCE_DIR}/proto/json/document.hpp
                            ${PROJECT_SOURCE_DIR}/proto/run/record.hpp
                            ${PROJECT_SOURCE_DIR}/engine/plan/schedule.hpp)
  # What g++ 12 wrongly says of std::string is hidden as a system header's, but not behind these.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    foreach(target unit_tests sim sim_tests)
      target_compile_options(${target} PRIVATE -Wno-stringop-overflow)
    endforeach()
  endif()
endif()

# headers: every header of the product compiles by itself. One whose own source includes it first is proved by
# that; the others get a source here. Built by tests/run, not by default.
file(GLOB_RECURSE header_files RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
     proto/*.hpp engine/*.hpp cmd/*.hpp)
set(header_sources "")
foreach(header ${header_files})
  string(REGEX REPLACE "hpp$" "cpp" own ${PROJECT_SOURCE_DIR}/${header})
  set(first "")
  if(EXISTS ${own})
    file(STRINGS ${own} first REGEX "^#include" LIMIT_COUNT 1)
  endif()
  if(NOT first STREQUAL "#include \"${header}\"")
    set(source ${PROJECT_BINARY_DIR}/headers/${header}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
    list(APPEND header_sources ${source})
  endif()
endforeach()
add_library(headers OBJECT EXCLUDE_FROM_ALL ${header_sources})
target_compile_options(headers PRIVATE ${warnings} -Wno-missing-field-initializers -O0 -g0)
target_link_libraries(headers PRIVATE driftless_cmd PkgConfig::URING PkgConfig::XLSXWRITER LibArchive::LibArchive
                      llhttp fmt::fmt GTest::gtest)
target_compile_definitions(headers PRIVATE SHARED_DATA="" TEST_DATA="")

# abort: functions that must end their process. The comment `// Dies with: TEXT` above one says what it must
# print; a shell stands between, because ctest takes a signal for a failure whatever is expected.
add_executable(abort_tests tests/abort/abort.cpp)
target_link_libraries(abort_tests PRIVATE driftless_engine)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tests/abort/abort.cpp)
file(STRINGS tests/abort/abort.cpp lines REGEX "^(// Dies with: |void [a-z_]+\\(\\) {)")
foreach(line ${lines})
  if(line MATCHES "^// Dies with: (.*)")
    string(REGEX REPLACE "([][+.*()^$?|\\\\])" "\\\\\\1" dies_with "${CMAKE_MATCH_1}")
  elseif(line MATCHES "^void ([a-z_]+)")
    add_test(NAME abort.${CMAKE_MATCH_1} COMMAND sh -c "\"$<TARGET_FILE:abort_tests>\" ${CMAKE_MATCH_1}; exit $?")
    set_tests_properties(abort.${CMAKE_MATCH_1} PROPERTIES PASS_REGULAR_EXPRESSION "${dies_with}")
  endif()
endforeach()

# tidy: the checkable half of the style, read from the source tree. The second build of tests/run
# would say the same.
if(NOT MODE STREQUAL "fuzz")
  file(GLOB tidy_sources CONFIGURE_DEPENDS tests/tidy/*.cpp)
  add_executable(tidy_tests ${tidy_sources})
  target_compile_options(tidy_tests PRIVATE ${warnings})
  target_compile_definitions(tidy_tests PRIVATE SOURCE_TREE="${PROJECT_SOURCE_DIR}")
  target_include_directories(tidy_tests PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(tidy_tests PRIVATE GTest::gtest_main)
  gtest_discover_tests(tidy_tests TEST_PREFIX tidy. PROPERTIES LABELS tidy)
  find_program(CLANG_FORMAT clang-format-19)
  if(CLANG_FORMAT)
    file(GLOB_RECURSE formatted CONFIGURE_DEPENDS proto/*.?pp engine/*.?pp cmd/*.?pp tests/*.?pp perf/*.?pp)
    add_test(NAME tidy.format COMMAND ${CLANG_FORMAT} --dry-run -Werror ${formatted})
    set_tests_properties(tidy.format PROPERTIES LABELS tidy)
  endif()
endif()

# e2e: real processes on real sockets; what is timed runs alone. The receiver shares no code with the product.
file(GLOB receiver_sources CONFIGURE_DEPENDS tests/e2e/receiver/*.cpp)
add_executable(receiver ${receiver_sources})
target_compile_options(receiver PRIVATE ${warnings})
target_include_directories(receiver PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(receiver PRIVATE Threads::Threads OpenSSL::SSL)
add_library(hung_disk MODULE tests/e2e/hung_disk/hung_disk.cpp)
target_compile_options(hung_disk PRIVATE ${warnings})
target_link_libraries(hung_disk PRIVATE ${CMAKE_DL_LIBS})
add_library(shifted_clock MODULE tests/e2e/shifted_clock/shifted_clock.cpp)
target_compile_options(shifted_clock PRIVATE ${warnings})
target_link_libraries(shifted_clock PRIVATE ${CMAKE_DL_LIBS})
find_package(Python3 REQUIRED COMPONENTS Interpreter)
# What is measured in time runs alone.
set(measured_e2e client_test compare_power_test events_test losses_test network_test spoilers_test truth_test verdict_test wire_test)
# Under sanitizers only what memory errors could hide in that unit_tests and sim_tests do not reach: sockets, TLS,
# processes, kills, servers and inputs that mean no good. There sim_tests covers closed loops, users and lanes that are cut.
set(sanitized_e2e abandon_test connections_test containers_test engines_test folder_test hostile_test interrupt_test keys_test
    limits_test live_page_test live_test mock_test nginx_test outcomes_test quirks_test refusal_test targets_test terminal_test
    tls_test users_failures_test)
# These begin first: half a minute or more, most of it waiting.
set(long_e2e calibration_test compare_test connections_test dialects_test durable_test exact_test figures_test find_test lacks_test
    metrics_test overtaken_test periods_test preflight_test readme_test resume_test secrets_test sweep_test tls_test)
# These run over epoll, too: the kernel forbids them io_uring (harness.py). tests/nightly does so with all.
set(epoll_e2e backpressure_test connections_test cut_lanes_test exact_test interrupt_test limits_test outcomes_test sessions_test
    tls_test truth_test)
file(GLOB e2e_tests CONFIGURE_DEPENDS tests/e2e/*_test.py)
foreach(test ${e2e_tests})
  get_filename_component(name ${test} NAME_WE)
  set(labels e2e)
  if(NOT name IN_LIST sanitized_e2e)
    list(APPEND labels release_only)
  endif()
  set(alone FALSE)
  set(cost 30)
  if(name IN_LIST measured_e2e)
    set(alone TRUE)
    set(cost 0)
  elseif(name IN_LIST long_e2e)
    set(cost 200)
  endif()
  set(environment
    "DRIFTLESS=$<TARGET_FILE:driftless>;MODE=${MODE};RECEIVER=$<TARGET_FILE:receiver>;PROBES=${PROBES};DATA=${PROJECT_SOURCE_DIR}/tests/data;HUNG_DISK_LIBRARY=$<TARGET_FILE:hung_disk>;SHIFTED_CLOCK_LIBRARY=$<TARGET_FILE:shifted_clock>")
  add_test(NAME e2e.${name} COMMAND Python3::Interpreter -B ${test})
  set_tests_properties(e2e.${name} PROPERTIES LABELS "${labels}" RUN_SERIAL ${alone} COST ${cost} TIMEOUT 900
                       ENVIRONMENT "${environment}")
  if(name IN_LIST epoll_e2e)
    add_test(NAME epoll.${name} COMMAND Python3::Interpreter -B ${test})
    set_tests_properties(epoll.${name} PROPERTIES LABELS "${labels}" RUN_SERIAL ${alone} COST ${cost} TIMEOUT 900
                         ENVIRONMENT "${environment};DRIVER=epoll")
  endif()
endforeach()
