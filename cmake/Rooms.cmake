# One static library per folder of src/ ("room"), one test program per folder of tests/.

# Two precompiled headers, built once and shared: what every file reads, and the same with LibTorch.
function(nascent_precompile name)
  cmake_parse_arguments(PCH "" "" "HEADERS;LIBRARIES" ${ARGN})
  file(WRITE ${CMAKE_BINARY_DIR}/${name}.cc "// Holds a precompiled header.\n")
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PUBLIC ${PCH_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${PCH_HEADERS})
endfunction()

set(NASCENT_COMMON_HEADERS
    <algorithm> <filesystem> <functional> <map> <memory> <optional> <string> <vector> <fmt/format.h> <nlohmann/json.hpp>)
set(NASCENT_TORCH_HEADERS <ATen/ATen.h> <torch/csrc/autograd/custom_function.h> <torch/nn/module.h>)

function(nascent_use_precompiled target torch)
  if(torch)
    target_link_libraries(${target} PUBLIC ${TORCH_LIBRARIES})
    target_precompile_headers(${target} REUSE_FROM nascent_torch_headers)
  else()
    target_precompile_headers(${target} REUSE_FROM nascent_common_headers)
  endif()
endfunction()

# nascent_room(name [TORCH] [ROOMS other...] [LIBRARIES lib...])
function(nascent_room name)
  cmake_parse_arguments(ROOM "TORCH" "" "ROOMS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  add_library(nascent_${name} STATIC ${sources})
  target_include_directories(nascent_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  list(TRANSFORM ROOM_ROOMS PREPEND nascent_)
  target_link_libraries(nascent_${name} PUBLIC ${ROOM_ROOMS} ${ROOM_LIBRARIES})
  nascent_use_precompiled(nascent_${name} ${ROOM_TORCH})
  set_property(GLOBAL APPEND PROPERTY NASCENT_ROOMS nascent_${name})
endfunction()

# nascent_program(name source... [TORCH] ROOMS room...)
function(nascent_program name)
  cmake_parse_arguments(PROGRAM "TORCH" "" "ROOMS" ${ARGN})
  add_executable(${name} ${PROGRAM_UNPARSED_ARGUMENTS})
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
  file(GLOB recipes CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/recipes/*.toml)
  set(generated ${CMAKE_BINARY_DIR}/generated/recipes.cc)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${generated} "-DRECIPES=${recipes}" -P ${CMAKE_SOURCE_DIR}/cmake/EmbedRecipes.cmake
    DEPENDS ${recipes} ${CMAKE_SOURCE_DIR}/cmake/EmbedRecipes.cmake
    VERBATIM)
  target_sources(nascent_${room} PRIVATE ${generated})
endfunction()
