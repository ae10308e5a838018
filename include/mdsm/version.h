/* The version of the headers. While the first number is 0, a change of the second may change anything in
 * include/mdsm; a change of the third adds at most. Programs compiled against 0.N run with every later 0.N
 * (the library's file name carries 0.N). mdsm_version() in mdsm/c.h tells the version of the library at run
 * time. */
#ifndef MDSM_VERSION_H
#define MDSM_VERSION_H

#define MDSM_VERSION_MAJOR 0
#define MDSM_VERSION_MINOR 2
#define MDSM_VERSION_PATCH 0
#define MDSM_VERSION "0.2.0"

#endif
