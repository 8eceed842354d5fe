# Compiler flags, ccache and the linker, in one place.
find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers are cached too: ccache must be told that their time stamps and defines do not matter.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  add_compile_options(-fpch-preprocess)
endif()
find_program(LLD ld.lld)
if(LLD)
  add_link_options(-fuse-ld=lld)
endif()

# The arithmetic is LibTorch's and the kernels' own; -O3 would only make the rest slower to build.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

add_compile_options(-Wall -Wextra)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
endif()
# The rooms are linked into a shared library; their calls to one another stay direct.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_compile_options(-fno-semantic-interposition)
if(NASCENT_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

# The installed files must not depend on the folders they were built from: the paths that __FILE__ leaves in them are
# relative to the source, a later map goes before an earlier one. Tests find their files by __FILE__, so with them it
# stays as it is.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
if(NOT BUILD_TESTING)
  add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=build
                      -ffile-prefix-map=${PROJECT_BINARY_DIR}/include/nascent=./src)
endif()
