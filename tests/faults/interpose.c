// Loaded before the C library (LD_PRELOAD): numbers the calls that touch files below FAULT_FOLDER, writes
// them down, and lets one of them fail.
//
//   FAULT_LOG    file: a line "NUMBER CALL PATH [PATH]" for each
//   FAULT_AT     number of the call that fails, from 1; 0 = none
//   FAULT_ERRNO  as what
//   FAULT_STORE  folder: what a file holds when it is synced, as NUMBER
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FILES 4096
static char* names[MAX_FILES];  // of open files below the folder
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long calls, fail_at;
static int log_file = -1, error_number = EIO;
static const char *folder, *store;

__attribute__((constructor)) static void begin(void) {
  folder = getenv("FAULT_FOLDER");
  store = getenv("FAULT_STORE");
  const char* at = getenv("FAULT_AT");
  const char* number = getenv("FAULT_ERRNO");
  const char* log = getenv("FAULT_LOG");
  if (at) fail_at = atol(at);
  if (number) error_number = atoi(number);
  if (log)
    log_file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static int inside(const char* path) { return folder && path && strncmp(path, folder, strlen(folder)) == 0; }
static const char* name_of(int file) { return file >= 0 && file < MAX_FILES ? names[file] : NULL; }

// The number of this call, negative when it is to fail.
static long counted(const char* call, const char* path, const char* other) {
  pthread_mutex_lock(&mutex);
  const long number = ++calls;
  char line[8192];
  const int length = snprintf(line, sizeof line, "%ld %s %s %s\n", number, call, path, other ? other : "");
  if (log_file >= 0) syscall(SYS_write, log_file, line, (size_t)length);
  pthread_mutex_unlock(&mutex);
  if (number != fail_at) return number;
  errno = error_number;
  return -number;
}

static void remember(int file, const char* path) {
  if (file < 0 || file >= MAX_FILES) return;
  free(names[file]);
  names[file] = path ? strdup(path) : NULL;
}

static void keep_content(int file, long number) {
  struct stat what;
  if (!store || fstat(file, &what) != 0 || !S_ISREG(what.st_mode)) return;
  char from[64], path[4096], bytes[65536];
  snprintf(from, sizeof from, "/proc/self/fd/%d", file);
  snprintf(path, sizeof path, "%s/%ld", store, number);
  const int in = (int)syscall(SYS_openat, AT_FDCWD, from, O_RDONLY | O_CLOEXEC, 0);
  const int out = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  for (long got; in >= 0 && out >= 0 && (got = syscall(SYS_read, in, bytes, sizeof bytes)) > 0;)
    syscall(SYS_write, out, bytes, (size_t)got);
  syscall(SYS_close, in);
  syscall(SYS_close, out);
}

static int opened(const char* path, int flags, mode_t mode) {
  if (inside(path) && counted(flags & O_CREAT ? "create" : "open", path, NULL) < 0) return -1;
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (file >= 0) remember(file, inside(path) ? path : NULL);
  return file;
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return opened(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return opened(path, flags, mode);
}

int __open_2(const char* path, int flags) { return opened(path, flags, 0); }

// C streams open their files inside the library; the name is enough to follow them.
static FILE* stream(const char* symbol, const char* path, const char* mode) {
  FILE* (*real)(const char*, const char*) = (FILE * (*)(const char*, const char*)) dlsym(RTLD_NEXT, symbol);
  if (inside(path) && counted(strchr(mode, 'r') ? "open" : "create", path, NULL) < 0) return NULL;
  return real(path, mode);
}
FILE* fopen(const char* path, const char* mode) { return stream("fopen", path, mode); }
FILE* fopen64(const char* path, const char* mode) { return stream("fopen64", path, mode); }

ssize_t write(int file, const void* data, size_t bytes) {
  const char* name = name_of(file);
  if (name && counted("write", name, NULL) < 0) return -1;
  return syscall(SYS_write, file, data, bytes);
}

static int synced(const char* call, int file, long number_of_call) {
  const char* name = name_of(file);
  if (name) {
    const long number = counted(call, name, NULL);
    if (number < 0) return -1;
    keep_content(file, number);
  }
  return (int)syscall(number_of_call, file);
}
int fsync(int file) { return synced("fsync", file, SYS_fsync); }
int fdatasync(int file) { return synced("fdatasync", file, SYS_fdatasync); }

int close(int file) {
  const char* name = name_of(file);
  const int fails = name && counted("close", name, NULL) < 0;
  if (name) remember(file, NULL);
  const int result = (int)syscall(SYS_close, file);
  if (!fails) return result;
  errno = error_number;
  return -1;
}

int ftruncate(int file, off_t size) {
  const char* name = name_of(file);
  if (name && counted("truncate", name, NULL) < 0) return -1;
  return (int)syscall(SYS_ftruncate, file, size);
}

int rename(const char* from, const char* to) {
  if (inside(to) && counted("rename", from, to) < 0) return -1;
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int link(const char* from, const char* to) {
  if (inside(to) && counted("link", from, to) < 0) return -1;
  return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char* path) {
  if (inside(path) && counted("unlink", path, NULL) < 0) return -1;
  return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int remove(const char* path) {
  struct stat what;
  if (lstat(path, &what) == 0 && S_ISDIR(what.st_mode)) return rmdir(path);
  return unlink(path);
}

int mkdir(const char* path, mode_t mode) {
  if (inside(path) && counted("mkdir", path, NULL) < 0) return -1;
  return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  const char* name = name_of(file);
  if (name && counted("mmap", name, NULL) < 0) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, address, length, protection, flags, file, offset);
}
