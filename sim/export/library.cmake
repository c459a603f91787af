# $about
cmake_minimum_required(VERSION 3.10)
project($name VERSION $version LANGUAGES C)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
add_library($name $sources)
set_target_properties($name PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
set_target_properties($name PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories($name PUBLIC
  $$<BUILD_INTERFACE:$${CMAKE_CURRENT_SOURCE_DIR}> $$<INSTALL_INTERFACE:include>)
install(TARGETS $name ARCHIVE DESTINATION lib LIBRARY DESTINATION lib RUNTIME DESTINATION bin)
install(FILES $name.h $name.svh DESTINATION include)
install(FILES $name.pc DESTINATION lib/pkgconfig)
