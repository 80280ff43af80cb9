find_library(YAML_CPP_LIBRARY yaml-cpp REQUIRED)
add_library(yaml-cpp STATIC IMPORTED)
set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION ${YAML_CPP_LIBRARY})
set(yaml-cpp_FOUND TRUE)
