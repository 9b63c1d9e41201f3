// Stands for the header of this name where a kernel is run on a CPU.
#pragma once
#include "fibers.h"

inline uint32_t local_address(const void *p) {
  const auto *start = reinterpret_cast<const char *>(fibers::shared[fibers::now->block].data());
  return uint32_t(static_cast<const char *>(p) - start) | fibers::now->block << 24;
}

inline uint32_t remote_address(uint32_t address, int block) {
  if (unsigned(block) >= fibers::blocks.size()) fibers::fail("a block beyond the cluster");
  return (address & 0xffffff) | uint32_t(block) << 24;
}

template <class T>
inline void send(uint32_t to, uint32_t barrier, T a) {
  const uint32_t block = to >> 24, at = to & 0xffffff;
  auto &memory = fibers::shared[block];
  if (block != barrier >> 24 || at % sizeof a || at + sizeof a > 16 * memory.size())
    fibers::fail("sent to no cell of the block");
  if (!fibers::cluster.passed) fibers::fail("sent before all blocks run");
  memcpy(reinterpret_cast<char *>(memory.data()) + at, &a, sizeof a);
  fibers::expected[block] -= sizeof a;
}

inline void expect(uint64_t *, int bytes) { fibers::expected[fibers::now->block] = bytes; }
inline void await(uint64_t *) {
  while (fibers::expected[fibers::now->block]) fibers::others();
  __syncwarp();
}
inline void cluster_arrive() { fibers::now->left = fibers::cluster.arrive(); }
inline void cluster_arrive_first() { cluster_arrive(); }
inline void cluster_wait() {
  while (fibers::cluster.passed == fibers::now->left) fibers::others();
}
inline void let_next_begin() {}
inline void await_previous() {}
inline void fetch_ahead(const char *, int) {}
