// A kernel with a mistake in line 4.

extern "C" __global__ void broken(float* out) {
  out[0] = nothing;
}
