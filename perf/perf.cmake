# Micro benchmarks: every .cpp in perf/micro goes into one program. They run at toy size among the
# tests, so that they never rot; figures belong into perf/baselines with their host.
find_package(benchmark QUIET)
if(benchmark_FOUND AND NOT MODE STREQUAL "fuzz")
  file(GLOB micro_sources CONFIGURE_DEPENDS perf/micro/*.cpp)
  add_executable(micro_bench ${micro_sources})
  target_compile_options(micro_bench PRIVATE ${warnings})
  target_compile_definitions(micro_bench PRIVATE TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
                             SHARED_DATA="${PROJECT_SOURCE_DIR}/../shared")
  target_link_libraries(micro_bench PRIVATE driftless_engine benchmark::benchmark_main)
  add_test(NAME micro_bench_at_toy_size COMMAND micro_bench --benchmark_min_time=0.001)
endif()
