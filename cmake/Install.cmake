# What `cmake --install` puts in place: the program, libnascent, its headers and find_package(Nascent).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The library of a prefix that the loader does not know is found from where the program is.
set_target_properties(nascent_whole PROPERTIES INSTALL_RPATH "$ORIGIN/../../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS nascent RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS nascent_whole RUNTIME DESTINATION libexec/nascent)
install(DIRECTORY ${PROJECT_BINARY_DIR}/libexec/nascent/answers DESTINATION libexec/nascent)
install(TARGETS libnascent EXPORT NascentTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

# One target per room, so that a program can say what it uses: Nascent::space, Nascent::search, ... All of them are the
# one shared library, whose registries are full however little of it is asked for.
get_property(rooms GLOBAL PROPERTY NASCENT_ROOMS)
list(REMOVE_ITEM rooms nascent_cli)
list(TRANSFORM rooms REPLACE "^nascent_" "" OUTPUT_VARIABLE NASCENT_COMPONENTS)
foreach(room IN LISTS NASCENT_COMPONENTS)
  add_library(nascent_uses_${room} INTERFACE)
  add_library(Nascent::${room} ALIAS nascent_uses_${room})
  set_target_properties(nascent_uses_${room} PROPERTIES EXPORT_NAME ${room})
  target_link_libraries(nascent_uses_${room} INTERFACE libnascent)
  install(TARGETS nascent_uses_${room} EXPORT NascentTargets)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/nascent
          FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE)
endforeach()

set(NASCENT_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Nascent)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/NascentConfig.cmake.in ${PROJECT_BINARY_DIR}/NascentConfig.cmake
                              INSTALL_DESTINATION ${NASCENT_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/NascentConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/NascentConfig.cmake ${PROJECT_BINARY_DIR}/NascentConfigVersion.cmake
        DESTINATION ${NASCENT_CMAKE_DIR})
install(EXPORT NascentTargets NAMESPACE Nascent:: DESTINATION ${NASCENT_CMAKE_DIR})
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/cmake/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The manual page and the completions are what the program says of itself.
install(CODE [[
  set(share "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share")
  function(write_what_it_says file)
    get_filename_component(folder ${share}/${file} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    execute_process(COMMAND $<TARGET_FILE:nascent> ${ARGN} OUTPUT_FILE ${share}/${file} COMMAND_ERROR_IS_FATAL ANY)
  endfunction()
  write_what_it_says(man/man1/nascent.1 options --man)
  execute_process(COMMAND gzip -9nf ${share}/man/man1/nascent.1 COMMAND_ERROR_IS_FATAL ANY)
  write_what_it_says(bash-completion/completions/nascent completion bash)
  write_what_it_says(zsh/vendor-completions/_nascent completion zsh)
  write_what_it_says(fish/vendor_completions.d/nascent.fish completion fish)
]])
