# One static library per folder of src/ ("room"), one test program per folder of tests/.

# The flags that LibTorch asks for, and one precompiled header of it shared by every room that uses it.
function(nascent_use_torch target)
  target_link_libraries(${target} PUBLIC ${TORCH_LIBRARIES})
  if(NOT TARGET nascent_torch_pch)
    file(WRITE ${CMAKE_BINARY_DIR}/torch_pch.cc "// Holds the precompiled LibTorch header.\n")
    add_library(nascent_torch_pch STATIC ${CMAKE_BINARY_DIR}/torch_pch.cc)
    target_link_libraries(nascent_torch_pch PUBLIC ${TORCH_LIBRARIES} fmt::fmt spdlog::spdlog nlohmann_json::nlohmann_json)
    target_precompile_headers(nascent_torch_pch PRIVATE <torch/torch.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM nascent_torch_pch)
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
  if(ROOM_TORCH)
    nascent_use_torch(nascent_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY NASCENT_ROOMS nascent_${name})
endfunction()

# Registrations live at the foot of source files that nothing refers to, so programs take rooms whole.
function(nascent_link_rooms program)
  cmake_parse_arguments(LINK "" "" "ROOMS" ${ARGN})
  list(TRANSFORM LINK_ROOMS PREPEND nascent_)
  target_link_libraries(${program} PRIVATE ${LINK_ROOMS})
  get_property(rooms GLOBAL PROPERTY NASCENT_ROOMS)
  string(REPLACE ";" "," names "${rooms}")
  set_target_properties(${program} PROPERTIES LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${names}")
endfunction()

# nascent_program(name source... ROOMS room...)
function(nascent_program name)
  cmake_parse_arguments(PROGRAM "" "" "ROOMS" ${ARGN})
  add_executable(${name} ${PROGRAM_UNPARSED_ARGUMENTS})
  nascent_link_rooms(${name} ROOMS ${PROGRAM_ROOMS})
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
