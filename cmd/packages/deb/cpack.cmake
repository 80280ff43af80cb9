# What CPack makes a Debian package of: cmd/packages/deb/build runs it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME driftless)
set(CPACK_PACKAGE_CONTACT "The driftless developers <driftless@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "replay of LLM request traces against an inference server")
set(CPACK_PACKAGE_DESCRIPTION
    "Every request of a recorded trace leaves at its recorded instant, with a
prompt of exactly the recorded length and the recorded prefix sharing. Every
streamed token is stamped in nanoseconds, and every row of the trace becomes
one line of JSON.
.
It is best on Linux 6.1 or newer with io_uring; driftless doctor says
what is missing on a host.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
    GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmd/packages/deb/staged.cmake)
include(CPack)
