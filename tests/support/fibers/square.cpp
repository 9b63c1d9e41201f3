// Runs the kernels of square.cu on a CPU: pictures from standard input, results to standard output.
// Arguments: how many, and the seed of the order of threads.
#include "fibers.h"
// The text of square.cu, whose shared memory is that of the block.
#include "kernel.inc"

static std::vector<float> given, between, made;
static void (*kernel)(const void *, void *);
static const void *from;
static void *to;

constexpr int BEHIND = 40;          // turns of all other warps to one of a slow warp
constexpr size_t MARGIN = 1 << 12;  // of NaN after what there is: nobody may write there

static void thread() {
  kernel(from, to);
  fibers::now->done = true;
  fibers::others();
}

static void run_cluster(unsigned picture, std::mt19937 &random) {
  using namespace fibers;
  std::vector<unsigned> order;
  threads.resize(THREADS * CLUSTER);
  warps.assign(threads.size() / 32, Group{32, 0, 0}), blocks.assign(CLUSTER, Group{THREADS, 0, 0});
  cluster = Group{THREADS * CLUSTER, 0, 0}, expected.assign(CLUSTER, 0);
  passed_on.assign(threads.size(), NAN);
  shared.assign(CLUSTER, std::vector<float4>(SHARED / 16 + MARGIN, float4{NAN, NAN, NAN, NAN}));
  for (unsigned i = 0; i < threads.size(); i++) {
    Thread &one = threads[i];
    order.push_back(i);
    one.index = i % THREADS, one.block = i / THREADS, one.done = false;
    one.stack.resize(1 << 16);
    getcontext(&one.context);
    one.context.uc_stack.ss_sp = one.stack.data(), one.context.uc_stack.ss_size = one.stack.size();
    makecontext(&one.context, thread, 0);
  }
  const unsigned slow = random() % warps.size();  // the others come as far as they can without it
  for (int round = 0; !order.empty(); round++) {
    if (round > 40000) fail("threads wait for ever");
    std::shuffle(order.begin(), order.end(), random);
    const bool waits = round % BEHIND;
    for (unsigned i : order) {
      if (waits && i / 32 == slow) continue;
      now = &threads[i], threadIdx.x = now->index, blockIdx.x = picture * CLUSTER + now->block;
      swapcontext(&scheduler, &now->context);
    }
    const auto done = [](unsigned i) { return threads[i].done; };
    order.erase(std::remove_if(order.begin(), order.end(), done), order.end());
  }
  for (const auto &memory : shared)
    for (size_t i = (SHARED + 15) / 16; i < memory.size(); i++)
      if (!std::isnan(memory[i].x) || !std::isnan(memory[i].w)) fail("beyond its shared memory");
  for (long left : expected)
    if (left) fail("some bytes have not arrived");
}

static void transform(unsigned count, const void *in, void *middle, void *out,
                      std::mt19937 &random) {
  (void)middle, gridDim.x = CLUSTER * count;
#if TWO_LAUNCHES
  kernel = first_pass, from = in, to = middle;
  for (unsigned i = 0; i < count; i++) run_cluster(i, random);
  kernel = second_pass, from = middle, to = out;
#else
  kernel = [](const void *in, void *out) { square_fft(in, out, 1); }, from = in, to = out;
#endif
  for (unsigned i = 0; i < count; i++) run_cluster(i, random);
}

int main(int, char **words) {
  const unsigned count = atoi(words[1]);
  std::mt19937 random(atoi(words[2]));
  const size_t pictures = count * SIDE * SIDE, spectra = count * 2 * SIDE * WIDTH;
  const size_t in = REAL && ROWS_FIRST ? pictures : spectra;
  const size_t out = REAL && !ROWS_FIRST ? pictures : spectra;
  given.assign(in + MARGIN, NAN), made.assign(out + MARGIN, NAN);
  between.assign(spectra + MARGIN, NAN);
  if (fread(given.data(), 4, in, stdin) != in) return 2;
  transform(count, given.data(), ROWS_FIRST ? made.data() : between.data(), made.data(), random);
  if (!REAL) {  // in place, too
    transform(count, given.data(), given.data(), given.data(), random);
    if (memcmp(given.data(), made.data(), 4 * out)) fibers::fail("in place it differs");
  }
  for (size_t i = 0; i < MARGIN; i++)
    if (!std::isnan(made[out + i]) || !std::isnan(between[spectra + i]))
      fibers::fail("beyond its array");
  return fwrite(made.data(), 4, out, stdout) != out;
}
