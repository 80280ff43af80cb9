# The archive that cmd/packages/static/libraries builds, for the header of Debian's package.
find_library(SIMDJSON_LIBRARY simdjson PATHS ${STATIC_LIBRARIES}/lib NO_DEFAULT_PATH REQUIRED)
add_library(simdjson::simdjson STATIC IMPORTED)
set_target_properties(simdjson::simdjson PROPERTIES IMPORTED_LOCATION ${SIMDJSON_LIBRARY})
set(simdjson_FOUND TRUE)
