# Run by CPack on the staged files: what Debian's policy asks of a package and an installation does not
# need. Man pages are compressed, and the licence is told in `copyright`, with a changelog beside it.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
file(GLOB pages ${root}/man/man1/*.1)
foreach(page ${pages})
  execute_process(COMMAND gzip -9n ${page} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
set(folder ${root}/doc/driftless)
file(REMOVE ${folder}/LICENSE)
configure_file(${CMAKE_CURRENT_LIST_DIR}/copyright ${folder}/copyright COPYONLY)
execute_process(COMMAND git -C ${CMAKE_CURRENT_LIST_DIR} log -1 --format=%cD
                OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT date)
  execute_process(COMMAND date -u -R OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
file(WRITE ${folder}/changelog "driftless (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Built from source by cmd/packages/deb/build.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
execute_process(COMMAND gzip -9n ${folder}/changelog COMMAND_ERROR_IS_FATAL ANY)
