# One static library per folder of src/ ("room"), one test program per folder of tests/, and one shared library of rooms.

# Two precompiled headers, built once and shared: what every file reads, and the same with LibTorch.
function(nascent_precompile name)
  cmake_parse_arguments(PCH "" "" "HEADERS;LIBRARIES" ${ARGN})
  file(WRITE ${PROJECT_BINARY_DIR}/${name}.cc "// Holds a precompiled header.\n")
  add_library(${name} STATIC ${PROJECT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PUBLIC ${PCH_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${PCH_HEADERS})
endfunction()

set(NASCENT_COMMON_HEADERS
    <algorithm> <filesystem> <functional> <map> <memory> <optional> <string> <vector> <fmt/format.h> <nlohmann/json.hpp>)
set(NASCENT_TORCH_HEADERS <ATen/ATen.h> <torch/csrc/autograd/custom_function.h> <torch/nn/module.h>)

function(nascent_use_precompiled target torch)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    # As the libraries are compiled (not -fPIE), so that they share their precompiled headers.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  if(torch)
    target_link_libraries(${target} PUBLIC ${TORCH_LIBRARIES})
    target_precompile_headers(${target} REUSE_FROM nascent_torch_headers)
    # Most of what a file with LibTorch costs to compile is reading headers: files compiled together share it.
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  else()
    target_precompile_headers(${target} REUSE_FROM nascent_common_headers)
  endif()
endfunction()

# The sources say #include "nascent/core/error.h", as programs that use the installed library do: a link in the build
# folder gives src/ that name.
set(NASCENT_INCLUDE ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${NASCENT_INCLUDE})
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src ${NASCENT_INCLUDE}/nascent SYMBOLIC)

# nascent_room(name [TORCH] [ROOMS other...] [LIBRARIES lib...])
function(nascent_room name)
  cmake_parse_arguments(ROOM "TORCH" "" "ROOMS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  add_library(nascent_${name} STATIC ${sources})
  target_include_directories(nascent_${name} PUBLIC ${NASCENT_INCLUDE})
  list(TRANSFORM ROOM_ROOMS PREPEND nascent_)
  target_link_libraries(nascent_${name} PUBLIC ${ROOM_ROOMS} ${ROOM_LIBRARIES})
  nascent_use_precompiled(nascent_${name} ${ROOM_TORCH})
  set_property(GLOBAL APPEND PROPERTY NASCENT_ROOMS nascent_${name})
  set_property(GLOBAL APPEND PROPERTY NASCENT_LIBRARIES ${ROOM_LIBRARIES})
endfunction()

# nascent_library([PUBLIC lib...] [EXCEPT room...]): the rooms as one shared library, Nascent::nascent. It is made of
# their objects, all of them, so its registries are full however it is linked. PUBLIC: what its headers include.
function(nascent_library)
  cmake_parse_arguments(LIBRARY "" "" "PUBLIC;EXCEPT" ${ARGN})
  get_property(rooms GLOBAL PROPERTY NASCENT_ROOMS)
  get_property(libraries GLOBAL PROPERTY NASCENT_LIBRARIES)
  list(TRANSFORM LIBRARY_EXCEPT PREPEND nascent_)
  list(REMOVE_ITEM rooms ${LIBRARY_EXCEPT})
  list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  list(REMOVE_DUPLICATES libraries)
  list(REMOVE_ITEM libraries ${LIBRARY_PUBLIC})
  add_library(libnascent SHARED ${objects})
  add_library(Nascent::nascent ALIAS libnascent)
  target_link_libraries(libnascent PUBLIC ${LIBRARY_PUBLIC} PRIVATE ${libraries})
  target_include_directories(libnascent PUBLIC $<BUILD_INTERFACE:${NASCENT_INCLUDE}> $<INSTALL_INTERFACE:include>)
  target_compile_features(libnascent PUBLIC cxx_std_20)
  set_target_properties(libnascent PROPERTIES OUTPUT_NAME nascent EXPORT_NAME nascent VERSION ${PROJECT_VERSION}
                                              SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endfunction()

# nascent_program(name source... [TORCH] ROOMS room...)
function(nascent_program name)
  cmake_parse_arguments(PROGRAM "TORCH" "" "ROOMS" ${ARGN})
  add_executable(${name} ${PROGRAM_UNPARSED_ARGUMENTS} ${PROJECT_SOURCE_DIR}/src/program/passive_waiting.cc)
  list(TRANSFORM PROGRAM_ROOMS PREPEND nascent_)
  target_link_libraries(${name} PRIVATE ${PROGRAM_ROOMS})
  nascent_use_precompiled(${name} ${PROGRAM_TORCH})
  # Registrations live at the foot of source files that nothing refers to, so programs take rooms whole.
  get_property(rooms GLOBAL PROPERTY NASCENT_ROOMS)
  string(REPLACE ";" "," names "${rooms}")
  set_target_properties(${name} PROPERTIES LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${names}")
endfunction()

# Embeds recipes/*.toml, so that the program needs nothing but itself.
function(nascent_recipes room)
  file(GLOB recipes CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/recipes/*.toml)
  set(generated ${PROJECT_BINARY_DIR}/generated/recipes.cc)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${generated} "-DRECIPES=${recipes}" -P ${PROJECT_SOURCE_DIR}/cmake/EmbedRecipes.cmake
    DEPENDS ${recipes} ${PROJECT_SOURCE_DIR}/cmake/EmbedRecipes.cmake
    VERBATIM)
  target_sources(nascent_${room} PRIVATE ${generated})
endfunction()

# Embeds web/*, the page of `nascent serve`, likewise.
function(nascent_web room)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*.html ${PROJECT_SOURCE_DIR}/web/*.css ${PROJECT_SOURCE_DIR}/web/*.js)
  set(generated ${PROJECT_BINARY_DIR}/generated/web_files.cc)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${generated} "-DFILES=${files}" -P ${PROJECT_SOURCE_DIR}/cmake/EmbedWeb.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/EmbedWeb.cmake
    VERBATIM)
  target_sources(nascent_${room} PRIVATE ${generated})
endfunction()
