# `import nascent`: optional, built where Debian's Python, its torch and pybind11 are. PYTHONPATH=build/release/python finds
# it in the build folder. Debian's own interpreter is asked for by its path: python3-torch is a module of that one.
option(NASCENT_PYTHON "Build the Python module where its libraries are" ${PROJECT_IS_TOP_LEVEL})
set(NASCENT_PYTHON_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "The Python that the module is for")

set(Python3_EXECUTABLE ${NASCENT_PYTHON_EXECUTABLE})
find_package(Python3 QUIET COMPONENTS Interpreter Development.Module)
find_path(PYBIND11_INCLUDE pybind11/pybind11.h)  # headers alone: pybind11's own CMake files would look for a Python of theirs
find_library(TORCH_PYTHON_LIBRARY torch_python)
find_path(TORCH_PYTHON_INCLUDE torch/csrc/autograd/python_variable.h)

set(NASCENT_PYTHON_MISSING "")
if(NOT Python3_Development.Module_FOUND)
  list(APPEND NASCENT_PYTHON_MISSING python3-dev)
endif()
if(NOT PYBIND11_INCLUDE)
  list(APPEND NASCENT_PYTHON_MISSING pybind11-dev)
endif()
if(NOT TORCH_PYTHON_LIBRARY OR NOT TORCH_PYTHON_INCLUDE)
  list(APPEND NASCENT_PYTHON_MISSING python3-torch)
endif()
if(NOT NASCENT_PYTHON OR NASCENT_SANITIZE)  # Python itself would have to be loaded with the sanitizer
  set(NASCENT_PYTHON_MISSING "-DNASCENT_PYTHON=ON and no sanitizer")
endif()
if(NASCENT_PYTHON_MISSING)
  list(JOIN NASCENT_PYTHON_MISSING " " NASCENT_PYTHON_MISSING)
  message(STATUS "No Python module; it needs: ${NASCENT_PYTHON_MISSING} (scripts/setup installs it)")
  return()
endif()

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/python/*.cc)
add_library(nascent_python MODULE ${sources})
target_link_libraries(nascent_python PRIVATE libnascent ${TORCH_PYTHON_LIBRARY} Python3::Module)
target_include_directories(nascent_python SYSTEM PRIVATE ${PYBIND11_INCLUDE})
target_precompile_headers(nascent_python PRIVATE <pybind11/functional.h> <pybind11/stl.h> <torch/csrc/utils/pybind.h>
                          <ATen/ATen.h> <torch/nn/module.h> <fmt/format.h> <nlohmann/json.hpp>)
# The pure half of the package is linked to beside the compiled one, so that the build folder holds a whole package.
set(package ${PROJECT_BINARY_DIR}/python/nascent)
set_target_properties(nascent_python PROPERTIES PREFIX "" OUTPUT_NAME _nascent SUFFIX ".${Python3_SOABI}.so"
                      LIBRARY_OUTPUT_DIRECTORY ${package})
file(MAKE_DIRECTORY ${package})
file(GLOB modules CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/python/nascent/*.py)
foreach(module IN LISTS modules)
  get_filename_component(name ${module} NAME)
  file(CREATE_LINK ${module} ${package}/${name} SYMBOLIC)
endforeach()

# Where Debian's Python looks; the package python3-nascent.
set(NASCENT_PYTHON_DIR lib/python3/dist-packages CACHE STRING "Where the Python package is installed, below the prefix")
set_target_properties(nascent_python PROPERTIES INSTALL_RPATH "$ORIGIN/../../../../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS nascent_python LIBRARY DESTINATION ${NASCENT_PYTHON_DIR}/nascent COMPONENT python OPTIONAL)
install(FILES ${modules} DESTINATION ${NASCENT_PYTHON_DIR}/nascent COMPONENT python)
