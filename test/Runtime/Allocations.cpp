// Linked with --wrap: every allocation that the runtime makes passes here and can be counted or refused.
#include "TableBuilder.h"
#include <sys/mman.h>

namespace mopt::test {
std::atomic<long> allocationCount{0}, failAllocation{0};
static bool refuse() { return ++allocationCount == failAllocation; }
} // namespace mopt::test
using mopt::test::refuse;

extern "C" {
void *__real_calloc(size_t, size_t);
void *__real_aligned_alloc(size_t, size_t);
int __real_posix_memalign(void **, size_t, size_t);
void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_calloc(size_t n, size_t size) { return refuse() ? nullptr : __real_calloc(n, size); }
void *__wrap_aligned_alloc(size_t align, size_t size) { return refuse() ? nullptr : __real_aligned_alloc(align, size); }
int __wrap_posix_memalign(void **p, size_t align, size_t size) {
  return refuse() ? 12 : __real_posix_memalign(p, align, size);
}
void *__wrap_mmap(void *p, size_t n, int prot, int flags, int fd, off_t at) {
  return refuse() ? MAP_FAILED : __real_mmap(p, n, prot, flags, fd, at);
}
}
