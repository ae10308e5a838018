// Loaded before the C library (LD_PRELOAD): counts the requests for memory while main runs, and refuses one.
//
//   FAULT_AT   number of the request to refuse, from 1; 0 = none: then the log lists the first request of
//   every
//              call stack, "NUMBER STACK" a line
//   FAULT_LOG  file; with a refused request its stack, as above, and the frames
//
// STACK is a checksum of the frames' places in their files, the same in every process.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <unwind.h>

// The C library's own, under names that nothing comes before.
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

#define MAX_FRAMES 64
#define TABLE (1 << 18)
static uint64_t table[TABLE];  // checksums of the stacks seen
static long requests, stacks, refuse_at;
static int log_file = -1, counting;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int busy __attribute__((tls_model("initial-exec")));

struct Stack {
  void* frames[MAX_FRAMES];
  int count;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context* context, void* argument) {
  struct Stack* stack = argument;
  if (stack->count == MAX_FRAMES) return _URC_END_OF_STACK;
  stack->frames[stack->count++] = (void*)_Unwind_GetIP(context);
  return _URC_NO_REASON;
}

static uint64_t hash_of(const struct Stack* stack, int everywhere) {
  uint64_t hash = 1469598103934665603u;
  for (int i = 0; i < stack->count; ++i) {
    Dl_info file = {0};
    if (everywhere) dladdr(stack->frames[i], &file);
    hash ^= (uint64_t)((uintptr_t)stack->frames[i] - (uintptr_t)file.dli_fbase);
    hash *= 1099511628211u;
    hash ^= hash >> 29;
  }
  return hash | 1;  // 0 marks a free place
}

// Whether this stack is one that was not there before.
static int is_new(uint64_t hash) {
  for (uint64_t at = hash >> 20;; ++at) {
    uint64_t* place = &table[at % TABLE];
    if (*place == hash) return 0;
    if (*place) continue;
    *place = hash;
    return 1;
  }
}

static void note(const struct Stack* stack) {
  dprintf(log_file, "%ld %016lx\n", requests, (unsigned long)hash_of(stack, 1));
}

static int refused(void) {
  if (!counting || busy) return 0;
  busy = 1;
  pthread_mutex_lock(&mutex);
  const int refuse = counting && ++requests == refuse_at;
  if (refuse) counting = 0;  // what follows may take what it needs
  if (refuse || !refuse_at) {
    struct Stack stack = {.count = 0};
    _Unwind_Backtrace(add_frame, &stack);
    if (refuse || is_new(hash_of(&stack, 0))) {
      note(&stack);
      if (++stacks > TABLE / 2) abort();
    }
    if (refuse) backtrace_symbols_fd(stack.frames, stack.count, log_file);
  }
  pthread_mutex_unlock(&mutex);
  busy = 0;
  if (refuse) errno = ENOMEM;
  return refuse;
}

void* malloc(size_t bytes) { return refused() ? NULL : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return refused() ? NULL : __libc_calloc(count, bytes); }
void* realloc(void* old, size_t bytes) { return refused() ? NULL : __libc_realloc(old, bytes); }
void* memalign(size_t alignment, size_t bytes) {
  return refused() ? NULL : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  void* made = memalign(alignment, bytes);
  if (made) *out = made;
  return made ? 0 : ENOMEM;
}

// Before main and after it, libraries make and end themselves, and none of them reports what fails.
static int (*real_main)(int, char**, char**);
static int counted_main(int count, char** words, char** environment) {
  const char* at = getenv("FAULT_AT");
  const char* log = getenv("FAULT_LOG");
  void* frame = NULL;
  if (at) refuse_at = atol(at);
  if (log) log_file = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  backtrace(&frame, 1);  // loads what it needs
  counting = 1;
  const int code = real_main(count, words, environment);
  counting = 0;
  return code;
}

int __libc_start_main(int (*program)(int, char**, char**), int count, char** words, void (*begin)(void),
                      void (*end)(void), void (*end_loader)(void), void* stack_end) {
  int (*real)(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void), void (*)(void),
              void*) = dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = program;
  return real(counted_main, count, words, begin, end, end_loader, stack_end);
}
