// Runs the kernel of network.cu on a CPU. Standard input: plane, weights, numbers, and what is in the
// output before; standard output: the output. Arguments: see main.
#include "fibers.h"
// The text of network.cu, whose shared memory is that of the block.
#include "kernel.inc"

constexpr size_t BEYOND = 1 << 12;  // bytes after the shared memory: nobody may write there

static int width, height, pitch, out_pitch;
static float scales[5];
static std::vector<SAMPLE> plane;
static std::vector<uint4> weights;
static std::vector<float> biases;
static std::vector<TARGET> out;

static void thread() {
  network(plane.data(), pitch, width, height, reinterpret_cast<uint32_t *>(weights.data()),
          biases.data(), out.data(), out_pitch, scales[0], scales[1], scales[2], scales[3],
          scales[4]);
  fibers::now->done = true;
  fibers::others();
}

static void run_block(size_t bytes, std::mt19937 &random) {
  using namespace fibers;
  std::vector<unsigned> order;
  threads.resize(THREADS);
  warps.assign(WARPS, Group{32, 0, 0}), blocks.assign(1, Group{THREADS, 0, 0});
  given.resize(2 * WARPS), turns.assign(THREADS, 0), passed_on.resize(THREADS);
  copies.assign(THREADS, {}), begun.assign(THREADS, {}), may.assign(THREADS, false);
  shared.assign(1, std::vector<float4>((bytes + BEYOND) / 16));
  memset(shared[0].data(), 0xff, bytes + BEYOND);  // NaN, as half and as float
  for (unsigned i = 0; i < threads.size(); i++) {
    Thread &one = threads[i];
    order.push_back(i);
    one.index = i, one.block = 0, one.done = false;
    one.stack.resize(1 << 16);
    getcontext(&one.context);
    one.context.uc_stack.ss_sp = one.stack.data(), one.context.uc_stack.ss_size = one.stack.size();
    makecontext(&one.context, thread, 0);
  }
  for (long round = 0; !order.empty(); round++) {
    if (round > 1000000) fail("threads wait for ever");
    std::shuffle(order.begin(), order.end(), random);
    for (unsigned i : order) {
      now = &threads[i], threadIdx.x = now->index;
      swapcontext(&scheduler, &now->context);
    }
    const auto done = [](unsigned i) { return threads[i].done; };
    order.erase(std::remove_if(order.begin(), order.end(), done), order.end());
  }
  const unsigned char *memory = reinterpret_cast<unsigned char *>(shared[0].data());
  for (size_t i = bytes; i < bytes + BEYOND; i++)
    if (memory[i] != 0xff) fail("beyond its shared memory");
}

template <typename T>
static void read(std::vector<T> &to, size_t bytes) {
  to.resize(bytes / sizeof(T));
  if (fread(to.data(), 1, bytes, stdin) != bytes) fibers::fail("too little is given");
}

int main(int, char **words) {
  width = atoi(words[1]), height = atoi(words[2]), pitch = atoi(words[3]), out_pitch = atoi(words[4]);
  std::mt19937 random(atoi(words[5]));
  const size_t bytes = atoi(words[6]);
  for (int i = 0; i < 5; i++) scales[i] = strtof(words[7 + i], nullptr);
  read(plane, strtoul(words[12], nullptr, 10)), read(weights, strtoul(words[13], nullptr, 10));
  read(biases, strtoul(words[14], nullptr, 10)), read(out, strtoul(words[15], nullptr, 10));
  const unsigned across = (width + TILE_X - 1) / TILE_X, down = (height + TILE_Y - 1) / TILE_Y;
  for (blockIdx.y = 0; blockIdx.y < down; blockIdx.y++)
    for (blockIdx.x = 0; blockIdx.x < across; blockIdx.x++) run_block(bytes, random);
  return fwrite(out.data(), sizeof(TARGET), out.size(), stdout) != out.size();
}
