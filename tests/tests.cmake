# What is tested, by folder. Every .cpp that appears in a folder is built; no list to keep.
if(MODE STREQUAL "fuzz")
  file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*.cpp)
  foreach(source ${fuzz_sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(fuzz_${name} ${source})
    target_link_libraries(fuzz_${name} PRIVATE driftless_engine)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    if(name STREQUAL "json")  # held against simdjson's own parser
      target_link_libraries(fuzz_json PRIVATE simdjson::simdjson)
    endif()
  endforeach()
  return()
endif()

find_package(GTest REQUIRED)
include(GoogleTest)

# unit: one file per source file, same path. golden: bytes, then what they mean.
file(GLOB_RECURSE unit_sources CONFIGURE_DEPENDS tests/unit/*.cpp tests/golden/*.cpp)
add_executable(unit_tests ${unit_sources})
target_compile_definitions(unit_tests PRIVATE TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
                           SHARED_DATA="${PROJECT_SOURCE_DIR}/../shared")
target_link_libraries(unit_tests PRIVATE driftless_cmd GTest::gtest_main)
gtest_discover_tests(unit_tests DISCOVERY_TIMEOUT 60)

# sim: the product's replay in virtual time, a seed per run.
file(GLOB sim_sources CONFIGURE_DEPENDS tests/sim/*.cpp)
add_executable(sim_tests ${sim_sources})
target_link_libraries(sim_tests PRIVATE driftless_cmd GTest::gtest_main)
gtest_discover_tests(sim_tests DISCOVERY_TIMEOUT 60)
