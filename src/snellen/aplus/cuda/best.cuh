// An anchor and its score, for searches of the best.
#pragma once

struct Best {
  float score;
  int anchor;
};

// Returns the one with the greater score; of equal scores, the lower anchor.
__device__ __forceinline__ Best better(Best a, Best b) {
  return b.score > a.score || (b.score == a.score && b.anchor < a.anchor) ? b : a;
}
