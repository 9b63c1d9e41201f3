// What the blocks of a cluster need to send each other complex numbers, and what a kernel needs
// that begins while the one before it ends. For sm_90 and newer.
//
// Barriers: `cluster_arrive` and `cluster_wait` are the halves of a barrier of the cluster. An
// mbarrier in the shared memory of each block counts the bytes that arrive there, once: a block
// waits for its own data, not for the cluster. A block that has received its data may end, although
// what it sent may still be under way.
#pragma once
#include "gpu/device.cuh"

__device__ __forceinline__ uint32_t local_address(const void *p) {
  return uint32_t(__cvta_generic_to_shared(p));
}

// The address, for `send`, of this shared address in another block of the cluster. Addresses within
// one block keep their distances.
__device__ __forceinline__ uint32_t remote_address(uint32_t address, int block) {
  uint32_t remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(block));
  return remote;
}

// Stores in the shared memory of another block, and tells its mbarrier.
__device__ __forceinline__ void send(uint32_t to, uint32_t barrier, float2 a) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::
          "r"(to),
      "f"(a.x), "f"(a.y), "r"(barrier)
      : "memory");
}

__device__ __forceinline__ void send(uint32_t to, uint32_t barrier, float4 a) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(to),
      "f"(a.x), "f"(a.y), "f"(a.z), "f"(a.w), "r"(barrier)
      : "memory");
}

// Prepares the mbarrier for so many bytes; one thread calls it before the cluster's barrier.
__device__ __forceinline__ void expect(uint64_t *barrier, int bytes) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(local_address(barrier)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   local_address(barrier)),
               "r"(bytes)
               : "memory");
}

// Waits until all of these bytes have arrived.
__device__ __forceinline__ void await(uint64_t *barrier) {
  asm volatile(
      "{.reg .pred come; again: "
      "mbarrier.try_wait.parity.shared::cta.b64 come, [%0], 0; @!come bra again;}" ::"r"(
          local_address(barrier))
      : "memory");
  __syncwarp();  // lanes may have left the loop one by one
}

__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

// The same where nothing has been written or read but by `expect`.
__device__ __forceinline__ void cluster_arrive_first() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Lets the next kernel of the stream begin, if it was launched to overlap: it waits by itself.
__device__ __forceinline__ void let_next_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Waits until the kernel before this one has ended, with all that it stored. Only after it may a
// kernel that was launched to overlap access global memory.
__device__ __forceinline__ void await_previous() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Asks for bytes of global memory in the L2 cache, a multiple of 16. Older GPUs do nothing.
__device__ __forceinline__ void fetch_ahead(const char *from, int bytes) {
#if __CUDA_ARCH__ >= 900
  const size_t aligned = __cvta_generic_to_global(from) & ~size_t(15);
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(aligned), "r"(bytes) : "memory");
#endif
}
