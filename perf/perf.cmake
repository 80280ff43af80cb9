# Micro benchmarks: every _bench.cpp in perf/micro goes into one program. They run at toy size among the
# tests, so that they never rot; figures belong into perf/baselines with their host.
find_package(benchmark QUIET)
if(benchmark_FOUND)
  file(GLOB micro_sources CONFIGURE_DEPENDS perf/micro/*_bench.cpp)
  add_executable(micro_bench ${micro_sources})
  target_compile_options(micro_bench PRIVATE ${warnings})
  target_compile_definitions(micro_bench PRIVATE TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
                             SHARED_DATA="${PROJECT_SOURCE_DIR}/../shared")
  target_link_libraries(micro_bench PRIVATE driftless_cmd simdjson::simdjson benchmark::benchmark_main)
  # Macro benchmarks: the replay loop against the bundled mock, two quiet cores, a minute or two.
  file(GLOB macro_sources CONFIGURE_DEPENDS perf/macro/*_bench.cpp)
  list(APPEND macro_sources perf/macro/stage.cpp perf/macro/echo.cpp)
  add_executable(macro_bench ${macro_sources})
  target_compile_options(macro_bench PRIVATE ${warnings})
  target_link_libraries(macro_bench PRIVATE driftless_engine Threads::Threads)
  add_custom_target(bench
    COMMAND ${CMAKE_COMMAND} -E env BUILD=${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR}/perf/bench
    DEPENDS micro_bench macro_bench driftless USES_TERMINAL)
  add_test(NAME micro_bench_at_toy_size COMMAND micro_bench --benchmark_min_time=0.001)
endif()

# The floor of perf/macro/scale.py: a file read by simdjson alone.
add_executable(read_floor perf/micro/read_floor.cpp)
target_compile_options(read_floor PRIVATE ${warnings})
target_link_libraries(read_floor PRIVATE simdjson::simdjson)

# What perf/macro/tokenizers runs beside the reference implementation of tokenizers.
add_executable(encode perf/macro/encode.cpp)
target_compile_options(encode PRIVATE ${warnings})
target_link_libraries(encode PRIVATE driftless_engine)

# The server that perf/peers/run races clients against.
add_executable(peers_server perf/peers/server.cpp tests/e2e/receiver/clock.cpp)
target_include_directories(peers_server PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_options(peers_server PRIVATE ${warnings})
add_test(NAME peers_at_toy_size
  COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/perf/peers/run --toy --works a,c,d
          --clients driftless --rounds 1 --flags "--calibration none"
          --driftless $<TARGET_FILE:driftless> --server $<TARGET_FILE:peers_server>)
set_tests_properties(peers_at_toy_size PROPERTIES
  ENVIRONMENT DRIFTLESS_PEERS=${CMAKE_BINARY_DIR}/peers)
