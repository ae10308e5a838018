# cmake --install, find_package(mdsm), pkg-config and cpack -G DEB. All paths are relative to each other, so that the
# installed tree can be moved as a whole.
include(CMakePackageConfigHelpers)

set(MDSM_DATA_DIR ${CMAKE_INSTALL_DATADIR}/mdsm)
set(MDSM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/mdsm)

file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(mdsm PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
install(TARGETS mdsm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)

# Manual pages and completions, which the program makes of its own options.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/manual/man/man1/mdsm.1
                     COMMAND mdsm --manual ${PROJECT_BINARY_DIR}/manual DEPENDS mdsm
                     COMMENT "Manual pages and completions" VERBATIM)
  add_custom_target(mdsm_manual ALL DEPENDS ${PROJECT_BINARY_DIR}/manual/man/man1/mdsm.1)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/manual/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT program)
endif()

target_include_directories(libmdsm INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(mdsm_extend INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/mdsm/extend>)
install(TARGETS libmdsm EXPORT mdsmTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS mdsm_extend EXPORT mdsmExtendTargets)
install(EXPORT mdsmTargets NAMESPACE mdsm:: DESTINATION ${MDSM_PACKAGE_DIR} COMPONENT development)
install(EXPORT mdsmExtendTargets NAMESPACE mdsm:: DESTINATION ${MDSM_PACKAGE_DIR} COMPONENT development)
install(DIRECTORY include/mdsm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mdsm/extend COMPONENT development
        FILES_MATCHING PATTERN "*.h" PATTERN "*_impl.h" EXCLUDE
        PATTERN "api" EXCLUDE PATTERN "python" EXCLUDE PATTERN "serve" EXCLUDE PATTERN "native" EXCLUDE PATTERN "torch" EXCLUDE)

configure_package_config_file(cmake/mdsmConfig.cmake.in ${PROJECT_BINARY_DIR}/mdsmConfig.cmake
                              INSTALL_DESTINATION ${MDSM_PACKAGE_DIR})
# While the version is 0.N, another N is another interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mdsmConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mdsmConfig.cmake ${PROJECT_BINARY_DIR}/mdsmConfigVersion.cmake
        DESTINATION ${MDSM_PACKAGE_DIR} COMPONENT development)

file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/mdsm.pc.in ${PROJECT_BINARY_DIR}/mdsm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mdsm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

install(DIRECTORY models/ DESTINATION ${MDSM_DATA_DIR}/models COMPONENT data FILES_MATCHING PATTERN "*.safetensors")
install(DIRECTORY configs DESTINATION ${MDSM_DATA_DIR} COMPONENT data)
install(FILES python/mdsm_torch.py DESTINATION ${MDSM_DATA_DIR}/python COMPONENT data)
install(DIRECTORY bench/peers DESTINATION ${MDSM_DATA_DIR}/bench COMPONENT data FILES_MATCHING PATTERN "*.py")
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT data)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT data)

if(MDSM_TORCH)
  install(TARGETS mdsm_torch LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/mdsm COMPONENT torch)
endif()

if(MDSM_PYTHON_MODULE)
  set(MDSM_PACKAGES_DIR ${CMAKE_INSTALL_PREFIX}/lib/python3/dist-packages/mdsm)  # Debian's, for all versions of Python 3
  file(RELATIVE_PATH lib_from_package ${MDSM_PACKAGES_DIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  # In a wheel the library lies in the package.
  set_target_properties(mdsm_python PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_package};$ORIGIN/lib")
  install(TARGETS mdsm_python LIBRARY DESTINATION lib/python3/dist-packages/mdsm COMPONENT python)
  install(DIRECTORY python/mdsm DESTINATION lib/python3/dist-packages COMPONENT python
          FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN py.typed)
endif()

# cpack -G DEB: mdsm (the program), libmdsm0.2, libmdsm-dev, mdsm-data and, where they were built, python3-mdsm and mdsm-torch.
set(CPACK_PACKAGE_NAME mdsm)
set(CPACK_PACKAGE_VENDOR "The mdsm authors")
set(CPACK_PACKAGE_CONTACT "The mdsm authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program library development data)
set(CPACK_COMPONENT_PROGRAM_DEPENDS library)
set(CPACK_COMPONENT_LIBRARY_DEPENDS data)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS library)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Trains, samples and measures energy-based models of images: the program mdsm.")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Energy-based models of images: the shared library.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Energy-based models of images: headers for C++ and C, CMake package.")
set(CPACK_COMPONENT_DATA_DESCRIPTION "Energy-based models of images: trained models, recipes, documentation.")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME mdsm)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS dataset-fashion-mnist)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libmdsm${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmdsm-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libfmt-dev, nlohmann-json3-dev")  # for the component extend
set(CPACK_DEBIAN_DATA_PACKAGE_NAME mdsm-data)
set(CPACK_DEBIAN_DATA_PACKAGE_ARCHITECTURE all)
if(MDSM_TORCH)
  list(APPEND CPACK_COMPONENTS_ALL torch)
  set(CPACK_COMPONENT_TORCH_DEPENDS library)
  set(CPACK_COMPONENT_TORCH_DESCRIPTION "Energy-based models of images: the LibTorch engine, for GPUs and comparisons.")
  set(CPACK_DEBIAN_TORCH_PACKAGE_NAME mdsm-torch)
endif()
if(MDSM_PYTHON_MODULE)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_COMPONENT_PYTHON_DEPENDS library)
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Energy-based models of images: the Python module.")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-mdsm)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}), python3-numpy")
endif()
include(CPack)
