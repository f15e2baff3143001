// Huge pages under the weights of a session.
#include "runtime/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

namespace slipway {
namespace {

constexpr uintptr_t kPage = uintptr_t{2} << 20;
/// Less is no memory of weights worth the walk through page tables.
constexpr uintptr_t kWorthIt = uintptr_t{4} << 20;

#ifdef MADV_COLLAPSE
constexpr int kCollapse = MADV_COLLAPSE;
#else
constexpr int kCollapse = 25;  // Linux 6.1; older kernels refuse it and collapse in their own time
#endif

void advise_range(uintptr_t begin, uintptr_t end) {
  begin = (begin + kPage - 1) / kPage * kPage;
  end = end / kPage * kPage;
  if (end < begin + kPage) return;
  auto* memory = reinterpret_cast<void*>(begin);
  if (::madvise(memory, end - begin, MADV_HUGEPAGE) == 0) ::madvise(memory, end - begin, kCollapse);
}

}  // namespace

std::vector<HugePages::Range> HugePages::anonymous_memory() {
  std::vector<Range> ranges;
  const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                   std::fclose);
  char line[512];
  while (maps && std::fgets(line, sizeof line, maps.get()) != nullptr) {
    uintptr_t begin = 0, end = 0;
    char flags[5] = {};
    unsigned long inode = 1;
    int name_at = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*s %lu %n", &begin, &end, flags,
                    &inode, &name_at) < 4)
      continue;
    const bool unnamed = name_at > 0 && line[name_at] == '\0';
    if (inode == 0 && unnamed && std::strcmp(flags, "rw-p") == 0) ranges.emplace_back(begin, end);
  }
  return ranges;
}

HugePages::HugePages() : before_(anonymous_memory()) {}

void HugePages::advise() const {
  for (auto [begin, end] : anonymous_memory()) {
    // Both lists are in order of addresses: what is left between old ranges is new.
    for (const auto& [old_begin, old_end] : before_) {
      if (old_end <= begin || old_begin >= end) continue;
      if (old_begin > begin && old_begin - begin >= kWorthIt) advise_range(begin, old_begin);
      begin = std::max(begin, old_end);
    }
    if (begin < end && end - begin >= kWorthIt) advise_range(begin, end);
  }
}

}  // namespace slipway
