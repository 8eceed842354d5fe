# make deb: the package nascent, and python3-nascent where the Python module is built.
set(CPACK_PACKAGE_NAME nascent)
set(CPACK_PACKAGE_CONTACT "The Nascent maintainers <maintainers@nascent.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "neural architecture search on one machine")
set(CPACK_COMPONENT_UNSPECIFIED_DESCRIPTION "Searches cells by weight sharing, black-box search or scores at initialisation,
trains, evaluates, attacks, analyses and exports what it finds, and shows every
run as a page. With the library and its headers.")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "The Python module: spaces, genotypes, scores, tables, models and runs as Python
objects, and networks as modules of PyTorch.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME nascent)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-nascent)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
# Libraries are found by dpkg-shlibdeps; these are programs and data that it cannot see.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_DEPENDS "libopenblas0-openmp, graphviz, gnuplot-nox, dataset-fashion-mnist")
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_RECOMMENDS "libtorch-dev, libfmt-dev, nlohmann-json3-dev")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "nascent (= ${PROJECT_VERSION}), python3, python3-torch")
# Its module is of one version of Python.
if(Python3_VERSION_MINOR)
  math(EXPR next "${Python3_VERSION_MINOR} + 1")
  string(REPLACE "python3, " "python3 (>= 3.${Python3_VERSION_MINOR}), python3 (<< 3.${next}), "
         CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "${CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS}")
endif()
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/triggers)  # the library is new to the loader
# Every package has a changelog in Debian's form; without a date of the build, so that the same source gives the same file.
configure_file(${PROJECT_SOURCE_DIR}/cmake/debian-changelog.in ${PROJECT_BINARY_DIR}/changelog @ONLY)
execute_process(COMMAND gzip -9nkf ${PROJECT_BINARY_DIR}/changelog COMMAND_ERROR_IS_FATAL ANY)
install(FILES ${PROJECT_BINARY_DIR}/changelog.gz DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET nascent_python)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/copyright ${PROJECT_BINARY_DIR}/changelog.gz
          DESTINATION share/doc/python3-nascent COMPONENT python)
endif()
set(CPACK_STRIP_FILES ON)
include(CPack)
